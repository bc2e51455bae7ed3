"""How often intervals hold the truth where labels are wrong, with the correction and without.

Rows get three votes each, of annotators of stated sensitivity and specificity who err alone; the
majority decides. Gold rows, half of them positive, are voted on in the same way. A line for each
kind of annotators and each measure: coverage of the plain 95 % interval and of the band corrected
by the gold rows, with their median widths, and how often label error was said to dominate.

    python benchmarks/label_error.py [--repeats 200] [--labels 400] [--gold 100]
"""

import argparse
import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling import Evaluation
from evalsampling.inference.label_error import correct

ROWS = 20_000
MEASURES = ("f1", "precision", "recall")
ANNOTATORS = ((1.0, 1.0), (0.95, 0.995), (0.9, 0.98), (0.8, 0.95))
"""Sensitivity and specificity of one annotator."""

VOTES = 3

Codes = npt.NDArray[np.int64]


def decided(truth: Codes, kind: tuple[float, float], rng: np.random.Generator) -> Codes:
    """Return what the majority of the votes says of rows of known class."""
    right = np.where(truth == 1, *kind)
    votes = np.where(rng.random((VOTES, len(truth))) < right, truth, 1 - truth)
    return (2 * votes.sum(axis=0) > VOTES).astype(np.int64)


def one_repeat(
    seed: int, kind: tuple[float, float], labels: int, gold: int
) -> list[tuple[bool, float, bool, float, bool]]:
    """Return, for each measure, whether interval and band hold, their widths, what dominates."""
    rng = np.random.default_rng([seed, 11])
    truth = (rng.random(ROWS) < 0.05).astype(np.int64)
    score = rng.normal(size=ROWS) + 3 * truth
    prediction = (score > 2).astype(np.int64)
    evaluation = Evaluation.from_arrays(
        score, prediction, probability=1 / (1 + np.exp(-(3 * score - 7.4))),
        measure=list(MEASURES), sampler={"name": "ais", "delta": 0.1}, seed=seed,
    )  # fmt: skip
    while len(evaluation.history) < labels:
        ids = evaluation.sample(labels // 4)
        evaluation.label(ids, decided(truth[ids], kind, rng))
    known = np.repeat([0, 1], gold // 2)
    table = np.zeros((2, 2), dtype=np.int64)
    np.add.at(table, (known, decided(known, kind, rng)), 1)
    inputs = evaluation.sampler.inputs(evaluation.table, evaluation.history, 0.95)
    model = evaluation.analysis.label_model
    hits = float((truth & prediction).sum())
    precision, recall = hits / prediction.sum(), hits / truth.sum()
    exact = {"f1": 2 / (1 / precision + 1 / recall), "precision": precision, "recall": recall}
    found = []
    for estimate, requested in zip(evaluation.estimate(), evaluation.measures, strict=True):
        interval, true = estimate.intervals[0], exact[estimate.target.measure]
        band = correct(requested, inputs, table, seed, estimate, model)
        assert band is not None
        found.append(
            (
                interval.low <= true <= interval.high, interval.high - interval.low,
                band.low <= true <= band.high, band.high - band.low, band.dominates,
            )
        )  # fmt: skip
    return found


@dataclasses.dataclass(frozen=True)
class _Line:
    kind: tuple[float, float]
    measure: str
    results: npt.NDArray[np.float64]

    def __str__(self) -> str:
        plain, band, dominates = self.results[:, [0, 2, 4]].mean(axis=0)
        width, band_width = np.median(self.results[:, [1, 3]], axis=0)
        return (
            f"{self.kind[0]:>11.3f} {self.kind[1]:>11.3f} {self.measure:<10} {plain:>8.3f} "
            f"{width:>7.3f} {band:>10.3f} {band_width:>7.3f} {dominates:>10.2f}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--labels", type=int, default=400)
    parser.add_argument("--gold", type=int, default=100)
    options = parser.parse_args()
    print("sensitivity specificity measure       plain   width  corrected   width  dominates")
    for kind in ANNOTATORS:
        found = np.array(
            [
                one_repeat(seed, kind, options.labels, options.gold)
                for seed in range(options.repeats)
            ],
            dtype=np.float64,
        )
        for place, measure in enumerate(MEASURES):
            print(_Line(kind, measure, found[:, place]), flush=True)


if __name__ == "__main__":
    main()
