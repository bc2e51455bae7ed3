"""Times `prepare` by PySpark against Beam's in-process runner, in turn, on the same pool.

    python benchmarks/spark_speed.py --rows 10000000

Every run is a process of its own on two threads or workers of this machine. `s` is what
`prepare` says it took: from the first look at the files to the marker. `process` is the whole
command, with imports and, for Spark, the start of its virtual machine; `peak` is the resident
memory of all processes of the command together. Cells and reserve are compared each time.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import preparations
import pyarrow.parquet as pq

_PROJECT = Path(__file__).resolve().parents[1]
_WAYS = {
    "beam": [sys.executable, "-m", "evalsampling.pipelines.prepare"],
    "pyspark": [sys.executable, "-m", "evalsampling.pipelines.spark_prepare"],
}
_MASTER = "local[2]"
_SECONDS_BETWEEN_LOOKS = 0.2


@dataclasses.dataclass(frozen=True)
class Run:
    """What one run took.

    Attributes:
        seconds: of the preparation.
        process_seconds: of the process.
        peak_mib: most memory of all its processes together.
    """

    seconds: float
    process_seconds: float
    peak_mib: float


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10_000_000, metavar="N")
    preparations.add_options(parser, repeats=3)
    options = parser.parse_args(argv)
    pool = preparations.make_pool(options.directory, options.rows)
    preparations.read_through(pool)
    runs: dict[str, list[Run]] = {way: [] for way in _WAYS}
    with preparations.new_spec(pool, options.directory) as spec:
        found = {}
        for number in range(options.repeats):
            for way, command in _WAYS.items():
                workspace = _workspace(spec, f"{way}-{number}")
                runs[way].append(_run([*command, f"--spec={spec}"]))
                found[way] = _contents(workspace)
            assert found["beam"] == found["pyspark"], "the workspaces differ"
    results = [_result(way, options.rows, some) for way, some in runs.items()]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 0


def _workspace(spec: Path, name: str) -> Path:
    """Give the spec a new workspace."""
    *rest, _ = spec.read_text().splitlines()
    spec.write_text("\n".join([*rest, f"workspace: {name}", ""]))
    return spec.parent / name


def _run(command: list[str]) -> Run:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_PROJECT), os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_SUBMIT_ARGS": f"--master {_MASTER} --conf spark.ui.enabled=false pyspark-shell",
    }
    started, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while True:
        try:
            out, err = process.communicate(timeout=_SECONDS_BETWEEN_LOOKS)
            break
        except subprocess.TimeoutExpired:
            peak = max(peak, _resident_mib(process.pid))
    if process.returncode:
        raise ChildProcessError(f"{command}: exit code {process.returncode}\n{err[-4000:]}")
    return Run(json.loads(out)["seconds"], time.perf_counter() - started, peak)


def _resident_mib(root: int) -> float:
    """Return the memory of a process and all below it; pages they share count once for each."""
    parents, resident = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        process = int(told["Pid"])
        parents[process] = int(told["PPid"])
        resident[process] = int(told.get("VmRSS", "0 kB").split()[0]) / 1024
    family, before = {root}, 0
    while len(family) > before:
        before = len(family)
        family |= {process for process, parent in parents.items() if parent in family}
    return sum(resident.get(process, 0) for process in family)


def _contents(workspace: Path) -> dict[str, Any]:
    """Return cells and reserve, to be compared."""
    tables = [workspace / "cells.parquet", *sorted((workspace / "reserve").iterdir())]
    return {path.name: _plain(pq.read_table(path)) for path in tables}


def _plain(table: Any) -> Any:
    """Return a table whose files are not numbered, for numbers depend on who came first."""
    if "file" not in table.column_names:
        return table
    place = table.schema.get_field_index("file")
    return table.set_column(place, "file", table["file"].cast("string"))


def _result(way: str, rows: int, runs: list[Run]) -> dict[str, Any]:
    columns = zip(*map(dataclasses.astuple, runs), strict=True)
    seconds, process, peak = (statistics.median(column) for column in columns)
    return {
        "way": way,
        "rows": rows,
        "seconds": seconds,
        "process_seconds": process,
        "peak_mib": peak,
        "rows_per_second": rows / seconds,
    }


def _table(results: list[dict[str, Any]]) -> str:
    lines = [f"{'way':<9}{'rows':>15}{'s':>9}{'M rows/s':>10}{'process, s':>12}{'peak MiB':>10}"]
    lines += [
        f"{one['way']:<9}{one['rows']:>15,}{one['seconds']:>9.2f}"
        f"{one['rows_per_second'] / 1e6:>10.2f}{one['process_seconds']:>12.2f}"
        f"{one['peak_mib']:>10,.0f}"
        for one in results
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
