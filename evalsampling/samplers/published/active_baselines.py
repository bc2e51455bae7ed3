"""Baselines of active evaluation: the optimal design with one of its ingredients taken away.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, sections
    4.3, 4.4.1 and 6.4; the exponent of active_lambda is that of eq. 4.25.
"""

import dataclasses

import numpy as np

from evalsampling.measures.binary import Accuracy
from evalsampling.measures.deviation import Deviation
from evalsampling.samplers.published.optimal_importance import OptimalImportance
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class ActiveUniformCosts(OptimalImportance):
    """The optimal design for labels that all cost the same: q in proportion to sqrt(h)."""

    delta: float = 0.0
    name = "active_uniC"
    needs_costs = True
    heeds_costs = False


@dataclasses.dataclass(frozen=True)
class ActiveUniformLabels(OptimalImportance):
    """The optimal design if all labels are equally likely: q in proportion to sqrt(h / cost)."""

    delta: float = 0.0
    smoothing: float = 0.0
    name = "active_uniD"


@dataclasses.dataclass(frozen=True)
class ActiveCosts(OptimalImportance):
    """Draws rows, or queries, by their costs alone: q in proportion to 1 / sqrt(cost)."""

    delta: float = 0.0
    name = "active_lambda"
    needs_costs = True
    takes_queries = True
    trusts_prior = False

    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return q before costs, shape (cells,): uniform over all rows."""
        return np.full(len(table), 1 / table.rows)


@dataclasses.dataclass(frozen=True)
class ActiveError(OptimalImportance):
    """The optimal design for the error rate, whatever measure is estimated from it."""

    delta: float = 0.0
    name = "active_err"
    needs_classes = True

    def deviation(self, table: CellTable, prior: FloatArray) -> Deviation:
        """Return the deviation of the error rate."""
        measure = Accuracy(system=self.measure.system)
        return Deviation.from_cells(measure, table, prior, self.smoothing)
