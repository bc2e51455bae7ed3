"""Draws with replacement from a pool, for any pipeline."""

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.with_replacement import Drawn, RowDraws
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.transforms.cells import AssignCells, SumCells, stratification_of
from evalsampling.transforms.metering import MeteredMap
from evalsampling.transforms.sums import SumFn


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
        stratification = pvalue.AsSingleton(stratification_of(batches, self._spec))
        cells = batches | "AssignCells" >> AssignCells(self._spec, stratification)
        sums = cells | "SumCells" >> SumCells()
        weights = pvalue.AsSingleton(
            sums | "WeighRows" >> beam.Map(_weights, self._spec, stratification)
        )
        draw = beam.ParDo(MeteredMap(_draw), weights)
        return (
            cells
            | "DrawRows" >> draw.with_output_types(Drawn)
            | "FirstArrivals" >> beam.CombineGlobally(SumFn()).without_defaults()
            | "WeighDraws" >> beam.Map(_sample, weights).with_output_types(pa.Table)
        )


def _weights(sums: CellSums, spec: EvaluationSpec, stratification: Stratification) -> RowDraws:
    return RowDraws.from_spec(spec, stratification, sums)


def _draw(cells: CellBatch, weights: RowDraws) -> Drawn:
    return weights.draw(cells)


def _sample(drawn: Drawn, weights: RowDraws) -> pa.Table:
    return weights.sample(drawn)
