"""Draws with replacement from a pool, each row with its own weight: no cell stands for it.

Rows of a cell are drawn alike, which costs efficiency where their weights differ. Here a row's
chance is in proportion to sqrt(h / cost) of the row itself. What is kept of any part of a pool is
as many rows as there are draws (`stats.arrivals`), so the parts merge, on any engine.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, theorems 4.1
    and 4.2.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.measures.deviation import Deviation
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.files import unchanged
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.local import pool_rows
from evalsampling.preparation.plan import SUM_CELLS, assign, stratify
from evalsampling.preparation.row_sizes import RowSizes, sizes_of_rows
from evalsampling.preparation.stages import Engine, Step, Total
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.threads import LOCAL
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.budget import NO_BUDGET
from evalsampling.stats.arrays import FloatArray, IntArray, UInt64Array
from evalsampling.stats.arrivals import first_arrivals
from evalsampling.stats.cells import CellSums
from evalsampling.stats.costs import draws_within
from evalsampling.stats.exact_sum import exact_sum, rounded

WEIGHT = "importance_weight"
"""Column that a sample has beside those of the pool: w = p / q, 1 on average over the draws."""

SPARE = 1.1
"""Draws made for each that cells tell the money buys: which it does is known at the end."""


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The draws of a part of a pool: a mergeable state.

    Attributes:
        row: shape (draws,): place in `rows`, -1 of a draw that has met none.
        time: shape (draws,): when the row arrived, infinite if there is none.
        key: shape (draws,): hash of the row's id, 0 if there is none.
        weight: shape (draws,): g of the row, 0 if there is none.
        rows: their columns.
        count: rows of the part.
        total: sum of the weights of its rows (`stats.exact_sum`).
        money: sum of weights times costs likewise.
    """

    row: IntArray
    time: FloatArray
    key: UInt64Array
    weight: FloatArray
    rows: pa.Table
    count: int
    total: int
    money: int

    def __add__(self, other: "Drawn") -> "Drawn":
        """Return the draws of both parts together: of each the row that arrives first."""
        if len(self.row) != len(other.row):
            raise ValueError(f"{len(self.row)} and {len(other.row)} draws do not add up")
        later = other.time < self.time
        later |= (other.time == self.time) & (other.key < self.key)
        # Places in the rows of both; a draw that has no row in either keeps none.
        place = np.where(later, other.row + len(self.rows), self.row)
        met = place >= 0
        kept, compact = np.unique(place[met], return_inverse=True)
        row = np.full(len(place), -1, dtype=np.int64)
        row[met] = compact
        rows = pa.concat_tables([self.rows, other.rows]).take(pa.array(kept)).combine_chunks()
        return Drawn(
            row,
            np.where(later, other.time, self.time),
            np.where(later, other.key, self.key),
            np.where(later, other.weight, self.weight),
            rows,
            self.count + other.count,
            self.total + other.total,
            self.money + other.money,
        )


@dataclasses.dataclass(frozen=True)
class RowDraws:
    """What draws rows: their weights, and how many draws there are.

    Attributes:
        deviation: h of a row, its root.
        scale: what sqrt(h / cost) is multiplied with: 1 - delta over its mean by the cells.
        least: delta, what is added to it.
        draws: most draws.
        money: what they may be expected to cost, None if they are counted only.
        seed: of the hashes.
    """

    deviation: Deviation
    scale: float
    least: float
    draws: int
    money: float | None
    seed: int

    @classmethod
    def from_spec(
        cls, spec: EvaluationSpec, stratification: Stratification, sums: CellSums | None
    ) -> "RowDraws":
        """Return the draws that a spec asks for: with its measure, its budget and its seed.

        ``delta`` and ``smoothing`` are those of the spec's sampler, if it has them. A budget of
        labels is one of draws, a row that is drawn again counting again.

        Args:
            spec: of the evaluation.
            stratification: of its pool.
            sums: over the cells of the pool.

        Raises:
            InputError: if a parameter is wrong, the measure undefined on the pool, or the money
                too little for a draw.
        """
        rows = RowSizes.from_spec(spec, stratification, sums, spec.sampler.parameters)
        table, delta, size = rows.table, rows.delta, rows.of_cells()
        mean = float(size @ table.count) / table.rows
        if mean == 0:  # All rows are alike: then the even share is all there is.
            delta, mean = 1.0, 1.0
        draws = spec.budget
        if spec.money is not None:
            assert table.cost is not None
            weight = size * (1 - delta) / mean + delta
            chance = weight / float(weight @ table.count)
            bought = draws_within(spec.money, chance, table.count, table.cost)
            draws = min(draws, NO_BUDGET, math.ceil(SPARE * bought) + 10)
        return cls(rows.deviation, (1 - delta) / mean, float(delta), draws, spec.money, spec.seed)

    def weigh(self, cells: CellBatch) -> FloatArray:
        """Return g of each row, shape (n,), at least 0, about 1 on average."""
        return sizes_of_rows(self.deviation, cells) * self.scale + self.least

    def draw(self, cells: CellBatch) -> Drawn:
        """Return the draws of a batch."""
        weight, keys = self.weigh(cells), hash_ids(cells.ids, self.seed)
        row, time = first_arrivals(keys, weight, self.draws)
        cost = cells.outputs.cost
        money = weight if cost is None else weight * cost
        totals = len(weight), exact_sum(weight), exact_sum(money)
        met = row >= 0
        kept, compact = np.unique(row[met], return_inverse=True)
        place = np.full(self.draws, -1, dtype=np.int64)
        place[met] = compact
        rows = pa.table(cells.batch.rows).take(pa.array(kept)).combine_chunks()
        none = np.zeros(self.draws)
        key, own = none.astype(np.uint64), none.copy()
        key[met], own[met] = keys[row[met]], weight[row[met]]
        return Drawn(place, time, key, own, rows, *totals)

    def sample(self, drawn: Drawn) -> pa.Table:
        """Return the draws of a pool, one row each, as often as it was drawn.

        Args:
            drawn: of the whole pool.

        Returns:
            The columns of the pool that were read, and `WEIGHT`.

        Raises:
            InputError: if no row has a weight, or the money does not buy a draw.
        """
        total = rounded(drawn.total)
        if total <= 0:
            raise InputError("no row of the pool is expected to move the measure")
        draws = self.draws
        if self.money is not None:
            draws = min(draws, math.floor(self.money * total / rounded(drawn.money)))
        if draws < 1:
            raise InputError(
                f"budget.cost: {self.money:g} is less than a draw is expected to cost, "
                f"{rounded(drawn.money) / total:.3g}"
            )
        weight = total / (drawn.count * drawn.weight[:draws])
        rows = drawn.rows.take(pa.array(drawn.row[:draws]))
        return rows.append_column(WEIGHT, pa.array(weight))


def draw_rows(engine: Engine, rows: Any, spec: EvaluationSpec) -> Any:
    """Return draws with replacement, as a value of any engine: see `RowDraws.sample`.

    Args:
        engine: to run on.
        rows: of the pool, which is gone over three times: for the strata, for the expected measure,
            and to draw.
        spec: of the evaluation.
    """
    stratification = stratify(engine, rows, spec)
    cells = engine.map(rows, assign(spec, stratification))
    (sums,) = engine.run(cells, SUM_CELLS)
    weights = engine.call(Step("WeighRows", _weights, (spec, stratification)), sums)
    (drawn,) = engine.run(cells, Total("", Step("DrawRows", _draw, (weights,)), "FirstArrivals"))
    return engine.call(Step("WeighDraws", RowDraws.sample, (drawn,)), weights)


def _weights(
    sums: CellSums | None, spec: EvaluationSpec, stratification: Stratification
) -> RowDraws:
    return RowDraws.from_spec(spec, stratification, sums)


def _draw(cells: CellBatch, weights: RowDraws) -> Drawn:
    return weights.draw(cells)


def sample_with_replacement(spec: EvaluationSpec) -> pa.Table:
    """Return draws with replacement from the pool of a spec, read in this process.

    Returns:
        One row for each draw: the pool's columns that the evaluation reads, and `WEIGHT`.

    Raises:
        InputError: for anything wrong with the pool or the spec.
    """
    with unchanged(spec.pool.path):
        return draw_rows(LOCAL, pool_rows(spec), spec)
