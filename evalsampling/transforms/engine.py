"""Beam as an engine, see `preparation.stages.Engine`, and some of its passes for any pipeline."""

from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.conditions import selected_rows
from evalsampling.preparation.plan import COUNT_SLICES, SUM_CELLS
from evalsampling.preparation.poisson import keep_rows
from evalsampling.preparation.stages import Keyed, Reading, Stage, Step
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.stages import (
    AddUp,
    InspectPool,
    MergeByKey,
    ReadItems,
    map_batches,
    map_step,
)


class BeamEngine:
    """An engine that turns the steps of a plan into transforms of a pipeline.

    Its values are side inputs, with their collection as ``pvalue``; its rows are collections of
    batches, with the columns they have.
    """

    def __init__(self, root: beam.Pipeline) -> None:
        self._root = root

    def value(self, name: str, value: Any) -> pvalue.AsSingleton:
        return pvalue.AsSingleton(self._root | name >> beam.Create([value]))

    def call(self, step: Step, value: pvalue.AsSideInput) -> pvalue.AsSingleton:
        return pvalue.AsSingleton(value.pvalue | step.name >> map_step(step))

    def each(self, step: Step, values: pvalue.AsList) -> pvalue.AsList:
        return pvalue.AsList(values.pvalue | step.name >> map_step(step))

    def expand(self, step: Step, value: pvalue.AsSideInput) -> pvalue.AsList:
        return pvalue.AsList(
            value.pvalue | step.name >> beam.FlatMap(step.function, *step.arguments)
        )

    def inspect(self, source: pvalue.AsSideInput) -> pvalue.AsList:
        return pvalue.AsList(source.pvalue | InspectPool())

    def read(
        self, reading: Reading, items: pvalue.AsList
    ) -> tuple[beam.PCollection[Any], pvalue.AsList]:
        read = items.pvalue | ReadItems(reading)
        if reading.stored is None:
            return read, items
        return read.batches, pvalue.AsList(read.items)

    def map(self, rows: beam.PCollection[Any], step: Step) -> beam.PCollection[Any]:
        return rows | step.name >> map_batches(step)

    def run(self, rows: beam.PCollection[Any], *stages: Stage) -> list[pvalue.AsSideInput]:
        return [_result(rows, stage) for stage in stages]


def _result(rows: beam.PCollection[Any], stage: Stage) -> pvalue.AsSideInput:
    if isinstance(stage, Keyed):
        merged, finish = rows | MergeByKey(stage), stage.finish
        return pvalue.AsList(merged | finish.name >> map_step(finish) if finish else merged)
    return pvalue.AsSingleton(rows | AddUp(stage))


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
        engine, pool = BeamEngine(batches.pipeline), self._plan.reading.pool
        rows = engine.map(batches, Step("SelectRows", selected_rows, (pool,), PoolBatch))
        return keep_rows(engine, rows, self._plan, self._by_cell)
