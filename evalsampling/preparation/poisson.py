"""A Poisson sample of a pool as a filter over its rows, each with its own probability.

A row is kept if u < b: u is its permanent random number, b = min(1, kappa h) its inclusion
probability, with kappa from the cell table and h from what is known of the row itself, or, as in a
workspace, of its cell. Nothing is remembered between rows, so the sample is the same however the
pool is divided, on any engine.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithm 2; K. R. W. Brewer, L. J. Early and S. F. Joyce, *Selecting several samples from a
    single population*, Australian Journal of Statistics 14, 1972 (permanent random numbers).
"""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.measures.build import build_driver
from evalsampling.measures.deviation import Deviation
from evalsampling.pool.columns import hash_ids
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.plan import SUM_CELLS, assign, stratify
from evalsampling.preparation.stages import Engine, Step
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import AnalysisPlan
from evalsampling.spec.parameters import check_share
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.inclusion import mix_evenly, rows_within, water_fill
from evalsampling.stats.permanent import permanent_numbers

INCLUSION = "inclusion_probability"
"""Column that a sample has beside those of the pool."""


@dataclasses.dataclass(frozen=True)
class PoissonFilter:
    """The inclusion probability of each row, and whether the row is in the sample."""

    deviation: Deviation  # of a row: h is its deviation over the root of its cost
    factor: float  # kappa (1 - delta) / sum h: the factor of h
    least: float  # kappa delta / M: the part that is equal for all rows
    seed: int  # of the permanent random numbers
    code: IntArray  # shape (cells,), ascending: codes of the cells
    chance: FloatArray  # shape (cells,): inclusion probability of the rows of each cell
    by_cell: bool = False  # whether the chance of its cell decides on a row, as in a workspace

    @classmethod
    def from_cells(
        cls,
        deviation: Deviation,
        table: CellTable,
        expected: float,
        delta: float = 0.1,
        seed: int = 0,
        by_cell: bool = False,
    ) -> "PoissonFilter":
        """Return the filter that keeps the expected number of rows, by the cells' own sizes.

        The expected number of rows, above 0, differs from the one wanted by what h varies within
        cells, unless cells decide; ``delta`` is the share of the pool's own distribution.
        """
        h = sizes_of_cells(deviation, table)
        size = mix_evenly(h, table.count, delta)
        total = float(h @ table.count)
        if total == 0:  # All rows are alike: then the even share is all there is.
            delta = 1.0
        chance = water_fill(size, table.count, expected)
        drawn = size > 0
        kappa = float(np.max(chance[drawn] / size[drawn]))
        if expected >= table.count[drawn].sum():  # All are certain, whatever their own h.
            kappa = np.inf
        return cls(
            deviation=deviation,
            factor=kappa * (1 - delta) / total if delta < 1 else 0.0,
            least=kappa * delta / table.rows if delta else 0.0,
            seed=seed,
            code=table.code,
            chance=chance,
            by_cell=by_cell,
        )

    def sizes(self, cells: CellBatch) -> FloatArray:
        """Return h of each row, shape (n,), at least 0."""
        return per_root_cost(self.deviation.of_rows(cells.outputs, cells.prior), cells.outputs.cost)

    def inclusion(self, cells: CellBatch) -> FloatArray:
        """Return the inclusion probability of each row, shape (n,), in [0, 1]."""
        if self.by_cell:
            return self.chance[np.searchsorted(self.code, cells.cell)]
        h = self.sizes(cells)
        # A kappa beyond all numbers makes every row certain that has a chance at all.
        size = np.multiply(self.factor, h, out=np.zeros(len(h)), where=h > 0)
        return np.minimum(size + self.least, 1.0)


def sizes_of_cells(deviation: Deviation, table: CellTable) -> FloatArray:
    """Return h of the rows of each cell, shape (cells,): their deviation over the root of cost."""
    return per_root_cost(deviation.of_cells(table, table.prior), table.cost)


def fill_water(
    sums: CellSums | None, plan: AnalysisPlan, cut: Stratification, by_cell: bool = False
) -> PoissonFilter:
    """Return the filter of the rows of a budget, for the first measure, as ``poisson`` has it."""
    given = plan.sampler.parameters if plan.sampler.name == "poisson" else {}
    shares = {"delta": 0.1, "smoothing": 1.0}
    shares |= {key: given[key] for key in shares if key in given}
    for key, value in shares.items():
        check_share(f"sampler: poisson: {key}", value)
    for key in ("cap", "online"):
        if given.get(key):
            raise InputError(
                f"sampler.{key}: a filter knows nothing of the other rows; leave it out, or "
                "draw rounds in a workspace"
            )
    table, delta, budget = cut.table(sums), shares["delta"], plan.budget
    measure = build_driver(cut.scores.stated(plan.reading))
    deviation = Deviation.from_cells(measure, table, table.prior, shares["smoothing"])
    expected = float(budget.labels)
    if budget.money is not None:
        assert table.cost is not None
        size = mix_evenly(sizes_of_cells(deviation, table), table.count, delta)
        expected = min(expected, rows_within(budget.money, size, table.count, table.cost))
    return PoissonFilter.from_cells(deviation, table, expected, delta, plan.reading.seed, by_cell)


def keep(cells: CellBatch, chosen: PoissonFilter) -> pa.Table:
    """Return the rows of a batch that are in a sample: columns that were read, and `INCLUSION`."""
    chance = chosen.inclusion(cells)
    kept = np.flatnonzero(permanent_numbers(hash_ids(cells.ids, chosen.seed)) < chance)
    rows = pa.table(cells.batch.rows).take(pa.array(kept))
    return rows.append_column(INCLUSION, pa.array(chance[kept]))


def keep_rows(engine: Engine, rows: Any, plan: AnalysisPlan, by_cell: bool) -> Any:
    """Return the rows of a Poisson sample, on any engine, after three passes over the pool."""
    stratification = stratify(engine, rows, plan.reading)
    cells = engine.map(rows, assign(stratification))
    (sums,) = engine.run(cells, SUM_CELLS)
    chosen = engine.call(Step("FillWater", fill_water, (plan, stratification, by_cell)), sums)
    return engine.map(cells, Step("KeepRows", keep, (chosen,), pa.Table))
