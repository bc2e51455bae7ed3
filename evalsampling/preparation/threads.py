"""The engine of this process: its threads take what there is to read from one list.

Numpy and Arrow let other threads run while they work, so as many cores are busy as there are
threads.
"""

import collections
import concurrent.futures
import contextlib
import functools
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from evalsampling.preparation.shares import Merge, Piece, Rows, Shares, Work

MOST_THREADS = 8
"""Each holds a batch of up to 2^20 rows, and the rows it keeps."""


def by_threads(threads: int | None = None) -> Shares:
    """Return the engine of this process with a number of threads."""
    most = min(os.cpu_count() or 1, MOST_THREADS)
    return Shares(functools.partial(gather_by_threads, most if threads is None else threads))


def gather_by_threads(threads: int, rows: Rows, work: Work, merge: Merge, _: int) -> list[Piece]:
    """Return the merged pieces of rows that threads of this process go over, each a share.

    A thread takes the next item when it is done with one. Pieces are merged in the order of the
    items, and of several errors the one is raised that a single thread would have come upon.
    """
    states: dict[tuple[str, int], list[Any]] = collections.defaultdict(list)
    queue = _Queue(rows.source)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool, contextlib.closing(queue):
        shares = pool.map(functools.partial(_placed_pieces, work), [queue] * threads)
        placed = [piece for share in shares for piece in share]
        queue.raise_first_error()
        for _, piece in sorted(placed, key=lambda item: item[0]):
            states[piece.kind, piece.part].append(piece.state)
        merging = [pool.submit(merge, *key, of_key) for key, of_key in states.items()]
        return [piece.result() for piece in merging]


class _Queue:
    """Items that several threads take, until all are taken or one of them has failed."""

    def __init__(self, items: Iterable[Any]) -> None:
        """Start with all items."""
        self._items = enumerate(items)
        self._lock = threading.Lock()
        self._closed = False
        self._errors: list[tuple[int, Exception]] = []

    def close(self) -> None:
        """Let no thread take one more item: whoever waits for them was interrupted, or is done."""
        self._closed = True

    def take(self) -> tuple[int, Any] | None:
        """Return the next item and its place, None if there is none."""
        with self._lock:
            if self._closed:
                raise _ClosedError
            return next(self._items, None)

    def fail(self, place: int, error: Exception) -> None:
        """Keep the error of an item, and let no thread take one more."""
        with self._lock:
            self._closed = True
            self._errors.append((place, error))

    def raise_first_error(self) -> None:
        """Raise the error of the first item that has one. All items before it were taken."""
        if self._errors:
            raise min(self._errors, key=lambda error: error[0])[1]


class _ClosedError(Exception):
    """Ends a share before its end."""


def _placed_pieces(work: Work, queue: _Queue) -> list[tuple[int, Piece]]:
    """Return the pieces of the share of one thread, each with the place of the item behind it."""
    place = 0

    def share() -> Iterator[Any]:
        nonlocal place
        while (taken := queue.take()) is not None:
            place, item = taken
            yield item

    try:
        return [(place, piece) for piece in work(share(), 0)]
    except _ClosedError:
        return []
    except Exception as error:  # raised again by who waits for all threads
        queue.fail(place, error)
        return []


LOCAL = by_threads()
"""The engine of this process, with as many threads as there are cores."""
