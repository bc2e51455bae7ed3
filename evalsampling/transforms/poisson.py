"""A Poisson sample of a pool, for any pipeline."""

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.poisson import PoissonFilter
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.transforms.cells import AssignCells, SumCells, stratification_of
from evalsampling.transforms.metering import MeteredMap


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
        stratification = pvalue.AsSingleton(stratification_of(batches, self._spec))
        cells = batches | "AssignCells" >> AssignCells(self._spec, stratification)
        sums = cells | "SumCells" >> SumCells()
        chosen = sums | "FillWater" >> beam.Map(_filter, self._spec, stratification, self._by_cell)
        keep = beam.ParDo(MeteredMap(_keep), pvalue.AsSingleton(chosen))
        return cells | "KeepRows" >> keep.with_output_types(pa.Table)


def _filter(
    sums: CellSums, spec: EvaluationSpec, stratification: Stratification, by_cell: bool
) -> PoissonFilter:
    return PoissonFilter.from_spec(spec, stratification, sums, by_cell)


def _keep(cells: CellBatch, chosen: PoissonFilter) -> pa.Table:
    return chosen.keep(cells)
