"""Times `prepare`, and the pass for its statistics, against other ways to sum the same cells.

    python benchmarks/prepare_speed.py --rows 100000000
    python benchmarks/prepare_speed.py --pool DIR --ways plain prepare
    python benchmarks/prepare_speed.py --rows 2000000 --format csv

Every run is a process of its own on two threads, the ways in turn; figures are medians. The files
are read once beforehand, so small pools come from the system's cache. Time and processor time are
those of the work, imports apart; the peak is the process's.

- `plain`: pyarrow and numpy, reading score and prediction alone; of Avro fastavro and numpy. All
  ratios are to it.
- `statistics`: the library's pass with edges given, on its default runner, without the reserve.
- `prepare`: the whole command: two passes, ids and the reserve with its payload.
- `beam`: the same by Beam's in-process runner.
- `duckdb`: one grouping query; the leaf is a binary search spelt as nested `case`, which is the
  fastest exact way found for edges anywhere.
- `duckdb-asof`: the same by an `asof join` with the edges, which is how one would write it.
- `duckdb-bins`: equal widths by arithmetic. Not the same leaves; for scale only.

All but the last, and those that prepare and cut edges of their own, must agree to the last digit.
"""

import argparse
import dataclasses
import functools
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import preparations
from measured import Measurement, interleave, measure

WAYS = ("plain", "statistics", "prepare", "beam", "duckdb", "duckdb-asof", "duckdb-bins")
PREPARING = {"prepare": (), "beam": ("--direct_num_workers=2",)}
"""Options of the command, by way."""

EXACT = ("plain", "statistics", "duckdb", "duckdb-asof")
LIMITS = {"statistics": 1.7, "prepare": 2.8}
"""Most seconds, by those of `plain`."""

LIMIT_MIB = 700
"""Most memory of `prepare`."""

SMALL = {"parquet": 10_000_000, "csv": 1_000_000, "jsonl": 1_000_000, "avro": 400_000}
"""Rows of the pools of `ratios`, which take about as long in each format."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = _parse(argv)
    pool = options.pool or preparations.make_pool(
        options.directory, options.rows, format=options.format
    )
    results = compare(pool, options.directory, _ways(options), options.repeats)
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 1 if options.check and _exceeded(results) else 0


def ratios(directory: Path, format: str = "parquet", repeats: int = 3) -> dict[str, float]:
    """Return processor time of `statistics` and `prepare` by that of `plain`, in about 20 seconds.

    On a pool so small half of the time of `prepare` is the start of the job.

    Args:
        directory: where pools are made and kept, and workspaces for a while.
        format: of the pool, one of `preparations.FORMATS`.
        repeats: of which medians are taken.
    """
    pool = preparations.make_pool(directory, SMALL[format], format=format)
    results = compare(pool, directory, ["plain", "statistics", "prepare"], repeats)
    return {one["way"]: one["cpu_ratio"] for one in results if one["way"] != "plain"}


def compare(pool: Path, directory: Path, ways: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """Measure some ways over a pool in turn, `plain` among them; return the medians of each.

    Args:
        pool: folder of its files.
        directory: where workspaces are for a while.
        ways: of `WAYS`.
        repeats: of each way.

    Raises:
        AssertionError: if ways that are exact differ.
    """
    preparations.read_through(pool)
    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder) / "edges.json"
        edges.write_text(json.dumps(measure("cell_passes.py", "edges", pool)[1]))
        runs = {
            way: functools.partial(preparations.prepare, pool, directory, *PREPARING[way])
            if way in PREPARING
            else functools.partial(measure, "cell_passes.py", way, pool, "--edges", edges)
            for way in ways
        }
        found = interleave(runs, repeats)
    rows = _check_agreement({way: result for way, (_, result) in found.items()})
    return [_result(way, rows, found) for way in found]


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    pool = parser.add_mutually_exclusive_group()
    pool.add_argument("--pool", type=Path, metavar="DIR", help="a folder that make_pool.py wrote")
    pool.add_argument(
        "--rows", type=int, default=10_000_000, metavar="N", help="make one (default: 10,000,000)"
    )
    parser.add_argument(
        "--format", choices=preparations.FORMATS, default="parquet",
        help="of the pool that is made (default: parquet)",
    )  # fmt: skip
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="default: all")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 unless "
        + ", ".join(f"{way} takes at most {limit:g} x plain" for way, limit in LIMITS.items())
        + f" and prepare less than {LIMIT_MIB} MiB",
    )
    preparations.add_options(parser, repeats=3)
    return parser.parse_args(argv)


def _ways(options: argparse.Namespace) -> list[str]:
    """Return the ways asked for that can be gone, `plain` among them."""
    there = importlib.util.find_spec("duckdb") is not None
    if not there:
        print("duckdb is not installed: its ways are left out", file=sys.stderr)
    there = there and options.format == "parquet"
    asked = {"plain", *options.ways}
    return [way for way in WAYS if way in asked and (there or not way.startswith("duckdb"))]


def _check_agreement(results: dict[str, Any]) -> int:
    """Check that all ways saw the same rows and the exact ones the same sums; return the rows."""
    for way in EXACT:
        assert results.get(way, results["plain"]) == results["plain"], f"{way} differs from plain"
    rows = {
        way: result["rows"] if way in PREPARING else sum(result["count"])
        for way, result in results.items()
    }
    assert len(set(rows.values())) == 1, f"numbers of rows differ: {rows}"
    return rows["plain"]


def _result(way: str, rows: int, found: dict[str, Measurement]) -> dict[str, Any]:
    cost = found[way][0]
    return {
        "way": way,
        "rows": rows,
        **dataclasses.asdict(cost),
        "rows_per_second": rows / cost.seconds,
        "ratio": cost.seconds / found["plain"][0].seconds,
        "cpu_ratio": cost.cpu_seconds / found["plain"][0].cpu_seconds,
    }


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'way':<13}{'rows':>15}{'s':>9}{'CPU s':>9}{'M rows/s':>10}{'peak MiB':>10}"
        f"{'ratio':>8}{'CPU':>7}"
    ]
    lines += [
        f"{one['way']:<13}{one['rows']:>15,}{one['seconds']:>9.2f}{one['cpu_seconds']:>9.2f}"
        f"{one['rows_per_second'] / 1e6:>10.1f}{one['peak_mib']:>10,.0f}"
        f"{one['ratio']:>8.2f}{one['cpu_ratio']:>7.2f}"
        for one in results
    ]
    return "\n".join(lines)


def _exceeded(results: list[dict[str, Any]]) -> bool:
    """Tell on stderr which limits are exceeded."""
    problems = [
        f"{one['way']} takes {one['ratio']:.2f} x plain, at most {LIMITS[one['way']]:g} is wanted"
        for one in results
        if one["ratio"] > LIMITS.get(one["way"], float("inf"))
    ]
    problems += [
        f"prepare takes {one['peak_mib']:,.0f} MiB, less than {LIMIT_MIB:,} is wanted"
        for one in results
        if one["way"] == "prepare" and one["peak_mib"] >= LIMIT_MIB
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
