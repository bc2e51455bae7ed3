"""The check that all ids of a pool differ."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.ids import check_repeated, repeated_hashes, split_hashes
from evalsampling.spec import EvaluationSpec


class CheckIds(beam.PTransform):
    """PCollection[CellBatch] to PCollection[int]: hashes that came twice, by shares of them.

    Shuffles eight bytes of every row, so it is for those who ask for it. Fails with an `InputError`
    if two ids are alike. Where hashes come twice the ids are read again, else nothing is.
    """

    def __init__(self, spec: EvaluationSpec, items: pvalue.AsList) -> None:
        """Choose the column; ``items`` is a side input of all that the rows were read from."""
        super().__init__()
        self._spec = spec
        self._items = items

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[int]:
        """Wire the transform."""
        return (
            cells
            | "SplitByHash" >> beam.FlatMap(_split, self._spec.seed)  # (share, hashes)
            | "GroupShares" >> beam.GroupByKey()
            | "CheckShares" >> beam.Map(_check, self._items, self._spec)
        )


def _split(cells: CellBatch, seed: int) -> Iterator[tuple[int, bytes]]:
    return split_hashes(cells, seed)


def _check(share: tuple[int, Iterable[bytes]], items: list[WorkItem], spec: EvaluationSpec) -> int:
    hashes = repeated_hashes(share[1])
    check_repeated(hashes, items, spec)
    return len(hashes)
