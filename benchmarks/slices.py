"""Coverage and interval score of estimates on slices of the pool.

    python benchmarks/slices.py --repeats 200        # some ten minutes on a core

A pool of 15,000 rows, 4 % of them positive, cut at random into six slices of .02 to .5 of its rows;
once they all have the rates that scores say, once the odds of a positive are half or twice as
great in every other slice. F1 of the whole pool drives. The table is in
docs/studies/calibrated-trials.md.
"""

import argparse
import concurrent.futures
import functools
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import special

from evalsampling import Evaluation
from evalsampling.inference.intervals import covers, interval_score
from evalsampling.inference.results import Estimate

ROWS = 15_000
SHARES = (0.02, 0.05, 0.08, 0.15, 0.2, 0.5)
SHIFTS = {"of the pool": 0.0, "of its own": np.log(2.0)}
SAMPLERS = ("calibrated", "ais")
BUDGETS = (300, 1000)
ROUND = 100
MEASURES = ("f1", "recall")
CONFIDENCE = 0.95
FEWEST = 20
"""Claims below which a coverage is not told."""

Found = tuple[int, str, Estimate, float]
"""Labels, slice, an estimate on it and its true value."""


def evaluate(sampler: str, shift: float, repeat: int) -> list[Found]:
    """Return the estimates on all slices of one pool, at each number of labels."""
    rng = np.random.default_rng([repeat, int(shift > 0)])
    logit = rng.normal(-5.0, 2.2, ROWS)
    part = rng.choice(len(SHARES), ROWS, p=SHARES)
    label = (rng.random(ROWS) < special.expit(logit + shift * (-1.0) ** part)).astype(np.int64)
    predicted = (logit > 0).astype(np.int64)
    evaluation = Evaluation.from_arrays(
        logit,
        predicted,
        probability=special.expit(logit),
        columns={"part": part.astype(str)},
        pool={"slices": ["part"]},
        measure=list(MEASURES),
        sampler=sampler,
        seed=repeat,
    )
    found: list[Found] = []
    for budget in BUDGETS:
        while (wanted := budget - len(evaluation.history.labelled)) > 0:
            rows = evaluation.sample(min(ROUND, wanted))
            evaluation.label(rows, label[rows])
        for one in evaluation.estimate():
            if one.target.slice is not None:
                inside = part == int(one.target.slice.rpartition("=")[2])
                true = _value(one.target.measure, label[inside], predicted[inside])
                found.append((budget, one.target.slice, one, true))
    return found


def _value(measure: str, label: np.ndarray, predicted: np.ndarray) -> float:
    """Return the true value of a measure on a slice."""
    hits = float(label @ predicted)
    if measure == "recall":
        return hits / label.sum()
    return 2 * hits / (label.sum() + predicted.sum())


def rows(found: Sequence[Found]) -> Iterator[str]:
    """Yield the cells of the table for each measure and number of labels."""
    for measure, budget in itertools.product(MEASURES, BUDGETS):
        told = [
            (part, one, true)
            for labels, part, one, true in found
            if labels == budget and one.target.measure == measure
        ]
        claimed = [(part, one.intervals[0], true) for part, one, true in told if one.claims]
        if len(claimed) < FEWEST:
            continue
        combined = np.mean([one.intervals[0].kind == "model-based" for _, one, _ in told])
        held = [
            [covers(i, true) for part, i, true in claimed if part == here]
            for here in sorted({part for part, _, _ in claimed})
        ]
        least = min((np.mean(one) for one in held if len(one) >= FEWEST), default=np.nan)
        every = np.mean(np.concatenate(held))
        score = np.mean([interval_score(i, true, CONFIDENCE) for _, i, true in claimed])
        yield (
            f"{measure} | {budget:,} | {len(claimed) / len(told):.2f} | {combined:.2f} | "
            f"{every:.3f} | {least:.2f} | {score:.3f} |"
        )


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    options = parser.parse_args()
    print(
        "| rates | sampler | measure | labels | claims | model-based | coverage | least of a "
        "slice | score |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
        for (title, shift), sampler in itertools.product(SHIFTS.items(), SAMPLERS):
            work = functools.partial(evaluate, sampler, shift)
            runs = executor.map(work, range(options.repeats))
            for line in rows(list(itertools.chain.from_iterable(runs))):
                print(f"| {title} | {sampler} | {line}", flush=True)


if __name__ == "__main__":
    main()
