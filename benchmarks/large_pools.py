"""Does adaptive sampling adapt on large pools? Errors of static and adaptive sampling beside.

    python benchmarks/large_pools.py

The pools are made up (`rounds.make_table`): one row in a thousand or so is positive, the prior
takes the scores to be half as steep as they are. Each has its truth drawn once, and every sampler
the same seeds.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np
from rounds import make_table

from evalsampling.measures import FBeta
from evalsampling.samplers import AdaptiveImportance, Importance, Sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

ROWS = (10**6, 10**8)
BUDGETS = (500, 1000, 2000)


def main(argv: list[str] | None = None) -> int:
    """Simulate, print, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=60, metavar="N", help="default: 60")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    measure = FBeta(beta=1.0)
    samplers: dict[str, Sampler] = {
        "importance": Importance(measure, draws=100),
        "ais, EM alone": AdaptiveImportance(measure, draws=100, accelerate=False),
        "ais": AdaptiveImportance(measure, draws=100),
    }
    results = []
    for rows in ROWS:
        pool = make_known(rows)
        for name, sampler in samplers.items():
            plan = Plan(BUDGETS, RoundSize(100), options.repeats, 1, 0.95)
            found = simulate(pool, [sampler], [measure], plan)["results"]
            results += [{"rows": rows, **one, "sampler": name} for one in found]
    if options.json:
        print(json.dumps(results))
    else:
        _print(results)
    return 0


def _print(results: list[dict[str, Any]]) -> None:
    print(
        f"{'rows':>12}  {'sampler':<14}{'labels':>7}{'RMSE':>9}{'coverage':>10}"
        f"{'score':>8}{'divergence':>12}{'RMSE / static':>15}"
    )
    for one in results:
        static = next(
            other["rmse"]
            for other in results
            if (other["rows"], other["budget"], other["sampler"])
            == (one["rows"], one["budget"], "importance")
        )
        print(
            f"{one['rows']:>12,}  {one['sampler']:<14}{one['budget']:>7,}{one['rmse']:>9.4f}"
            f"{one['coverage']:>10.2f}{one['interval_score']:>8.3f}{one['divergence']:>12.3f}"
            f"{one['rmse'] / static:>15.2f}"
        )


def make_known(rows: int) -> KnownPool:
    """Make up a pool of so many rows with its truth."""
    table, rates = make_table(rows)
    rate = rates[:, 1]
    positives = np.random.default_rng(0).binomial(table.count, rate)
    count = np.stack([table.count - positives, positives], axis=1).ravel()
    cell = np.repeat(np.arange(len(table)), 2)[count > 0]
    return KnownPool(
        table=table,
        cell=cell,
        label=np.tile([0, 1], len(table))[count > 0],
        count=count[count > 0],
        outputs=table.outputs.take(cell),
    )


if __name__ == "__main__":
    sys.exit(main())
