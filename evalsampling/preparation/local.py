"""Passes over the pool of a spec in this process, for callers that need no engine of their own.

Anything wrong with the pool, also that it is empty, is an `InputError`.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.columns import read_clusters, required_columns
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_rows import Scorer
from evalsampling.preparation import plan
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.shares import LOCAL, Rows
from evalsampling.preparation.stages import Step
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.clusters import SharedClusters


def pool_rows(spec: EvaluationSpec) -> Rows:
    """Return the rows of the pool's files, scored if the spec names a scorer.

    Columns are those of a second pass unless others are asked for. With a scorer all are read, for
    it may want any.
    """
    items = list(Catalog.read(spec).items)
    if spec.pool.scorer is None:
        return Rows(items, read_items, required_columns(spec, payload=False))
    scorer = Scorer(spec.pool.scorer, spec.pool.directory)
    return Rows(items, read_items, steps=(Step("ScoreBatch", scorer.score),))


def read_items(items: Iterable[WorkItem], columns: Sequence[str] | None) -> Iterator[PoolBatch]:
    """Yield the rows of work items: see `pool.formats.registry.read_batches`."""
    return itertools.chain.from_iterable(read_batches(item, columns) for item in items)


def stratify(batches: Sequence[PoolBatch], spec: EvaluationSpec) -> Stratification:
    """Return how rows in memory are cut: as the spec says, or by a first pass over them."""
    return plan.stratify(LOCAL, Rows(batches), spec)


def stratify_pool(spec: EvaluationSpec) -> Stratification:
    """Return how the pool of a spec is cut, by a first pass over its files if one is needed."""
    return plan.stratify(LOCAL, pool_rows(spec), spec)


def read_cells(spec: EvaluationSpec, stratification: Stratification) -> Iterator[CellBatch]:
    """Yield the rows of the pool of a spec with their cells, by a second pass over its files."""
    return LOCAL.map(pool_rows(spec), plan.assign(spec, stratification)).batches()


def read_sums(spec: EvaluationSpec, stratification: Stratification) -> CellSums | None:
    """Return the sums over the cells of the pool of a spec, None if there is no batch."""
    cells = LOCAL.map(pool_rows(spec), plan.assign(spec, stratification))
    return LOCAL.run(cells, plan.SUM_CELLS)[0]


def read_table(spec: EvaluationSpec, stratification: Stratification) -> CellTable:
    """Return the cells of the pool of a spec, by a second pass over its files."""
    return stratification.table(read_sums(spec, stratification))


def read_shared_clusters(spec: EvaluationSpec) -> SharedClusters | None:
    """Return how the rows of a pool are spread over clusters, None if the spec names none."""
    if spec.pool.cluster is None:
        return None
    rows = pool_rows(spec)
    columns = None if spec.pool.scorer else [spec.pool.cluster]
    batches = dataclasses.replace(rows, columns=columns).batches()
    numbers = (read_clusters(batch, spec) for batch in batches)
    return SharedClusters.of_numbers(number for number in numbers if number is not None)
