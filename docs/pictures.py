"""Pictures of the pages, from an evaluation of a pool with known truth: `make pictures`.

They are drawn by the functions that draw those of reports and notebooks.
"""

import dataclasses
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from evalsampling import Evaluation
from evalsampling.inference.results import Estimate
from evalsampling.measures.build import MOST_LISTED
from evalsampling.report.svg import Picture, Scale, dot, line, path, tag, tick_text, words

FOLDER = Path(__file__).with_name("figures")

ROWS, BUDGET, ROUND = 1_000_000, 500, 100
BANDS = 32
"""Bands of the score in which rows and labels are counted."""


@dataclasses.dataclass(frozen=True)
class Labelled:
    """An evaluation with its labels, and what a simulation alone can know.

    Attributes:
        score: of each row of the pool, shape (n,).
        truth: whether each row is positive, shape (n,).
        labelled: rows that got a label.
        estimates: of F1, precision and recall.
        evaluation: with all its rounds.
    """

    score: npt.NDArray[np.float64]
    truth: npt.NDArray[np.bool_]
    labelled: npt.NDArray[np.int64]
    estimates: list[Estimate]
    evaluation: Evaluation


def labelled_pool() -> Labelled:
    """Return an evaluation of a million rows, a thousand positive, after 500 labels."""
    rng = np.random.default_rng(1)
    truth = rng.random(ROWS) < 0.001
    score = 4 * rng.normal(np.where(truth, 2.0, -2.0)) + math.log(0.001 / 0.999)
    prediction = (score > 0).astype(int)
    # Bins are not cut at so many thresholds, so rows are drawn as in the README, without a curve.
    curve = {"name": "pr_curve", "thresholds": np.linspace(-9, 9, MOST_LISTED + 1).tolist()}
    measure = ["f1", "precision", curve]
    evaluation = Evaluation.from_arrays(score, prediction, measure=measure, seed=7)
    drawn = []
    for _ in range(BUDGET // ROUND):
        ids = evaluation.sample(ROUND)
        evaluation.label(ids, truth[ids].astype(int))
        drawn.append(ids)
    estimates = list(evaluation.estimate(["f1", "precision", "recall"]))
    return Labelled(score, truth, np.concatenate(drawn), estimates, evaluation)


def method(known: Labelled) -> Picture:
    """Return what the method does: rows by score, where labels go, and what comes of it."""
    ends = np.linspace(known.score.min(), known.score.max(), BANDS + 1)
    rows = np.histogram(known.score, ends)[0]
    labels = np.histogram(known.score[known.labelled], ends)[0]
    met = np.histogram(known.score[known.labelled[known.truth[known.labelled]]], ends)[0]
    x = Scale(ends[0], ends[-1], 16, 430)
    body = [
        words(16, 22, f"1  The pool: {ROWS:,} rows by score", "t-ink t-bold"),
        words(16, 39, "hardly any is positive (height: logarithm of the number)", "t-soft small"),
        *_bars(x, ends, np.log10(1 + rows), 140, 80, "f-grey"),
        words(16, 188, f"2  {BUDGET} labels, drawn where they say most", "t-ink t-bold"),
        words(16, 205, "with known chances; full colour: labelled positive", "t-soft small"),
        *_bars(x, ends, labels, 310, 84, "f-tint edge"),
        *_bars(x, ends, met, 310, 84, "f-accent", top=labels.max()),
        *_decision(x),
        *_results(known),
    ]
    told = "; ".join(f"{one.measure} {one.value:.2f}" for one in known.estimates)
    return Picture(
        "From a large pool to an estimate",
        f"Rows of the pool by score, the labels among them, and the estimates: {told}",
        760,
        352,
        "".join(body),
    )


def _bars(
    x: Scale,
    ends: npt.NDArray[np.float64],
    counts: npt.NDArray[np.floating | np.integer],
    foot: float,
    height: float,
    kind: str,
    top: float | None = None,
) -> list[str]:
    """Return a bar for each band, the highest of the height given."""
    most = float(counts.max()) if top is None else float(top)
    bars = []
    for low, high, count in zip(ends[:-1], ends[1:], counts, strict=True):
        if count:
            tall = height * float(count) / most
            wide = x(high) - x(low) - 2
            place = {"x": x(low) + 1, "y": foot - tall}
            bars.append(tag("rect", **place, width=wide, height=tall, class_=kind))
    return [*bars, line(x.first, foot, x.last, foot, "s-line")]


def _decision(x: Scale) -> list[str]:
    """Return the threshold of the classifier, through both histograms."""
    at = x(0.0)
    return [
        path([(at, 52), (at, 140)], "s-ink", width=1, dashes="3 3"),
        path([(at, 216), (at, 310)], "s-ink", width=1, dashes="3 3"),
        words(at, 158, "threshold", "t-soft small", "middle"),
        words(at, 328, "threshold", "t-soft small", "middle"),
        words(x.last, 328, "score", "t-soft small", "end"),
    ]


def _results(known: Labelled) -> list[str]:
    """Return the estimates with their intervals and the truth."""
    x = Scale(0.0, 1.0, 500, 744)
    body = [
        words(492, 22, "3  Estimates for the whole pool", "t-ink t-bold"),
        words(492, 39, "with 95 % intervals; cross: the truth", "t-soft small"),
    ]
    truth = true_values(known)
    for place, one in enumerate(known.estimates):
        y = 92 + 68 * place
        interval = one.intervals[0]
        body += [
            words(500, y - 16, f"{one.measure} {one.value:.2f}", "t-accent t-bold"),
            words(744, y - 16, f"{interval.low:.2f} to {interval.high:.2f}", "t-soft", "end"),
            line(x.first, y, x.last, y, "s-line"),
            line(x(interval.low), y, x(interval.high), y, "s-accent", 5),
            dot(x(one.value or 0.0), y),
            *_cross(x(truth[one.measure]), y),
        ]
    for tick in x.ticks(4):
        body.append(words(x(tick), 258, tick_text(tick), "t-soft small", "middle"))
    return body


def _cross(x: float, y: float) -> list[str]:
    return [line(x - 5, y - 5 * side, x + 5, y + 5 * side, "s-ink", 2) for side in (-1, 1)]


def true_values(known: Labelled) -> dict[str, float]:
    """Return what the estimates are of, counted on the whole pool."""
    predicted = known.score > 0
    hits = float(np.sum(predicted & known.truth))
    wanted, found = float(known.truth.sum()), float(predicted.sum())
    return {"f1": 2 * hits / (wanted + found), "precision": hits / found, "recall": hits / wanted}


def pictures() -> dict[str, str]:
    """Return the SVG of each picture by the name of its file."""
    known = labelled_pool()
    return {
        "method.svg": method(known).svg,
        "first-convergence.svg": known.evaluation.plot("convergence").svg,
        "first-curve.svg": known.evaluation.plot("curve").svg,
        "first-calibration.svg": known.evaluation.plot("calibration").svg,
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, "utf-8")
