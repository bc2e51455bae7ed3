"""Draws with replacement from a pool, each row with its own weight: no cell stands for it.

Rows of a cell are drawn alike, which costs efficiency where their weights differ. Here a row's
chance is in proportion to sqrt(h / cost) of the row itself, or by another law (`row_laws`). What
is kept of any part of a pool is as many rows as there are draws (`stats.arrivals`), so the parts
merge, on any engine.

Draws come in rounds. All have the same chances, since no label enters them, so those of several
rounds are one sample, and a row that an earlier round has met needs no further label.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, theorems 4.1
    and 4.2.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.row_ids import ids_of
from evalsampling.pool.source import pinned, unchanged
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.local import pool_rows
from evalsampling.preparation.plan import SUM_CELLS, assign, stratify
from evalsampling.preparation.row_laws import Design, RowLaw
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
        rows: their columns.
        time: shape (draws,): when the row arrived, infinite if there is none.
        key: shape (draws,): hash of the row's id, 0 if there is none.
        weight: shape (draws,): g of the row, 0 if there is none.
        count: rows of the part.
        total: sum of the weights of its rows (`stats.exact_sum`).
        money: sum of weights times costs likewise.
    """

    row: IntArray
    rows: pa.Table
    time: FloatArray
    key: UInt64Array
    weight: FloatArray
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
        return Drawn(
            *_only_met(place, pa.concat_tables([self.rows, other.rows])),
            np.where(later, other.time, self.time),
            np.where(later, other.key, self.key),
            np.where(later, other.weight, self.weight),
            self.count + other.count,
            self.total + other.total,
            self.money + other.money,
        )


def _only_met(row: IntArray, rows: pa.Table) -> tuple[IntArray, pa.Table]:
    """Return the place of each draw's row among those that draws have met, and these."""
    met = row >= 0
    kept, compact = np.unique(row[met], return_inverse=True)
    place = np.full(len(row), -1, dtype=np.int64)
    place[met] = compact
    return place, rows.take(pa.array(kept)).combine_chunks()


@dataclasses.dataclass(frozen=True)
class RowDraws:
    """What draws rows: their weights, and how many draws there are.

    Attributes:
        law: what a row is drawn in proportion to: sqrt(h / cost), unless the spec has another.
        scale: what that is multiplied with: 1 - delta over its mean by the cells.
        least: delta, what is added to it.
        draws: most draws.
        money: what they may be expected to cost, None if they are counted only.
        seed: of the hashes.
    """

    law: RowLaw
    scale: float
    least: float
    draws: int
    money: float | None
    seed: int

    def draw(self, cells: CellBatch) -> Drawn:
        """Return the draws of a batch."""
        # g of each row, at least 0, about 1 on average.
        weight = self.law.of_rows(cells) * self.scale + self.least
        keys = hash_ids(cells.ids, self.seed)
        row, time = first_arrivals(keys, weight, self.draws)
        cost = cells.outputs.cost
        money = weight if cost is None else weight * cost
        totals = len(weight), exact_sum(weight), exact_sum(money)
        met = row >= 0
        key, own = np.zeros(self.draws, dtype=np.uint64), np.zeros(self.draws)
        key[met], own[met] = keys[row[met]], weight[row[met]]
        return Drawn(*_only_met(row, pa.table(cells.batch.rows)), time, key, own, *totals)

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


def next_round(
    spec: EvaluationSpec, before: Sequence[pa.Table] = (), draws: int | None = None
) -> EvaluationSpec:
    """Return the spec of a further round: with what is left of the budget, and a seed of its own.

    A row that earlier rounds have drawn needs no label again, and costs nothing, unless answers
    about it may differ.

    Args:
        spec: of the evaluation.
        before: what earlier rounds drew, in order.
        draws: most draws of the round; None for the sampler's ``draws``, else for the budget.

    Raises:
        InputError: if nothing is left, or the number of draws is not at least 1.
    """
    draws = spec.sampler.parameters.get("draws") if draws is None else draws
    if draws is not None and (isinstance(draws, bool) or not isinstance(draws, int) or draws < 1):
        raise InputError(f"draws: must be a whole number of at least 1, got {draws!r}")
    asked = rows_asked(spec, before)
    left = spec.budget if spec.budget >= NO_BUDGET else spec.budget - len(asked)
    money = spec.money
    if money is not None and before:
        money -= float(np.sum(asked[spec.pool.cost].to_numpy()))
    if left < 1 or (money is not None and money <= 0):
        raise InputError("budget: it is spent by the rounds before; raise it to draw another")
    seed = spec.seed
    if before:
        seed = int(np.random.SeedSequence([seed, len(before)]).generate_state(1, np.uint64)[0])
    budget = left if draws is None else min(left, draws)
    return dataclasses.replace(spec, budget=budget, money=money, seed=seed)


def rows_asked(spec: EvaluationSpec, rounds: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of rounds that need a label: each once, or each draw of a stochastic oracle.

    Args:
        spec: of the evaluation.
        rounds: what they drew, in order.
    """
    if not rounds:
        return pa.table({})
    drawn = pa.concat_tables(rounds, promote_options="permissive")
    if spec.labels.oracle == "stochastic":
        return drawn
    ids = ids_of(drawn, spec.pool.id)
    first = np.unique(ids.to_numpy(zero_copy_only=False), return_index=True)[1]
    return drawn.take(pa.array(np.sort(first)))


def draw_rows(
    engine: Engine,
    rows: Any,
    spec: EvaluationSpec,
    before: Sequence[pa.Table] = (),
    draws: int | None = None,
) -> Any:
    """Return draws with replacement, as a value of any engine: see `RowDraws.sample`.

    Args:
        engine: to run on.
        rows: of the pool, which is gone over three times: for the strata, for the expected measure,
            and to draw.
        spec: of the evaluation.
        before: what earlier rounds drew, in order.
        draws: see `next_round`.

    Raises:
        InputError: as `next_round` and `row_laws.Design.of` say.
    """
    Design.of(spec)
    stratification = stratify(engine, rows, spec)
    cells = engine.map(rows, assign(spec, stratification))
    (sums,) = engine.run(cells, SUM_CELLS)
    asked = next_round(spec, before, draws)
    weights = engine.call(Step("WeighRows", weigh_rows, (asked, stratification)), sums)
    (drawn,) = engine.run(cells, Total("", Step("DrawRows", _draw, (weights,)), "FirstArrivals"))
    return engine.call(Step("WeighDraws", RowDraws.sample, (drawn,)), weights)


def weigh_rows(
    sums: CellSums | None, spec: EvaluationSpec, stratification: Stratification
) -> RowDraws:
    """Return the draws that a spec asks for: with its measure, its budget and its seed.

    A budget of labels is one of draws, a row that is drawn again counting again.

    Raises:
        InputError: if its sampler draws nothing row by row, a parameter is wrong, the measure
            undefined on the pool, or the money too little for a draw.
    """
    law, table = RowLaw.from_spec(spec, stratification, sums)
    delta, size = Design.of(spec).delta, law.of_cells(table)
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
    return RowDraws(law, (1 - delta) / mean, float(delta), draws, spec.money, spec.seed)


def _draw(cells: CellBatch, weights: RowDraws) -> Drawn:
    return weights.draw(cells)


def sample_with_replacement(
    spec: EvaluationSpec, before: Sequence[pa.Table] = (), draws: int | None = None
) -> pa.Table:
    """Return draws with replacement from the pool of a spec, read in this process.

    Args:
        spec: of the evaluation: its first measure, its sampler, its budget and its seed count.
        before: what earlier rounds drew, in order.
        draws: see `next_round`.

    Returns:
        One row for each draw: the pool's columns that the evaluation reads, and `WEIGHT`.

    Raises:
        InputError: for anything wrong with the pool or the spec, or if the budget is spent.
    """
    spec = pinned(spec)
    with unchanged(spec.pool):
        return draw_rows(LOCAL, pool_rows(spec), spec, before, draws)
