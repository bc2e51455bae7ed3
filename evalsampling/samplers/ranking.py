"""Active evaluation and comparison of rankings: queries are drawn by what their gain may be.

References:
    C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, chapter 6;
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer and N. Landwehr, *Active evaluation of ranking
    functions based on graded relevance*, ECML 2012.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray
from evalsampling.errors import InputError
from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Difference
from evalsampling.measures.gains import Gain, GainMoments
from evalsampling.measures.joint import parts_of
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.samplers.base import ReplacementSampler, no_atoms
from evalsampling.spec.parameters import check_share
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History

VARIANTS = ("rescaled", "active", "uniform_cost")
"""What queries are drawn in proportion to: see `Ranking`."""


@dataclasses.dataclass(frozen=True)
class Ranking(ReplacementSampler):
    """Static importance sampling of queries, for a gain of rankings or a difference of two.

    L is the gain of a query, or the difference of two systems' gains; c its relative cost; E the
    expectation over the grades of its items, R the mean of E L over all queries:

    - ``active``: q in proportion to sqrt(E (L - R)^2 / c) (eq. 6.7 and 6.8), weights
      self-normalised.
    - ``rescaled``: of differences sqrt(E L^2 / c) of queries that the systems rank differently; the
      number of others is known, so that nothing of them need be drawn. Of gains it is ``active``.
    - ``uniform_cost``: ``rescaled`` with c = 1: active_uniC of the thesis.

    Of several measures in one, the squares are added up.

    Attributes:
        gains: those whose moments the cells have.
        variant: one of `VARIANTS`.
        floor: least size of a query that may be drawn, as a share of the mean, from 0 to 1.
    """

    gains: tuple[Gain, ...] = ()
    variant: str = "rescaled"
    floor: float = 0.1
    name = "ranking"
    takes_stochastic_oracle = False

    def __post_init__(self) -> None:
        """Check the parameters against the measure."""
        super().__post_init__()
        if self.variant not in VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {self.variant!r}")
        check_share("floor", self.floor)
        if not all(isinstance(getattr(one, "first", one), Gain) for one in parts_of(self.measure)):
            raise ValueError(f"it is made for gains of rankings, not for {self.measure.name}")

    @property
    def heeds_costs(self) -> bool:  # type: ignore[override]  # of a class it is the same for all
        """Whether queries are drawn by what they cost."""
        return self.variant != "uniform_cost"

    @property
    def rescales(self) -> bool:
        """Whether queries that all lists agree on are left out: if only differences are asked."""
        differences = all(isinstance(one, Difference) for one in parts_of(self.measure))
        return differences and self.variant != "active"

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal, the same for every round.

        Raises:
            InputError: if the systems rank all queries alike.
        """
        size = self._size(table)
        return Proposal(size / (table.count @ size), no_atoms(), np.zeros(0))

    def unmixed_support(self, table: CellTable) -> npt.NDArray[np.bool_]:
        """Return which cells have queries that can be drawn, shape (cells,)."""
        return self._drawn(table)

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        """Return what estimates are made from; weights are self-normalised as published."""
        return dataclasses.replace(inputs, self_normalised=not self.rescales)

    def _drawn(self, table: CellTable) -> npt.NDArray[np.bool_]:
        """Return which cells may be drawn before any mixing, shape (cells,)."""
        if not self.rescales:
            return np.ones(len(table), dtype=bool)
        adding = [cells_adding_to(one, table) for one in parts_of(self.measure)]
        return np.asarray(np.any(adding, axis=0))

    def _size(self, table: CellTable) -> FloatArray:
        """Return the measure of size of the queries of each cell, shape (cells,)."""
        drawn = self._drawn(table)
        if not drawn.any():
            raise InputError(
                "sampler ranking: the systems rank all queries alike, so there is nothing to "
                "compare"
            )
        moments = GainMoments.of_cells(self.gains, table)
        square = sum(
            mean_square(one, moments, table, centred=not self.rescales)
            for one in parts_of(self.measure)
        )
        size = np.sqrt(square)
        rows = table.count * drawn
        mean = float(size @ rows) / int(rows.sum())
        if not mean:  # Every gain is taken to be certain and the same: all queries are alike.
            return drawn.astype(np.float64)
        return np.where(drawn, np.maximum(size, self.floor * mean), 0.0)


def mean_square(
    measure: Measure, moments: GainMoments, table: CellTable, centred: bool
) -> FloatArray:
    """Return E L^2 of the queries of each cell, or E (L - R)^2 if centred, shape (cells,).

    Args:
        measure: a gain, or a difference of two.
        moments: of the cells.
        table: the cells.
        centred: whether L is taken from R, its mean over the pool.
    """
    mean, square = moments.of(measure)
    risk = float(mean @ table.count) / table.rows if centred else 0.0
    return np.asarray(np.maximum(square - 2 * risk * mean + risk**2, 0.0))
