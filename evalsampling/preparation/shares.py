"""An engine that goes over a pool share by share: by threads here, or wherever PySpark runs it.

What stages make of a share are `Piece`s. All that is left to do is to call `share_pieces` for each
share, to bring the pieces of one kind and part together, and to call `merged_piece` for each such
group: that is a `Gather`.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from evalsampling.pool.catalog import PoolFile, PoolSource
from evalsampling.pool.layout import PlannedFile
from evalsampling.preparation.stages import Gatherer, Reading, Stage, Step, Total
from evalsampling.spec.pool import PoolSpec
from evalsampling.telemetry import progress

Item = TypeVar("Item")


class Piece(NamedTuple):
    """A state that a stage made of a share; pieces of equal kind and part are merged."""

    kind: str
    part: int
    state: Any


@dataclasses.dataclass(frozen=True)
class Rows:
    """Batches that are read anew each time somebody goes over them."""

    source: Any  # what shares are dealt from: a list, or what a `Gather` takes for one
    read: Callable[[Any], Iterable[Any]] = iter  # yields the batches of a share
    steps: tuple[Step, ...] = ()  # what is made of each batch

    def over(self, share: Any) -> Iterator[Any]:
        """Yield the batches of a share."""
        batches = iter(self.read(share))
        for step in self.steps:
            batches = map(step, batches)
        return batches

    def batches(self) -> Iterator[Any]:
        """Yield all batches, read in this process."""
        return self.over(self.source)


def share_pieces(share: Any, part: int, rows: Rows, stages: Sequence[Stage]) -> Iterator[Piece]:
    """Yield the pieces that stages make of a share, which is read once."""
    gatherers: dict[str, Gatherer] = {}
    for batch in rows.over(share):
        for stage in stages:
            if stage.gather is None:
                yield from _pieces(stage, batch, part)
            else:
                if stage.name not in gatherers:
                    gatherers[stage.name] = stage.gather(batch)
                gatherers[stage.name].add(batch)
    for stage in stages:
        if stage.name in gatherers:
            yield from _pieces(stage, gatherers[stage.name].finish(), part)


def _pieces(stage: Stage, element: Any, part: int) -> Iterator[Piece]:
    return (Piece(stage.name, key, state) for key, state in stage.pieces(element, part))


def merged_piece(kind: str, part: int, states: Iterable[Any], stages: Mapping[str, Stage]) -> Piece:
    """Return the piece that all states of a kind and part are merged to, of stages by name."""
    return Piece(kind, part, stages[kind].merged(part, states))


Work = Callable[[Any, int], Iterator[Piece]]
"""Yields the pieces of a share, given the part of its sums."""

Merge = Callable[[str, int, Iterable[Any]], Piece]
"""Returns the piece that all states of a kind and part are merged to."""


Gather = Callable[[Rows, Work, Merge, int], list[Piece]]
"""Does the work on all shares of rows, and returns the merged pieces.

Its last argument is how many parts a kind has, if they are to be merged apart.
"""


@dataclasses.dataclass(frozen=True)
class Shares:
    """An engine whose values are plain objects: see `preparation.stages.Engine`."""

    gather: Gather  # goes over rows
    # stores the rows of a pool that no file has yet, and returns the files; None where they are
    # there
    store: Callable[[PoolSpec], list[PlannedFile]] | None = None

    def value(self, _: str, value: Any) -> Any:
        return value

    def call(self, step: Step, value: Any) -> Any:
        return step(value)

    def each(self, step: Step, values: list[Any]) -> list[Any]:
        return list(map(step, values))

    def expand(self, step: Step, value: Any) -> list[Any]:
        return list(step(value))

    def inspect(self, source: PoolSource) -> list[PoolFile]:
        planned = source.files() if self.store is None else self.store(source.plan.pool)
        (files,) = self.run(Rows(planned, _as_one), _INSPECT_POOL)
        return files

    def read(self, reading: Reading, items: list[Any]) -> tuple[Rows, list[Any]]:
        rows = Rows(items, functools.partial(_read, step=reading.step))
        return rows, items if reading.stored is None else [reading.stored(item) for item in items]

    def map(self, rows: Rows, step: Step) -> Rows:
        return dataclasses.replace(rows, steps=(*rows.steps, step))

    def run(self, rows: Rows, *stages: Stage) -> list[Any]:
        # A worker has its share; it needs no other.
        anywhere = dataclasses.replace(rows, source=None)
        work = functools.partial(share_pieces, rows=anywhere, stages=stages)
        merge = functools.partial(merged_piece, stages={stage.name: stage for stage in stages})
        parts = max((stage.keys for stage in stages), default=1)
        pieces = self.gather(rows, work, merge, parts)
        return [
            stage.result([piece.state for piece in pieces if piece.kind == stage.name])
            for stage in stages
        ]


def _read(items: Iterable[Any], step: Step) -> Iterator[Any]:
    for batch in itertools.chain.from_iterable(map(step, items)):
        yield batch
        progress.advance(len(batch))


def _as_one(files: list[PlannedFile]) -> list[list[PlannedFile]]:
    return [files]


def _inspected(files: list[PlannedFile]) -> list[PoolFile]:
    return [PoolFile.inspect(file) for file in files]


_INSPECT_POOL = Total("InspectPool", Step("InspectFiles", _inspected), "AddFiles")


def deal(items: Sequence[Item], most: int) -> list[list[Item]]:
    """Return items dealt out into at most ``most`` shares; neighbours go to different shares."""
    shares = min(len(items), most)
    return [list(items[number::shares]) for number in range(shares)]


def groups_of(shares: int) -> int:
    """Return in how many groups to merge the states of shares, if there is one of each.

    As many as there are states in a group: so neither who merges a group nor who merges the
    groups has more than the square root of them.
    """
    return math.isqrt(max(shares - 1, 0)) + 1


MOST_THREADS = 8
"""Each holds a batch, and the rows it keeps."""


def by_threads(threads: int | None = None) -> Shares:
    """Return the engine of this process with a number of threads."""
    most = min(os.cpu_count() or 1, MOST_THREADS)
    return Shares(functools.partial(gather_by_threads, most if threads is None else threads))


def gather_by_threads(threads: int, rows: Rows, work: Work, merge: Merge, _: int) -> list[Piece]:
    """Return the merged pieces of rows that threads of this process go over, each a share.

    A thread takes the next item when it is done with one. Pieces are merged in the order of the
    items, and of several errors the one is raised that a single thread would have come upon. What
    is one item, or merges to one piece, needs no other thread than this.
    """
    items, taking, closed = enumerate(rows.source), threading.Lock(), threading.Event()
    errors: list[tuple[int, Exception]] = []

    def placed_pieces(_: int) -> list[tuple[int, Piece]]:
        """Return the pieces of one thread's share, each with the place of the item behind it."""
        place = 0

        def share() -> Iterator[Any]:
            nonlocal place
            while True:
                with taking:
                    if closed.is_set():  # Whoever waits was interrupted, or an item has failed.
                        raise concurrent.futures.CancelledError
                    taken = next(items, None)
                if taken is None:
                    return
                place, item = taken
                yield item

        try:
            return [(place, piece) for piece in work(share(), 0)]
        except concurrent.futures.CancelledError:
            return []
        except Exception as error:  # raised again by who waits for all threads
            with taking:
                closed.set()
                errors.append((place, error))
            return []

    states: dict[tuple[str, int], list[Any]] = collections.defaultdict(list)

    def merged(key: tuple[str, int]) -> Piece:
        return merge(*key, states[key])

    with concurrent.futures.ThreadPoolExecutor(threads) as pool, contextlib.ExitStack() as stack:
        stack.callback(closed.set)
        over: Callable[..., Iterable[Any]] = pool.map if len(rows.source) > 1 else map
        placed = list(itertools.chain.from_iterable(over(placed_pieces, range(threads))))
        if errors:  # All items before the first of them were taken.
            raise min(errors, key=lambda error: error[0])[1]
        for _, piece in sorted(placed, key=lambda item: item[0]):
            states[piece.kind, piece.part].append(piece.state)
        over = pool.map if len(states) > 1 else map
        return list(over(merged, states))


LOCAL = by_threads()
"""The engine of this process, with as many threads as there are cores."""
