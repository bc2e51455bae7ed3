"""Transforms of the two passes: summaries, stratification, cells and their sums."""

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation import plan
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import PoolSummary
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.stages import AddUp, map_batches


class SummarizePool(AddUp):
    """First pass: PCollection[PoolBatch] to the PoolSummary of the pool, one element."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the columns and statistics to summarise."""
        super().__init__(plan.summarize_pool(spec))


class CutStrata(beam.PTransform):
    """PCollection[PoolSummary] to the Stratification cut from each."""

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose the strata and the prior."""
        super().__init__()
        self._step = plan.cut_strata(spec)

    def expand(self, summaries: beam.PCollection[PoolSummary]) -> beam.PCollection[Stratification]:
        """Wire the transform."""
        return summaries | "CutEdges" >> beam.Map(self._step.function, *self._step.arguments)


class AssignCells(beam.PTransform):
    """PCollection[PoolBatch] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__()
        self._step = plan.assign(spec, stratification)

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[CellBatch]:
        """Wire the transform."""
        return batches | "FindCells" >> map_batches(self._step)


class SumCells(AddUp):
    """PCollection[CellBatch] to the CellSums of the pool, one element."""

    def __init__(self) -> None:
        """Take rows with their cells."""
        super().__init__(plan.SUM_CELLS)


class CountSlices(AddUp):
    """PCollection[CellBatch] to the SliceCounts of the pool, one element."""

    def __init__(self) -> None:
        """Take rows with their cells."""
        super().__init__(plan.COUNT_SLICES)
