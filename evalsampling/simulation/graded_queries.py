"""Pools of queries with all true grades, for simulations."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels.items import graded_outputs, item_ids
from evalsampling.measures.build import build_gains
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.lists import list_column, list_names
from evalsampling.pool.stored_columns import ID
from evalsampling.preparation.plan import SUM_CELLS, read_cells
from evalsampling.preparation.stages import RunningTotal
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import ReadingPlan
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.outputs import Outputs
from evalsampling.storage.filesystems import unreadable

GRADE = "grade"
"""Column of a file of true grades: a list for each query, of one grade for every item."""


def read_batch(path: Path, read: Callable[[Path], pa.Table]) -> PoolBatch:
    """Return the rows of a file of the truth, which has some."""
    try:
        table = read(path).combine_chunks()
    except (OSError, pa.ArrowException) as error:
        raise unreadable(str(path), error) from error
    if not len(table):
        raise InputError(f"{path}: no labels")
    return PoolBatch(table.to_batches()[0], str(path))


@dataclasses.dataclass(frozen=True)
class KnownGrades:
    """True grades of the items of queries, by the items' names.

    Attributes:
        path: the file they were read from.
        items: names of the items, see `labels.items.item_ids`.
        grade: shape (items,): code of each item's grade.
    """

    path: Path
    items: pa.Array
    grade: IntArray

    @classmethod
    def read(cls, path: Path, plan: ReadingPlan) -> "KnownGrades":
        """Return the grades in a Parquet file: the spec's id column, its items, and ``grade``."""
        assert plan.pool.lists is not None
        assert isinstance(plan.pool.id, str), "queries have one column of ids"
        names = [plan.pool.id, plan.pool.lists.items, GRADE]
        batch = read_batch(path, pq.read_table)
        id, items, grade = batch.column(names[0]), *(list_column(batch, name) for name in names[1:])
        lengths = [pc.list_value_length(column).to_numpy() for column in (items, grade)]
        wrong = np.flatnonzero(lengths[0] != lengths[1])
        if len(wrong):
            row = int(wrong[0])
            reason = f"{lengths[1][row]} grades for {lengths[0][row]} items"
            raise batch.error(GRADE, row, reason)
        stored = pa.table({ID: id, list_names(0)[0]: items})
        values = pc.list_flatten(grade)
        codes = pc.index_in(values.cast(pa.string()), value_set=pa.array(list(plan.labels.codes)))
        if codes.null_count:
            at = pc.index(codes.is_null(), True).as_py()
            row = int(np.searchsorted(np.cumsum(lengths[0]), at, side="right"))
            raise batch.error(GRADE, row, f"{values[at].as_py()!r} is no grade")
        return cls(path, pa.array(item_ids(stored), pa.string()), codes.to_numpy().astype(np.int64))

    def of(self, rows: pa.Table) -> IntArray:
        """Return the grades of the items of stored queries, in the order of `item_ids`."""
        items = pa.array(item_ids(rows), pa.string())
        place = pc.index_in(items, value_set=self.items)
        if place.null_count:
            missing = items[pc.index(place.is_null(), True).as_py()].as_py()
            raise InputError(f"{self.path}: item {missing!r} has no grade")
        return self.grade[place.to_numpy()]


def read_graded(stratification: Stratification, truth: Path) -> tuple[CellTable, IntArray, Outputs]:
    """Return the cells of a pool of queries, the cell of each query, and all grades by rank.

    All queries are held in memory: with known grades there are not too many.
    """
    plan = stratification.plan
    grades = KnownGrades.read(truth, plan)
    depth = max(gain.cut for gain in build_gains(plan))
    systems = len(plan.pool.systems)
    sums = RunningTotal(SUM_CELLS)
    codes, parts = [], []
    for cells in read_cells(stratification):
        sums.add(cells)
        stored = pa.table({ID: cells.ids, **cells.stored(np.arange(len(cells)))})
        moments = cells.outputs.probability.shape[1]
        codes.append(cells.cell)
        parts.append(graded_outputs(stored, grades.of(stored), systems, moments, depth))
    table = stratification.table(sums.total)
    cell = np.searchsorted(table.code, np.concatenate(codes))
    order = np.argsort(cell, kind="stable")
    return table, cell[order], Outputs.concatenate(parts).take(order)
