"""What flushing to the disk costs: the commands with and without it, in turn, on the same pool.

    python benchmarks/durability_cost.py [--rows 100000] [--repeats 5] [--directory HERE]

Prints for each command the median seconds with and without, their ratio, how often it flushes, and
the median seconds that all flushes of a run took together, which other programs on the machine
disturb less than the ratio. ``--directory`` is on the disk to measure.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.pipelines.prepare import PipelineOptions, prepare
from evalsampling.spec import EvaluationSpec


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=None)
    options = parser.parse_args()
    times: dict[str, dict[bool, list[_Told]]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        pool = _make_pool(Path(name), options.rows)
        for repeat in range(options.repeats):
            for durable in (True, False) if repeat % 2 else (False, True):
                workspace = Path(name) / f"run-{repeat}-{durable}"
                flushes = _Flushes(os.fsync if durable else lambda _: None)
                with mock.patch.object(os, "fsync", flushes):
                    for command, told in _run(pool, workspace, flushes).items():
                        times.setdefault(command, {True: [], False: []})[durable].append(told)
    for command, found in times.items():
        with_it, without = (
            statistics.median(told[0] for told in found[durable]) for durable in (True, False)
        )
        told = {
            "command": command,
            "with": round(with_it, 4),
            "without": round(without, 4),
            "ratio": round(with_it / without, 3),
            "flushes": found[True][-1][1],
            "flushing": round(statistics.median(told[2] for told in found[True]), 4),
        }
        print(json.dumps(told))


class _Flushes:
    """Counts flushes, and how long they take."""

    def __init__(self, flush: Callable[[int], object]) -> None:
        self._flush = flush
        self.calls, self.seconds = 0, 0.0

    def __call__(self, handle: int) -> None:
        started = time.perf_counter()
        self._flush(handle)
        self.seconds += time.perf_counter() - started
        self.calls += 1


def _make_pool(directory: Path, rows: int) -> Path:
    rng = np.random.default_rng(0)
    score = rng.normal(size=rows)
    columns = {"id": np.arange(rows), "score": score, "prediction": (score > 1).astype(np.int8)}
    pq.write_table(pa.table(columns), directory / "pool.parquet")
    return directory / "pool.parquet"


_Told = tuple[float, int, float]
"""Of a command: seconds, number of flushes, seconds of these."""


def _run(pool: Path, workspace: Path, flushes: _Flushes) -> dict[str, _Told]:
    """Return what each command of one evaluation took."""
    content = {"pool": {"path": str(pool)}, "budget": 500, "round_size": 100, "seed": 1}
    spec = EvaluationSpec.from_mapping({**content, "workspace": str(workspace)}, str(pool.parent))
    where, labels = str(workspace), workspace.with_suffix(".csv")

    def timed(call: Callable[[], object]) -> _Told:
        calls, flushing, started = flushes.calls, flushes.seconds, time.perf_counter()
        call()
        seconds = time.perf_counter() - started
        return seconds, flushes.calls - calls, flushes.seconds - flushing

    told = {"prepare": timed(lambda: prepare(spec, PipelineOptions([])))}
    told["sample"] = timed(lambda: sample(SampleOptions(where)))
    batch = pq.read_table(workspace / "rounds" / "0001" / "batch.parquet")
    lines = [f"{task},{number % 2}" for number, task in enumerate(batch["task"].to_pylist())]
    labels.write_text("\n".join(["task,label", *lines, ""]))
    told["estimate"] = timed(lambda: estimate(EstimateOptions(where, (str(labels),))))
    return told


if __name__ == "__main__":
    main()
