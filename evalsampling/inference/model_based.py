"""Model-based estimates and intervals, from predictive draws of all labels of the pool."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from evalsampling.inference.census import value_among
from evalsampling.inference.drawn_range import DrawnRange, simultaneous
from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, whole_range
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.policy import NARROW, with_model_based
from evalsampling.inference.predictive import FEWEST_EFFECTIVE, LabelModel, Predictive
from evalsampling.inference.results import TIE, Estimate, Sensitivity
from evalsampling.inference.significance import Significance
from evalsampling.inference.weights import effective_size
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray, IntArray

KIND = "model-based"

DRAWS_ERR = 0.6
"""Factor of the error probability of the interval of the draws.

The curve is never exactly right: on 53 real pools 95 % intervals of draws missed the truth in one
of twelve runs."""

FULL_EVIDENCE = 25
"""Labelled rows of the scarcest share from which an interval has its nominal confidence."""

LEAST_ERROR = 0.1
"""Further factor of the error probability with `FEWEST_EVIDENCE` rows of the scarcest share."""

_MOST_UNDEFINED = 0.5
"""Largest share of draws in which a measure with an interval may be undefined."""


def combine_with_model(
    estimates: Sequence[Estimate],
    measure: Measure,
    model: LabelModel,
    predictive: Predictive,
    evidence: IntArray | None = None,
    band: bool = False,
    combine: bool = False,
    own: OwnProbabilities | None = None,
    expected: FloatArray | None = None,
) -> list[Estimate]:
    """Return estimates of a measure with their model-based intervals.

    Its ends are weighted means of those of the design-based interval and of the shortest interval
    that holds a share of the predictive draws (`share_held`), widened to hold the estimate. The
    weight of the draws is `weight_of_draws`, or 1 where the design claims nothing or the model
    assumes no more than the design does (`LabelModel.is_exact`). However the errors of two numbers
    correlate, the weighted mean of their intervals holds their weighted mean if each interval holds
    its number. The shortest interval is taken because positives that are not yet labelled skew the
    draws against a bound, which equal tails would miss. Where it is known which rows count
    (`Measure.is_of_known_rows`), the design's interval is the default if it is narrower.

    Args:
        estimates: of the measure's components, with design-based intervals.
        measure: the measure estimated.
        model: model of the labels.
        predictive: the model's draws of the labels of the pool or of a part.
        evidence: shape (m,): labelled rows of the scarcest share that each component depends on,
            `FULL_EVIDENCE` if not given. With at least `FEWEST_EVIDENCE` the interval is
            the first of the estimate's intervals, else the last; see `share_held`.
        band: whether to add simultaneous intervals, of the components whose first interval is
            model-based.
        combine: whether the value becomes a weighted mean of itself and of the median of draws.
        own: what the rows' own probabilities add to the measure, nothing if not given.
        expected: shape (m,): standard errors of the design that the draws predict; those of the
            estimates if not given.
    """
    if model.contradiction is not None:
        reason = (
            "scores and labels do not fit a curve, so value and interval are the design's alone: "
            f"{model.contradiction}"
        )
        return [
            dataclasses.replace(each, notes=(*each.notes, f"{each.target.title}: {reason}"))
            for each in estimates
        ]
    of_measure = DrawnMeasure(measure, model.seed, own)
    ends = of_measure.ends(predictive)
    drawn = ranges_of(ends)
    errors = [estimate.standard_error for estimate in estimates]
    biases = [0.0] * len(drawn)
    if measure.is_of_known_rows:
        biases = list(map(bias_of_draws, estimates, drawn))
    weights = [
        1.0 if model.is_exact else weight_of_draws(*of)
        for of in zip(errors, drawn, biases, strict=True)
    ]
    of_design = estimates
    if combine:
        estimates = list(map(_combined, estimates, drawn, weights))
    if expected is not None and not model.is_exact:
        weights = weights_of_draws(errors, drawn, biases, expected, combine)
    is_number_of_pool = predictive.domain.count is None and len(estimates) == 1
    other_shares, aside = {}, None
    for share in model.other_shares if is_number_of_pool else ():
        (other_shares[share],) = _under_share(share, drawn, predictive, of_measure, model)
    if is_number_of_pool and predictive.without_unmet is not None:
        (aside,) = of_measure.ranges(predictive.without_unmet)
    observed = value_among(measure, model.history, predictive.domain).tolist()
    combined = [
        _with_model(
            estimate,
            drawn[i],
            weights[i],
            other_shares,
            aside,
            FULL_EVIDENCE if evidence is None else int(evidence[i]),
            observed[i],
            model.method,
            measure.is_of_known_rows and not model.is_exact,
        )
        for i, estimate in enumerate(estimates)
    ]
    if not band or len(combined) < 2:
        return combined
    low, high = (end.tolist() for end in _band(ends, of_design, of_measure, model))
    method = f"{model.method}, {SIMULTANEOUS}"
    intervals = [
        _interval(estimate, low[i], high[i], weights[i], method)
        for i, estimate in enumerate(estimates)
    ]
    return [
        estimate.with_interval(_up_to_bound(interval, estimate.target.bounds, value))
        if estimate.intervals[0].kind == KIND
        else estimate
        for estimate, interval, value in zip(combined, intervals, observed, strict=True)
    ]


def bias_of_draws(estimate: Estimate, drawn: DrawnRange) -> float:
    """Return how far draws are off, as far as the design-based estimate tells, at least 0.

    It is the root of what their distance leaves of both variances, squared: of numbers whose rows
    are known, where the design misses nothing, draws that are further from it than chance makes
    likely are of a curve that does not fit.
    """
    if not estimate.standard_error or estimate.value is None or not drawn.defined.any():
        return 0.0
    left = (estimate.value - drawn.median) ** 2 - estimate.standard_error**2 - drawn.variance
    return math.sqrt(max(left, 0.0))


def weight_of_draws(error: float | None, drawn: DrawnRange, bias: float = 0.0) -> float:
    """Return the weight, in [0, 1], of the draws of a number beside its design-based estimate.

    The standard error of the design divided by the standard deviation of the difference of the two.
    That is the square root of the inverse-variance weight: the estimated variance of the design
    reflects only the rows labelled so far, so it is too small where the draws matter most. The
    weight is 1 if the design has no standard error, or one of 0: if no labelled row contradicts the
    value, its variance is unknown. A value is weighted by the error estimated from labels, an
    interval by the one `between` that and the expected one.

    Args:
        error: standard error of the design-based estimate, None if there is no estimate.
        drawn: draws of the same number.
        bias: of the draws, added to their standard deviation by its square.
    """
    if not error or not drawn.defined.any():
        return 1.0
    return error / math.hypot(error, math.sqrt(drawn.variance), bias)


def weights_of_draws(
    errors: Sequence[float | None],
    drawn: Sequence[DrawnRange],
    biases: Sequence[float],
    expected: FloatArray,
    combine: bool = False,
) -> list[float]:
    """Return the weight of the draws of each number in its interval, in [0, 1].

    Args:
        errors: standard errors of the design-based estimates, m numbers.
        drawn: draws of the same numbers.
        biases: of the draws: `bias_of_draws`.
        expected: shape (m,): standard errors of the design that the draws predict.
        combine: whether the model stands for rows without a label in the estimates.
    """
    least = 0.0 if combine else NARROW
    pairs = zip(errors, expected.tolist(), strict=True)
    return list(map(weight_of_draws, (between(*pair, least) for pair in pairs), drawn, biases))


def between(error: float | None, expected: float, least: float = 0.0) -> float | None:
    """Return the geometric mean of a standard error and of the one that draws predict.

    The one estimated from labels is too small until the rows that matter most are labelled. The
    predicted one is too large if fewer positives are hidden than the prior expects. If only one of
    them is above 0, that one is returned.

    Args:
        error: the estimated one, None if there is no estimate.
        expected: the predicted one.
        least: share of the predicted one below which the estimated one says nothing, as the rows
            that make up most of the error have no label yet; then the predicted one is returned.
            Of estimates from weights alone it is `NARROW`. The difference estimator has the model
            stand for rows without a label, so its error may be small where all positives are found.
    """
    if not error:
        return error
    if error < least * expected:
        return expected
    return math.sqrt(error * expected) if expected > 0 else error


def _band(
    ends: tuple[FloatArray, FloatArray],
    estimates: Sequence[Estimate],
    of_measure: "DrawnMeasure",
    model: LabelModel,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a band that holds a share of the curves entirely, shape (m,) each.

    It does so under the expected share of hidden positives, under half of it and under twice of it:
    near the bottom of the ranking every point of a curve depends on that share, so a wrong one
    would miss some points. For the same reason it holds the design-based value of each point. The
    share of curves is the confidence of the design-based estimates.
    """
    confidence = estimates[0].confidence
    others = [model.with_share(share).everywhere for share in model.other_shares]
    draws = [ends, *map(of_measure.ends, others)]
    value = np.array([np.nan if each.value is None else each.value for each in estimates])
    low = np.fmin.reduce([value, *(simultaneous(least, confidence)[0] for least, _ in draws)])
    high = np.fmax.reduce([value, *(simultaneous(most, confidence)[1] for _, most in draws)])
    least, greatest = np.transpose([estimate.target.bounds for estimate in estimates])
    return np.clip(low, least, greatest), np.clip(high, least, greatest)


def _combined(estimate: Estimate, drawn: DrawnRange, weight: float) -> Estimate:
    """Return an estimate whose value is a weighted mean of its own and of the median of draws.

    The value stays in the default interval, and is unchanged if `drawn` is not informative. The
    standard error is the weighted mean of both, which is at least that of the value, however the
    two errors correlate.
    """
    if estimate.value is None or estimate.standard_error is None:
        return estimate
    if not (drawn.defined.any() and drawn.is_informative):
        return estimate
    if estimate.standard_error == 0 and drawn.variance == 0:
        return estimate
    value = (1 - weight) * estimate.value + weight * drawn.median
    if estimate.claims:
        value = min(max(value, estimate.intervals[0].low), estimate.intervals[0].high)
    error = (1 - weight) * estimate.standard_error + weight * math.sqrt(drawn.variance)
    return dataclasses.replace(estimate, value=value, standard_error=error)


def share_held(confidence: float, evidence: int) -> float:
    """Return the share of draws that an interval must hold, above its nominal confidence.

    The error probability is multiplied by `DRAWS_ERR`. Where most samples have too few labelled
    rows for an interval, those that claim one have many by chance, and miss more often. So it is
    also multiplied by `LEAST_ERROR` with `FEWEST_EVIDENCE` rows, a factor that grows geometrically
    to 1 with `FULL_EVIDENCE` rows.

    Args:
        confidence: nominal confidence, in (0, 1).
        evidence: labelled rows of the scarcest share, at least 0.
    """
    wanting = (FULL_EVIDENCE - evidence) / (FULL_EVIDENCE - FEWEST_EVIDENCE)
    return 1 - (1 - confidence) * DRAWS_ERR * LEAST_ERROR ** min(max(wanting, 0.0), 1.0)


def _with_model(
    estimate: Estimate,
    drawn: DrawnRange,
    weight: float,
    other_shares: Mapping[float, DrawnRange],
    aside: DrawnRange | None,
    evidence: int,
    observed: float,
    method: str = LabelModel.method,
    of_known_rows: bool = False,
) -> Estimate:
    """Return an estimate with its model-based interval, if there is one.

    ``drawn`` are draws of the number, ``other_shares`` those under other shares of hidden
    positives, ``aside`` those without positives scored below any that was met. ``evidence`` is the
    number of labelled rows of the scarcest share, ``observed`` the measure on the labelled rows
    alone, ``method`` the name of the model, ``of_known_rows`` see `Measure.is_of_known_rows`.
    """
    if drawn.defined.mean() < 1 - _MOST_UNDEFINED:
        return estimate
    estimate = _with_chance(estimate, drawn, weight) if drawn.is_informative else estimate
    share = share_held(estimate.confidence, evidence)
    interval = _interval(estimate, *drawn.interval(share), weight, method)
    interval = _up_to_bound(interval, estimate.target.bounds, observed)
    if (interval.low, interval.high) == estimate.target.bounds and drawn.gap > 0:
        return estimate
    combined = with_model_based(estimate, interval, drawn, evidence, of_known_rows)
    if combined.intervals[0].kind != KIND:
        return combined
    without_unmet = None
    if aside is not None and aside.defined.any():
        left = _interval(estimate, *aside.interval(share), weight, method)
        left = _up_to_bound(left, estimate.target.bounds, observed)
        without_unmet = _within(left, combined.intervals[0])
    others = [
        (hidden, _interval(estimate, *other.interval(share), weight, method))
        for hidden, other in other_shares.items()
    ]
    return dataclasses.replace(
        combined,
        sensitivity=tuple(Sensitivity(hidden, each.low, each.high) for hidden, each in others),
        without_unmet=without_unmet,
    )


def _with_chance(estimate: Estimate, drawn: DrawnRange, weight: float) -> Estimate:
    """Return an estimate with the chance that the first of two compared systems is greater.

    It is the share of draws in which the first is greater, and half of those that are tied or
    undecided by the cells. Like the interval, draws are averaged with the design, quantile by
    quantile, so that chance and interval agree. An estimate that is no comparison is returned as it
    is.
    """
    null = estimate.target.null
    if null is None:
        return estimate
    low, high = (
        _averaged(estimate, ends[drawn.defined], weight) - null for ends in (drawn.low, drawn.high)
    )
    chance = float((1 + np.mean(low > TIE) - np.mean(high < -TIE)) / 2)
    tested = estimate.significance or Significance(None)
    return dataclasses.replace(
        estimate, significance=dataclasses.replace(tested, chance_above=chance)
    )


def _averaged(estimate: Estimate, drawn: FloatArray, weight: float) -> FloatArray:
    """Return draws in order, averaged with as many quantiles of a normal distribution.

    It is the one that has the design-based interval as its central interval. If that claims
    nothing, only the draws count.
    """
    ordered = np.sort(drawn)
    if not estimate.claims:
        return ordered
    design = estimate.intervals[0]
    reach = float(scipy.special.ndtri((1 + estimate.confidence) / 2))
    middle, deviation = (design.low + design.high) / 2, (design.high - design.low) / 2 / reach
    level = (np.arange(len(ordered)) + 0.5) / len(ordered)
    of_design = middle + deviation * scipy.special.ndtri(level)
    return np.asarray((1 - weight) * of_design + weight * ordered)


def _interval(
    estimate: Estimate, low: float, high: float, weight: float, method: str = LabelModel.method
) -> Interval:
    """Return an interval of draws, averaged with the design's if that claims anything.

    It is widened to hold the value. The ends of the draws are NaN if there is no such interval. If
    the method ends with `SIMULTANEOUS`, the design's simultaneous interval is taken.
    """
    if not (np.isfinite(low) and np.isfinite(high)):
        return dataclasses.replace(whole_range(estimate.target.bounds, method), kind=KIND)
    design = estimate.interval(SIMULTANEOUS if method.endswith(SIMULTANEOUS) else None)
    if estimate.claims and design is not None:
        low = (1 - weight) * design.low + weight * low
        high = (1 - weight) * design.high + weight * high
    if estimate.value is not None:
        low, high = min(low, estimate.value), max(high, estimate.value)
    return Interval(low, high, KIND, method)


def _up_to_bound(interval: Interval, bounds: tuple[float, float], observed: float) -> Interval:
    """Return an interval extended to a bound that the measure attains on the labelled rows alone.

    No labelled row then excludes that the measure of the whole pool is at the bound, too.
    """
    low, high = bounds
    return dataclasses.replace(
        interval,
        low=low if observed == low else interval.low,
        high=high if observed == high else interval.high,
    )


def _within(interval: Interval, outer: Interval) -> Interval | None:
    """Return the part of an interval that another holds, None if that holds nothing of it.

    Draws without positives in a part of the pool have more of a measure than the draws that they
    were: they say which part of an interval is left, not how far it would reach elsewhere.
    """
    low, high = max(interval.low, outer.low), min(interval.high, outer.high)
    return dataclasses.replace(interval, low=low, high=high) if low <= high else None


@dataclasses.dataclass(frozen=True)
class DrawnMeasure:
    """A measure, of which there are draws where there are draws of the labels.

    Attributes:
        measure: of m components.
        seed: seed of the model of the labels.
        own: what the rows' own probabilities add to the measure; None if they add nothing.
    """

    measure: Measure
    seed: Sequence[int]
    own: OwnProbabilities | None = None

    def ends(self, predictive: Predictive) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest value of each draw, shape (draws, m) each."""
        low, high = predictive.bounds(self.measure)
        if self.own is None:
            return low, high
        place = predictive.domain.column, predictive.domain.value
        rng = np.random.Generator(np.random.PCG64([*self.seed, *place, 3]))
        noise = rng.standard_normal(len(low))
        return self.own.added_to(low, noise), self.own.added_to(high, noise)

    def ranges(self, predictive: Predictive) -> list[DrawnRange]:
        """Return the draws of each component."""
        return ranges_of(self.ends(predictive))


def _under_share(
    share: float,
    drawn: Sequence[DrawnRange],
    predictive: Predictive,
    of_measure: DrawnMeasure,
    model: LabelModel,
) -> list[DrawnRange]:
    """Return draws under another share of hidden positives: the same draws weighted, or new draws.

    New draws are made if the weighted ones are worth fewer than `FEWEST_EFFECTIVE` equal draws.
    That happens if the prior's spread is small, so that hardly any draw lies where the new prior
    does, and with several classes, where weights vary much.
    """
    weight = model.weights(share)[predictive.of_draw]
    if effective_size(weight) >= FEWEST_EFFECTIVE:
        return [dataclasses.replace(component, weight=weight) for component in drawn]
    return of_measure.ranges(model.with_share(share).within(predictive.domain))


def ranges_of(ends: tuple[FloatArray, FloatArray]) -> list[DrawnRange]:
    """Return the draws of each component, from their ends, shape (draws, m) each."""
    return [DrawnRange(low, high) for low, high in zip(ends[0].T, ends[1].T, strict=True)]
