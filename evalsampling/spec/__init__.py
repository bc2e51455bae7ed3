"""The spec of an evaluation: what ``evaluation.yaml`` says, as plain checked data.

Whatever reads a section, or a key of it, raises an `InputError` that names a key that is wrong.
"""

from evalsampling.spec.evaluation import MAX_CELLS as MAX_CELLS
from evalsampling.spec.evaluation import EvaluationSpec as EvaluationSpec
from evalsampling.spec.labels import LabelsSpec as LabelsSpec
from evalsampling.spec.measures import MeasureSpec as MeasureSpec
from evalsampling.spec.plans import AnalysisPlan as AnalysisPlan
from evalsampling.spec.plans import LabellingPlan as LabellingPlan
from evalsampling.spec.plans import ReadingPlan as ReadingPlan
from evalsampling.spec.pool import PoolSpec as PoolSpec
from evalsampling.spec.rounds import RoundSize as RoundSize
from evalsampling.spec.rounds import SamplerSpec as SamplerSpec
from evalsampling.spec.systems import SystemSpec as SystemSpec
