"""The transform that draws the reserve of a pool."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.transforms import window

from evalsampling.errors import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.preparation.payload import with_payload
from evalsampling.preparation.reserve import Reserve, split_reserve, sum_reserves
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.metering import Meter
from evalsampling.transforms.sums import SumFn


class DrawReserve(beam.PTransform):
    """PCollection[CellBatch] to PCollection[tuple[int, Reserve]]: parts of the reserve by number.

    Each bundle keeps the first rows of each cell it sees, then reads their payload; the parts of
    all bundles are summed. A bundle has each part once, so summing before the shuffle saves
    nothing.
    """

    def __init__(
        self, spec: EvaluationSpec, capacity: int | None = None, held: HeldRows | None = None
    ) -> None:
        """Choose the rows to keep.

        Args:
            spec: names payload, seed and budget.
            capacity: most rows kept of a cell; by default as many as the spec's budget needs.
            held: rows of an earlier reserve, to keep only those that follow them.
        """
        super().__init__()
        self._spec = spec
        self._keep = _KeepFirst(spec, capacity, held)

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[tuple[int, Reserve]]:
        """Wire the transform."""
        return (
            cells
            | "KeepFirst" >> beam.ParDo(self._keep)
            | "ReadPayload" >> beam.ParDo(_ReadPayload(self._spec))
            | "SplitParts" >> beam.FlatMap(_split)  # (part, Reserve as bytes)
            | "GroupParts" >> beam.GroupByKey()
            | "MergeParts" >> beam.MapTuple(_merge)  # (part, Reserve)
        )


class CheckHeld(beam.PTransform):
    """PCollection[CellBatch] to True, one element, if the pool is that of an earlier reserve.

    Fails with an `InputError` if a file of the pool has changed, or if a cell has another number of
    rows or other first rows than before. Steps that write should take it as a side input.
    """

    def __init__(self, spec: EvaluationSpec, held: HeldRows, pool: Catalog) -> None:
        """Choose the rows of the earlier reserve, and the catalog of the pool that was read."""
        super().__init__()
        self._spec = spec
        self._held = held
        self._pool = pool

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[bool]:
        """Wire the transform."""
        return (
            cells
            | "Recount" >> beam.Map(_recount, self._held, self._spec.seed)
            | "AddCounts" >> beam.CombineGlobally(SumFn()).without_defaults()
            | "CompareCounts" >> beam.Map(_compare, self._held, self._pool, self._spec.pool.path)
        )


def _recount(cells: CellBatch, held: HeldRows, seed: int) -> Any:
    return held.recount(cells, seed)


def _compare(counts: Any, held: HeldRows, pool: Catalog, path: str) -> bool:
    try:
        held.check_recount(counts, path)
    except InputError:
        pool.check_unchanged(path)  # Its error names the file.
        raise
    return True


def _split(reserve: Reserve) -> Iterator[tuple[int, bytes]]:
    pa.default_memory_pool().release_unused()
    for part, piece in split_reserve(reserve):
        yield part, piece.to_bytes()


def _merge(part: int, states: Iterable[bytes]) -> tuple[int, Reserve]:
    return part, sum_reserves(map(Reserve.from_bytes, states))


@dataclasses.dataclass(frozen=True)
class _KeptRows:
    """Rows that a bundle kept, and the work items that they were read from."""

    reserve: Reserve
    items: tuple[WorkItem, ...]

    def __len__(self) -> int:
        return len(self.reserve)


class _ReadPayload(beam.DoFn):
    def __init__(self, spec: EvaluationSpec) -> None:
        self._payload = spec.pool.payload
        self._meter = Meter()

    def process(self, kept: _KeptRows) -> Iterator[Reserve]:
        return self._meter.each(with_payload(kept.reserve, kept.items, self._payload))


class _KeepFirst(beam.DoFn):
    def __init__(self, spec: EvaluationSpec, capacity: int | None, held: HeldRows | None) -> None:
        self._spec = spec
        self._capacity = capacity
        self._held = held
        self._builder: ReserveBuilder | None = None
        self._meter = Meter()

    def start_bundle(self) -> None:
        self._builder = None

    def process(self, cells: CellBatch) -> None:
        if self._builder is None:
            self._builder = ReserveBuilder(
                self._spec, cells.stratification, self._capacity, self._held
            )
        with self._meter.work(len(cells)):
            self._builder.add(cells)

    def finish_bundle(self) -> Iterator[window.WindowedValue]:
        if self._builder is None:
            return
        kept = _KeptRows(self._builder.build(), self._builder.items)
        self._builder = None
        pa.default_memory_pool().release_unused()
        yield window.GlobalWindows.windowed_value(kept)
