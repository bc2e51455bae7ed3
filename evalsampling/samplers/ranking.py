"""Active evaluation and comparison of rankings: queries are drawn by their expected gains.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, chapter 6;
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer and N. Landwehr, *Active evaluation of ranking
    functions based on graded relevance*, ECML 2012.
"""

import dataclasses
from typing import Literal

import numpy as np

from evalsampling.errors import InputError
from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.comparisons import Difference
from evalsampling.measures.gains import Gain, GainMoments
from evalsampling.measures.joint import parts_of
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.spec.values import Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class Ranking(ReplacementSampler):
    """Static importance sampling of queries, for a gain of rankings or a difference of two.

    L is the gain of a query, or the difference of two systems' gains. c is its relative cost, E the
    expectation over the grades of its items, and R the mean of E L over all queries. The variants:

    - ``active``: q in proportion to sqrt(E (L - R)^2 / c) (eq. 6.7 and 6.8), weights
      self-normalised.
    - ``rescaled``: for differences, q in proportion to sqrt(E L^2 / c) over the queries that the
      systems rank differently. The others are not drawn, since their difference is 0 and their
      number is known. For gains it is the same as ``active``.
    - ``uniform_cost``: ``rescaled`` with c = 1: active_uniC of the thesis.

    For several measures in one, the squares are added up.

    Attributes:
        gains: gains whose moments are stored with the cells.
        variant: which of these.
        floor: least size of a query that may be drawn, as a share of the mean, from 0 to 1.
    """

    gains: tuple[Gain, ...] = ()
    variant: Literal["rescaled", "active", "uniform_cost"] = "rescaled"
    floor: Proportion = 0.1
    name = "ranking"
    takes = frozenset({"queries"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(
            isinstance(getattr(part, "first", part), Gain) for part in parts_of(self.measure)
        ):
            raise ValueError(f"it is made for gains of rankings, not for {self.measure.name}")

    @property
    def heeds_costs(self) -> bool:  # type: ignore[override]  # of a class it is the same for all
        """Whether the chances of queries depend on their costs."""
        return self.variant != "uniform_cost"

    @property
    def rescales(self) -> bool:
        """Whether queries that all systems rank alike are not drawn: if all measures compare."""
        compares = all(isinstance(part, Difference) for part in parts_of(self.measure))
        return compares and self.variant != "active"

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        size = self._size(table)
        return Proposal(size / (table.count @ size))

    def unmixed_support(self, table: CellTable) -> BoolArray:
        if not self.rescales:
            return np.ones(len(table), dtype=bool)
        adding = [cells_adding_to(part, table) for part in parts_of(self.measure)]
        return np.asarray(np.any(adding, axis=0))

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        return dataclasses.replace(inputs, self_normalised=not self.rescales)

    def _size(self, table: CellTable) -> FloatArray:
        """Return the size that a query of each cell is drawn in proportion to, shape (cells,)."""
        drawn = self.unmixed_support(table)
        if not drawn.any():
            raise InputError(
                "sampler ranking: the systems rank all queries alike, so there is nothing to "
                "compare"
            )
        moments = GainMoments.of_cells(self.gains, table)
        square = np.zeros(len(table))  # E L^2 of the queries of each cell, or E (L - R)^2
        for part in parts_of(self.measure):
            gain, of_part = moments.of(part)
            risk = 0.0 if self.rescales else float(gain @ table.count) / table.rows
            square += np.maximum(of_part - 2 * risk * gain + risk**2, 0.0)
        size = np.sqrt(square)
        rows = table.count * drawn
        mean = float(size @ rows) / int(rows.sum())
        if not mean:  # Every gain is taken to be certain and the same: all queries are alike.
            return drawn.astype(np.float64)
        return np.where(drawn, np.maximum(size, self.floor * mean), 0.0)
