"""Coverage and interval score of estimates on slices of the pool.

    python benchmarks/slices.py --repeats 200        # some ten minutes on a core
    python benchmarks/slices.py --only channels --repeats 12

A pool of 15,000 rows, 4 % of them positive, cut at random into six slices of .02 to .5 of its rows;
once they all have the rates that scores say, once the odds of a positive are half or twice as
great in every other slice. F1 of the whole pool drives. The table is in
docs/studies/calibrated-trials.md. And 160,000 rows of four channels, 3 % positive, whose scores,
of boosted trees that do not know the channel, mean something else in each: a line a channel.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import special

from evalsampling import Evaluation
from evalsampling.inference.intervals import covers, interval_score
from evalsampling.inference.results import Estimate

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROWS = 15_000
SHARES = (0.02, 0.05, 0.08, 0.15, 0.2, 0.5)
SHIFTS = {"of the pool": 0.0, "of its own": np.log(2.0)}
CHANNELS = "channels"
CHANNEL_SHARES = (0.5, 0.35, 0.1, 0.05)
SAMPLERS = ("calibrated", "ais")
BUDGETS = (300, 600, 1000)
ROUND = 100
MEASURES = ("f1", "recall")
CONFIDENCE = 0.95
FEWEST = 20
"""Claims below which a coverage is not told."""

Found = tuple[int, str, Estimate, float]
"""Labels, slice, an estimate on it and its true value."""


@dataclasses.dataclass(frozen=True)
class Pool:
    """Arrays of shape (n,): probabilities, predictions, slices and labels."""

    probability: FloatArray
    predicted: IntArray
    part: IntArray
    label: IntArray


def shifted(shift: float, repeat: int) -> Pool:
    """Return a pool of six slices with rates of their own, if the shift is not 0."""
    rng = np.random.default_rng([repeat, int(shift > 0)])
    logit = rng.normal(-5.0, 2.2, ROWS)
    part = rng.choice(len(SHARES), ROWS, p=SHARES)
    label = (rng.random(ROWS) < special.expit(logit + shift * (-1.0) ** part)).astype(np.int64)
    return Pool(special.expit(logit), (logit > 0).astype(np.int64), part, label)


def of_channels(path: Path, repeat: int) -> Pool:
    """Return the pool of channels, which is the same in each repeat."""
    return channels(path)


@functools.cache
def channels(path: Path) -> Pool:
    """Return a pool of four channels, from a file if its model was trained before."""
    if not path.exists():
        from sklearn.ensemble import HistGradientBoostingClassifier

        rng = np.random.default_rng(58)
        rows, x = 20_000, rng.normal(size=(180_000, 8))
        part = rng.choice(len(CHANNEL_SHARES), len(x), p=CHANNEL_SHARES)
        slope = rng.normal(0.9, 0.35, (len(CHANNEL_SHARES), x.shape[1]))
        logit = (x * slope[part]).sum(axis=1) + np.array([-5.8, -6.6, -4.8, -8.0])[part]
        label = (rng.random(len(x)) < special.expit(logit)).astype(np.int64)
        model = HistGradientBoostingClassifier(max_iter=80, random_state=1)
        said = model.fit(x[:rows], label[:rows]).predict_proba(x[rows:])[:, 1]
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            path, probability=said, predicted=said > 0.25, part=part[rows:], label=label[rows:]
        )
    with np.load(path) as found:
        integers = (found[name].astype(np.int64) for name in ("predicted", "part", "label"))
        return Pool(found["probability"], *integers)


def evaluate(sampler: str, make: Callable[[int], Pool], repeat: int) -> list[Found]:
    """Return the estimates on all slices of one pool, at each number of labels."""
    pool = make(repeat)
    predicted, part, label = pool.predicted, pool.part, pool.label
    evaluation = Evaluation.from_arrays(
        special.logit(np.clip(pool.probability, 1e-12, 1 - 1e-12)),
        predicted,
        probability=pool.probability,
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


def rows(found: Sequence[Found], fewest: int = FEWEST) -> Iterator[str]:
    """Yield the cells of the table for each measure and number of labels with enough claims."""
    for measure, budget in itertools.product(MEASURES, BUDGETS):
        told = [
            (part, one, true)
            for labels, part, one, true in found
            if labels == budget and one.target.measure == measure
        ]
        claimed = [(part, one.intervals[0], true) for part, one, true in told if one.claims]
        if len(claimed) < fewest:
            continue
        combined = np.mean([one.intervals[0].kind == "model-based" for _, one, _ in told])
        held = [
            [covers(i, true) for part, i, true in claimed if part == here]
            for here in sorted({part for part, _, _ in claimed})
        ]
        least = min((np.mean(one) for one in held if len(one) >= FEWEST), default=np.nan)
        every = np.mean(np.concatenate(held))
        score = np.mean([interval_score(i, true, CONFIDENCE) for _, i, true in claimed])
        bias = np.mean([(one.value or 0.0) - true for _, one, true in told if one.claims])
        yield (
            f"{measure} | {budget:,} | {len(claimed) / len(told):.2f} | {combined:.2f} | "
            f"{every:.3f} | {least:.2f} | {score:.3f} | {bias:+.3f} |"
        )


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    parser.add_argument("--only", choices=[*SHIFTS, CHANNELS], help="default: all but channels")
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    kept = Path(tempfile.gettempdir()) / "evalsampling-channels.npz"
    parser.add_argument("--kept", type=Path, default=kept, metavar="FILE", help="their scores")
    options = parser.parse_args()
    pools = {title: functools.partial(shifted, shift) for title, shift in SHIFTS.items()}
    chosen = {title: pools.get(title) for title in [options.only] if title} or pools
    print(
        "| rates | sampler | measure | labels | claims | model-based | coverage | least of a "
        "slice | score | bias |"
    )
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
        for (title, make), sampler in itertools.product(chosen.items(), options.samplers):
            if make is None:
                make = functools.partial(of_channels, options.kept)
            work = functools.partial(evaluate, sampler, make)
            runs = executor.map(work, range(options.repeats))
            found = list(itertools.chain.from_iterable(runs))
            if title != CHANNELS:
                told = {title: rows(found)}
            else:
                names = sorted({one[1] for one in found})
                told = {name: rows([f for f in found if f[1] == name], 1) for name in names}
            for name, lines in told.items():
                for line in lines:
                    print(f"| {name} | {sampler} | {line}", flush=True)


if __name__ == "__main__":
    main()
