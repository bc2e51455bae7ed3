"""What flushing to the disk costs: the commands with and without it, in turn, on the same pool.

    python benchmarks/durability_cost.py [--rows 100000] [--repeats 5] [--directory HERE]

Prints for each command the median seconds with and without, and their ratio. ``--directory`` is
on the disk to measure.
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
from evalsampling.spec import EvaluationSpec
from pipelines.prepare import PipelineOptions, prepare


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--directory", type=Path, default=None)
    options = parser.parse_args()
    times: dict[str, dict[bool, list[float]]] = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        pool = _make_pool(Path(name), options.rows)
        for repeat in range(options.repeats):
            for durable in (True, False) if repeat % 2 else (False, True):
                workspace = Path(name) / f"run-{repeat}-{durable}"
                flush = os.fsync if durable else lambda _: None
                with mock.patch.object(os, "fsync", flush):
                    for command, seconds in _run(pool, workspace).items():
                        times.setdefault(command, {True: [], False: []})[durable].append(seconds)
    for command, found in times.items():
        with_it, without = (statistics.median(found[durable]) for durable in (True, False))
        told = {"command": command, "with": round(with_it, 4), "without": round(without, 4)}
        print(json.dumps({**told, "ratio": round(with_it / without, 3)}))


def _make_pool(directory: Path, rows: int) -> Path:
    rng = np.random.default_rng(0)
    score = rng.normal(size=rows)
    columns = {"id": np.arange(rows), "score": score, "prediction": (score > 1).astype(np.int8)}
    pq.write_table(pa.table(columns), directory / "pool.parquet")
    return directory / "pool.parquet"


def _run(pool: Path, workspace: Path) -> dict[str, float]:
    """Return the seconds of each command of one evaluation."""
    content = {"pool": {"path": str(pool)}, "budget": 500, "round_size": 100, "seed": 1}
    spec = EvaluationSpec.from_mapping({**content, "workspace": str(workspace)}, str(pool.parent))
    where, labels = str(workspace), workspace.with_suffix(".csv")
    seconds = {"prepare": _time(lambda: prepare(spec, PipelineOptions([])))}
    seconds["sample"] = _time(lambda: sample(SampleOptions(where)))
    batch = pq.read_table(workspace / "rounds" / "0001" / "batch.parquet")
    lines = [f"{task},{number % 2}" for number, task in enumerate(batch["task"].to_pylist())]
    labels.write_text("\n".join(["task,label", *lines, ""]))
    seconds["estimate"] = _time(lambda: estimate(EstimateOptions(where, (str(labels),))))
    return seconds


def _time(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
