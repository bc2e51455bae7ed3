"""One evaluation: cell table, sampler and history."""

from evalsampling.evaluation.evaluation import Evaluation as Evaluation
