"""Stages of a plan as transforms: files looked into, batches read, added up, merged by key."""

import functools
import operator
import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam import coders, pvalue
from apache_beam.transforms import window

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import PoolFile, PoolSource
from evalsampling.pool.layout import PlannedFile
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stages import Gatherer, Keyed, Reading, Step, Total
from evalsampling.telemetry import progress

STORED = "items"
"""Output with the items that read what was stored."""


class InspectPool(beam.PTransform):
    """Inspects files: PCollection[PoolSource] to PCollection[PoolFile]."""

    def expand(self, pools: beam.PCollection[PoolSource]) -> beam.PCollection[PoolFile]:
        return (
            pools
            | "FindFiles" >> beam.FlatMap(PoolSource.files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "InspectFiles" >> beam.Map(_inspect)
        )


def _inspect(file: PlannedFile) -> PoolFile:
    # A classmethod would be pickled by value, with the path of its source.
    return PoolFile.inspect(file)


class ReadItems(beam.PTransform):
    """Reads work items, each by one worker, in an order of the runner's choice.

    The output is a PCollection of batches. Of a reading that stores what it reads, ``batches`` are
    these, and ``items`` a PCollection of the items that read them again.

    Items are reshuffled first, so that they spread over workers however they were made.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading.name)
        self._reading = reading

    def expand(self, items: beam.PCollection[Any]) -> Any:
        step, stored = self._reading.step, self._reading.stored
        read = beam.ParDo(_Read(step, stored), *step.arguments).with_output_types(step.result)
        if stored is not None:
            read = read.with_outputs(STORED, main="batches")
        return items | "SpreadItems" >> beam.Reshuffle() | step.name >> read


class _Read(beam.DoFn):
    def __init__(self, step: Step, stored: Step | None) -> None:
        self._read, self._stored = step.function, stored

    def process(self, item: Any, *arguments: Any) -> Iterator[Any]:
        for batch in self._read(item, *arguments):
            yield batch
            progress.advance(len(batch))
        if self._stored is not None:
            yield pvalue.TaggedOutput(STORED, self._stored(item))


def map_step(step: Step) -> beam.ParDo:
    """Return the transform that calls a step with each element."""
    return beam.Map(step.function, *step.arguments)


def map_batches(step: Step) -> beam.ParDo:
    """Return the transform that calls a step with each batch."""
    return beam.Map(step.function, *step.arguments).with_output_types(step.result)


class SumFn(beam.CombineFn):
    """Sums mergeable states: anything with an associative and commutative ``+``.

    States know their own shape, so the sum of no state is None. `CombinePerKey`, and
    `CombineGlobally` without defaults, never output it.
    """

    def create_accumulator(self) -> Any:
        return None

    def add_input(self, accumulator: Any, element: Any) -> Any:
        return element if accumulator is None else accumulator + element

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        sums = [accumulator for accumulator in accumulators if accumulator is not None]
        return functools.reduce(operator.add, sums) if sums else None

    def extract_output(self, accumulator: Any) -> Any:
        return accumulator


class AddUp(beam.PTransform):
    """Adds up a state of each batch: PCollection of batches to one element, the sum."""

    def __init__(self, stage: Total) -> None:
        super().__init__(stage.name or None)
        self._stage = stage

    def expand(self, batches: beam.PCollection[Any]) -> beam.PCollection[Any]:
        stage = self._stage
        return (
            batches
            | stage.state.name >> map_batches(stage.state)
            | stage.sum >> beam.CombineGlobally(SumFn()).without_defaults()
        )


class MergeByKey(beam.PTransform):
    """Merges a stage's results of batches: PCollection of batches to one element for each key."""

    def __init__(self, stage: Keyed) -> None:
        super().__init__(stage.name)
        self._stage = stage

    def expand(self, batches: beam.PCollection[Any]) -> beam.PCollection[Any]:
        gather, merge, elements = self._stage.gather, self._stage.merge, batches
        *steps, last = self._stage.steps
        if gather is not None:
            elements = elements | gather.name >> beam.ParDo(_GatherBundles(gather))
        for step in steps:
            elements = elements | step.name >> beam.FlatMap(step)
        return (
            elements
            | last.name >> beam.FlatMap(_encoded, last)  # (key, state as bytes)
            | self._stage.group >> beam.GroupByKey()
            | merge.name >> beam.Map(_merged, merge.function, *merge.arguments)
        )


def _encoded(element: Any, step: Step) -> Iterator[tuple[int, bytes]]:
    for key, state in step(element):
        yield key, pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)


def _merged(group: tuple[int, Iterable[bytes]], merge: Any, *arguments: Any) -> Any:
    key, states = group
    return merge(key, map(pickle.loads, states), *arguments)


class _GatherBundles(beam.DoFn):
    def __init__(self, step: Step) -> None:
        self._step = step
        self._gatherer: Gatherer | None = None

    def start_bundle(self) -> None:
        self._gatherer = None

    def process(self, batch: Any) -> None:
        if self._gatherer is None:
            self._gatherer = self._step(batch)
        self._gatherer.add(batch)

    def finish_bundle(self) -> Iterator[window.WindowedValue]:
        if self._gatherer is None:
            return
        kept = self._gatherer.finish()
        self._gatherer = None
        yield window.GlobalWindows.windowed_value(kept)


class BatchCoder(coders.Coder):
    """A coder that pickles batches, and takes their size from `nbytes` without pickling.

    Beam encodes some elements of every step to measure their size. A batch has megabytes, so that
    would cost more than most steps. Between steps that are not fused, batches are pickled.
    """

    def encode(self, value: Any) -> bytes:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def decode(self, encoded: bytes) -> Any:
        return pickle.loads(encoded)

    def estimate_size(self, value: Any) -> int:
        return int(value.nbytes)

    def is_deterministic(self) -> bool:
        return False


for _batch in (PoolBatch, CellBatch):
    coders.registry.register_coder(_batch, BatchCoder)
