"""Samples of a pool without a workspace, for any pipeline."""

import apache_beam as beam
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.poisson import keep_rows
from evalsampling.preparation.with_replacement import draw_rows
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.engine import BeamEngine


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
        self._spec, self._by_cell = spec, by_cell

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[pa.Table]:
        """Wire the transform."""
        return keep_rows(BeamEngine(batches.pipeline), batches, self._spec, self._by_cell)


class ReplacementSample(beam.PTransform):
    """Draws rows with replacement: PCollection[PoolBatch] to PCollection[pa.Table], one element.

    The table has a row for each draw: the columns of the batches and
    `preparation.with_replacement.WEIGHT`. The pool is read three times: for the strata, for the
    expected measure, and to draw.
    """

    def __init__(self, spec: EvaluationSpec) -> None:
        """Choose measure, budget (of draws, or of money), seed and the pool's columns."""
        super().__init__()
        self._spec = spec

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[pa.Table]:
        """Wire the transform."""
        return draw_rows(BeamEngine(batches.pipeline), batches, self._spec).pvalue
