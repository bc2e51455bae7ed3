"""Precision-recall curves of the shared pools by `ais`, plain random sampling and `adastrat`.

    python benchmarks/adastrat_beside_ais.py [--repeats N]      # a quarter of an hour on one core

The error is the root of the summed squared errors of precision and recall at 16 thresholds, over
the repeats. What `adastrat` takes is told, not run: where one query needs more answers than the
pool has rows, it labels all of them. The table is in docs/studies/adastrat.md.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pools

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.stats.precision_queries import QueryBound

SAMPLERS = ("ais", "passive")
BUDGETS = (1000, 5000)
BETA, DELTA = 1.3, 0.05
HEAD = "| pool | rows | p(N) | answers of one query | `adastrat` labels |"


def row(directory: Path, name: str, repeats: int) -> str:
    """Return the row of a pool."""
    content = {
        "pool": {"path": f"{name}.parquet", "probability": "probability"},
        "measure": {"name": "pr_curve", "thresholds": 16},
        "sampler": "ais",
        "budget": BUDGETS[-1],
        "seed": 5,
    }
    spec = EvaluationSpec.from_mapping(content, directory.resolve())
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, directory / f"{name}-truth.parquet")
    plan = Plan(
        BUDGETS, RoundSize(250), repeats, spec.seed, spec.confidence,
        divergence=False,
    )  # fmt: skip
    tried = [build_sampler(spec, stratification.ranges, sampler) for sampler in SAMPLERS]
    measures = build_measures(spec, stratification.ranges)
    found = simulate(known, tried, measures, plan, workers=1)["results"]
    rows, positives = known.table.rows, int(known.labels[:, 1].sum())
    one_query = QueryBound(BETA, 0.0, DELTA).draws(positives / rows, 1)
    taken = f"{rows:,}, all" if one_query >= rows else f"{one_query:,} and more"
    errors = " | ".join(error(found, sampler, budget) for sampler in SAMPLERS for budget in BUDGETS)
    return f"| {name} | {rows:,} | {positives / rows:.5f} | {one_query:,} | {taken} | {errors} |"


def error(found: list[Mapping[str, Any]], sampler: str, budget: int) -> str:
    """Return the error of a sampler at a budget."""
    (one,) = (each for each in found if (each["sampler"], each["budget"]) == (sampler, budget))
    return f"{one['rmse']:.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    pools.add_option(parser)
    parser.add_argument("--repeats", type=int, default=4)
    arguments = parser.parse_args()
    settings = [f"`{sampler}`, {budget:,}" for sampler in SAMPLERS for budget in BUDGETS]
    print(f"{HEAD} {' | '.join(settings)} |\n| --- |{' ---: |' * (4 + len(settings))}")
    for name in pools.find(arguments.pools):
        print(row(arguments.pools, name, arguments.repeats), flush=True)


if __name__ == "__main__":
    main()
