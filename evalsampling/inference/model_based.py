"""Intervals from draws of all labels: what scores and labels together say."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.census import value_among
from evalsampling.inference.drawn_range import DrawnRange, simultaneous
from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, whole_range
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.policy import with_model_based
from evalsampling.inference.predictive import FEWEST_EFFECTIVE, LabelModel, Predictive
from evalsampling.inference.results import TIE, Estimate, Sensitivity
from evalsampling.inference.significance import Significance
from evalsampling.inference.weights import effective_size
from evalsampling.measures.base import Measure

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

KIND = "model-based"
METHOD = "calibration-curve"

OTHER_SHARES = (0.5, 2.0)
"""What the share of hidden positives is multiplied by, to see how much an interval hangs on it."""

DRAWS_ERR = 0.6
"""What the chance of an error is multiplied by in the interval of the draws.

The curve is never quite right: on 53 real pools draws at 95 % missed in one of twelve runs."""

FULL_EVIDENCE = 25
"""Labelled rows of its scarcest share from which on an interval has the confidence asked for."""

LEAST_ERROR = 0.1
"""What the chance of an error is multiplied by with `FEWEST_EVIDENCE` such rows."""

_MOST_UNDEFINED = 0.5
"""Share of draws in which a measure may be undefined; of the others its interval is made."""


def combine_with_model(
    estimates: Sequence[Estimate],
    measure: Measure,
    model: LabelModel,
    there: Predictive,
    evidence: IntArray | None = None,
    band: bool = False,
    combine: bool = False,
    own: OwnProbabilities | None = None,
    expected: FloatArray | None = None,
) -> list[Estimate]:
    """Return estimates of a measure with their model-based intervals.

    It is a weighted mean of the design-based interval and of the shortest interval that holds a
    share of the predictive draws (`share_held`), end by end, widened to hold the estimate. The
    draws count for `weight_of_draws`; alone where the design claims nothing. However the errors of
    two numbers correlate, the weighted mean of intervals that hold either of them holds their
    weighted mean. Positives that no label has met make the distribution of draws lean against its
    bound, where equal tails would miss it.

    Args:
        estimates: of the measure's components, with design-based intervals.
        measure: what is estimated.
        model: of the labels.
        there: labels of the pool or of a part, by the model.
        evidence: shape (m,): labelled rows of the scarcest share that each component depends on,
            plenty if not given. With `FEWEST_EVIDENCE` the interval is put in front, else it
            stands last; see `share_held`.
        band: whether intervals that hold together are wanted too, of the components that have a
            model-based interval in front.
        combine: whether the estimate is to become a mean of itself and of the median of draws.
        own: what the rows' own probabilities add to the measure, nothing if not given.
        expected: shape (m,): standard errors of the design that draws make expect; those of the
            estimates if not given.
    """
    if model.contradiction is not None:
        return [_by_design(one, model.contradiction) for one in estimates]
    ends = _ends(there, measure, model, own)
    drawn = _ranges(ends)
    errors = [one.standard_error for one in estimates]
    weights = [weight_of_draws(error, of_it) for error, of_it in zip(errors, drawn, strict=True)]
    of_design = estimates
    if combine:
        estimates = [
            _combined(one, of_it, weight)
            for one, of_it, weight in zip(estimates, drawn, weights, strict=True)
        ]
    if expected is not None:
        errors = [between(*both) for both in zip(errors, expected.tolist(), strict=True)]
        weights = [weight_of_draws(*both) for both in zip(errors, drawn, strict=True)]
    is_number_of_pool = there.domain.count is None and len(estimates) == 1
    others = [
        _OtherShare(
            model.hidden.share * factor, *_under_share(factor, drawn, there, measure, model, own)
        )
        for factor in (OTHER_SHARES if is_number_of_pool else ())
    ]
    met = value_among(measure, model.history, there.domain)
    combined = [
        _with_model(
            one,
            of_it,
            weights[i],
            others,
            FULL_EVIDENCE if evidence is None else int(evidence[i]),
            alone,
        )
        for i, (one, of_it, alone) in enumerate(zip(estimates, drawn, met.tolist(), strict=True))
    ]
    if not band or len(combined) < 2:
        return combined
    low, high = _band(ends, of_design, measure, model, own)
    ends_of_each = zip(low.tolist(), high.tolist(), weights, strict=True)
    bands = [
        _interval(one, *of_one, f"{METHOD}, {SIMULTANEOUS}")
        for one, of_one in zip(estimates, ends_of_each, strict=True)
    ]
    return [
        one.with_interval(_up_to_bound(band, one.target.bounds, alone))
        if one.intervals[0].kind == KIND
        else one
        for one, band, alone in zip(combined, bands, met.tolist(), strict=True)
    ]


def weight_of_draws(error: float | None, drawn: DrawnRange) -> float:
    """Return what draws of a number count for beside its estimate by the design, in [0, 1].

    The standard deviation of the design by that of the difference of the two. That is the root of
    the weight by variances: the variance of the design sees only what was met, so it is too small
    where the draws matter most. It is 1 where the design knows no standard error, or none but 0:
    where no labelled row speaks against its value, its variance is unknown. A value goes by the
    error that labels show, an interval by the one `between` that and the expected one.

    Args:
        error: standard error of the estimate by the design, None if there is no estimate.
        drawn: of the same number.
    """
    if not error or not drawn.defined.any():
        return 1.0
    return error / math.hypot(error, math.sqrt(drawn.variance))


def between(error: float | None, expected: float) -> float | None:
    """Return the geometric mean of a standard error and of the one that draws make expect.

    Labels show one that is too small until the rows that matter most were met. Draws make one
    expect that is too large where fewer positives hide than the prior has it. If only one of them
    is above 0, it is that one.
    """
    if not error:
        return error
    return math.sqrt(error * expected) if expected > 0 else error


def _by_design(one: Estimate, reason: str) -> Estimate:
    """Return an estimate as the design makes it, saying why scores are not used for it."""
    words = (
        f"{one.target.title}: scores and labels do not fit a curve, so value and interval are the "
        f"design's alone: {reason}"
    )
    return dataclasses.replace(one, notes=(*one.notes, words))


def _band(
    ends: tuple[FloatArray, FloatArray],
    estimates: Sequence[Estimate],
    measure: Measure,
    model: LabelModel,
    own: OwnProbabilities | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a band that holds a share of curves whole, shape (m,) each.

    It holds it under the share of hidden positives that is thought likely, under half and twice of
    it: far out, where a curve reaches nearly all rows, every point hangs on that share, so that one
    that is wrong would miss at some of them. For the same reason it holds what the design says of
    each point.

    Args:
        ends: between what the draws of the model lie, shape (draws, m) each.
        estimates: of the m components by the design, at one confidence, the share of curves.
        measure: of the pool.
        model: of the labels.
        own: what the rows' own probabilities add to the measure.
    """
    confidence = estimates[0].confidence
    others = [model.with_share(model.hidden.share * factor) for factor in OTHER_SHARES]
    ways = [ends, *(_ends(one.everywhere, measure, one, own) for one in others)]
    value = np.array([np.nan if one.value is None else one.value for one in estimates])
    low = np.fmin.reduce([value, *(simultaneous(least, confidence)[0] for least, _ in ways)])
    high = np.fmax.reduce([value, *(simultaneous(most, confidence)[1] for _, most in ways)])
    least, greatest = np.transpose([one.target.bounds for one in estimates])
    return np.clip(low, least, greatest), np.clip(high, least, greatest)


def _combined(one: Estimate, drawn: DrawnRange, weight: float) -> Estimate:
    """Return an estimate that is a weighted mean of itself and of the median of draws.

    It stays in its own interval, and as it is where cells leave more open of the number than labels
    do. However the errors of the two correlate, the standard error is at most the mean of theirs.

    Args:
        one: the estimate.
        drawn: of it.
        weight: of the draws: `weight_of_draws`.
    """
    if one.value is None or one.standard_error is None:
        return one
    if not (drawn.defined.any() and drawn.is_told):
        return one
    if one.standard_error == 0 and drawn.variance == 0:
        return one
    value = (1 - weight) * one.value + weight * drawn.median
    if one.claims:
        value = min(max(value, one.intervals[0].low), one.intervals[0].high)
    error = (1 - weight) * one.standard_error + weight * math.sqrt(drawn.variance)
    return dataclasses.replace(one, value=value, standard_error=error)


def share_held(confidence: float, evidence: int) -> float:
    """Return the share of draws that an interval holds, more than the confidence it is to have.

    The error allowed is less by `DRAWS_ERR`. Where most runs meet too few rows for an interval,
    those that claim one are those that met many by chance, and miss more often. So it is a tenth of
    that with `FEWEST_EVIDENCE` rows, and grows by the same factor with each one more, up to all of
    it with `FULL_EVIDENCE`.

    Args:
        confidence: in (0, 1).
        evidence: labelled rows of the scarcest share, at least 0.
    """
    wanting = (FULL_EVIDENCE - evidence) / (FULL_EVIDENCE - FEWEST_EVIDENCE)
    return 1 - (1 - confidence) * DRAWS_ERR * LEAST_ERROR ** min(max(wanting, 0.0), 1.0)


def _with_model(
    one: Estimate,
    drawn: DrawnRange,
    weight: float,
    others: Sequence["_OtherShare"],
    evidence: int,
    met: float,
) -> Estimate:
    """Return an estimate with the interval that draws of its number give.

    Args:
        one: the estimate.
        drawn: of it.
        weight: of the draws beside the design.
        others: draws of the same number under other shares of hidden positives.
        evidence: labelled rows of the scarcest share. With enough of them the interval is the
            first, unless cells leave more open of the number than labels do.
        met: the number among the labelled rows alone.
    """
    if drawn.defined.mean() < 1 - _MOST_UNDEFINED:
        return one
    one = _with_chance(one, drawn) if drawn.is_told else one
    held = share_held(one.confidence, evidence)
    low, high = drawn.interval(held)
    interval = _up_to_bound(_interval(one, low, high, weight), one.target.bounds, met)
    if (interval.low, interval.high) == one.target.bounds and drawn.gap > 0:
        return one
    found = with_model_based(one, interval, (low, high), drawn, evidence)
    if found.intervals[0].kind != KIND:
        return found
    return dataclasses.replace(
        found, sensitivity=tuple(other.sensitivity(one, held, weight) for other in others)
    )


def _with_chance(one: Estimate, drawn: DrawnRange) -> Estimate:
    """Add to the estimate of a comparison the share of draws in which the first is greater.

    Half of those count in which neither is, or cells do not tell; if they tell next to nothing,
    there is none.
    """
    null = one.target.null
    if null is None:
        return one
    low, high = drawn.low[drawn.defined] - null, drawn.high[drawn.defined] - null
    chance = float((1 + np.mean(low > TIE) - np.mean(high < -TIE)) / 2)
    tested = one.significance or Significance(None)
    return dataclasses.replace(one, significance=dataclasses.replace(tested, chance_above=chance))


def _interval(
    one: Estimate, low: float, high: float, weight: float, method: str = METHOD
) -> Interval:
    """Return the mean of an interval of draws and of the design's, if that claims anything.

    Args:
        one: the estimate, with the design's intervals.
        low: end of the interval of draws, NaN if there is none.
        high: the other end.
        weight: of the draws.
        method: of the interval; if it ends with `SIMULTANEOUS`, such a one of the design is meant.
    """
    if not (np.isfinite(low) and np.isfinite(high)):
        return dataclasses.replace(whole_range(one.target.bounds, method), kind=KIND)
    design = one.interval(SIMULTANEOUS if method.endswith(SIMULTANEOUS) else None)
    if one.claims and design is not None:
        low = (1 - weight) * design.low + weight * low
        high = (1 - weight) * design.high + weight * high
    if one.value is not None:
        low, high = min(low, one.value), max(high, one.value)
    return Interval(low, high, KIND, method)


def _up_to_bound(interval: Interval, bounds: tuple[float, float], met: float) -> Interval:
    """Return an interval that holds a bound which no labelled row excludes.

    If the number is at its bound among the labelled rows alone, the number of all may be too.
    """
    low, high = bounds
    return dataclasses.replace(
        interval,
        low=low if met == low else interval.low,
        high=high if met == high else interval.high,
    )


@dataclasses.dataclass(frozen=True)
class _OtherShare:
    """Draws of a number had another share of hidden positives been expected.

    Attributes:
        share: it.
        drawn: of the number.
    """

    share: float
    drawn: DrawnRange

    def sensitivity(self, one: Estimate, held: float, weight: float) -> Sensitivity:
        """Return the interval that an estimate then has, of a share of draws and their weight."""
        interval = _interval(one, *self.drawn.interval(held), weight)
        return Sensitivity(self.share, interval.low, interval.high)


def _under_share(
    factor: float,
    drawn: Sequence[DrawnRange],
    there: Predictive,
    measure: Measure,
    model: LabelModel,
    own: OwnProbabilities | None = None,
) -> list[DrawnRange]:
    """Return draws under another share of hidden positives: the same ones weighted, or new ones.

    Where the spread is small, next to no draw lies where the new prior does, and with several
    classes the weights of all their curves are too unlike: then labels are drawn anew.

    Args:
        factor: the share by that of the model.
        drawn: of the components of the measure, from ``there``.
        there: labels of the pool or of a part.
        measure: what is estimated.
        model: of the labels.
        own: what the rows' own probabilities add to the measure.
    """
    share = model.hidden.share * factor
    weight = np.prod([curve.weights(share) for curve in model.curves], axis=0)[there.of_draw]
    if effective_size(weight) >= FEWEST_EFFECTIVE:
        return [dataclasses.replace(one, weight=weight) for one in drawn]
    anew = model.with_share(share).within(there.domain)
    return _ranges(_ends(anew, measure, model, own))


def _ends(
    there: Predictive, measure: Measure, model: LabelModel, own: OwnProbabilities | None
) -> tuple[FloatArray, FloatArray]:
    """Return between what each draw of a measure lies, shape (draws, m) each."""
    low, high = there.bounds(measure)
    if own is None:
        return low, high
    place = there.domain.column, there.domain.value
    rng = np.random.Generator(np.random.PCG64([*model.seed, *place, 3]))
    noise = rng.standard_normal(len(low))
    return own.added_to(low, noise), own.added_to(high, noise)


def _ranges(ends: tuple[FloatArray, FloatArray]) -> list[DrawnRange]:
    """Return the draws of each component, from their ends, shape (draws, m) each."""
    return [DrawnRange(low, high) for low, high in zip(ends[0].T, ends[1].T, strict=True)]
