"""Transforms of the two passes: summaries, stratification, cells and their sums."""

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import PoolSummary, summarize
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.slices import SliceCounts
from evalsampling.transforms.metering import MeteredMap
from evalsampling.transforms.sums import SumFn


class SummarizePool(beam.PTransform):
    """First pass: PCollection[PoolBatch] to the PoolSummary of the pool, one element."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the columns and statistics to summarise."""
        super().__init__()
        self._spec = spec

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[PoolSummary]:
        """Wire the transform."""
        return (
            batches
            | "Summarize" >> beam.ParDo(MeteredMap(summarize), self._spec)
            | "AddSummaries" >> beam.CombineGlobally(SumFn()).without_defaults()
        )


class CutStrata(beam.PTransform):
    """PCollection[PoolSummary] to the Stratification cut from each."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the strata and the prior."""
        super().__init__()
        self._spec = spec

    def expand(self, summaries: beam.PCollection[PoolSummary]) -> beam.PCollection[Stratification]:
        """Wire the transform."""
        return summaries | "CutEdges" >> beam.Map(_cut, self._spec)


def _cut(summary: PoolSummary, spec: EvaluationSpec) -> Stratification:
    return Stratification.from_summary(summary, spec)


def stratification_of(
    batches: beam.PCollection[PoolBatch], spec: EvaluationSpec
) -> beam.PCollection[Stratification]:
    """Return the Stratification of a pool, one element: given by the spec, or from a first pass."""
    stratification = Stratification.given(spec)
    if stratification is not None:
        return batches.pipeline | "GivenStrata" >> beam.Create([stratification])
    return batches | "SummarizePool" >> SummarizePool(spec) | "CutStrata" >> CutStrata(spec)


class AssignCells(beam.PTransform):
    """PCollection[PoolBatch] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__()
        self._spec = spec
        self._partition = stratification

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[CellBatch]:
        """Wire the transform."""
        find = beam.ParDo(MeteredMap(assign_cells), self._spec, self._partition)
        return batches | "FindCells" >> find.with_output_types(CellBatch)


class SumCells(beam.PTransform):
    """PCollection[CellBatch] to the CellSums of the pool, one element."""

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[CellSums]:
        """Wire the transform."""
        return (
            cells
            | "SumBatches" >> beam.ParDo(MeteredMap(CellBatch.sums))
            | "AddSums" >> beam.CombineGlobally(SumFn()).without_defaults()
        )


class CountSlices(beam.PTransform):
    """PCollection[CellBatch] to the SliceCounts of the pool, one element."""

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[SliceCounts]:
        """Wire the transform."""
        return (
            cells
            | "CountValues" >> beam.ParDo(MeteredMap(CellBatch.slice_counts))
            | "AddCounts" >> beam.CombineGlobally(SumFn()).without_defaults()
        )
