"""Pools on which an interval can go wrong, each a pair of files as `pools` describes them."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pools
from scipy import special

from evalsampling.stats.arrays import FloatArray, IntArray

Array = npt.NDArray[np.generic]
Columns = dict[str, Array]
Make = Callable[[np.random.Generator], Columns]

ROWS = 15_000
CLASSES = 4
NUMBERS, RANGE = "numbers", (-1000.0, 1000.0)
"""The pool of predicted numbers, and what its labels may be."""

AT_RANDOM = ("at-random", "at-random-small", "one-in-ten-wrong")
"""Pools of a stochastic oracle: their labels are probabilities."""


def _logits(rng: np.random.Generator, rows: int = ROWS, mean: float = -5.0) -> FloatArray:
    """True log-odds: with the default mean 4 % of the rows are positive."""
    return rng.normal(mean, 2.2, rows)


def _pool(rng: np.random.Generator, logit: FloatArray, prior: FloatArray | None = None) -> Columns:
    """Labels of the true log-odds, predictions at even odds; the prior is right by default."""
    rate = special.expit(logit)
    return _scored(logit, rng.random(len(logit)) < rate, 0.0, rate if prior is None else prior)


def _scored(score: Array, label: Array, least: float, prior: Array | None = None) -> Columns:
    """Return the columns of a pool, predicted by scores that are log-odds if it has no prior."""
    return {
        "score": score,
        "prediction": (score > least).astype(np.int64),
        "probability": special.expit(score) if prior is None else prior,
        "label": label.astype(np.int64),
    }


def _positives(rows: int, count: int) -> IntArray:
    """Return labels, the first of which are positive."""
    return (np.arange(rows) < count).astype(np.int64)


def _told(change: Callable[[FloatArray], FloatArray], mean: float = -5.0) -> Make:
    """Return what makes a pool whose prior may have other log-odds than the labels."""

    def make(rng: np.random.Generator) -> Columns:
        logit = _logits(rng, mean=mean)
        return _pool(rng, logit, special.expit(change(logit)))

    return make


def _hidden(rng: np.random.Generator) -> Columns:
    """One row of a hundred is positive whatever its score: a fifth of all positives."""
    columns = _pool(rng, _logits(rng))
    return columns | {"label": np.where(rng.random(ROWS) < 0.01, 1, columns["label"])}


def _tied(rng: np.random.Generator) -> Columns:
    """Scores are whole numbers; the true log-odds are not."""
    logit = _logits(rng)
    score = np.round(logit)
    return _pool(rng, logit) | {"score": score, "probability": special.expit(score)}


def _equal(rng: np.random.Generator) -> Columns:
    """The score says nothing; the prediction does."""
    columns = _pool(rng, _logits(rng, mean=-3.5))
    share = np.full(ROWS, columns["label"].mean())
    return columns | {"score": np.zeros(ROWS), "probability": share}


def _rounded(rng: np.random.Generator) -> Columns:
    """The score is the probability, to two digits."""
    logit = _logits(rng)
    score = np.round(special.expit(logit), 2)
    return _pool(rng, logit, score) | {"score": score}


def _outliers(rng: np.random.Generator) -> Columns:
    """Three scores out of all range."""
    columns = _pool(rng, _logits(rng))
    columns["score"][:3] = -9999, -1e300, 1e300
    return columns


def _four_classes(rng: np.random.Generator) -> Columns:
    """Four classes of unequal sizes; the score is that of class 1."""
    logits = rng.normal(0, 1.6, (ROWS, CLASSES)) + np.array([3.0, 0.0, -0.5, -1.0])
    rate = special.softmax(logits, axis=1)
    label = (rate.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    probabilities = {f"probability_{c}": rate[:, c] for c in range(CLASSES)}
    return {
        "score": special.logit(rate[:, 1]),
        "prediction": rate.argmax(axis=1),
        "label": np.minimum(label, CLASSES - 1),
        **probabilities,
    }


def _rare(rng: np.random.Generator) -> Columns:
    """One row of 10,000 is positive."""
    columns = _pool(rng, _logits(rng, 300_000, mean=-12.0))
    label, rate = np.zeros(300_000, dtype=np.int64), columns["probability"].astype(np.float64)
    label[rng.choice(300_000, 30, replace=False, p=rate / rate.sum())] = 1
    return columns | {"label": label}


def _separated(rng: np.random.Generator) -> Columns:
    """80 positives of 60,000 rows, their scores well above the others'."""
    label = _positives(60_000, 80)
    score = rng.normal(-4, 1.2, len(label)) + label * rng.normal(6, 1.2, len(label))
    return _scored(score, label, 0.5)


def _useless(rng: np.random.Generator) -> Columns:
    """The score hardly tells the 4 % positives from the others."""
    label = (rng.random(ROWS) < 0.04).astype(np.int64)
    return _scored(rng.normal(-3, 1, ROWS) + 0.3 * label, label, -1.5)


def _low_threshold(rng: np.random.Generator) -> Columns:
    """Half of the rows are predicted positive: hardly a positive is below the threshold."""
    columns = _pool(rng, _logits(rng))
    return columns | {"prediction": (columns["score"] > -5).astype(np.int64)}


def _numbers(rng: np.random.Generator) -> Columns:
    """Errors are normal, a few of variances far above the others; some are larger than told."""
    variance = rng.gamma(0.5, 10.0, ROWS)
    twice = np.where(rng.random(ROWS) < 0.1, 2.0, 1.0)
    label = np.clip(twice * np.sqrt(variance) * rng.normal(size=ROWS) + 0.1, *RANGE)
    return {"prediction": np.zeros(ROWS), "variance": variance, "label": label}


def _votes(rng: np.random.Generator, trees: int) -> Columns:
    """Scores are shares of votes, by log-odds half as far again from those at even odds."""
    logit = _logits(rng, mean=-4.0)
    share = rng.binomial(trees, special.expit(1.5 * logit)) / trees
    prediction = (share > 0.5).astype(np.int64)
    return _pool(rng, logit, share) | {"score": share, "prediction": prediction}


def _judge(rng: np.random.Generator) -> Columns:
    """A judge's scores in tenths; 12 % of 20,000 rows are positive."""
    label = (rng.random(20_000) < 0.12).astype(np.int64)
    score = np.round(special.expit(rng.normal(-4.0 + 6.5 * label, 2.0)), 1)
    return _scored(score, label, 0.5, prior=score)


def _few_scores(rng: np.random.Generator) -> Columns:
    """Nine scores; all 25 positives of 100,000 rows have the highest two."""
    label = _positives(100_000, 25)
    score = np.minimum(rng.binomial(9, 0.12, len(label)), 7)
    score[:25] = rng.choice([7, 8], 25)
    return _scored(score, label, 6, special.expit((score - score.mean()) / score.std()))


def _spam(rng: np.random.Generator) -> Columns:
    """Sixty negatives above all other rows; the 150 positives are well apart from the others."""
    label = _positives(60_000, 150)
    score = rng.normal(-5.0, 1.2, len(label))
    score[:150], score[150:210] = rng.normal(2.5, 1.2, 150), 9 + rng.random(60)
    return _scored(score, label, 1)


def _no_threshold(rng: np.random.Generator) -> Columns:
    """One prediction of four is made by another model, as good and independent of the score."""
    logit = _logits(rng, mean=-3.5)
    columns = _pool(rng, logit)
    other = columns["label"] * 3.0 + rng.normal(-2.0, 1.5, ROWS)
    says = np.where(rng.random(ROWS) < 0.25, other, logit) > 0
    return columns | {"prediction": says.astype(np.int64)}


def _not_monotone(rng: np.random.Generator) -> Columns:
    """Four scores; the second lowest has more positives than the next."""
    score = rng.choice(4, ROWS, p=[0.7, 0.15, 0.1, 0.05])
    label = rng.random(ROWS) < np.array([0.005, 0.2, 0.05, 0.6])[score]
    return _scored(score, label, 2, np.array([0.01, 0.1, 0.3, 0.8])[score])


def _perfect(rng: np.random.Generator) -> Columns:
    """No error at all: 300 positives of 15,000 rows, all of them found."""
    label = _positives(ROWS, 300)
    return _scored(rng.normal(-5.0 + 9.0 * label, 1.0), label, 0.0) | {"prediction": label}


def _at_random(rng: np.random.Generator, rows: int = ROWS, mean: float = -5.0) -> Columns:
    """Answers are at random: a row is positive at the rate that its score says."""
    columns = _pool(rng, _logits(rng, rows, mean))
    return columns | {"label": columns["probability"]}


def _one_in_ten_wrong(rng: np.random.Generator) -> Columns:
    """Rows have a label, and one answer of ten is another: rates are .1 or .9 in any cell."""
    columns = _pool(rng, _logits(rng))
    return columns | {"label": np.where(columns["label"] == 1, 0.9, 0.1)}


SITUATIONS: Mapping[str, Make] = {
    "calibrated": _told(lambda logit: logit),
    "over-confident": _told(lambda logit: 3 * logit),
    "under-confident": _told(lambda logit: logit / 3),
    "anti-calibrated": _told(lambda logit: -logit - 10),
    "hidden": _hidden,
    "tied": _tied,
    "equal": _equal,
    "rounded": _rounded,
    "outliers": _outliers,
    "four-classes": _four_classes,
    "rare": _rare,
    "separated": _separated,
    "useless": _useless,
    "balanced": _told(lambda logit: logit, mean=0.0),
    NUMBERS: _numbers,
    "low-threshold": _low_threshold,
    "forest": functools.partial(_votes, trees=100),
    "neighbours": functools.partial(_votes, trees=10),
    "judge": _judge,
    "few-scores": _few_scores,
    "spam": _spam,
    "no-threshold": _no_threshold,
    "not-monotone": _not_monotone,
    "perfect": _perfect,
    "at-random": _at_random,
    "at-random-small": functools.partial(_at_random, rows=2200, mean=-3.0),
    "one-in-ten-wrong": _one_in_ten_wrong,
}


def write_made_up(directory: Path, name: str) -> None:
    """Write a pool unless it is there."""
    if not (directory / f"{name}-truth.parquet").exists():
        rng = np.random.default_rng([2024, [*SITUATIONS].index(name)])
        pools.write(directory, name, SITUATIONS[name](rng))
