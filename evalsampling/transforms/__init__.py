"""Apache Beam transforms: an engine for the stages of `preparation.plan`, rounds and estimates.

Elements are batches of Arrow columns (`evalsampling.pool.batch.PoolBatch`), never single rows, and
the summaries made of them.
"""

from evalsampling.transforms.engine import BeamEngine as BeamEngine
from evalsampling.transforms.engine import CountSlices as CountSlices
from evalsampling.transforms.engine import PoissonSample as PoissonSample
from evalsampling.transforms.engine import SumCells as SumCells
from evalsampling.transforms.estimates import DesignRound as DesignRound
from evalsampling.transforms.estimates import EstimateMeasures as EstimateMeasures
from evalsampling.transforms.estimates import JoinLabels as JoinLabels
from evalsampling.transforms.rounds import AssignCells as AssignCells
from evalsampling.transforms.rounds import SampleRound as SampleRound
from evalsampling.transforms.rounds import WriteTasks as WriteTasks
from evalsampling.transforms.stages import BatchCoder as BatchCoder
from evalsampling.transforms.stages import InspectPool as InspectPool
from evalsampling.transforms.stages import SumFn as SumFn
