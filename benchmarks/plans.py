"""What `plan` says before any label, beside what evaluations of pools with known truth come to.

    python benchmarks/plans.py --pools=DIR [--only NAME ...]       # prints a table
    python benchmarks/plans.py --csv=build/plans.csv               # and continues a file of results

Each pool is planned three times: by its column of probabilities, by its score, of which `prepare`
decides what it is, and by its score as an order. Half-widths are the median of the default
intervals, and at least 1.96 times the error, of plans and of simulated evaluations alike. A folder
holds NAME.parquet and NAME-truth.parquet, as for `benchmarks/corpus.py`.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pools
from threadpoolctl import threadpool_limits

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.imagined import is_believed
from evalsampling.simulation.plan import plan
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool

READINGS: dict[str, dict[str, str]] = {
    "probability": {"probability": "probability"},
    "score": {},
    "order": {"score_is": "order"},
}
"""Keys of the pool by which its score is read."""

FIELDS = (
    "pool", "reading", "kind", "believed", "measure", "truth", "planned", "low", "high",
    "simulated",
)  # fmt: skip
CLOSE = 1.5
"""Factor within which a plan is as good as what comes."""


ROUNDING = 1e-3
"""What half-widths may differ by where they are the same, 0 or all of the range."""


def main(argv: list[str] | None = None) -> int:
    """Plan and simulate, print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    pools.add_option(parser)
    parser.set_defaults(pools=pools.PROJECT.parent / "shared" / "corpus")
    parser.add_argument("--only", nargs="*", default=[], metavar="POOL", help="default: all pools")
    parser.add_argument("--readings", nargs="*", default=[*READINGS], choices=READINGS)
    parser.add_argument("--measures", nargs="*", default=["f1", "recall"], metavar="NAME")
    parser.add_argument("--budget", type=int, default=300, metavar="N", help="labels")
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="evaluations each")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="of results; continued")
    options = parser.parse_args(argv)
    found = pools.find(options.pools)
    kept = _kept(options.csv)
    for name in pools.chosen(options.only, found) if found else ():
        for reading in options.readings:
            if not any((row["pool"], row["reading"]) == (name, reading) for row in kept):
                made = list(planned_and_simulated(options, name, reading))
                kept += made
                _add(options.csv, made)
    print(table(kept))
    return 0


def planned_and_simulated(
    options: argparse.Namespace, name: str, reading: str
) -> Iterator[dict[str, Any]]:
    """Yield the results of a pool that is read in one way, one for each measure."""
    folder = options.pools
    content = {
        "pool": {"path": f"{name}.parquet", **READINGS[reading]},
        "measure": list(options.measures),
        "budget": options.budget,
        "round_size": {"first": 50, "growth": 1.5},
        "seed": 1,
    }
    spec = EvaluationSpec.from_mapping(content, folder.resolve())
    cut = stratify_pool(spec)
    known, decided = KnownPool.read(spec, cut, folder / f"{name}-truth.parquet"), cut.decided(spec)
    budgets, sampler = (options.budget,), build_sampler(spec, cut.ranges)
    measures = build_measures(spec, cut.ranges)
    with threadpool_limits(1):
        plans = plan(
            decided, known.table, cut.ranges, [sampler.name], budgets, options.repeats, workers=1
        )
        asked = Plan(budgets, spec.round_size, options.repeats, 53, 0.95, divergence=False,
                     hidden=spec.label_prior)  # fmt: skip
        come = simulate(known, [sampler], measures, asked, workers=1)
    for row, result in zip(plans, come["results"], strict=True):
        half = max(result["median_width"] / 2, min(1.96 * result["rmse"], 0.5))
        yield {
            "pool": name,
            "reading": reading,
            "kind": cut.kind or "column",
            "believed": is_believed(decided, known.table),
            "measure": row["measure"],
            "truth": come["truth"][result["measure"]],
            "planned": row["half_width"],
            "low": row["half_width_low"],
            "high": row["half_width_high"],
            "simulated": half,
        }


def _kept(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def _add(path: Path | None, rows: list[dict[str, Any]]) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def table(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table: how often plans are close, by reading, kind and measure."""
    head = ["reading", "kind", "measure", "pools", "planned within 1.5", "too narrow", "too wide",
            "in the range", "upper end by lower"]  # fmt: skip
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    groups = sorted({(row["reading"], row["kind"], row["measure"]) for row in rows})
    groups += sorted({(row["reading"], "all", row["measure"]) for row in rows})
    for reading, kind, measure in groups:
        chosen = [
            row for row in rows
            if (row["reading"], row["measure"]) == (reading, measure)
            and kind in ("all", row["kind"])
        ]  # fmt: skip
        came, planned, low, high = (
            np.array([float(row[key] or np.nan) for row in chosen])
            for key in ("simulated", "planned", "low", "high")
        )
        ratio = came / np.where(planned > 0, planned, np.nan)
        inside = (came >= low - ROUNDING) & (came <= high + ROUNDING)
        shares = [
            f"{np.mean(each):.2f}"
            for each in (
                (ratio <= CLOSE) & (ratio >= 1 / CLOSE), ratio > CLOSE, ratio < 1 / CLOSE, inside
            )
        ]  # fmt: skip
        ends = f"{np.median(high / np.maximum(low, ROUNDING)):.1f}"
        lines.append(" | ".join([reading, kind, measure, str(len(chosen)), *shares, ends]))
    return "\n".join(f"| {line} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
