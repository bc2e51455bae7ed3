"""Transforms that find, read and score the files of a pool."""

from collections.abc import Sequence

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.catalog import PoolFile
from evalsampling.pool.files import StoredFile, find_files
from evalsampling.preparation import plan
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.stages import ReadItems


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


class FetchPool(ReadItems):
    """Reads work items: PCollection[WorkItem] to PCollection[PoolBatch]."""

    def __init__(self, columns: Sequence[str] | None, payload: Sequence[str] = ()) -> None:
        """Choose columns.

        Args:
            columns: to read, None for all.
            payload: to read too if that costs nothing extra: see
                `pool.formats.registry.read_batches`.
        """
        super().__init__(plan.fetch_rows("FetchPool", columns, payload))


class FetchCells(ReadItems):
    """Second pass: PCollection[WorkItem] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__(plan.fetch_cells(spec, stratification))


class ScorePool(ReadItems):
    """Scores work items once and keeps the result.

    From a PCollection[WorkItem]; the outputs are ``batches``, a PCollection[PoolBatch] of the
    scored rows, and ``items``, a PCollection[WorkItem] of the files they were written to.
    """

    def __init__(self, spec: EvaluationSpec, directory: str) -> None:
        """Choose the scorer, the columns to keep, and the directory or URL to write to."""
        super().__init__(plan.score_pool(spec, directory))
