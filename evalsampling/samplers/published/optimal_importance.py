"""Optimal importance sampling, and baselines that take one of its ingredients away.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithm 1: with the inputs of Poisson sampling, which it is compared with.
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, sections
    4.3, 4.4.1 and 6.4; the exponent of active_lambda is that of eq. 4.25.
"""

import dataclasses

import numpy as np

from evalsampling.inference.score_calibration import Calibration, check_calibration, recalibrated
from evalsampling.measures.binary import Accuracy
from evalsampling.measures.deviation import Deviation
from evalsampling.samplers.active_risk import DeviationSampler
from evalsampling.spec.values import Proportion
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import mix_evenly


@dataclasses.dataclass(frozen=True)
class OptimalImportance(DeviationSampler):
    """Draws with replacement from q proportional to the deviation h.

    Without a calibration q is the same for every round.

    Attributes:
        delta: share of the pool's own distribution in the proposal, as for `poisson`.
        smoothing: lambda of p_a = lambda p + (1 - lambda) / classes, in [0, 1]; 0.9 in [Y].
        calibration: ``logistic`` or ``isotonic`` regression of the labels so far on the scores,
            before each round; None for the scores as they are.
    """

    delta: Proportion = 0.1
    smoothing: Proportion = 1.0
    calibration: Calibration = None
    name = "optimal_importance"
    takes = frozenset({"stochastic", "tags"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_calibration(self.calibration)

    @property
    def models_classes(self) -> bool:
        return self.calibration is not None

    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return q = h / sum h ([Y] eq. 53), shape (cells,); uniform if h is 0 for all rows."""
        prior = recalibrated(table, history, self.calibration, self.measure.system)
        deviation = self.deviation(table, prior)
        return mix_evenly(deviation.of_cells(table, prior), table.count, 0.0)

    def deviation(self, table: CellTable, prior: FloatArray) -> Deviation:
        """Return the deviation h of the measure, before costs of labels."""
        return Deviation.from_cells(self.measure, table, prior, self.smoothing)


@dataclasses.dataclass(frozen=True)
class ActiveUniformCosts(OptimalImportance):
    """The optimal design for labels that all cost the same: q in proportion to sqrt(h)."""

    delta: Proportion = 0.0
    name = "active_uniC"
    needs = frozenset({"cost"})
    heeds_costs = False


@dataclasses.dataclass(frozen=True)
class ActiveUniformLabels(OptimalImportance):
    """The optimal design if all labels are equally likely: q in proportion to sqrt(h / cost)."""

    delta: Proportion = 0.0
    smoothing: Proportion = 0.0
    name = "active_uniD"


@dataclasses.dataclass(frozen=True)
class ActiveCosts(OptimalImportance):
    """Draws rows, or queries, by their costs alone: q in proportion to 1 / sqrt(cost)."""

    delta: Proportion = 0.0
    name = "active_lambda"
    needs = frozenset({"cost"})
    takes = frozenset({"stochastic", "tags", "queries"})
    trusts_prior = False

    def probability(self, table: CellTable, history: History) -> FloatArray:
        return np.full(len(table), 1 / table.rows)


@dataclasses.dataclass(frozen=True)
class ActiveError(OptimalImportance):
    """The optimal design for the error rate, whatever measure is estimated from it."""

    delta: Proportion = 0.0
    name = "active_err"
    models_classes = True

    def deviation(self, table: CellTable, prior: FloatArray) -> Deviation:
        measure = Accuracy(system=self.measure.system)
        return Deviation.from_cells(measure, table, prior, self.smoothing)
