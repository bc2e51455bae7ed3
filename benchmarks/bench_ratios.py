"""What `bench.py` measures: groups of works, each beside something plain in the same run.

All figures are seconds of processor time. A group's works and what they are measured by run in
turn, several times; a ratio is that of their medians.
"""

import dataclasses
import functools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import fastavro
import measured
import numpy as np
import pools
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from scipy import special

from evalsampling.measures import FBeta
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.preparation.plan import stratify_pool
from evalsampling.samplers import AdaptiveImportance, CalibratedDesign, Sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.spec import EvaluationSpec, RoundSize
from evalsampling.stats.cells import CellGrid, Leaves
from evalsampling.stats.signatures import Signatures

POOL_ROWS = 10_000_000  # of the pool that is prepared: starting Beam is not most of it
FORMAT_ROWS = 300_000
STARTED_ROWS = 100_000

LABELS = 20 * [0, 0, 1, 0, 0]
"""Answers to a round, which are as good as any: what is timed is how a command starts."""


@dataclasses.dataclass(frozen=True)
class Group:
    """What returns seconds of works by their names, and of what they are measured by."""

    works: Callable[[], Mapping[str, float]]
    by: Callable[[], float]
    repeats: int = 5

    def ratios(self) -> dict[str, float]:
        """Return the ratio of each work, by its name."""
        runs = [(self.by(), self.works()) for _ in range(self.repeats)]
        by = statistics.median(seconds for seconds, _ in runs)
        return {
            name: statistics.median(works[name] for _, works in runs) / by for name in runs[0][1]
        }


def groups(directory: Path, folder: Path) -> Iterator[Group]:
    """Yield all groups, with pools that are kept and workspaces in a folder that is not."""
    pool = measured.make_pool(directory, POOL_ROWS)
    measured.read_through(pool)
    yield _preparing(pool, directory, folder)
    yield from _formats(measured.make_pool(directory, FORMAT_ROWS), folder)
    yield _starting(measured.make_pool(directory, STARTED_ROWS), folder)
    yield _rounds()
    yield _simulating()


# --- preparing a pool, by the same sums with pyarrow and numpy


def _preparing(pool: Path, directory: Path, folder: Path) -> Group:
    edges = folder / "edges.json"
    content = {"pool": {"path": str(min(pool.iterdir())), "probability": "score"}}
    cut = stratify_pool(EvaluationSpec.from_mapping(content, Path()).reading)
    edges.write_text(json.dumps(cut.edges.tolist()))

    def works() -> dict[str, float]:
        hows = {"prepare": (), "prepare: beam": measured.BY_BEAM}
        return {
            name: measured.prepare(pool, directory, *how).cpu_seconds for name, how in hows.items()
        }

    return Group(
        works, lambda: measured.measure("cell_passes.py", pool, edges).cpu_seconds, repeats=3
    )


# --- reading each format as `prepare` does, by as many passes of the usual reader of that format

PASSES = 2  # over a pool


def _formats(pool: Path, folder: Path) -> Iterator[Group]:
    rows = pq.read_table(pool, columns=COLUMNS)
    for kind, (write, read) in FORMATS.items():
        path = folder / f"pool.{kind}"
        write(rows, path)
        yield _format(kind, path, read)


def _format(kind: str, path: Path, read: Callable[[Path], object]) -> Group:
    return Group(
        lambda: {kind: _seconds_of(_import, path)}, lambda: PASSES * _seconds_of(read, path)
    )


def _import(path: Path) -> None:
    """Import a pool of one file and read it in both passes."""
    content = {"pool": {"path": str(path), "payload": ["name"]}, "budget": 1}
    spec = EvaluationSpec.from_mapping(content, Path())
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        catalog = Catalog.read(spec.reading, folder)
        for _ in range(PASSES):
            read = sum(len(b) for item in catalog.items for b in read_batches(item, COLUMNS))
            assert read == catalog.rows


def _seconds_of(work: Callable[[Path], object], path: Path) -> float:
    """Return the processor time of a work by one thread."""
    pa.set_cpu_count(1)
    started = time.process_time()
    work(path)
    return time.process_time() - started


def _read_avro(path: Path) -> None:
    with path.open("rb") as file:
        for _ in fastavro.reader(file):
            pass


def _write_json_lines(rows: pa.Table, path: Path) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows.to_pylist())


def _write_avro(rows: pa.Table, path: Path) -> None:
    types = {"id": "long", "score": "float", "prediction": "int", "name": "string"}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    schema = {"type": "record", "name": "Row", "fields": fields}
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows.to_pylist(), codec="deflate")


COLUMNS = ["id", "score", "prediction", "name"]

FORMATS: Mapping[str, tuple[Callable[[pa.Table, Path], None], Callable[[Path], object]]] = {
    "csv": (pyarrow.csv.write_csv, pyarrow.csv.read_csv),
    "jsonl": (_write_json_lines, pyarrow.json.read_json),
    "avro": (_write_avro, _read_avro),
}
"""What writes a pool in each format, and the usual reader."""


# --- starting, by a Python that imports numpy, with one thread


def _starting(pool: Path, folder: Path) -> Group:
    workspace = folder / "evaluation" / "run"
    workspace.parent.mkdir()
    spec = workspace.with_name("evaluation.yaml")
    spec.write_text(measured.spec_of(pool))
    environment = _environment(folder / "bytecode")
    command = ["-m", "evalsampling"]
    start = functools.partial(_start, environment)
    start(*command, "prepare", spec, "--quiet")
    start(*command, "sample", workspace, "--quiet")
    (batch,) = workspace.glob("rounds/*/batch.csv")
    head, *lines = batch.read_text().splitlines()
    labels = [f"{row.removesuffix(',')},{label}" for row, label in zip(lines, LABELS, strict=True)]
    delivery = spec.with_name("labels.csv")
    delivery.write_text("\n".join([head, *labels]) + "\n")
    start(*command, "estimate", workspace, "--labels", delivery, "--quiet")

    def sample() -> float:
        copy = folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(workspace, copy)
        return start(*command, "sample", copy, "--quiet")

    def works() -> dict[str, float]:
        return {
            "start: import": start("-c", "from evalsampling import Evaluation"),
            "start: --version": start(*command, "--version"),
            "start: status": start(*command, "status", workspace),
            "start: sample": sample(),
            "start: estimate": start(*command, "estimate", workspace, "--quiet"),
        }

    works()  # Once for the bytecode.
    return Group(works, functools.partial(start, "-c", "import numpy"), repeats=7)


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment that is the same on every machine, for programs that start.

    Bytecode is kept in a folder, whatever our own program does with it. Numpy has one thread:
    OpenBLAS spends as much on starting a second as numpy on its import.
    """
    usual = {key: one for key, one in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**usual, "PYTHONPYCACHEPREFIX": str(folder), "OPENBLAS_NUM_THREADS": "1"}


def _start(environment: Mapping[str, str], *arguments: object) -> float:
    """Run Python; return the processor time of the whole process."""
    argv = [*map(str, arguments)]
    code, usage = measured.start(argv, env=environment, stdout=subprocess.DEVNULL)
    if code:
        raise ChildProcessError(f"{' '.join(argv)}: exit code {code}")
    return usage.ru_utime + usage.ru_stime


# --- rounds, estimates and simulations, by the same numpy work


def _rounds() -> Group:
    samplers = {
        "ais": (AdaptiveImportance(FBeta(), draws=100), 30),
        "calibrated": (CalibratedDesign(FBeta()), 6),
    }

    def works() -> dict[str, float]:
        found = {}
        for name, how in samplers.items():
            found[f"round: {name}"], found[f"estimate: {name}"] = measure_rounds(10**7, *how)
        return found

    return Group(works, numpy_seconds)


def _simulating() -> Group:
    pool = make_known(10**6)
    samplers = {
        "ais": (AdaptiveImportance(FBeta()), 12), "calibrated": (CalibratedDesign(FBeta()), 2),
    }  # fmt: skip

    def works() -> dict[str, float]:
        found = {}
        for name, (sampler, repeats) in samplers.items():
            plan = Plan((1000,), RoundSize(100), repeats, 1, 0.95)
            (result,) = simulate(pool, [sampler], [FBeta()], plan, workers=1)["results"]
            found[f"simulate: {name}"] = result["seconds"] / repeats
        return found

    return Group(works, numpy_seconds, repeats=3)


def numpy_seconds() -> float:
    """Return the processor time of work with numpy alone: large arrays, and many small ones."""
    rng = np.random.Generator(np.random.PCG64(1))
    numbers = rng.random(200_000)
    small = rng.random((500, 512))
    started = time.process_time()
    for _ in range(4):
        order = np.sort(numbers)
        place = np.searchsorted(order, numbers)
        np.bincount(place // 500, np.log(numbers))
        for row in small:
            chance = np.exp(row) / np.exp(row).sum()
            np.cumsum(chance)
            np.outer(chance[:32], row[:32]) @ row[:32]
    return time.process_time() - started


# --- made-up cells of pools of any size, which are all that a round reads of a pool

LEAVES = 256


def measure_rounds(rows: int, sampler: Sampler, rounds: int) -> tuple[float, float]:
    """Return the processor seconds of the median round, and of the median estimate of F1."""
    known = make_known(rows)
    analysis, urns = pools.begin(known, sampler, [FBeta()], seed=1), Urns(known, seed=2)
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        analysis = analysis.with_round(100)
        drawn = time.process_time()
        analysis = analysis.with_history(urns.answer(analysis.history))
        answered = time.process_time()
        analysis.estimate()
        seconds.append((drawn - started, time.process_time() - answered))
    of_round, of_estimate = np.median(seconds, axis=0).tolist()
    return of_round, of_estimate


def make_known(rows: int) -> KnownPool:
    """Make up a pool with its truth, one row in 1,000 positive; its prior is half as steep."""
    score = np.linspace(-12, 4, LEAVES)
    grid = CellGrid(np.arange(LEAVES), score, Leaves(LEAVES), Signatures.every((2,)))
    # Every leaf holds both predictions, more positive ones the higher the score.
    share = np.maximum(_of_both(special.expit(4 * score)), 1e-3)
    share *= np.exp(-0.8 * (score - score[0]))[:, None]
    count = np.maximum(np.rint(rows * share / share.sum()), 1).astype(np.int64).ravel()
    count[0] += rows - count.sum()
    prior = np.repeat(_of_both(special.expit(score / 2)), 2, axis=0)
    table = grid.table(np.arange(2 * LEAVES), count, prior, 2)
    rate = np.repeat(special.expit(score), 2)
    positives = np.random.default_rng(0).binomial(table.count, rate)
    count = np.stack([table.count - positives, positives], axis=1).ravel()
    cell = np.repeat(np.arange(len(table)), 2)[count > 0]
    label = np.tile([0, 1], len(table))[count > 0]
    return KnownPool(table, cell, label, count[count > 0], table.kinds.take(cell))


def _of_both(positive: np.ndarray) -> np.ndarray:
    """Return the rates of both classes."""
    return np.stack([1 - positive, positive], axis=1)
