"""Transforms that draw the reserve of a pool, and check its rows."""

from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.errors import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation import plan
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.stages import AddUp, MergeByKey


class DrawReserve(MergeByKey):
    """PCollection[CellBatch] to PCollection[tuple[int, Reserve]]: parts of the reserve by number.

    Each bundle keeps the first rows of each cell it sees, then reads their payload; the parts of
    all bundles are summed.
    """

    def __init__(
        self, spec: EvaluationSpec, capacity: int | None = None, held: HeldRows | None = None
    ) -> None:
        """Choose the rows to keep: see `preparation.plan.draw_reserve`."""
        super().__init__(plan.draw_reserve(spec, capacity, held))


class CheckIds(MergeByKey):
    """PCollection[CellBatch] to PCollection[int]: the number of repeated hashes in each share.

    Gathers eight bytes of every row, so it runs only on request. Fails with an `InputError` if two
    ids are equal. Ids are read again only if hashes repeat.
    """

    def __init__(
        self, spec: EvaluationSpec, items: pvalue.AsList, folder: Path | None = None
    ) -> None:
        """Choose the column.

        Args:
            spec: names the column of ids.
            items: side input of all work items that the rows were read from.
            folder: for the hashes, if all workers are on one machine; None to shuffle the hashes,
                which an engine without a disk does in memory.
        """
        super().__init__(plan.check_ids(spec, items, folder))


class CheckHeld(AddUp):
    """PCollection[CellBatch] to True, one element, if the pool is that of an earlier reserve.

    Fails with an `InputError` if a file of the pool has changed, or if a cell has another number of
    rows or other first rows than before. Steps that write should take it as a side input.
    """

    def __init__(self, spec: EvaluationSpec, held: HeldRows, pool: Catalog) -> None:
        """Choose the rows of the earlier reserve, and the catalog of the pool that was read."""
        super().__init__(plan.recount(spec, held))
        self._compared = held, pool, spec.pool.path

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[bool]:
        """Wire the transform."""
        return super().expand(cells) | "CompareCounts" >> beam.Map(_compare, *self._compared)


def _compare(counts: Any, held: HeldRows, pool: Catalog, path: str) -> bool:
    try:
        held.check_recount(counts, path)
    except InputError:
        pool.check_unchanged(path)  # Its error names the file.
        raise
    return True
