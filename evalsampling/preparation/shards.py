"""Both passes over a share of a pool, as plain functions for PySpark and engines like it.

A share is some work items that one worker reads. What a pass finds in it are mergeable states,
each a `Piece` with a key; an engine gathers the pieces of all shares by key and merges each
group. That is all that Spark has to do (`evalsampling.pipelines.spark_prepare`).
"""

import collections
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import PoolFile
from evalsampling.pool.columns import required_columns
from evalsampling.pool.files import StoredFile
from evalsampling.pool.scorer import Scorer, score_item, scored_item
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.ids import check_repeated, repeated_hashes, split_hashes
from evalsampling.preparation.local import SecondPass, first_pass, read_items
from evalsampling.preparation.payload import with_payload
from evalsampling.preparation.reserve import Reserve, split_reserve, sum_reserves
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted, summary_columns
from evalsampling.spec import EvaluationSpec

Item = TypeVar("Item")

FILES, SUMMARY, SUMS, COUNTS, RESERVE, IDS = "files", "summary", "sums", "counts", "reserve", "ids"
"""Kinds of pieces."""


class Piece(NamedTuple):
    """A mergeable state; pieces of equal kind and part are summed."""

    kind: str
    part: int
    state: Any


def deal(items: Sequence[Item], most: int) -> list[list[Item]]:
    """Deal items out into shares, at most ``most``; neighbours go to different ones."""
    shares = min(len(items), most)
    return [list(items[number::shares]) for number in range(shares)]


def groups_of(shares: int) -> int:
    """Return in how many groups to merge the states of shares, if there is one of each.

    As many as there are states in a group: so neither who merges a group nor who merges the
    groups has more than the square root of them.
    """
    return math.isqrt(max(shares - 1, 0)) + 1


def inspect_share(files: Iterable[StoredFile], part: int) -> Iterator[Piece]:
    """Yield the columns and splits of files.

    Raises:
        InputError: if one cannot be read.
    """
    yield Piece(FILES, part, [PoolFile.inspect(file) for file in files])


def summarize_share(
    items: Iterable[WorkItem], part: int, spec: EvaluationSpec, scored: str
) -> Iterator[Piece]:
    """First pass: score the rows, if the spec names a scorer, and summarise them.

    Args:
        items: to read.
        part: of the summary, if the spec wants any.
        spec: of the evaluation.
        scored: directory or URL for the scorer's output.

    Raises:
        InputError: naming file, column and row of the first bad value, or if the scorer fails.
    """
    batches = _scores(items, spec, scored)
    if not Wanted.from_spec(spec).anything:
        collections.deque(batches, maxlen=0)  # The scorer's files are all that is wanted.
        return
    summary = first_pass(batches, spec)
    if summary is not None:
        yield Piece(SUMMARY, part, summary)


def _scores(items: Iterable[WorkItem], spec: EvaluationSpec, scored: str) -> Iterator[PoolBatch]:
    if spec.pool.scorer is None:
        columns = summary_columns(spec)
        return read_items(items, columns)
    scorer = Scorer(spec.pool.scorer, spec.pool.directory)
    return itertools.chain.from_iterable(score_item(i, scorer, spec, scored) for i in items)


def scored_items(items: Iterable[WorkItem], spec: EvaluationSpec, scored: str) -> list[WorkItem]:
    """Return what the second pass reads: the scored rows, if there is a scorer."""
    return [scored_item(item, scored) if spec.pool.scorer else item for item in items]


def cut_share(
    items: Iterable[WorkItem],
    part: int,
    spec: EvaluationSpec,
    stratification: Stratification,
    check_ids: bool = False,
) -> Iterator[Piece]:
    """Second pass: sums of the cells, counts of the slices, the first rows of each cell.

    Args:
        items: to read; of scored rows, if the spec names a scorer.
        part: of the sums and counts. Reserve and ids have parts of their own.
        spec: of the evaluation.
        stratification: what the first pass found out.
        check_ids: whether to give out the hashes of all ids, to be compared by `merge`.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    columns = required_columns(spec, payload=False)
    work = SecondPass(spec, stratification)
    reserve = ReserveBuilder(spec, stratification)
    for cells in work.over(read_items(items, columns, spec.pool.payload)):
        reserve.add(cells)
        if check_ids:
            for number, hashes in split_hashes(cells, spec.seed):
                yield Piece(IDS, number, hashes)
    if work.sums is not None:
        yield Piece(SUMS, part, work.sums)
        yield Piece(COUNTS, part, work.counts)
    for kept in with_payload(reserve.build(), reserve.items, spec.pool.payload):
        for number, rows in split_reserve(kept):
            yield Piece(RESERVE, number, rows)
    pa.default_memory_pool().release_unused()


def merge(
    kind: str,
    part: int,
    states: Iterable[Any],
    write_reserve: Callable[[int, Reserve], pa.Table],
) -> Piece:
    """Merge all states of one kind and part.

    Args:
        kind: of the pieces.
        part: of the pieces.
        states: at least one.
        write_reserve: takes a part of the reserve and returns where its rows are.

    Returns:
        The sum; of a reserve what ``write_reserve`` returned, of ids the hashes that
        come twice, for `check_ids`.
    """
    if kind == RESERVE:
        return Piece(kind, part, write_reserve(part, sum_reserves(states)))
    if kind == IDS:
        return Piece(kind, part, repeated_hashes(states))
    return Piece(kind, part, functools.reduce(operator.add, states))


def check_ids(pieces: Iterable[Piece], items: Iterable[WorkItem], spec: EvaluationSpec) -> None:
    """Check all ids by the merged pieces of the second pass, if it was asked for them.

    Args:
        pieces: of all kinds.
        items: that the second pass has read.
        spec: of the evaluation.

    Raises:
        InputError: if an id is there twice.
    """
    repeated = [piece.state for piece in pieces if piece.kind == IDS]
    if repeated:
        check_repeated(np.concatenate(repeated), items, spec)


def total(pieces: Iterable[Piece], kind: str) -> Any:
    """Return the sum of all pieces of a kind, None if there are none."""
    return functools.reduce(_sum, (p.state for p in pieces if p.kind == kind), None)


def _sum(total: Any, state: Any) -> Any:
    return state if total is None else total + state
