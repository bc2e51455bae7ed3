"""One evaluation: cell table, sampler and history."""

from evalsampling.evaluation.evaluation import Evaluation as Evaluation
from evalsampling.evaluation.specs import load_spec as load_spec
