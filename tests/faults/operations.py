"""Faults at the file operations of a command: a kill at the n-th, or a full disk from then on."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.storage.gcs import GcsStore

CHANGES: list[tuple[Any, str]] = [
    *((os, name) for name in ("link", "mkdir", "rename", "replace", "unlink", "rmdir")),
    (os, "fsync"),
]
"""What a command does to a local store, but for the content of files, which is never in place."""

WRITES: list[tuple[Any, str]] = [
    *((os, name) for name in ("link", "mkdir", "fsync")),
    (Path, "write_bytes"),
    (pq, "write_table"),
]
"""What needs room on the disk."""

REQUESTS: list[tuple[Any, str]] = [(GcsStore, name) for name in ("create", "remove", "overwrite")]
"""What a command does to a store in a bucket."""


class Killed(BaseException):
    """The process has gone: nothing catches this, and what it does later does not happen."""


class Faults:
    """Counts operations, and lets those fail that are told.

    Attributes:
        done: operations so far.
    """

    def __init__(self, first: int | None, error: Callable[[], BaseException]) -> None:
        self.done = 0
        self._first, self._error = first, error

    def wrap(self, call: Callable[..., Any], half: bool) -> Callable[..., Any]:
        """Return an operation that may fail; ``half``: with half of a file written."""

        def operation(*arguments: Any, **options: Any) -> Any:
            if half and not isinstance(arguments[1], Path):
                return call(*arguments, **options)  # in memory
            self.done += 1
            if self._first is not None and self.done >= self._first:
                if half:
                    with open(arguments[1], "wb") as file:
                        file.write(b"PAR1 half of a file")
                raise self._error()
            return call(*arguments, **options)

        return operation


@contextlib.contextmanager
def faults(
    operations: list[tuple[Any, str]],
    first: int | None,
    error: Callable[[], BaseException] = Killed,
) -> Iterator[Faults]:
    """Let all operations from the ``first`` on fail, from 1; None for none."""
    counted = Faults(first, error)
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in operations:
            half = name == "write_table"
            patch.setattr(owner, name, counted.wrap(getattr(owner, name), half))
        yield counted


def full() -> OSError:
    """The error of a full disk."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
