"""The reserve of a pool."""

from collections.abc import Iterator

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.transforms import window

from evalsampling.partition import CellBatch, Partition
from evalsampling.reserve import HeldRows, Reserve, ReserveBuilder, reserve_capacity, split_reserve
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.sums import SumFn


class DrawReserve(beam.PTransform):
    """PCollection[CellBatch] to PCollection[tuple[int, Reserve]]: its parts by number.

    Each bundle keeps the first rows of each cell it sees, the parts are summed by key.
    """

    def __init__(
        self,
        spec: EvaluationSpec,
        partition: pvalue.AsSingleton,
        capacity: int | None = None,
        held: HeldRows | None = None,
    ) -> None:
        """Choose what is kept.

        Args:
            spec: names payload, seed and budget.
            partition: side input of one Partition.
            capacity: most rows kept of a cell; by default as many as the spec's budget needs.
            held: rows an earlier reserve holds, to gather the ones behind them.
        """
        super().__init__()
        self._keep = _KeepFirst(spec, capacity, held)
        self._partition = partition

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[tuple[int, Reserve]]:
        """Wire the transform."""
        return (
            cells
            | "KeepFirst" >> beam.ParDo(self._keep, self._partition)  # (part, Reserve)
            | "MergeParts" >> beam.CombinePerKey(SumFn())
        )


class _KeepFirst(beam.DoFn):
    def __init__(self, spec: EvaluationSpec, capacity: int | None, held: HeldRows | None) -> None:
        self._spec = spec
        self._capacity = capacity
        self._held = held
        self._builder: ReserveBuilder | None = None
        self._rows = Metrics.counter("evalsampling", "reserve-rows-shuffled")

    def start_bundle(self) -> None:
        self._builder = None

    def process(self, cells: CellBatch, partition: Partition) -> None:
        if self._builder is None:
            count = partition.grid.cells
            capacity = self._capacity or reserve_capacity(self._spec, count)
            self._builder = ReserveBuilder(self._spec, count, capacity, self._held)
        self._builder.add(cells)

    def finish_bundle(self) -> Iterator[window.WindowedValue]:
        if self._builder is None:
            return
        reserve = self._builder.build()
        self._builder = None
        self._rows.inc(len(reserve))
        for part in split_reserve(reserve):
            yield window.GlobalWindows.windowed_value(part)
