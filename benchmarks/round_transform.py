"""What a round costs as a transform over all rows, beside the reserve that `sample` reads.

    python benchmarks/round_transform.py
    python benchmarks/round_transform.py --rows 100000000 --passes 10

A pool is made and prepared, which keeps the reserve, by the job of Beam that the round is compared
with and as `prepare` does it by itself. Then `sample` draws a round of the reserve, and
`SampleRound` picks one of as many rows while it reads the pool, by `design_round`'s chances; with
`--passes` it reads the pool repeatedly, as so many times the rows. Each is a process of its own;
seconds are those of its work. Ratios are to the reserve's round.
"""

import argparse
import functools
import json
import sys
import time
from pathlib import Path
from typing import Any

import measured
import preparations
from measured import Cost

LABELS = 1000
"""Rows of a round."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=50_000_000, metavar="N")
    parser.add_argument("--passes", type=int, default=1, metavar="N", help="reads of the pool")
    parser.add_argument("--round-of", type=Path, metavar="WORKSPACE", help=argparse.SUPPRESS)
    preparations.add_options(parser, repeats=1)
    options = parser.parse_args(argv)
    if options.round_of is not None:
        measured.report(functools.partial(_round, options.round_of, options.passes))
        return 0
    with preparations.pool(options.directory, options.rows, keep=True) as pool:
        preparations.read_through(pool)
        results = [_measure(pool, options) for _ in range(options.repeats)]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 0


def _measure(pool: Path, options: argparse.Namespace) -> dict[str, Any]:
    by_beam, _ = preparations.prepare(pool, options.directory, "--runner=FnApiRunner")
    with preparations.new_spec(pool, options.directory) as spec:
        prepared, result = measured.measure_command("prepare", spec)
        workspace = Path(result["workspace"])
        picked, round = measured.measure(
            "round_transform.py", "--round-of", workspace, "--passes", options.passes
        )
        drawn, _ = measured.measure_command("sample", workspace, "--size", LABELS)
        reserve = sum(path.stat().st_size for path in (workspace / "reserve").iterdir())
    return {
        "rows": options.rows,
        "prepare": _cost(prepared),
        "prepare by Beam": _cost(by_beam),
        "sample from the reserve": _cost(drawn),
        "reserve bytes": reserve,
        "SampleRound": {"rows": options.rows * options.passes, **round, **_cost(picked)},
        "picking a row, by preparing one by Beam": (picked.seconds / options.passes)
        / by_beam.seconds,
    }


def _cost(cost: Cost) -> dict[str, float]:
    return {
        "seconds": round(cost.seconds, 2),
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "peak_mib": round(cost.peak_mib),
    }


def _round(workspace: Path, passes: int) -> dict[str, int]:
    """Pick the rows of the next round while reading the pool; return how many there are."""
    import apache_beam as beam

    from evalsampling.pipelines.running import parse_options, run
    from evalsampling.pool.catalog import Catalog
    from evalsampling.pool.columns import required_columns
    from evalsampling.transforms import AssignCells, FetchPool, SampleRound
    from evalsampling.workspace.pool_facts import PoolFacts, design_round

    facts = PoolFacts.read(workspace)
    spec = facts.pool.spec
    chances = design_round(workspace, LABELS)
    found = workspace.parent / f"picked-{time.time_ns()}"
    found.mkdir()
    root = beam.Pipeline(options=parse_options([]))
    items = root | "ListItems" >> beam.Create([*Catalog.read(spec).items] * passes)
    rows = items | "FetchRows" >> FetchPool(required_columns(spec))
    picked = rows | AssignCells(facts) | SampleRound(facts, chances)
    _ = picked["rows"] | "Write" >> beam.Map(_write, found)
    run(root)
    return {"picked": sum(int(path.name.split("-")[0]) for path in found.iterdir())}


def _write(rows: Any, folder: Path) -> None:
    (folder / f"{len(rows)}-{time.time_ns()}").touch()


def _table(results: list[dict[str, Any]]) -> str:
    lines = []
    for one in results:
        lines.append(f"{one['rows']:,} rows, reserve {one['reserve bytes'] / 2**20:.1f} MiB")
        for name in ("prepare", "prepare by Beam", "sample from the reserve", "SampleRound"):
            cost = one[name]
            rows = f" of {cost['rows']:,} rows, {cost['picked']:,} picked" if "rows" in cost else ""
            lines.append(
                f"  {name + rows:<60}{cost['seconds']:>9.2f} s{cost['cpu_seconds']:>9.2f} s of "
                f"processors{cost['peak_mib']:>7.0f} MiB"
            )
        ratio = one["picking a row, by preparing one by Beam"]
        lines.append(f"  a row is picked in {ratio:.2f} of the time in which Beam prepares one")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
