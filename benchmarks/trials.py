"""Simulated evaluations of pools with known truth, in blocks with a file of results each.

A file of results is there whole or not at all. A run that was stopped goes on with what is missing.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import pyarrow.parquet as pq
import tables
from threadpoolctl import threadpool_limits

from evalsampling.measures.base import Measure
from evalsampling.samplers import Sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.summary import Point
from evalsampling.simulation.truth import KnownPool

Result = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Trial:
    """An evaluation that is simulated: a known pool, a sampler, what is reported."""

    known: KnownPool
    sampler: Sampler
    measures: Sequence[Measure]
    plan: Plan

    @functools.cached_property
    def truths(self) -> list[npt.NDArray[np.float64]]:
        """The value of each measure, from all labels."""
        return [self.known.value(measure) for measure in self.measures]


@dataclasses.dataclass(frozen=True)
class Block:
    """Some repeats of one trial, known by its names: those of its pool and its sampler."""

    names: tuple[str, ...]
    first: int
    end: int

    def path(self, results: Path) -> Path:
        """Return the file of its results."""
        folders = ("-".join(re.findall(r"[\w.%-]+", name)) for name in self.names)
        return results.joinpath("runs", *folders, f"{self.first:05}-{self.end:05}.parquet")


@dataclasses.dataclass(frozen=True)
class Study:
    """What is simulated, and what is kept of it.

    Attributes:
        trial: returns the trial that has some names.
        rows: yields rows of results, given a measure, its truth of shape (components,), what a
            repeat came to at a budget, and the columns that all rows have.
        schema: of the rows.
    """

    trial: Callable[..., Trial]
    rows: Callable[[Measure, npt.NDArray[np.float64], Point, Result], Iterable[Result]]
    schema: pa.Schema

    def simulate(self, block: Block, results: Path) -> None:
        """Simulate a block and write its file."""
        with threadpool_limits(1):
            trial = self.trial(*block.names)
            found = [
                row
                for repeat in range(block.first, block.end)
                for row in self._repeat(trial, repeat)
            ]
        write(found, self.schema, block.path(results))

    def _repeat(self, trial: Trial, repeat: int) -> Iterator[Result]:
        points = run_repeat(trial.known, trial.sampler, trial.measures, trial.plan, repeat)
        for budget, of_budget in zip(trial.plan.budgets, points, strict=True):
            for measure, truth, point in zip(trial.measures, trial.truths, of_budget, strict=True):
                at = {"repeat": repeat, "budget": budget, "seconds": point.seconds}
                yield from (at | row for row in self.rows(measure, truth, point, at))


def parser(about: str | None, name: str, repeats: int, block: int) -> argparse.ArgumentParser:
    """Return the parser of a study that is run in blocks of repeats, and reported.

    Args:
        about: its first line is the help of the command.
        name: of the folder below build/ where results go.
        repeats: of each trial, unless asked otherwise.
        block: repeats of a file, unless asked otherwise.
    """
    made, folder = tables.parser(about), pools.PROJECT / "build" / name
    made.add_argument("action", choices=("run", "report"))
    made.add_argument("--results", type=Path, default=folder, metavar="DIR")
    made.add_argument("--repeats", type=int, default=repeats, metavar="N", help=f"usual: {repeats}")
    made.add_argument("--block", type=int, default=block, metavar="N", help="repeats of a file")
    made.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    made.add_argument("--only", nargs="*", default=[], metavar="POOL", help="default: all pools")
    return made


def blocks(names: Sequence[tuple[str, ...]], repeats: int, block: int) -> Iterator[Block]:
    """Yield the blocks of trials, in turn from all, so that results are even at any time."""
    for first in range(0, repeats, block):
        yield from (Block(each, first, min(first + block, repeats)) for each in names)


def run(options: argparse.Namespace, study: Study, todo: Iterable[Block], settings: Any) -> None:
    """Simulate the blocks that have no results yet, in processes, and tell how far it is.

    An end from outside leaves whole files only; the next run goes on from these. The commit is
    noted beside the results; results of other settings end the program.
    """
    results = options.results
    keep_settings(results, settings)
    left = [one for one in todo if not one.path(results).exists()]
    if not left:
        return
    note(results)
    started, before = time.perf_counter(), signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    executor = concurrent.futures.ProcessPoolExecutor(
        options.workers, initializer=_end_with, initargs=(os.getpid(),)
    )
    try:
        simulate = functools.partial(study.simulate, results=results)
        jobs = {executor.submit(simulate, one): one for one in left}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), start=1):
            job.result()
            minutes = (time.perf_counter() - started) / 60 / done * (len(left) - done)
            told = f"{done}/{len(left)} {', '.join(jobs[job].names)}; about {minutes:.0f} min left"
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


def write(rows: list[Result], schema: pa.Schema, path: Path) -> None:
    """Write a file of results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema), unfinished, compression="zstd")
    os.replace(unfinished, path)


def read(results: Path, *names: str) -> pa.Table | None:
    """Return all results of a trial, None if there are none."""
    files = sorted(Block(names, 0, 0).path(results).parent.glob("*.parquet"))
    if not files:
        return None
    return pa.concat_tables(map(pq.read_table, files), promote_options="default")


def columns(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of results."""
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def keep_settings(results: Path, settings: Any) -> None:
    """Keep results of other settings apart: they end the program with a line."""
    results.mkdir(parents=True, exist_ok=True)
    path, told = results / "settings.json", msgspec.json.encode(settings)
    if not path.exists():
        path.write_bytes(told)
    elif json.loads(path.read_bytes()) != json.loads(told):
        sys.exit(f"{path}: the results there have other settings: choose --results")


def note(results: Path) -> None:
    """Add the commit to those of results, once."""
    found = commits(results)
    if tables.commit() not in found:
        (results / "commits.txt").write_text("\n".join([*found, tables.commit()]), "utf-8")


def commits(results: Path) -> list[str]:
    """Return the commits of results; none if they were not noted."""
    path = results / "commits.txt"
    return path.read_text(encoding="utf-8").split() if path.exists() else []
