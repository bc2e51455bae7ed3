"""Queries of a pool: items of each, the systems' ranked lists, probabilities of grades."""

import dataclasses
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import first_unreadable, is_list, is_text, plain
from evalsampling.pool.batch import PoolBatch
from evalsampling.spec import PoolSpec, ReadingPlan, SystemSpec
from evalsampling.stats.arrays import FloatArray, IntArray, within_runs
from evalsampling.stats.gains import NO_ITEM, ExpectedLists
from evalsampling.storage.filesystems import one_line

_FAR = 1e-3
"""How far probabilities of grades may be from adding up to 1."""

_NO_ARRAY = (pa.ArrowException, TypeError, OverflowError)
"""What Arrow raises if it has no type for values."""


@dataclasses.dataclass(frozen=True)
class QueryBatch:
    """Queries of a batch: the items that some system has among its first ranks, and the ranks."""

    length: IntArray  # shape (n,): how many items each query has that are to be graded
    item: pa.Array  # ids of the items, one query after the other, in the order of the pool
    # shape (items, systems): its rank in each list, from 1; 0 where a list has not got it
    rank: IntArray
    lists: ExpectedLists  # the same as arrays of equal length, with what is expected of the grades

    @property
    def differs(self) -> IntArray:
        """Whether a system lists other items than the first system, 0 or 1: (n, systems)."""
        place = self.lists.place
        return np.any(place != place[:, :1], axis=2).astype(np.int64)

    def take(self, queries: IntArray) -> dict[str, pa.Array]:
        """Return the columns to store of the given queries: lists, by the names of `list_names`."""
        ends = np.append(0, np.cumsum(self.length))
        sizes = self.length[queries]
        offsets = np.append(0, np.cumsum(sizes))
        chosen = np.repeat(ends[queries], sizes) + within_runs(sizes)
        starts = pa.array(offsets, pa.int32())
        ranks = [pa.array(rank, pa.int32()) for rank in self.rank[chosen].T]
        columns = [self.item.take(pa.array(chosen)), *ranks]
        names = list_names(self.rank.shape[1])
        lists = (pa.ListArray.from_arrays(starts, column) for column in columns)
        return dict(zip(names, lists, strict=True))


def list_names(systems: int) -> list[str]:
    """Return the names of the columns that queries are stored in: items, ranks."""
    return ["list.items", *(f"list.ranks.{system}" for system in range(systems))]


def list_columns(pool: PoolSpec) -> list[Any]:
    """Return the columns of the pool that lists of queries are made from, each once."""
    assert pool.lists is not None
    named: list[Any] = [pool.lists.items]
    for system in pool.systems:
        named += [system.score, system.probability]
    return list(dict.fromkeys(name for name in named if name is not None))


def read_queries(batch: PoolBatch, plan: ReadingPlan, depth: int) -> QueryBatch:
    """Return the queries of a batch, ranked by each system.

    A system ranks items by falling score, of equal scores in the order of the pool; one whose score
    is null or not a number is not in its list. What is expected of a grade is the mean of what the
    systems say (eq. 5.11); if none says anything, all grades are alike.
    """
    assert plan.pool.lists is not None
    name = plan.pool.lists.items
    query, items = _flat(batch, name)
    _check_items(batch, name, query, items)
    rows, grades = len(batch.rows), len(plan.labels.classes)
    counts = np.bincount(query, minlength=rows)
    place = within_runs(counts)
    names = [str(ranker.score) for ranker in plan.pool.systems]
    scores = [_floats(batch, each, *_flat(batch, each, name, counts)) for each in names]
    for each, score in zip(names, scores, strict=True):
        is_rank = each.lower().split("_")[-1] in ("rank", "ranks", "position")
        if is_rank and len(query) and np.all(np.isnan(score) | ((score >= 0) & (score % 1 == 0))):
            problem = "is called a rank, and the best item has the greatest score: give -1, -2, ..."
            raise batch.error(each, int(query[0]), problem)
    rank = np.stack([_ranks(query, place, score, counts, depth) for score in scores], axis=1)
    with_models = [ranker for ranker in plan.pool.systems if ranker.probability is not None]
    probability = np.full((len(items), grades), 1 / grades)
    if with_models:
        own = [_grade_model(batch, ranker, name, counts, grades) for ranker in with_models]
        probability = np.mean(own, axis=0)
    kept = np.flatnonzero(rank.any(axis=1))
    query, rank = query[kept], rank[kept]
    length = np.bincount(query, minlength=rows)
    number = within_runs(length)
    padded = np.zeros((rows, max(int(length.max(initial=0)), 1), grades))
    padded[query, number] = probability[kept]
    at_ranks = np.full((rows, rank.shape[1], depth), NO_ITEM, dtype=np.int64)
    for system, of_system in enumerate(rank.T):
        ranked = np.flatnonzero(of_system)
        at_ranks[query[ranked], system, of_system[ranked] - 1] = number[ranked]
    return QueryBatch(
        length=length,
        item=items.take(pa.array(kept)),
        rank=rank,
        lists=ExpectedLists.from_probabilities(at_ranks, padded),
    )


def list_column(batch: PoolBatch, name: str) -> pa.Array:
    """Return a column of lists; text is their JSON, as in formats that have no lists."""
    column = batch.column(name)
    if is_text(column.type):
        column = _parsed(batch, name, column)
    if not is_list(column.type):
        raise batch.error(name, 0, f"must be a list, got type {column.type}")
    return column


def _parsed(batch: PoolBatch, name: str, texts: pa.Array) -> pa.Array:
    """Return the lists that texts spell as JSON, as Arrow has them."""
    values = []
    for row, text in enumerate(texts.to_pylist()):
        try:
            values.append(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise batch.error(name, row, f"is no list in JSON: {error}") from error
        if not isinstance(values[-1], list):
            raise batch.error(name, row, f"is no list: {text[:40]}")
    try:
        return pa.array(values) if any(values) else pa.array(values, pa.list_(pa.string()))
    except _NO_ARRAY as error:
        row = first_unreadable(lambda end: pa.array(values[:end]), len(values), _NO_ARRAY)
        raise batch.error(name, row, f"its values do not go together: {one_line(error)}") from error


def _flat(
    batch: PoolBatch, name: str, items: str = "", counts: IntArray | None = None
) -> tuple[IntArray, pa.Array]:
    """Return the row, and the value, of each element of lists, one for each of the counts."""
    column = list_column(batch, name)
    lengths = pc.list_value_length(column).to_numpy()
    if counts is not None:
        batch.refuse(
            name,
            lengths != counts,
            lambda row: f"{lengths[row]} values for the {counts[row]} items of column {items!r}",
        )
    return np.repeat(np.arange(len(column)), lengths), plain(pc.list_flatten(column))


def _check_items(batch: PoolBatch, name: str, query: IntArray, items: pa.Array) -> None:
    """Check that items are whole numbers or text, and no two of a query alike."""
    kind = items.type
    if not (pa.types.is_integer(kind) or is_text(kind)):
        raise batch.error(name, 0, f"items must be integers or strings, got type {kind}")
    if items.null_count:
        at = pc.index(items.is_null(), True).as_py()
        raise batch.error(name, int(query[at]), "an item is null")
    codes = pc.dictionary_encode(items).indices.to_numpy().astype(np.int64)
    order = np.lexsort((codes, query))
    same = (np.diff(query[order]) == 0) & (np.diff(codes[order]) == 0)
    if same.any():
        at = int(order[np.argmax(same)])
        raise batch.error(name, int(query[at]), f"item {items[at].as_py()!r} is there twice")


def _floats(batch: PoolBatch, name: str, query: IntArray, values: pa.Array) -> FloatArray:
    """Return values of queries as numbers, NaN for a null."""
    if len(values) and not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise batch.error(name, int(query[0]), f"must hold numbers, got type {values.type}")
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _ranks(
    query: IntArray, place: IntArray, score: FloatArray, counts: IntArray, depth: int
) -> IntArray:
    """Return the rank of each item by falling score, 0 beyond the depth or without a score."""
    absent = np.isnan(score)
    order = np.lexsort((place, -np.where(absent, -np.inf, score), absent, query))
    rank = np.empty(len(query), dtype=np.int64)
    rank[order] = within_runs(counts) + 1
    rank[absent | (rank > depth)] = 0
    return rank


def _grade_model(
    batch: PoolBatch, system: SystemSpec, items: str, counts: IntArray, grades: int
) -> FloatArray:
    """Return the probabilities of the grades of each item, by one system: (items, grades)."""
    name = str(system.probability)
    query, inner = _flat(batch, name, items, counts)
    if len(inner) and not is_list(inner.type):
        raise batch.error(name, 0, f"must be a list of lists, got a list of {inner.type}")
    if not len(inner):
        return np.zeros((0, grades))
    sizes = pc.fill_null(pc.list_value_length(inner), 0).to_numpy(zero_copy_only=False)
    if np.any(sizes != grades):
        at = int(np.argmax(sizes != grades))
        raise batch.error(name, int(query[at]), f"{sizes[at]} probabilities for {grades} grades")
    matrix = _floats(batch, name, query, pc.list_flatten(inner)).reshape(-1, grades)
    with np.errstate(invalid="ignore"):
        bad = ~(np.all((matrix >= 0) & (matrix <= 1), axis=1))
        bad |= np.abs(matrix.sum(axis=1) - 1) > _FAR
    if bad.any():
        at = int(np.argmax(bad))
        problem = "probabilities of grades lie in [0, 1] and sum to 1, got "
        raise batch.error(name, int(query[at]), f"{problem}{matrix[at].tolist()}")
    return matrix / matrix.sum(axis=1, keepdims=True)
