"""The two passes over a pool as stages: what each reads, makes of a batch, and merges.

The first pass sums up scores, from which strata are cut. The second finds the cell of each row,
sums up the cells, and keeps the first rows of each.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evalsampling.errors import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.one_order import orders_of
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_rows import Scorer, score_item, scored_item
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.held_rows import HeldRows, recounted
from evalsampling.preparation.ids import (
    check_repeated,
    repeated_hashes,
    spill,
    spilled,
    split_hashes,
)
from evalsampling.preparation.payload import with_payload
from evalsampling.preparation.reserve import PARTS, Reserve, split_reserve, sum_reserves
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.preparation.shares import LOCAL, Rows
from evalsampling.preparation.stages import Engine, Keyed, Reading, Step, Total
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import PoolSummary, Wanted, summarize, summary_columns
from evalsampling.spec import ReadingPlan
from evalsampling.spec.id_columns import IdColumns
from evalsampling.spec.pool import PoolSpec
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.orders import OrderCounts

# --- what is read


def fetch_rows(name: str, columns: Sequence[str] | None) -> Reading:
    """Return how rows are read as they are: see `pool.formats.registry.read_batches`."""
    return Reading(name, Step("ReadBatches", _read_rows, (columns,), PoolBatch))


def _read_rows(item: WorkItem, columns: Sequence[str] | None) -> Iterator[PoolBatch]:
    return read_batches(item, columns)


def fetch_cells(stratification: Any) -> Reading:
    """Return how rows are read with their cells, in one step.

    Runners of Beam in Java never fuse a step that has a side input with the one before it: of two
    steps, the first would send them every batch of the pool.
    """
    return Reading("FetchCells", Step("ReadCells", _read_cells, (stratification,), CellBatch))


def _read_cells(item: WorkItem, stratification: Stratification) -> Iterator[CellBatch]:
    batches = read_batches(item, stratification.plan.columns)
    return (assign_cells(batch, stratification) for batch in batches)


def score_pool(plan: ReadingPlan, directory: str) -> Reading:
    """Return how rows are scored as they are read, and stored below a directory or URL."""
    assert plan.pool.scorer is not None
    scorer = Scorer(plan.pool.scorer, plan.pool.directory)
    step = Step("ScoreItems", score_item, (scorer, plan.all_columns, directory), PoolBatch)
    return Reading("ScorePool", step, Step("StoredItem", scored_item, (directory,)))


# --- the first pass


def first_pass(engine: Engine, plan: ReadingPlan, items: Any, directory: str) -> tuple[Any, Any]:
    """Return how the rows of items are cut, and the items, maybe scored, of the second pass."""
    rows, looks = None, Wanted.of(plan).anything
    if plan.pool.scorer is not None:
        rows, items = engine.read(score_pool(plan, directory), items)
        if not looks:
            engine.run(rows)  # What the scorer stores is all that is wanted.
    elif looks:
        rows, items = engine.read(fetch_rows("FetchScores", summary_columns(plan)), items)
    return stratify(engine, rows, plan), items


def stratify(engine: Engine, rows: Any, plan: ReadingPlan) -> Any:
    """Return how rows are cut, as a value of an engine: as the spec says, or by a first pass."""
    wanted = Wanted.of(plan)
    if wanted.anything:
        summarized = Step("Summarize", summarize, (plan, wanted))
        (summary,) = engine.run(rows, Total("SummarizePool", summarized, "AddSummaries"))
    else:
        summary = engine.value("NoSummary", None)
    return engine.call(Step("CutStrata/CutEdges", _cut, (plan,)), summary)


def _cut(summary: PoolSummary | None, plan: ReadingPlan) -> Stratification:
    return Stratification.from_summary(summary, plan)  # Beam pickles a method by value.


# --- the second pass


def assign(stratification: Any) -> Step:
    """Return the step that finds the cells of rows that were read before."""
    return Step("AssignCells/FindCells", assign_cells, (stratification,), CellBatch)


def _sums(cells: CellBatch) -> CellSums:
    return cells.sums()


SUM_CELLS = Total("SumCells", Step("SumBatches", _sums), "AddSums")
"""The stage that makes the `CellSums` of rows with cells."""

COUNT_SLICES = Total("CountSlices", Step("CountValues", CellBatch.slice_counts), "AddCounts")
"""The stage that makes the `SliceCounts` of rows with cells."""


SUM_CLUSTERS = Total("SumClusters", Step("SketchClusters", CellBatch.cluster_sums), "AddSketches")
"""The stage that makes the `ClusterSums` of rows with cells."""


def draw_reserve(
    payload: Sequence[str],
    capacity: int | None = None,
    held: HeldRows | None = None,
    finish: Step | None = None,
) -> Keyed:
    """Return the stage that keeps the first rows of each cell: parts of the reserve by number.

    The first rows of a share are kept, then their payload is read. A share has each part once, so
    summing before parts meet would save nothing.
    """
    return Keyed(
        "DrawReserve",
        gather=Step("KeepFirst", _keep_first, (capacity, held)),
        steps=(Step("ReadPayload", _read_payload, (payload,)), Step("SplitParts", split_reserve)),
        group="GroupParts",
        merge=Step("MergeParts", _merge_parts),
        finish=finish,
        keys=PARTS,
    )


def _keep_first(cells: CellBatch, capacity: int | None, held: HeldRows | None) -> ReserveBuilder:
    return ReserveBuilder(cells.stratification, capacity, held)


def _read_payload(
    kept: tuple[Reserve, tuple[WorkItem, ...]], payload: Sequence[str]
) -> Iterator[Reserve]:
    return with_payload(*kept, payload)


def _merge_parts(part: int, reserves: Iterable[Reserve]) -> tuple[int, Reserve]:
    return part, sum_reserves(reserves)


def check_ids(plan: ReadingPlan, items: Any, folder: Path | None) -> Keyed:
    """Return the stage that checks all ids of a pool: how many hashes repeat, by shares of ids.

    It fails with an `InputError` if two ids are alike. Eight bytes of every row are gathered; ids
    are read again only if hashes repeat.
    """
    return Keyed(
        "CheckIds",
        steps=(Step("SplitByHash", _split_hashes, (folder,)),),
        group="GroupShares",
        merge=Step("CheckShares", _check_share, (items, plan.pool.id, plan.seed, folder)),
    )


def _split_hashes(cells: CellBatch, folder: Path | None) -> Iterator[tuple[int, bytes]]:
    shares = split_hashes(cells)
    return shares if folder is None else spill(shares, folder)


def _check_share(
    number: int,
    gathered: Iterable[bytes],
    items: Iterable[WorkItem],
    id: IdColumns,
    seed: int,
    folder: Path | None,
) -> int:
    hashes = repeated_hashes(gathered if folder is None else spilled(number, gathered, folder))
    check_repeated(hashes, items, id, seed)
    return len(hashes)


def count_orders(rows: Any) -> Total:
    """Return the stage that makes the `OrderCounts` of pairs, given the rows of the pool."""
    return Total("CountOrders", Step("CountPairs", _count_orders, (rows,)), "AddOrders")


def _count_orders(cells: CellBatch, rows: int) -> OrderCounts:
    plan = cells.stratification.plan
    return orders_of(cells.batch, plan.pool, plan.seed, rows)


def recount(held: HeldRows) -> Total:
    """Return the stage that counts rows by cell, and the rows of an earlier reserve by cell."""
    return Total("CheckHeld", Step("Recount", recounted, (held,)), "AddCounts")


def compare_counts(source: PoolSpec, held: HeldRows, pool: Catalog) -> Step:
    """Return the step that checks the counts of `recount`: True, or the error of a changed pool."""
    return Step("CheckHeld/CompareCounts", _compare, (held, pool, source))


def _compare(counts: Any, held: HeldRows, pool: Catalog, source: PoolSpec) -> bool:
    try:
        held.check_recount(counts, source.path)
    except InputError:
        pool.check_unchanged(source)  # Its error names the file.
        raise
    return True


# --- passes in this process, for callers that need no engine of their own


def pool_rows(plan: ReadingPlan, columns: Sequence[str] | None = None) -> Rows:
    """Return the rows of the pool's files, scored if the spec names a scorer.

    Columns are those of a second pass unless others are named. With a scorer all are read, for it
    may want any.
    """
    items = list(Catalog.read(plan).items)
    if plan.pool.scorer is None:
        columns = plan.columns if columns is None else columns
        return Rows(items, functools.partial(read_items, columns=columns))
    scorer = Step("ScoreBatch", Scorer(plan.pool.scorer, plan.pool.directory).score)
    return Rows(items, functools.partial(read_items, columns=None), steps=(scorer,))


def read_items(items: Iterable[WorkItem], columns: Sequence[str] | None) -> Iterator[PoolBatch]:
    """Yield the rows of work items: see `pool.formats.registry.read_batches`."""
    return itertools.chain.from_iterable(read_batches(item, columns) for item in items)


def stratify_rows(batches: Sequence[PoolBatch], plan: ReadingPlan) -> Stratification:
    """Return how rows in memory are cut: as the spec says, or by a first pass over them."""
    return stratify(LOCAL, Rows(batches), plan)


def stratify_pool(plan: ReadingPlan) -> Stratification:
    """Return how the pool of a spec is cut, by a first pass over its files if one is needed."""
    return stratify(LOCAL, pool_rows(plan, summary_columns(plan)), plan)


def read_cells(stratification: Stratification) -> Iterator[CellBatch]:
    """Yield the rows of a pool with their cells, by a second pass over its files."""
    return LOCAL.map(pool_rows(stratification.plan), assign(stratification)).batches()


def read_table(stratification: Stratification) -> CellTable:
    """Return the cells of a pool, by a second pass over its files."""
    return read_table_and_clusters(stratification)[0]


def read_table_and_clusters(
    stratification: Stratification,
) -> tuple[CellTable, SharedClusters | None]:
    """Return the cells of a pool, and how its rows are spread over clusters if it has any."""
    plan = stratification.plan
    stages = [SUM_CELLS] if plan.pool.cluster is None else [SUM_CELLS, SUM_CLUSTERS]
    sums, *sketches = LOCAL.run(LOCAL.map(pool_rows(plan), assign(stratification)), *stages)
    shared = [each.shared() for each in sketches if each is not None]
    return stratification.table(sums), next(iter(shared), None)
