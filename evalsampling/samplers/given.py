"""Sampling from a proposal that the user gives."""

import dataclasses
from collections.abc import Callable

import numpy as np

from evalsampling.errors import InputError
from evalsampling.samplers.base import ReplacementSampler, no_rounds
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History

Weights = Callable[[CellTable, History], FloatArray]


@dataclasses.dataclass(frozen=True)
class Given(ReplacementSampler):
    """Draws rows with replacement, in proportion to weights of cells that the user gives.

    Attributes:
        weights: called with the cell table and the history; returns the weight of *one row* of
            each cell, shape (cells,), at least 0 and not all 0. Estimates are unbiased for the
            rows whose weight is positive.
    """

    weights: Weights | None = None
    name = "given"
    takes_tags = True
    heeds_costs = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not callable(self.weights):
            got = "none" if self.weights is None else repr(self.weights)
            raise ValueError(f"weights must be a function of the cell table, got {got}")

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal in proportion to the user's weights."""
        weight = self._checked(table, history)
        if not self.delta and np.any((weight == 0) & self.support(table)):
            raise InputError(
                "sampler given: a cell whose weight was above 0 at first must not have 0 later"
            )
        return Proposal(weight / np.sum(table.count * weight))

    def _checked(self, table: CellTable, history: History) -> FloatArray:
        """Return the user's weights, shape (cells,), after checks of their shape and values."""
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
        return weight

    def unmixed_support(self, table: CellTable) -> BoolArray:
        """Return which cells have a positive weight before any label, shape (cells,)."""
        return self._checked(table, no_rounds(table)) > 0
