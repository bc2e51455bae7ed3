"""Transforms that find, read and score the files of a pool."""

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import PoolFile
from evalsampling.pool.columns import required_columns
from evalsampling.pool.files import StoredFile, find_files
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.scorer import Scorer, score_item, scored_item
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.telemetry import progress
from evalsampling.transforms.metering import Meter


class InspectPool(beam.PTransform):
    """Inspects files: PCollection[str], patterns of paths, to PCollection[PoolFile]."""

    def expand(self, patterns: beam.PCollection[str]) -> beam.PCollection[PoolFile]:
        """Wire the transform."""
        return (
            patterns
            | "FindFiles" >> beam.FlatMap(find_files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "InspectFiles" >> beam.Map(_inspect)
        )


def _inspect(stored: StoredFile) -> PoolFile:
    # A classmethod would be pickled by value, with the path of its source.
    return PoolFile.inspect(stored)


class FetchPool(beam.PTransform):
    """Reads work items: PCollection[WorkItem] to PCollection[PoolBatch].

    Items are reshuffled first, so that they spread over workers however they were made.
    """

    def __init__(self, columns: Sequence[str] | None, payload: Sequence[str] = ()) -> None:
        """Choose columns.

        Args:
            columns: to read, None for all.
            payload: to read too if that costs nothing extra: see
                `pool.formats.registry.read_batches`.
        """
        super().__init__()
        self._columns = columns
        self._payload = payload

    def expand(self, items: beam.PCollection[WorkItem]) -> beam.PCollection[PoolBatch]:
        """Wire the transform."""
        return (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "ReadBatches" >> beam.ParDo(_Read(self._columns, self._payload))
        )


class _Read(beam.DoFn):
    def __init__(self, columns: Sequence[str] | None, payload: Sequence[str]) -> None:
        self._columns = columns
        self._payload = payload
        self._meter = Meter()

    def process(self, item: WorkItem) -> Iterator[PoolBatch]:
        for batch in self._meter.each(read_batches(item, self._columns, self._payload)):
            yield batch
            progress.advance(len(batch))


class FetchCells(beam.PTransform):
    """Second pass: PCollection[WorkItem] to PCollection[CellBatch], each row with its cell.

    Each worker reads some of the items, in an order of the runner's choice. Reading and finding the
    cells is one step because the runners in Java never fuse a step that has a side input with the
    one before it: of two steps, the first would send them every batch of the pool.
    """

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__()
        self._spec = spec
        self._partition = stratification

    def expand(self, items: beam.PCollection[WorkItem]) -> beam.PCollection[CellBatch]:
        """Wire the transform."""
        read = beam.ParDo(_ReadCells(self._spec), self._partition)
        return (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "ReadCells" >> read.with_output_types(CellBatch)
        )


class _ReadCells(beam.DoFn):
    def __init__(self, spec: EvaluationSpec) -> None:
        self._spec = spec
        self._columns = required_columns(spec, payload=False)
        self._meter = Meter()

    def process(self, item: WorkItem, stratification: Stratification) -> Iterator[CellBatch]:
        batches = read_batches(item, self._columns, self._spec.pool.payload)
        cells = (assign_cells(batch, self._spec, stratification) for batch in batches)
        for batch in self._meter.each(cells):
            yield batch
            progress.advance(len(batch))


class ScorePool(beam.PTransform):
    """Scores work items once and keeps the result.

    From a PCollection[WorkItem]; the outputs are ``batches``, a PCollection[PoolBatch] of the
    scored rows, and ``items``, a PCollection[WorkItem] of the files they were written to.
    """

    def __init__(self, spec: EvaluationSpec, directory: str) -> None:
        """Choose the scorer, the columns to keep, and the directory or URL to write to."""
        super().__init__()
        self._spec = spec
        self._directory = directory

    def expand(self, items: beam.PCollection[WorkItem]) -> Any:
        """Wire the transform."""
        return (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "ScoreItems"
            >> beam.ParDo(_Score(self._spec, self._directory)).with_outputs("items", main="batches")
        )


class _Score(beam.DoFn):
    def __init__(self, spec: EvaluationSpec, directory: str) -> None:
        assert spec.pool.scorer is not None
        self._spec = spec
        self._directory = directory
        self._scorer = Scorer(spec.pool.scorer, spec.pool.directory)
        self._meter = Meter()

    def process(self, item: WorkItem) -> Iterator[Any]:
        batches = score_item(item, self._scorer, self._spec, self._directory)
        for batch in self._meter.each(batches):
            yield batch
            progress.advance(len(batch))
        yield pvalue.TaggedOutput("items", scored_item(item, self._directory))
