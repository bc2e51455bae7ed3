"""Draws of all labels where rows that are predicted alike are exchangeable: no score orders them.

A stratum's labels are then a simple random sample of it, and its rates have a Dirichlet posterior.
"""

import dataclasses
import functools
from typing import ClassVar

import numpy as np

from evalsampling.inference.calibration_curve import HIDDEN, SCHEDULE
from evalsampling.inference.class_curves import labels_by_cell
from evalsampling.inference.domains import Domain
from evalsampling.inference.intervals import STRATUM_RATES
from evalsampling.inference.predictive import LabelModel, likely_rates
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.hamiltonian import Schedule, keep_freed_memory
from evalsampling.stats.history import History

PRIOR_LABELS = 1.0
"""Labels that the prior of a stratum is worth, spread evenly over the classes.

Of two classes it is that of Jeffreys, whose intervals hold a rate about as often as they say
(L. D. Brown, T. T. Cai and A. DasGupta, *Interval estimation for a binomial proportion*,
Statistical Science 16, 2001)."""

MOST_STRATA = 8
"""Strata of several systems beyond which they have no rates of their own: of three systems."""

_DRAWS = 2
"""Draws for each that a schedule of chains keeps: they are independent, and soon made."""


@dataclasses.dataclass(frozen=True)
class ClassRates(LabelModel):
    """Draws of the rate of each class among the rows that are predicted alike."""

    method: ClassVar[str] = STRATUM_RATES
    is_exact: ClassVar[bool] = True
    # prior of hidden positives, of which there are none: rows of a stratum are alike
    hidden: HiddenPrior = HIDDEN
    draws: int = _DRAWS * SCHEDULE.chains * SCHEDULE.kept

    @property
    def other_shares(self) -> tuple[float, ...]:
        """No shares of hidden positives: nothing depends on them."""
        return ()

    @functools.cached_property
    def rates(self) -> FloatArray:
        """The rate of each class in each cell, shape (draws, cells, classes), summing to 1."""
        rng = np.random.Generator(np.random.PCG64([*self.seed, 0]))
        parameters = _posterior(self.table, self.history)
        gamma = rng.standard_gamma(parameters, (self.draws, *parameters.shape))
        total = np.maximum(gamma.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
        return np.asarray((gamma / total)[:, self.table.leaf])

    @functools.cached_property
    def likely_rates(self) -> FloatArray:
        """The mean rate of each class in each cell, shape (cells, classes)."""
        return mean_rates(self.table, self.history)

    @functools.cached_property
    def contradiction(self) -> str | None:
        """No contradiction: any labels go with some rates."""
        return None

    @functools.cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """The first cell of each stratum, and the stratum of each cell."""
        return np.unique(self.table.leaf, return_index=True)[1], self.table.leaf


def mean_rates(table: CellTable, history: History) -> FloatArray:
    """Return the mean of the posterior of the rates, shape (cells, classes)."""
    parameters = _posterior(table, history)
    return np.asarray((parameters / parameters.sum(axis=1, keepdims=True))[table.leaf])


def _posterior(table: CellTable, history: History) -> FloatArray:
    """Return the parameters of the Dirichlet posterior of each stratum, (leaves, classes)."""
    seen = table.sum_by_leaf(labels_by_cell(table, history, Domain(), picked=False))
    return np.asarray(seen + PRIOR_LABELS / table.classes)


def have_own_rates(table: CellTable) -> bool:
    """Tell whether strata have rates of their own: those of what systems predict, if they are few.

    Of many there may be more than labels, whose priors would outweigh these.
    """
    return table.leaves.exchangeable and len(table.leaves) <= MOST_STRATA


def fit_labels(
    table: CellTable,
    history: History,
    seed: tuple[int, ...],
    hidden: HiddenPrior = HIDDEN,
    schedule: Schedule = SCHEDULE,
    stochastic: bool = False,
) -> LabelModel:
    """Return the model of the labels of a pool: see `LabelModel.fit`, whose arguments it takes."""
    if not have_own_rates(table):
        return LabelModel.fit(table, history, seed, hidden, schedule, stochastic)
    keep_freed_memory()
    draws = _DRAWS * schedule.chains * schedule.kept
    return ClassRates(table, history, (), (), seed, stochastic, hidden, draws)


def expected_rates(table: CellTable, history: History, hidden: HiddenPrior) -> FloatArray:
    """Return the rate of each class in each cell that labels make likely: (cells, classes)."""
    if have_own_rates(table):
        return mean_rates(table, history)
    return likely_rates(table, history, hidden)
