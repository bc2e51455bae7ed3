"""Both passes over a pool in this process, for all callers that use no engine."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.columns import required_columns
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.scorer import Scorer
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import (
    PoolSummary,
    Wanted,
    check_not_empty,
    summarize,
    summary_columns,
)
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.slices import SliceCounts


def read_pool(spec: EvaluationSpec, columns: Sequence[str]) -> Iterator[PoolBatch]:
    """Yield the rows of the pool's files, scored if the spec names a scorer.

    Args:
        spec: names the files.
        columns: to read; with a scorer all of them are, for it may want any.

    Raises:
        InputError: for anything wrong with the files, or if the scorer fails.
    """
    items = Catalog.read(spec).items
    if spec.pool.scorer is None:
        return read_items(items, columns)
    scorer = Scorer(spec.pool.scorer, spec.pool.directory)
    return map(scorer.score, read_items(items, None))


def read_items(
    items: Iterable[WorkItem], columns: Sequence[str] | None, payload: Sequence[str] = ()
) -> Iterator[PoolBatch]:
    """Yield the rows of work items: see `pool.formats.registry.read_batches`."""
    return itertools.chain.from_iterable(read_batches(item, columns, payload) for item in items)


def first_pass(batches: Iterable[PoolBatch], spec: EvaluationSpec) -> PoolSummary | None:
    """Return the summary of all rows, None if there is no batch.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    total: PoolSummary | None = None
    for batch in batches:
        summary = summarize(batch, spec)
        total = summary if total is None else total + summary
    return total


def stratify(batches: Iterable[PoolBatch], spec: EvaluationSpec) -> Stratification:
    """Return how a pool is cut: as the spec says, or by a first pass over its rows.

    Args:
        batches: the rows, which are not read if the spec leaves nothing to find out.
        spec: of the evaluation.

    Raises:
        InputError: for anything wrong with the rows, or if there are none.
    """
    summary = first_pass(batches, spec) if Wanted.from_spec(spec).anything else None
    return Stratification.from_spec(spec, summary)


def stratify_pool(spec: EvaluationSpec) -> Stratification:
    """Return how the pool of a spec is cut, by a first pass over its files if one is needed.

    Raises:
        InputError: for anything wrong with the pool.
    """
    return stratify(read_pool(spec, summary_columns(spec)), spec)


@dataclasses.dataclass
class SecondPass:
    """Finds the cells of rows and sums them up as they go by.

    Attributes:
        spec: of the evaluation.
        stratification: how the pool is cut.
        sums: over all rows so far, None if there were none.
        counts: of the slice columns likewise.
    """

    spec: EvaluationSpec
    stratification: Stratification
    sums: CellSums | None = None
    counts: SliceCounts | None = None

    def over(self, batches: Iterable[PoolBatch]) -> Iterator[CellBatch]:
        """Yield the rows of batches with their cells, each summed up before it is given out.

        Raises:
            InputError: naming file, column and row of the first bad value.
        """
        for batch in batches:
            cells = assign_cells(batch, self.spec, self.stratification)
            sums, counts = cells.sums(), cells.slice_counts()
            self.sums = sums if self.sums is None else self.sums + sums
            self.counts = counts if self.counts is None else self.counts + counts
            yield cells

    def over_pool(self) -> Iterator[CellBatch]:
        """Yield the rows of the pool's files with their cells: see `over`."""
        return self.over(read_pool(self.spec, required_columns(self.spec, payload=False)))

    def table(self) -> CellTable:
        """Return the cells of the rows so far.

        Raises:
            InputError: if there were none.
        """
        return self.stratification.table(self.checked_sums())

    def checked_sums(self) -> CellSums:
        """Return the sums over the cells of the rows so far.

        Raises:
            InputError: if there were none.
        """
        check_not_empty(0 if self.sums is None else self.sums.count.sum())
        assert self.sums is not None
        return self.sums


def read_sums(spec: EvaluationSpec, stratification: Stratification) -> CellSums:
    """Return the sums over the cells of the pool of a spec, by a second pass over its files.

    Raises:
        InputError: for anything wrong with the pool, also if it is empty.
    """
    work = SecondPass(spec, stratification)
    for _ in work.over_pool():
        pass
    return work.checked_sums()


def read_table(spec: EvaluationSpec, stratification: Stratification) -> CellTable:
    """Return the cells of the pool of a spec: see `read_sums`."""
    return stratification.table(read_sums(spec, stratification))
