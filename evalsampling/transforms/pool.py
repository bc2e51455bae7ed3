"""Reading and scoring a pool."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.metrics import Metrics

from evalsampling import progress
from evalsampling.io.parquet import WorkItem, read_batches
from evalsampling.io.scorer import Scorer, score_item
from evalsampling.pool import PoolBatch
from evalsampling.spec import EvaluationSpec


class FetchPool(beam.PTransform):
    """Reads work items: PCollection[WorkItem] to PCollection[PoolBatch].

    Items are reshuffled first, so that they spread over workers however they were made.
    """

    def __init__(self, columns: Sequence[str] | None) -> None:
        """Choose the columns to read, None for all."""
        super().__init__()
        self._columns = columns

    def expand(self, items: beam.PCollection[WorkItem]) -> beam.PCollection[PoolBatch]:
        """Wire the transform."""
        return (
            items
            | "SpreadItems" >> beam.Reshuffle()
            | "ReadBatches" >> beam.ParDo(_Read(self._columns))
        )


class _Read(beam.DoFn):
    def __init__(self, columns: Sequence[str] | None) -> None:
        self._columns = columns
        self._rows = Metrics.counter("evalsampling", "rows-read")

    def process(self, item: WorkItem) -> Iterator[PoolBatch]:
        for batch in read_batches(item, self._columns):
            yield batch
            self._rows.inc(len(batch.rows))
            progress.advance(len(batch.rows))


class ScorePool(beam.PTransform):
    """Scores work items once and keeps the result.

    From a PCollection[WorkItem]; the outputs are ``batches``, a PCollection[PoolBatch] of the
    scored rows, and ``items``, a PCollection[WorkItem] of the files they were written to.
    """

    def __init__(self, spec: EvaluationSpec, directory: Path) -> None:
        """Choose the scorer, the columns to keep, and where to write."""
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
    def __init__(self, spec: EvaluationSpec, directory: Path) -> None:
        assert spec.pool.scorer is not None
        self._spec = spec
        self._directory = directory
        self._scorer = Scorer(spec.pool.scorer, spec.pool.directory)
        self._rows = Metrics.counter("evalsampling", "rows-scored")

    def process(self, item: WorkItem) -> Iterator[PoolBatch]:
        scored, batches = score_item(item, self._scorer, self._spec, self._directory)
        yield from batches
        yield pvalue.TaggedOutput("items", scored)
        self._rows.inc(item.rows)
        progress.advance(item.rows)
