"""The runner of studies: tables that one command makes whole, of evaluations simulated before.

A program calls `main` with its tables. Where these are of many simulated evaluations it has a
`Study` too: `run` simulates what has no results yet, `report` makes the tables. A file of results
is there whole or not at all, so a run that was stopped goes on with what is missing.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import functools
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pools
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from evalsampling.measures.base import Measure
from evalsampling.samplers import Sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.summary import Point
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.arrays import FloatArray

FOLDER = pools.PROJECT / "docs" / "studies"

Row = Sequence[Any]
Result = dict[str, Any]
Options = argparse.Namespace
Names = tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of a study."""

    name: str  # its file below the folder of studies, without the end
    header: str  # names of the columns, after a colon the format of one
    rows: Callable[[Options], Iterable[Row]]  # None and NaN are empty cells
    repeats: int = 0  # unless others are asked for
    form: str = ""  # of floats in columns without a format
    kept: bool = True  # as a file; else it is printed, for a page that has its figures

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [column.partition(":")[0] for column in self.header.split(",")]

    def make(self, options: Options) -> None:
        """Print the table row by row, then write its file if it has rows, whole or not at all."""
        asked = vars(options) | {"repeats": getattr(options, "repeats", None) or self.repeats}
        forms = [column.partition(":")[2] for column in self.header.split(",")]
        printed, made = csv.writer(sys.stdout, lineterminator="\n"), [self.columns]
        printed.writerow(self.columns)
        for row in self.rows(Options(**asked)):
            made.append([self._cell(*one) for one in zip(row, forms, strict=True)])
            printed.writerow(made[-1])
            sys.stdout.flush()
        if self.kept and len(made) > 1:
            path = options.output / f"{self.name}.csv"
            with pools.whole(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(made)
            print(f"{path}: written, by commit {commit()}", file=sys.stderr)

    def _cell(self, value: Any, form: str) -> str:
        if pd.isna(value):
            return ""
        return format(value, form or (self.form if isinstance(value, float) else ""))


def commit() -> str:
    """Return the commit of these files; with a plus where they differ from it."""

    def git(*words: str) -> str:
        asked = ["git", "-C", str(pools.PROJECT), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short=7", "HEAD") + "+" * bool(changed)


# --- simulated evaluations


def rows_of(measure: Measure, truth: FloatArray, point: Point, at: Result) -> Iterator[Result]:
    """Yield a row for each number of a measure, with the default interval."""
    for one, true in zip(point.estimates, truth.tolist(), strict=True):
        yield {
            "measure": one.target.measure,
            "system": one.target.system,
            "against": one.target.against,
            "null": one.target.null,
            "truth": true,
            "value": one.value,
            "claims": one.claims,
            "warned": bool(one.warnings),
            "low": one.low,
            "high": one.high,
            "p_value": one.significance and one.significance.p_value,
        }


@dataclasses.dataclass(frozen=True)
class Trial:
    """An evaluation that is simulated: a known pool, a sampler, what is reported."""

    known: KnownPool
    sampler: Sampler
    measures: Sequence[Measure]
    plan: Plan

    @functools.cached_property
    def truths(self) -> list[FloatArray]:
        """The value of each measure, from all labels."""
        return [self.known.value(measure) for measure in self.measures]


@dataclasses.dataclass(frozen=True)
class Study:
    """Trials, each simulated many times, and what is kept of a repeat."""

    name: str  # of the folder below build/ where results go
    plan: Plan  # of the trials; results of another are refused
    names: Callable[[Options], Iterable[Names]]  # of all trials: the pool first, the sampler last
    trial: Callable[..., Trial]  # given the options and its names
    # of results, given a measure, its truth, what a repeat came to, and columns of all rows
    rows: Callable[[Measure, FloatArray, Point, Result], Iterable[Result]] = rows_of
    titles: Names = ("pool", "sampler")  # of the columns of results that have the names of a trial
    repeats: int = 20  # of each trial, unless others are asked for
    most: Mapping[str, int] = dataclasses.field(default_factory=dict)  # repeats of some samplers
    block: int = 5  # repeats of a file
    pools: Path = pools.CORPUS

    def run(self, options: Options) -> None:
        """Simulate what has no results yet, in processes; note the commit, tell how far it is."""
        self._keep_settings(options.results)
        todo = [*self._blocks(options)]
        if not todo:
            return
        note(options.results)
        started = time.perf_counter()
        executor = concurrent.futures.ProcessPoolExecutor(options.workers)
        try:
            jobs = {executor.submit(self.simulate, options, *one): one[0] for one in todo}
            for done, job in enumerate(concurrent.futures.as_completed(jobs), start=1):
                job.result()
                minutes = (time.perf_counter() - started) / 60 / done * (len(todo) - done)
                told = f"{done}/{len(todo)} {', '.join(jobs[job])}; about {minutes:.0f} min left"
                print(told, file=sys.stderr, flush=True)
        finally:
            executor.shutdown(wait=sys.exc_info()[0] is None, cancel_futures=True)

    def _blocks(self, options: Options) -> Iterator[tuple[Names, int, int]]:
        """Yield the blocks without results, in turn of all trials: results are even at any time."""
        trials = self.asked(options)
        for first in range(0, options.repeats, self.block):
            for names in trials:
                most = min(options.repeats, self.most.get(names[-1], options.repeats))
                end = min(first + self.block, most)
                if first < end and not path(options.results, names, first, end).exists():
                    yield names, first, end

    def asked(self, options: Options) -> list[Names]:
        """Return the names of the trials of the pools and samplers that are asked for."""
        every = [*self.names(options)]
        chosen = pools.chosen(options.only, [*dict.fromkeys(names[0] for names in every)])
        samplers = options.samplers or {names[-1] for names in every}
        return [names for names in every if names[0] in chosen and names[-1] in samplers]

    def simulate(self, options: Options, names: Names, first: int, end: int) -> None:
        """Simulate some repeats of a trial and write their file."""
        with threadpool_limits(1):
            trial = self.trial(options, *names)
            found = [
                row for repeat in range(first, end) for row in self.repeat(trial, names, repeat)
            ]
        write(found, path(options.results, names, first, end))

    def repeat(self, trial: Trial, names: Names, repeat: int) -> Iterator[Result]:
        """Yield the rows of one repeat."""
        points = run_repeat(trial.known, trial.sampler, trial.measures, trial.plan, repeat)
        for budget, of_budget in zip(trial.plan.budgets, points, strict=True):
            for measure, truth, point in zip(trial.measures, trial.truths, of_budget, strict=True):
                at = {"repeat": repeat, "budget": budget, "seconds": point.seconds}
                yield from (at | row for row in self.rows(measure, truth, point, at))

    def read(self, options: Options) -> pd.DataFrame:
        """Return the results of the trials that are asked for, by repeat."""
        tables = []
        for names in self.asked(options):
            for file in sorted(path(options.results, names, 0, 0).parent.glob("*.parquet")):
                rows = pq.read_table(file)
                for title, name in zip(self.titles, names, strict=True):
                    rows = rows.append_column(title, pa.array([name] * len(rows)))
                tables.append(rows)
        if not tables:
            return pd.DataFrame(columns=self.titles)
        return pa.concat_tables(tables, promote_options="default").to_pandas()

    def _keep_settings(self, results: Path) -> None:
        """Keep results of other settings apart: they end the program with a line."""
        results.mkdir(parents=True, exist_ok=True)
        file, told = results / "settings.json", msgspec.json.encode(self.plan)
        if not file.exists():
            file.write_bytes(told)
        elif json.loads(file.read_bytes()) != json.loads(told):
            sys.exit(f"{file}: the results there have other settings: choose --results")


# --- results


def path(results: Path, names: Names, first: int, end: int) -> Path:
    """Return the file of some repeats of a trial."""
    folders = ("-".join(re.findall(r"[\w.%-]+", name)) for name in names)
    return results.joinpath("runs", *folders, f"{first:05}-{end:05}.parquet")


def write(rows: list[Result], file: Path) -> None:
    """Write a file of results, whole or not at all."""
    with pools.whole(file) as draft:
        pq.write_table(pa.Table.from_pylist(rows), draft, compression="zstd")


def note(results: Path) -> None:
    """Add the commit to those of results, once."""
    found = commits(results)
    if commit() not in found:
        (results / "commits.txt").write_text("\n".join([*found, commit()]), "utf-8")


def commits(results: Path) -> list[str]:
    """Return the commits of results; none if they were not noted."""
    file = results / "commits.txt"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


# --- commands


def main(
    about: str | None,
    tables: Sequence[Table],
    study: Study | None = None,
    then: Callable[[Options], int | None] = lambda options: 0,
    **own: int | bool | Path,
) -> None:
    """Make the tables of a program, or run the study that they are of; end with the exit status.

    The help of the command is the first line of `about`; `then` makes what there is beside the
    tables, and returns the exit status; `own` are further options, with their defaults.
    """
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    by_name = {table.name.rpartition("/")[2]: table for table in tables}
    usual: dict[str, Any] = {"output": FOLDER, "pools": pools.SHARED, **own}
    if study is None:
        parser.add_argument("--only", nargs="*", choices=by_name, default=by_name, metavar="TABLE")
        parser.add_argument("--repeats", type=int, metavar="N", help="in place of a table's own")
    else:
        parser.add_argument("action", choices=("run", "report"))
        for name in ("only", "samplers"):
            parser.add_argument(f"--{name}", nargs="*", default=[], help="default: all")
        folder = pools.PROJECT / "build" / study.name
        usual |= {"pools": study.pools, "results": folder, "repeats": study.repeats, "workers": 1}
    for name, one in usual.items():
        how: Any = {"action": "store_true"} if one is False else {"type": type(one)}
        parser.add_argument(f"--{name}", default=one, help="default: %(default)s", **how)
    options = parser.parse_args()
    if study is not None and options.action == "run":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        study.run(options)
        return
    if study is not None and not any(options.results.glob("runs/*")):
        sys.exit(f"{options.results}: no results, nothing written")
    for name, table in by_name.items():
        if study is not None or name in options.only:
            table.make(options)
    if study is not None:
        print(f"commits {', '.join(commits(options.results))}", file=sys.stderr)
    sys.exit(then(options))


# --- pictures, which need matplotlib


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, its size in inches."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    spines = {"axes.spines.top": False, "axes.spines.right": False}
    mpl.rcParams.update({"font.size": 8, **spines, "svg.fonttype": "none", "svg.hashsalt": "study"})
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, file: Path) -> None:
    """Write a picture as SVG or PNG, without the time: the same data make the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unsaid = {"Date": None, "Creator": None} if file.suffix == ".svg" else {"Software": None}
    figure.savefig(file, dpi=110 if file.suffix == ".png" else None, metadata=unsaid)
