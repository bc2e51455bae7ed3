"""Active comparison of systems: rows are drawn where their labels tell systems apart.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, chapter 5;
    C. Sawade, N. Landwehr and T. Scheffer, *Active comparison of prediction models*, NIPS 2012.
"""

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np

from evalsampling.errors import InputError
from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Difference, MeanDifference, pairs_of
from evalsampling.measures.on_cells import (
    bounding_outputs,
    cells_adding_to,
    each_label,
    model_risk,
    predictive,
)
from evalsampling.measures.regression import MeanSquaredError
from evalsampling.measures.risks import Brier
from evalsampling.samplers.base import CellSampler
from evalsampling.spec.values import Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

VARIANTS = (
    "rescaled", "active", "active_neq", "active_0", "active_inf", "active_risk", "committee"
)  # fmt: skip
"""What rows are drawn in proportion to: see `Compare`."""

_OF_WHOLE_POOL = ("active", "active_risk")
"""Variants that draw all rows, for self-normalised weights."""

_OF_DISTANCE = {"active_0": 2, "active_inf": 1}
"""Powers of the distance between the two systems' probabilities."""


@dataclasses.dataclass(frozen=True)
class Compare(CellSampler):
    """Static importance sampling for the differences of systems, pair by pair.

    Each pair of systems has a proposal of its own; what is drawn from is the mean of them, each
    normalised over the pool first (eq. 5.16). E is the expectation under the equal mixture of the
    systems' predicted probabilities (eq. 5.11), d the influence of a row on the difference:

    - ``rescaled``: sqrt(E d^2) of rows that can add to the difference; the number of other rows is
      known, so that nothing of them need be drawn. For the zero-one loss of two classes these are
      the rows on which predictions differ, all alike.
    - ``active``: sqrt(E (d - Delta)^2) of all rows (theorem 5.1), weights self-normalised; Delta is
      the difference that the probabilities make expect (eq. 5.12).
    - ``active_neq``: rows that can add to the difference of a mean loss, all alike.
    - ``active_0``, ``active_inf``: for the squared loss, the squared distance of the systems'
      predictions, of numbers or probabilities, and the distance.
    - ``active_risk``: the mean of the proposals for each system's own value; all are estimated.
    - ``committee``: for many systems, the share of pairs that differ on a row, or the mean squared
      distance of their predictions or probabilities (eq. 5.18 and 5.19).

    For the squared error of numbers a cell gets the chance that the formula gives its rows one by
    one; for other measures of numbers, what its mean predictions and variances have.

    Attributes:
        variant: one of `VARIANTS`.
        floor: least size of a row that may be drawn, as a share of the mean, from 0 to 1. Without
            one, rows taken to be next to irrelevant get weights without bound.
    """

    variant: str = "rescaled"
    floor: Proportion = 0.1
    name = "compare"
    trusts_prior = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {self.variant!r}")
        if not self.pairs:
            raise ValueError(
                "rows are drawn for a difference: list {difference: ...} first, or a measure of "
                f"two systems or more, not {self.measure.name}"
            )
        for pair in self.pairs:
            if pair.components[0].threshold is not None:
                raise ValueError(
                    "rows are drawn for a number, such as average_precision, not for the curve "
                    f"{pair.first.name}"
                )
        needs_means = self.variant in ("active_neq", "committee")
        if needs_means and not all(isinstance(pair, MeanDifference) for pair in self.pairs):
            raise ValueError(f"variant {self.variant} is for mean losses, not {self.measure.name}")
        if self.variant in _OF_DISTANCE and not all(
            isinstance(pair.first, Brier | MeanSquaredError) for pair in self.pairs
        ):
            raise ValueError(
                f"variant {self.variant} is for the squared loss, brier or mse, not "
                f"{self.measure.name}"
            )

    @property
    def pairs(self) -> tuple[Difference, ...]:
        """The differences to estimate: those listed, or those of all pairs of systems."""
        return pairs_of(self.measure)

    def aims_at(self, measure: Measure) -> bool:
        """Tell whether rows are drawn for a measure: a system's own value only by active_risk."""
        return measure in self.pairs or self.variant == "active_risk"

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        return dataclasses.replace(inputs, self_normalised=self.variant in _OF_WHOLE_POOL)

    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return the chance of a row of each cell, worked out once for a table."""
        made_for = self.measure, self.variant, self.floor
        before, proposal = table.memory.get("compare", (None, None))
        if before != made_for:
            proposal = self._worked_out(table)
            table.memory["compare"] = made_for, proposal
        return cast(FloatArray, proposal)

    def _worked_out(self, table: CellTable) -> FloatArray:
        sizes = [self._size(pair, table) for pair in self.pairs]
        if self.variant == "committee":
            sizes = [np.mean(sizes, axis=0)]
        if not np.any(sizes):
            raise InputError(
                "sampler compare: the systems differ on no row of the pool, so there is nothing "
                "to compare"
            )
        return mean_proposal(sizes, table.count)

    def _size(self, pair: Difference, table: CellTable) -> FloatArray:
        """Return the size of the rows of each cell for one pair, shape (cells,)."""
        everywhere = np.ones(len(table), dtype=bool)
        if self.variant == "active_risk":
            own = [  # the optimal sizes for each value under its own probabilities (eq. 4.6)
                _spread(part, table, predictive(table, [part.system])[:, 0], centred=True)
                for part in pair.parts
            ]
            if not np.any(own):  # labels that are certain move neither value
                return np.ones(len(table))
            return self._floored(mean_proposal(own, table.count), everywhere, table)
        adding = cells_adding_to(pair, table)
        if self.variant in _OF_DISTANCE or self.variant == "committee":
            size = _distance(pair, table, _OF_DISTANCE.get(self.variant, 2))
            return self._floored(size, adding, table)
        if self.variant == "active_neq":
            return adding.astype(np.float64)
        systems = sorted({system for each in self.pairs for system in each.systems})
        probability = np.asarray(predictive(table, systems).mean(axis=1))  # eq. 5.11
        centred = self.variant != "rescaled"
        size = _apart(pair, table, probability, centred)
        return self._floored(size, everywhere if centred else adding, table)

    def _floored(self, size: FloatArray, drawn: BoolArray, table: CellTable) -> FloatArray:
        """Return sizes of at least the floor, and 0 for cells that are not drawn from."""
        rows = table.count * drawn
        least = self.floor * float(size @ rows) / max(int(rows.sum()), 1)
        return np.where(drawn, np.maximum(size, least), 0.0)


def mean_proposal(sizes: Sequence[FloatArray], count: IntArray) -> FloatArray:
    """Return the mean of proposals, each normalised over the pool first (eq. 5.16).

    Sizes, (cells,) each, that are 0 everywhere take no part.
    """
    proposals = [size / (count @ size) for size in sizes if np.any(size)]
    return np.asarray(np.mean(proposals, axis=0))


def _apart(
    pair: Difference, table: CellTable, probability: FloatArray, centred: bool
) -> FloatArray:
    """Return `_spread`, of squared errors the mean over the rows of each cell where it is known.

    For (d - Delta)^2 it is E d^2 - 2 Delta E d + Delta^2, which of two systems is E d^2 (eq. 5.14).
    """
    place = _place_of(pair, table)
    if place is None:
        return _spread(pair, table, probability, centred)
    assert table.disagreement is not None
    assert isinstance(pair.first, MeanSquaredError)
    assert pair.first.numbers is not None
    width = pair.first.numbers.high - pair.first.numbers.low
    root = table.disagreement.root[:, place] * width**2
    if not centred:
        return root
    each = [pair.loss(table.kinds, y)[:, 0] for y in each_label(table)]
    expected = table.kinds.by_cell(np.einsum("yk,ky->k", np.array(each), probability))
    delta = float(table.count @ expected) / table.rows
    return np.sqrt(np.maximum(root**2 - 2 * delta * expected + delta**2, 0.0))


def _place_of(pair: Difference, table: CellTable) -> int | None:
    """Return where cells know how far two systems are apart, None if they do not know it."""
    if table.disagreement is None or not isinstance(pair.first, MeanSquaredError):
        return None
    return table.disagreement.place(*pair.systems)


def _spread(
    measure: Measure, table: CellTable, probability: FloatArray, centred: bool
) -> FloatArray:
    """Return sqrt(E |d|^2) of the rows of each cell, d the influence, less its mean if centred.

    ``probability``, shape (kinds, classes), is what labels are expected.
    """
    rows = table.count[table.kinds.cell] * table.kinds.share
    mass = table.kinds.by_cell(probability) * table.count[:, None]
    risk = model_risk(measure, table, mass) / table.rows
    views = bounding_outputs(measure, table)
    influence = np.nan_to_num(
        [[measure.influence(view, y, risk) for y in each_label(table)] for view in views]
    )  # views, classes, kinds, components
    expected = probability.T / len(views)
    if centred:
        influence -= np.einsum("vykm,yk->m", influence, expected * rows) / table.rows
    return np.sqrt(table.kinds.by_cell(np.einsum("vykm,yk->k", influence**2, expected)))


def _distance(pair: Difference, table: CellTable, power: int) -> FloatArray:
    """Return a power, 1 or 2, of how far two systems are apart on the rows of each cell: (cells,).

    By predicted numbers, or probabilities; for other losses it is 1 where predictions differ.
    """
    place = _place_of(pair, table)
    if place is not None:
        assert table.disagreement is not None
        apart = table.disagreement.square if power == 2 else table.disagreement.distance
        return apart[:, place]
    if isinstance(pair.first, MeanSquaredError):  # in steps of the range
        number, another = (table.kinds.prediction[:, system] for system in pair.systems)
        return np.abs(table.kinds.by_cell((number - another).astype(np.float64))) ** power
    if not isinstance(pair.first, Brier):
        return table.kinds.by_cell((~pair.agrees(table.kinds)).astype(np.float64)) ** power
    first, other = (table.kinds.probability[:, system] for system in pair.systems)
    return table.kinds.by_cell(np.sqrt(np.sum((first - other) ** 2, axis=1))) ** power
