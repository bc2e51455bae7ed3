"""The reserve of a pool."""

import dataclasses
import functools
import operator
from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.transforms import window

from evalsampling.io.payload import with_payload
from evalsampling.partition import CellBatch, Partition
from evalsampling.pool import WorkItem
from evalsampling.reserve import (
    HeldRows,
    Reserve,
    ReserveBuilder,
    hash_limits,
    reserve_capacity,
    split_reserve,
)
from evalsampling.spec import EvaluationSpec
from evalsampling.summary import PoolSummary
from evalsampling.transforms.metering import Meter, MeteredMap


class DrawReserve(beam.PTransform):
    """PCollection[CellBatch] to PCollection[tuple[int, Reserve]]: its parts by number.

    Each bundle keeps the first rows of each cell it sees, then reads their payload; the parts of
    all bundles are summed. There is one of each part in a bundle, so nothing is gained by summing
    before the shuffle.
    """

    def __init__(
        self,
        spec: EvaluationSpec,
        partition: pvalue.AsSingleton,
        summary: pvalue.AsSingleton | None = None,
        capacity: int | None = None,
        held: HeldRows | None = None,
    ) -> None:
        """Choose what is kept.

        Args:
            spec: names payload, seed and budget.
            partition: side input of one Partition.
            summary: side input of one PoolSummary, whose counts tell most rows that will not be
                among the first before anything else is known of their cells.
            capacity: most rows kept of a cell; by default as many as the spec's budget needs.
            held: rows an earlier reserve holds, to gather the ones behind them.
        """
        super().__init__()
        self._spec = spec
        self._keep = _KeepFirst(spec, capacity, held)
        self._partition = partition
        self._summary = summary

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[tuple[int, Reserve]]:
        """Wire the transform."""
        return (
            cells
            | "KeepFirst" >> beam.ParDo(self._keep, self._partition, self._summary)
            | "ReadPayload" >> beam.ParDo(MeteredMap(_KeptRows.complete), self._spec)
            | "SplitParts" >> beam.FlatMap(_split)  # (part, Reserve as bytes)
            | "GroupParts" >> beam.GroupByKey()
            | "MergeParts" >> beam.MapTuple(_merge)  # (part, Reserve)
        )


def _split(reserve: Reserve) -> Iterator[tuple[int, bytes]]:
    pa.default_memory_pool().release_unused()
    for part, some in split_reserve(reserve):
        yield part, some.to_bytes()


def _merge(part: int, states: Iterable[bytes]) -> tuple[int, Reserve]:
    return part, functools.reduce(operator.add, map(Reserve.from_bytes, states))


@dataclasses.dataclass(frozen=True)
class _KeptRows:
    """Rows that a bundle kept, and what they were read from."""

    reserve: Reserve
    items: tuple[WorkItem, ...]

    def __len__(self) -> int:
        return len(self.reserve)

    def complete(self, spec: EvaluationSpec) -> Reserve:
        return with_payload(self.reserve, self.items, spec.pool.payload)


class _KeepFirst(beam.DoFn):
    def __init__(self, spec: EvaluationSpec, capacity: int | None, held: HeldRows | None) -> None:
        self._spec = spec
        self._capacity = capacity
        self._held = held
        self._builder: ReserveBuilder | None = None
        self._items: dict[tuple[str, int], WorkItem] = {}
        self._meter = Meter()

    def start_bundle(self) -> None:
        self._builder = None
        self._items = {}

    def process(
        self, cells: CellBatch, partition: Partition, summary: PoolSummary | None = None
    ) -> None:
        if self._builder is None:
            count = partition.grid.cells
            capacity = self._capacity or reserve_capacity(self._spec, count)
            limits = None
            if summary is not None:
                limits = hash_limits(partition.least_rows(summary), capacity)
            self._builder = ReserveBuilder(self._spec, count, capacity, self._held, limits)
        with self._meter.work(len(cells)):
            kept = self._builder.add(cells)
        item = cells.batch.item
        if kept and item is not None:
            self._items[item.origin, item.first_row] = item

    def finish_bundle(self) -> Iterator[window.WindowedValue]:
        if self._builder is None:
            return
        kept = _KeptRows(self._builder.build(), tuple(self._items.values()))
        self._builder, self._items = None, {}
        pa.default_memory_pool().release_unused()
        yield window.GlobalWindows.windowed_value(kept)
