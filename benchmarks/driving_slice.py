"""Labels that a rare slice needs if rows are drawn for it, and if it is only reported.

    python benchmarks/driving_slice.py --repeats 200

A pool of 100,000 rows, 4 % of them positive. One row in 200 is of the rare slice, where the odds of
a positive are twice what scores say. Recall is wanted of this slice. Once it drives the sampling
(`where`), once recall of the pool does and the slice is reported (`pool.slices`), with five times
the labels. The table is in docs/slices.md.
"""

import argparse
import concurrent.futures
import functools
from typing import Any

import numpy as np
from scipy import special

from evalsampling import Evaluation
from evalsampling.inference.intervals import covers
from evalsampling.inference.results import Estimate

ROWS, SHARE = 100_000, 0.005
SHIFT = np.log(2.0)
LABELS = (50, 100, 200)
TIMES = 5
"""Labels where the slice is reported, for each where it drives."""
ROUNDS = 4
"""Rounds from one number of labels to the next."""
DRIVING: dict[str, dict[str, Any]] = {
    "driven": {"measure": {"name": "recall", "where": {"part": "rare"}}},
    "reported": {"measure": "recall", "pool": {"slices": ["part"]}},
}
NO_VALUE = 0.5
"""Error of an estimate without a value: what a number drawn from the range errs by, or more."""


def evaluate(sampler: str, way: str, repeat: int) -> list[tuple[float, bool, bool]]:
    """Return, for each number of labels, the error, whether it claims, and whether it holds."""
    rng = np.random.default_rng([repeat, 40])
    logit = rng.normal(-5.0, 2.2, ROWS)
    rare = rng.random(ROWS) < SHARE
    label = (rng.random(ROWS) < special.expit(logit + SHIFT * rare)).astype(np.int64)
    predicted = (logit > 0).astype(np.int64)
    truth = float(predicted[rare] @ label[rare] / label[rare].sum())
    evaluation = Evaluation.from_arrays(
        logit,
        predicted,
        probability=special.expit(logit),
        columns={"part": np.where(rare, "rare", "other")},
        sampler=sampler,
        seed=repeat,
        **DRIVING[way],
    )
    results = []
    for budget in LABELS if way == "driven" else [TIMES * labels for labels in LABELS]:
        size = -(-(budget - len(evaluation.history.labelled)) // ROUNDS)
        while (wanted := budget - len(evaluation.history.labelled)) > 0:
            rows = evaluation.sample(min(size, wanted))
            if not len(rows):
                break
            evaluation.label(rows, label[rows])
        (estimate,) = (each for each in evaluation.estimate() if _is_wanted(each, way))
        error = NO_VALUE if estimate.value is None else estimate.value - truth
        results.append((error, estimate.claims, covers(estimate.intervals[0], truth)))
    return results


def _is_wanted(estimate: Estimate, way: str) -> bool:
    return way == "driven" or estimate.target.slice == "part=rare"


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument(
        "--sampler", default="calibrated", metavar="NAME", help="default: calibrated"
    )
    parser.add_argument("--ways", nargs="+", default=list(DRIVING), choices=DRIVING)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    options = parser.parse_args()
    print("| sampler | slice | labels | RMSE on the slice | claims | coverage |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
        for way in options.ways:
            work = functools.partial(evaluate, options.sampler, way)
            runs = list(executor.map(work, range(options.repeats)))
            for place, labels in enumerate(LABELS):
                error, claims, holds = np.array([run[place] for run in runs]).T
                held = f"{holds[claims > 0].mean():.3f}" if claims.any() else "-"
                count = labels if way == "driven" else TIMES * labels
                print(
                    f"| {options.sampler} | {way} | {count:,} | {np.sqrt(np.mean(error**2)):.3f} | "
                    f"{claims.mean():.2f} | {held} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
