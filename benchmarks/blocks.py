"""Repeats of studies in blocks, each with a file of results that is there whole or not at all."""

import concurrent.futures
import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import commits
import pyarrow as pa
import pyarrow.parquet as pq


class HasResults(Protocol):
    """Some repeats of one thing, with a file of results."""

    def path(self, results: Path) -> Path:
        """Return the file of its results."""

    @property
    def told(self) -> str:
        """Its name in a line of progress."""


One = TypeVar("One", bound=HasResults)


@dataclasses.dataclass(frozen=True)
class Block:
    """Some repeats of one sampler on one pool."""

    pool: str
    sampler: str
    first: int
    end: int

    def path(self, results: Path) -> Path:
        """Return the file of its results."""
        folder = results / "runs" / self.pool.replace(" ", "-") / self.sampler
        return folder / f"{self.first:05}-{self.end:05}.parquet"

    @property
    def told(self) -> str:
        """Its name in a line of progress."""
        return f"{self.pool}, {self.sampler}, {self.first}-{self.end}"

    def write(self, rows: list[dict[str, Any]], schema: pa.Schema, results: Path) -> None:
        """Write the file of its results."""
        write_rows(rows, schema, self.path(results))


def write_rows(rows: list[dict[str, Any]], schema: pa.Schema, path: Path) -> None:
    """Write a file of results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema), unfinished, compression="zstd")
    os.replace(unfinished, path)


class SettingsError(Exception):
    """The results that are there have other settings."""


def keep_settings(results: Path, settings: Mapping[str, Any]) -> None:
    """Keep results of other settings apart.

    Raises:
        SettingsError: if the results that are there have other settings.
    """
    results.mkdir(parents=True, exist_ok=True)
    path, told = results / "settings.json", json.dumps(settings, indent=1) + "\n"
    if not path.exists():
        path.write_text(told, encoding="utf-8")
    elif json.loads(path.read_text(encoding="utf-8")) != json.loads(told):
        raise SettingsError(f"{path}: the results there have other settings: choose --results")


def run_missing(
    blocks: Sequence[One], results: Path, workers: int | None, simulate: Callable[[One], None]
) -> None:
    """Simulate the blocks that have no results yet, in processes, and tell how far it is.

    An end from outside leaves whole files only; the next run goes on from these. The commit is
    noted beside the results.

    Args:
        blocks: all that are wanted, in the order in which they are taken.
        results: folder of their files.
        workers: processes; one a core if None.
        simulate: writes the file of a block.
    """
    todo = [one for one in blocks if not one.path(results).exists()]
    if not todo:
        return
    commits.note(results)
    started = time.perf_counter()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    executor = concurrent.futures.ProcessPoolExecutor(
        workers, initializer=_end_with, initargs=(os.getpid(),)
    )
    try:
        jobs = {executor.submit(simulate, one): one for one in todo}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), start=1):
            job.result()
            left = (time.perf_counter() - started) / 60 / done * (len(todo) - done)
            told = f"{done}/{len(todo)} {jobs[job].told}; about {left:.0f} min left"
            print(told, file=sys.stderr, flush=True)
    finally:
        executor.shutdown(wait=sys.exc_info()[0] is None, cancel_futures=True)
        signal.signal(signal.SIGTERM, before)


def _end_with(parent: int) -> None:
    """Let a worker end when the process that started it is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
