"""Summaries of repeats of an evaluation: errors, coverage of intervals, choices, promises.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, section
    5.4.1: the model selection error.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.certificate import certify
from evalsampling.inference.bets import term
from evalsampling.inference.intervals import Interval, covers, interval_score
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Difference
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec.promise import Promise
from evalsampling.stats.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Whether a promise was proved at a threshold, whether it is false there, and the rows above.

    These are a share of those above the best threshold by the truth: 0 if nothing was proved, None
    if no threshold keeps the promise.
    """

    proved: bool
    broken: bool
    rows: float | None


@dataclasses.dataclass(frozen=True)
class Point:
    """Estimates of one measure in a repeat at a budget: values (components,), and their cost."""

    value: FloatArray
    estimates: tuple[Estimate, ...]
    draws: int
    labels: int
    cost: float
    seconds: float
    divergence: float | None
    outcome: Outcome | None = None


def summary(points: Sequence[Point], truth: FloatArray, confidence: float) -> dict[str, Any]:
    """Return a summary of the repeats; squared errors of several components are summed.

    An undefined value counts as 0, and its interval as it is. ``defined`` says how many repeats
    had a value: where none had, errors are None, and intervals, which are the whole range, too.
    """
    counted, compared = np.isfinite(truth), _compared(points, truth)
    values = np.stack([point.value for point in points])[:, counted]
    defined = int(np.sum(np.any(np.isfinite(values), axis=1)))
    told = compared if defined else None
    errors = np.nan_to_num(values) - truth[counted]
    divergences = [point.divergence for point in points if point.divergence is not None]
    return {
        "rmse": float(np.sqrt(np.mean(np.sum(errors**2, axis=1)))) if defined else None,
        "bias": float(np.mean(errors)) if defined else None,
        **_intervals(told, confidence, None),
        "undefined": int(np.sum(np.any(np.isnan(values), axis=1))),
        "defined": defined,
        "draws": float(np.mean([point.draws for point in points])),
        "labels": float(np.mean([point.labels for point in points])),
        "cost": float(np.mean([point.cost for point in points])),
        "seconds": float(np.sum([point.seconds for point in points])),
        "wald": _intervals(told, confidence, "wald"),
        "intervals": {
            method: _intervals(told, confidence, method)
            for method in (_methods(points) if defined else ())
        },
        "divergence": float(np.mean(divergences)) if divergences else None,
        **_claims(compared),
    }


def _methods(points: Sequence[Point]) -> list[str]:
    """Return the methods of the intervals reported beside the default one."""
    methods = {
        interval.method
        for point in points
        for estimate in point.estimates
        for interval in estimate.intervals[1:]
        if (interval.low, interval.high) != estimate.target.bounds
    }
    return sorted(methods)


_Compared = list[tuple[Estimate, float]] | None
"""Each estimate with its true value; None without estimates."""


def _intervals(compared: _Compared, confidence: float, method: str | None) -> dict[str, Any]:
    """Return coverage, width and score of the intervals of one method, or of the default.

    Where the first interval of a kind claims nothing, so does every other method of the kind that
    rests on the same labels; it then counts with that interval. Where a method is missing, it
    counts with the default.
    """
    if compared is None:
        return {"coverage": None, "median_width": None, "interval_score": None}
    chosen = [(_interval(estimate, method), true) for estimate, true in compared]
    covered = [covers(interval, true) for interval, true in chosen]
    scores = [interval_score(interval, true, confidence) for interval, true in chosen]
    return {
        "coverage": float(np.mean(covered)),
        "median_width": float(np.median([i.high - i.low for i, _ in chosen])),
        "interval_score": float(np.mean(scores)),
    }


def _claims(compared: _Compared) -> dict[str, Any]:
    """Return the share of default intervals that are not the whole range, and their coverage."""
    if compared is None:
        return {"claims": None, "coverage_of_claims": None}
    claims = [(estimate.intervals[0], true) for estimate, true in compared if estimate.claims]
    covered = [covers(interval, true) for interval, true in claims]
    return {
        "claims": len(claims) / len(compared),
        "coverage_of_claims": float(np.mean(covered)) if covered else None,
    }


def _compared(points: Sequence[Point], truth: FloatArray) -> _Compared:
    """Return each estimate with its true value, if that is defined."""
    if not all(point.estimates for point in points):
        return None
    return [
        (estimate, true)
        for point in points
        for estimate, true in zip(point.estimates, truth.tolist(), strict=True)
        if np.isfinite(true)
    ]


def _interval(estimate: Estimate, method: str | None) -> Interval:
    default = estimate.intervals[0]
    if method is None:
        return default
    chosen = next((i for i in estimate.intervals if i.method == method), default)
    first = next(i for i in estimate.intervals if i.kind == chosen.kind)
    claims_nothing = (first.low, first.high) == estimate.target.bounds
    return first if claims_nothing and method != "wald" else chosen


# Model selection: how often the system that looks best is not, and what that loses.

ALIKE = 1e-12
"""Values that are no further apart than this are taken to be the same, as rounding leaves them."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The chance that the system chosen by the estimates of an evaluation is not the best.

    It is neither 0 nor 1 only where several look best: each is as likely to be chosen. The regret,
    at least 0, is how much worse the chosen one is, in units of the measure.
    """

    error: float
    regret: float


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Systems that one measure compares, the first with each of the others.

    The differences are places in a list of measures. The sign is 1 where a greater value of the
    measure is better, -1 where a smaller one is.
    """

    differences: tuple[int, ...]
    sign: int

    def select(self, estimated: Sequence[FloatArray], true: Sequence[FloatArray]) -> Selection:
        """Return the choice by the estimates of all measures of the list."""
        looks, standing = (
            # How each system stands, the first at 0; greater is better.
            -self.sign * np.array([0.0, *(values[place][0] for place in self.differences)])
            for values in (estimated, true)
        )
        if not np.isfinite(looks).all():  # Nothing is known, and all systems look alike.
            looks = np.zeros_like(looks)
        chosen = looks >= looks.max() - ALIKE
        loss = standing.max() - standing[chosen]
        return Selection(float(np.mean(loss > ALIKE)), float(np.mean(loss)))


def candidates_of(measures: Sequence[Measure]) -> list[Candidates | None]:
    """Return the systems that each measure helps to choose from; None unless it is a difference.

    Differences of the same measure and the same first system belong together. Of measures with
    several components, such as curves, none is chosen by.
    """
    places: dict[tuple[str, int, int], list[int]] = {}
    for place, measure in enumerate(measures):
        if isinstance(measure, Difference) and len(measure.components) == 1:
            first = measure.first
            if first.greater_is_better is not None:
                key = (measure.name, first.system, 1 if first.greater_is_better else -1)
                places.setdefault(key, []).append(place)
    candidates: dict[int, Candidates] = {}
    for (_, _, sign), together in places.items():
        candidates |= dict.fromkeys(together, Candidates(tuple(together), sign))
    return [candidates.get(place) for place in range(len(measures))]


def select(
    candidates: Candidates | None, run: Sequence[Point], truth: Sequence[FloatArray]
) -> Selection | None:
    """Return the choice by the points of all measures of a run; None if there is none."""
    return None if candidates is None else candidates.select([one.value for one in run], truth)


def mean_selection(selections: Sequence[Selection | None]) -> dict[str, float | None]:
    """Return the mean error and regret of the repeats; None for measures that choose nothing."""
    made = [(each.error, each.regret) for each in selections if each is not None]
    error, regret = np.mean(made, axis=0).tolist() if made else (None, None)
    return {"selection_error": error, "regret": regret}


# Promises: how often one is proved, how often one that was proved is broken, what is given away.


def promise_outcome(pool: KnownPool, analysis: Analysis, promise: Promise, planned: int) -> Outcome:
    """Return whether a promise is proved of the pool, and broken in truth."""
    found = certify(analysis, promise, planned=planned)
    table = pool.table
    score = table.kinds.score[table.kinds.first, 0]
    thresholds = np.unique(score)
    kept = _keep(pool, promise, score, thresholds)
    rows = (score >= thresholds[:, None]) @ table.count
    best = (rows[kept].min() if promise.goes_up else rows[kept].max()) if kept.any() else None
    if found.threshold is None:
        return Outcome(False, False, None if best is None else 0.0)
    place = int(np.searchsorted(thresholds, found.threshold))
    share = None if best is None else float(rows[place] / best)
    return Outcome(True, not bool(kept[place]), share)


def _keep(pool: KnownPool, promise: Promise, score: FloatArray, thresholds: FloatArray) -> Any:
    """Return at which thresholds the promise is true, shape (m,)."""
    positive = pool.labels[:, pool.reading.labels.positive]
    negative = pool.table.count - positive
    kept = np.ones(len(thresholds), dtype=np.bool_)
    above = (score >= thresholds[:, None]).astype(np.float64)
    for name, goal in promise.goals.items():
        total = term(name, above, 0.0, goal) @ negative + term(name, above, 1.0, goal) @ positive
        kept &= total >= -1e-9 * pool.table.rows
    return kept


def promise_summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return shares over repeats: proved, broken, and rows beside the best threshold's."""
    rows = [outcome.rows for outcome in outcomes if outcome.rows is not None]
    return {
        "proved": float(np.mean([outcome.proved for outcome in outcomes])),
        "broken": float(np.mean([outcome.broken for outcome in outcomes])),
        "rows": float(np.mean(rows)) if rows else None,
    }
