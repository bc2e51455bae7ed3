"""The stages of the passes, and the Poisson sample of rows, for any pipeline."""

from collections.abc import Sequence
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation import plan
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.preparation.poisson import keep_rows
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import PoolSummary
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms.engine import BeamEngine
from evalsampling.transforms.stages import AddUp, MergeByKey, ReadItems, map_batches, map_step


class FetchPool(ReadItems):
    """Reads work items: PCollection[WorkItem] to PCollection[PoolBatch]."""

    def __init__(self, columns: Sequence[str] | None) -> None:
        """Choose columns: see `pool.formats.registry.read_batches`."""
        super().__init__(plan.fetch_rows("FetchPool", columns))


class ScorePool(ReadItems):
    """Scores work items once and keeps the result.

    From a PCollection[WorkItem]; the outputs are ``batches``, a PCollection[PoolBatch] of the
    scored rows, and ``items``, a PCollection[WorkItem] of the files they were written to.
    """

    def __init__(self, spec: EvaluationSpec, directory: str) -> None:
        """Choose the scorer, the columns to keep, and the directory or URL to write to."""
        super().__init__(plan.score_pool(spec, directory))


class SummarizePool(AddUp):
    """First pass: PCollection[PoolBatch] to the PoolSummary of the pool, one element."""

    def __init__(self, spec: EvaluationSpec) -> None:
        super().__init__(plan.summarize_pool(spec))


class CutStrata(beam.PTransform):
    """PCollection[PoolSummary] to the Stratification cut from each."""

    def __init__(self, spec: EvaluationSpec) -> None:
        super().__init__()
        self._step = plan.cut_strata(spec)

    def expand(self, summaries: beam.PCollection[PoolSummary]) -> beam.PCollection[Stratification]:
        return summaries | "CutEdges" >> map_step(self._step)


class FetchCells(ReadItems):
    """Second pass: PCollection[WorkItem] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__(plan.fetch_cells(spec, stratification))


class FindCells(beam.PTransform):
    """PCollection[PoolBatch] to PCollection[CellBatch], each row with its cell."""

    def __init__(self, spec: EvaluationSpec, stratification: pvalue.AsSingleton) -> None:
        """Choose the columns; ``stratification`` is a side input of one Stratification."""
        super().__init__()
        self._step = plan.assign(spec, stratification)

    def expand(self, batches: beam.PCollection[PoolBatch]) -> beam.PCollection[CellBatch]:
        return batches | "FindCells" >> map_batches(self._step)


class SumCells(AddUp):
    """PCollection[CellBatch] to the CellSums of the pool, one element."""

    def __init__(self) -> None:
        super().__init__(plan.SUM_CELLS)


class CountSlices(AddUp):
    """PCollection[CellBatch] to the SliceCounts of the pool, one element."""

    def __init__(self) -> None:
        super().__init__(plan.COUNT_SLICES)


class DrawReserve(MergeByKey):
    """PCollection[CellBatch] to PCollection[tuple[int, Reserve]]: parts of the reserve by number.

    Each bundle keeps the first rows of each cell it sees, then reads their payload.
    """

    def __init__(
        self, spec: EvaluationSpec, capacity: int | None = None, held: HeldRows | None = None
    ) -> None:
        """Choose the rows to keep: see `preparation.plan.draw_reserve`."""
        super().__init__(plan.draw_reserve(spec, capacity, held))


class CheckIds(MergeByKey):
    """PCollection[CellBatch] to PCollection[int]: the number of repeated hashes in each share.

    Fails with an `InputError` if two ids are equal. It gathers eight bytes of every row, so it
    runs only on request.
    """

    def __init__(
        self, spec: EvaluationSpec, items: pvalue.AsList, folder: Path | None = None
    ) -> None:
        """Choose the column; ``items`` is a side input: see `preparation.plan.check_ids`."""
        super().__init__(plan.check_ids(spec, items, folder))


class CheckHeld(AddUp):
    """PCollection[CellBatch] to True, one element, if the pool is that of an earlier reserve.

    Fails with an `InputError` if a file of the pool has changed, or if a cell has another number of
    rows or other first rows than before. Steps that write should take it as a side input.
    """

    def __init__(self, spec: EvaluationSpec, held: HeldRows, pool: Catalog) -> None:
        """Choose the rows of the earlier reserve, and the catalog of the pool that was read."""
        super().__init__(plan.recount(spec, held))
        self._step = plan.compare_counts(spec, held, pool)

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[bool]:
        counts = super().expand(cells)
        return counts | "CompareCounts" >> map_step(self._step)


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
        return keep_rows(BeamEngine(batches.pipeline), batches, self._spec, self._by_cell)
