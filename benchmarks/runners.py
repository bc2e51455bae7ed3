"""Times `prepare`, `sample` and `estimate` on Beam's runners, and compares what they give.

    python benchmarks/runners.py --rows 10000000

One pool, on each runner: `prepare`, a round of 100 rows and its estimate. Each command is a process
of its own, timed without its imports but with the start of the runner's server, which Beam starts
and stops with it. Workers are threads of that process. Runners are those of which the scripts of
`deployment` have made the server; the others are left out. What a runner gives must be what the
in-process runner gives: cells, reserve and batch.
"""

import argparse
import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import preparations
import pyarrow.parquet as pq
from measured import measure_command

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evalsampling"

SPARK, FLINK, PRISM = (CACHE / name for name in ("spark", "flink", "prism"))

RUNNERS: dict[str, tuple[Path | None, list[str]]] = {
    "FnApiRunner": (None, []),
    "PrismRunner": (PRISM, [f"--prism_location={PRISM / 'prism'}"]),
    "FlinkRunner": (FLINK, [f"--flink_job_server_jar={FLINK / 'job-server.jar'}"]),
    "SparkRunner": (
        SPARK,
        [f"--spark_job_server_jar={SPARK / 'job-server.jar'}", "--spark_master_url=local[2]"],
    ),
}
"""By name, the folder of what runs it, and its options."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rows", type=int, default=10_000_000, metavar="N", help="default: 10,000,000"
    )
    parser.add_argument("--runners", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    preparations.add_options(parser, repeats=1)
    options = parser.parse_args(argv)
    pool = preparations.make_pool(options.directory, options.rows)
    preparations.read_through(pool)
    results: list[dict[str, Any]] = []
    given: dict[str, Any] = {}
    for name in options.runners:
        folder, _ = RUNNERS[name]
        if folder is not None and not folder.exists():
            print(f"{name}: no {folder}, see docs/runners.md", file=sys.stderr)
            continue
        for _ in range(options.repeats):
            try:
                result, given[name] = _measure(name, pool, options)
            except ChildProcessError as error:
                result = {"runner": name, "error": str(error).splitlines()[-1]}
            results.append(result)
    for name, found in given.items():
        assert found == next(iter(given.values())), f"{name} gives something else"
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 1 if any("error" in result for result in results) else 0


def _measure(
    name: str, pool: Path, options: argparse.Namespace
) -> tuple[dict[str, Any], list[Any]]:
    """Return times, and what has to be the same on all runners."""
    folder, own = RUNNERS[name]
    beam = [] if folder is None else [f"--runner={name}", *own, "--environment_type=LOOPBACK"]
    if name == "FlinkRunner":
        beam.append("--parallelism=2")
    with preparations.new_spec(pool, options.directory) as spec:
        prepared, result = measure_command("prepare", spec, *beam)
        workspace = Path(result["workspace"])
        sampled, drawn = measure_command("sample", workspace, *beam)
        labels = spec.with_name("labels.csv")
        _annotate(Path(drawn["batch"]), labels)
        estimated, estimate = measure_command("estimate", workspace, "--labels", labels, *beam)
        rows = pq.read_table(workspace / "reserve")
        rows = rows.sort_by([("cell", "ascending"), ("rank", "ascending")])
        given = [
            pq.read_table(workspace / "cells.parquet"),
            rows.drop_columns(["file"]),
            rows["file"].cast("string"),
            # Tasks are named by a key that each workspace has of its own.
            pq.read_table(workspace / "rounds" / "0001" / "draws.parquet"),
            estimate["measures"],
        ]
    times = {
        "runner": name,
        "version": "installed" if folder is None else (folder / "version").read_text().strip(),
        "rows": result["rows"],
        "prepare": prepared.seconds,
        "job": result["seconds"],
        "sample": sampled.seconds,
        "estimate": estimated.seconds,
        "peak_mib": prepared.peak_mib,
    }
    return times, given


def _annotate(batch: Path, labels: Path) -> None:
    """Answer every task of a batch: the name of a match begins with an m."""
    with batch.open(newline="") as tasks, labels.open("w", newline="") as delivery:
        answers = csv.writer(delivery)
        answers.writerow(["task", "label"])
        for task in csv.DictReader(tasks):
            answers.writerow([task["task"], int(task["name"].startswith("m"))])


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'runner':<13}{'prepare s':>10}{'job s':>8}{'M rows/s':>10}{'ratio':>7}"
        f"{'sample s':>10}{'estimate s':>12}{'peak MiB':>10}  version"
    ]
    for one in results:
        if "error" in one:
            lines.append(f"{one['runner']:<13} fails: {one['error']}")
            continue
        lines.append(
            f"{one['runner']:<13}{one['prepare']:>10.1f}{one['job']:>8.1f}"
            f"{one['rows'] / one['prepare'] / 1e6:>10.2f}"
            f"{one['prepare'] / results[0].get('prepare', float('nan')):>7.1f}"
            f"{one['sample']:>10.1f}{one['estimate']:>12.1f}{one['peak_mib']:>10,.0f}"
            f"  {one['version']}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
