"""Times simulated evaluations by each sampler against those by passive sampling.

    python benchmarks/simulate_speed.py
    python benchmarks/simulate_speed.py --rows 100000000 --labels 2000

The pool is made up (`large_pools.make_known`) and of any size: a simulation reads cells, not rows.
Each repeat is an evaluation of F1 in rounds of 100 labels, with an estimate at the end. The
samplers run in turn, on `--workers` processes. Figures are medians of the runs.
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

from large_pools import make_known

from evalsampling.measures import FBeta
from evalsampling.samplers import AdaptiveImportance, Importance, Oasis, Passive, Sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

MEASURE = FBeta(beta=1.0)
SAMPLERS: dict[str, Sampler] = {
    "passive": Passive(MEASURE),
    "importance": Importance(MEASURE),
    "oasis": Oasis(MEASURE),
    "ais": AdaptiveImportance(MEASURE),
}


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = _parse(argv)
    pool = make_known(options.rows)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in SAMPLERS}
    for seed in range(options.runs):
        for name in SAMPLERS:
            runs[name].append(_time(pool, name, seed, options))
    results = [_result(name, runs, options) for name in SAMPLERS]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, metavar="N", help="of the pool (default: 1,000,000)"
    )
    parser.add_argument("--labels", type=int, default=1000, metavar="N", help="default: 1,000")
    parser.add_argument(
        "--repeats", type=int, default=20, metavar="N", help="evaluations of a run (default: 20)"
    )
    parser.add_argument(
        "--runs", type=int, default=3, metavar="N", help="of each sampler (default: 3)"
    )
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def _time(
    pool: KnownPool, name: str, seed: int, options: argparse.Namespace
) -> tuple[float, float]:
    """Return seconds of a run, and processor time of its evaluations."""
    plan = Plan((options.labels,), RoundSize(100), options.repeats, seed, 0.95)
    started = time.perf_counter()
    found = simulate(pool, [SAMPLERS[name]], [MEASURE], plan, workers=options.workers)
    return time.perf_counter() - started, found["results"][0]["seconds"]


def _result(
    name: str, runs: dict[str, list[tuple[float, float]]], options: argparse.Namespace
) -> dict[str, Any]:
    seconds, cpu_seconds = map(statistics.median, zip(*runs[name], strict=True))
    passive = statistics.median(run[0] for run in runs["passive"])
    return {
        "sampler": name,
        "rows": options.rows,
        "labels": options.labels,
        "repeats_per_second": options.repeats / seconds,
        "cpu_ms_per_repeat": 1000 * cpu_seconds / options.repeats,
        "ratio": passive / seconds,
    }


def _table(results: list[dict[str, Any]]) -> str:
    lines = [f"{'sampler':<12}{'labels':>8}{'repeats/s':>11}{'ratio':>8}{'CPU ms/repeat':>15}"]
    lines += [
        f"{one['sampler']:<12}{one['labels']:>8,}{one['repeats_per_second']:>11.2f}"
        f"{one['ratio']:>8.3f}{one['cpu_ms_per_repeat']:>15.1f}"
        for one in results
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
