"""The check that all ids of a pool differ."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa

from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.reserve import check_unique, split_by_hash
from evalsampling.spec import EvaluationSpec


class CheckIds(beam.PTransform):
    """PCollection[CellBatch] to PCollection[int]: ids checked, a number for each share of them.

    Shuffles hash, id and place of every row, so it is for those who ask for it.
    """

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the column."""
        super().__init__()
        self._spec = spec

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[int]:
        """Wire the transform."""
        return (
            cells
            | "SplitByHash" >> beam.FlatMap(_split, self._spec.seed)  # (share, located ids)
            | "GroupShares" >> beam.GroupByKey()
            | "CheckShares" >> beam.Map(_check, self._spec.pool.id)
        )


def _split(cells: CellBatch, seed: int) -> Iterator[tuple[int, pa.Table]]:
    return split_by_hash(cells, seed)


def _check(share: tuple[int, Iterable[pa.Table]], column: str) -> int:
    rows = pa.concat_tables(share[1])
    check_unique(rows, column)
    return len(rows)
