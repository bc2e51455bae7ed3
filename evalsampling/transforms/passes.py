"""Sums over cells and slices, and the Poisson sample of rows, for any pipeline."""

import apache_beam as beam
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.plan import COUNT_SLICES, SUM_CELLS
from evalsampling.preparation.poisson import keep_rows
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.engine import BeamEngine
from evalsampling.transforms.stages import AddUp


class SumCells(AddUp):
    """PCollection[CellBatch] to the CellSums of the pool, one element."""

    def __init__(self) -> None:
        super().__init__(SUM_CELLS)


class CountSlices(AddUp):
    """PCollection[CellBatch] to the SliceCounts of the pool, one element."""

    def __init__(self) -> None:
        super().__init__(COUNT_SLICES)


class PoissonSample(beam.PTransform):
    """Keeps a Poisson sample: PCollection[PoolBatch] to PCollection[pa.Table].

    Tables have the columns of the batches and `preparation.poisson.INCLUSION`. The pool is read
    three times: for the strata, for the cells, and to filter it.
    """

    def __init__(self, spec: EvaluationSpec, by_cell: bool = False) -> None:
        """Choose the rows to keep.

        Args:
            spec: names measure, budget (the number of rows expected), seed and the pool's columns.
            by_cell: whether rows of a cell share one probability, as in a workspace. The sample is
                then the first round of a workspace that spends the whole budget in it.
        """
        super().__init__()
        self._plan, self._by_cell = spec.analysis, by_cell

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[pa.Table]:
        return keep_rows(BeamEngine(batches.pipeline), batches, self._plan, self._by_cell)
