"""The check that all ids of a pool differ."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.ids import (
    check_repeated,
    repeated_hashes,
    spill,
    spilled,
    split_hashes,
)
from evalsampling.spec import EvaluationSpec


class CheckIds(beam.PTransform):
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
        super().__init__()
        self._spec = spec
        self._items = items
        self._folder = folder

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[int]:
        """Wire the transform."""
        return (
            cells
            | "SplitByHash" >> beam.FlatMap(_split, self._spec.seed, self._folder)
            | "GroupShares" >> beam.GroupByKey()  # (share, hashes or their places)
            | "CheckShares" >> beam.Map(_check, self._items, self._spec, self._folder)
        )


def _split(cells: CellBatch, seed: int, folder: Path | None) -> Iterator[tuple[int, bytes]]:
    shares = split_hashes(cells, seed)
    return shares if folder is None else spill(shares, folder)


def _check(
    share: tuple[int, Iterable[bytes]],
    items: list[WorkItem],
    spec: EvaluationSpec,
    folder: Path | None,
) -> int:
    number, gathered = share
    hashes = repeated_hashes(gathered if folder is None else spilled(number, gathered, folder))
    check_repeated(hashes, items, spec)
    return len(hashes)
