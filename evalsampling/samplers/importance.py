"""Importance sampling by one proposal: even, the optimal one for the prior, or the user's own.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, definition 2, remark 4, eq. 5
    and proposition 2; Sawade, Landwehr, Bickel and Scheffer, *Active risk estimation*, ICML 2010.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from evalsampling.errors import InputError
from evalsampling.inference.score_calibration import (
    Calibration,
    check_calibration,
    recalibrated_table,
)
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.on_cells import FLOOR, cells_adding_to, expected_norms
from evalsampling.samplers.base import CellSampler, ReplacementSampler
from evalsampling.spec.values import Positive
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History

Weights = Callable[[CellTable, History], FloatArray]


@dataclasses.dataclass(frozen=True)
class Passive(ReplacementSampler):
    """Passive sampling: every row with equal chance 1 / M; importance weights are all one."""

    name = "passive"
    takes = frozenset({"stochastic", "tags", "queries"})
    heeds_costs = False

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        return Proposal(np.full(len(table), 1 / table.rows))


@dataclasses.dataclass(frozen=True)
class Importance(ReplacementSampler):
    """Importance sampling that takes the scores' probabilities as true.

    For a deterministic oracle v(x) = p(x) sum_y n(x, y) s(y|k), for a stochastic one
    v(x) = p(x) sqrt(sum_y n(x, y)^2 s(y|k)). s(y|k) is the leaf's mean prior probability, and
    n(x, y) the norm of the loss times the Jacobian at the risk that the prior implies. Of rows with
    any number of many labels v(x) is the root mean square in both cases: `measures.deviation`.

    Attributes:
        calibration: ``logistic`` or ``isotonic`` regression of the labels so far on the prior,
            before each round, or a function (`inference.score_calibration.OwnModel`); None for the
            prior as it is, the same for every round.
        epsilon: eps_0 of [MR] proposition 2, above 0: least weight of a loss that is not 0.
    """

    calibration: Calibration = None
    epsilon: Positive = FLOOR
    name = "importance"
    takes = frozenset({"stochastic", "tags"})
    trusts_prior = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_calibration(self.calibration)

    @property
    def models_classes(self) -> bool:
        return self.calibration is not None

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        if table.kinds.expected is not None:
            deviation = Deviation.from_cells(self.measure, table, table.prior)
            value = deviation.of_cells(table, table.prior)
            return Proposal(value / np.sum(table.count * value))
        table = recalibrated_table(table, history, self.calibration, self.measure.system)
        prior = table.leaf_prior[table.leaf]
        value = expected_norms(self.measure, table, prior, self.stochastic, self.epsilon)
        if not value.any():  # No row adds, so any will do.
            value = np.ones(len(table))
        return Proposal(value / np.sum(table.count * value))

    def unmixed_support(self, table: CellTable) -> BoolArray:
        return cells_adding_to(self.measure, table)


@dataclasses.dataclass(frozen=True)
class Given(CellSampler):
    """Draws rows with replacement, in proportion to weights of cells that the user gives.

    Attributes:
        weights: called with the cell table and the history; returns the weight of *one row* of
            each cell, shape (cells,), at least 0 and not all 0. Estimates are unbiased for the
            rows whose weight is positive.
    """

    weights: Weights | None = None
    name = "given"
    takes = frozenset({"stochastic", "tags"})
    heeds_costs = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.weights):
            got = "none" if self.weights is None else repr(self.weights)
            raise ValueError(f"weights must be a function of the cell table, got {got}")

    def probability(self, table: CellTable, history: History) -> FloatArray:
        assert self.weights is not None
        weight = np.asarray(self.weights(table, history), dtype=np.float64)
        if weight.shape != (len(table),):
            raise InputError(
                f"sampler given: weights must have shape ({len(table)},), got {weight.shape}"
            )
        if not np.all(np.isfinite(weight)) or np.any(weight < 0) or not np.any(weight > 0):
            raise InputError(
                "sampler given: weights must be finite, at least 0, and one of them above 0"
            )
        return np.asarray(weight / np.sum(table.count * weight))
