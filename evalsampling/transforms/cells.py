"""From batches to strata and cells."""

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool import CellBatch, PoolBatch, Strata, assign_cells, score_histogram
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.histogram import ScoreHistogram
from evalsampling.transforms.sums import SumFn


class SummarizePool(beam.PTransform):
    """First pass: PCollection[PoolBatch] to the ScoreHistogram of the pool, one element."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the score and the number of leaves."""
        super().__init__()
        self._spec = spec

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[ScoreHistogram]:
        """Wire the transform."""
        return (
            batches
            | "CountScores" >> beam.Map(score_histogram, self._spec)
            | "AddHistograms" >> beam.CombineGlobally(SumFn()).without_defaults()
        )


class CutStrata(beam.PTransform):
    """PCollection[ScoreHistogram] to the Strata cut from each."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the number of leaves and the prior."""
        super().__init__()
        self._spec = spec

    def expand(self, histograms: beam.PCollection[ScoreHistogram]) -> beam.PCollection[Strata]:
        """Wire the transform."""
        return histograms | "CutEdges" >> beam.Map(Strata.from_histogram, self._spec)


class AssignCells(beam.PTransform):
    """Second pass: PCollection[PoolBatch] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, strata: pvalue.AsSingleton) -> None:
        """Choose the columns; ``strata`` is a side input of one Strata."""
        super().__init__()
        self._spec = spec
        self._strata = strata

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[CellBatch]:
        """Wire the transform."""
        return batches | "FindCells" >> beam.Map(assign_cells, self._spec, self._strata)


class SumCells(beam.PTransform):
    """PCollection[CellBatch] to the CellSums of the pool, one element."""

    def __init__(self, spec: EvaluationSpec, strata: pvalue.AsSingleton) -> None:
        """Choose the classes; ``strata`` is a side input of one Strata."""
        super().__init__()
        self._spec = spec
        self._strata = strata

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[CellSums]:
        """Wire the transform."""
        return (
            cells
            | "SumBatches" >> beam.Map(_sums, self._spec, self._strata)
            | "AddSums" >> beam.CombineGlobally(SumFn()).without_defaults()
        )


def _sums(cells: CellBatch, spec: EvaluationSpec, strata: Strata) -> CellSums:
    return cells.sums(strata.shape(spec))
