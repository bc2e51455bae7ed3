"""Intervals from draws of all labels: what scores and labels together say."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain
from evalsampling.inference.intervals import Interval, whole_range
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate, Sensitivity
from evalsampling.inference.significance import Significance
from evalsampling.inference.weights import effective_size
from evalsampling.measures.base import Measure

FloatArray = npt.NDArray[np.float64]

KIND = "model-assisted"
METHOD = "calibration-curve"

OTHER_SHARES = (0.5, 2.0)
"""What the share of hidden positives is multiplied by, to see how much an interval hangs on it."""

HELD = 0.75
"""Share of the way from the estimate to either end of its design-based interval.

With less, the smoothness of the curve shows where many labels are in few cells; with more,
intervals grow wider than they gain in coverage (docs/calibrated.md)."""

_FEWEST_EFFECTIVE = 100.0
"""Equal draws that weighted ones must be worth for an interval to be made of them."""

_MOST_UNDEFINED = 0.5
"""Share of draws in which a measure may be undefined; of the others its interval is made."""


def assist(
    estimates: Sequence[Estimate],
    measure: Measure,
    model: LabelModel,
    domain: Domain,
    is_default: npt.NDArray[np.bool_] | None = None,
    band: bool = False,
    combine: bool = False,
) -> list[Estimate]:
    """Return estimates of a measure with their model-assisted intervals.

    It is the shortest interval that holds the share `confidence` of the predictive draws, widened
    to hold the estimate itself and the inner part, `HELD`, of the design-based interval where that
    claims anything. Positives that no label has met make the distribution lean against its
    bound, where equal tails would miss it.

    Args:
        estimates: of the measure's components, with design-based intervals.
        measure: what is estimated.
        model: of the labels.
        domain: on what part of the pool.
        is_default: shape (m,): of which components the interval is put in front, all by default;
            of the others it stands last.
        band: whether intervals that hold together are wanted too.
        combine: whether the estimate is to become the mean of itself and of the median of the
            draws, each weighted by the variance of the other.
    """
    values = model.within(domain).values(measure)
    if combine:
        estimates = [_combined(one, drawn) for one, drawn in zip(estimates, values.T, strict=True)]
    is_number_of_pool = domain.count is None and len(estimates) == 1
    others = _other_shares(values[:, 0], measure, model) if is_number_of_pool else ()
    assisted = [
        _assisted(one, drawn, others, is_default is None or bool(is_default[i]))
        for i, (one, drawn) in enumerate(zip(estimates, values.T, strict=True))
    ]
    if not band or len(assisted) < 2:
        return assisted
    low, high = simultaneous(values, estimates[0].confidence)
    return [
        dataclasses.replace(
            one, intervals=(*one.intervals, _interval(unassisted, a, b, "simultaneous"))
        )
        for one, unassisted, a, b in zip(
            assisted, estimates, low.tolist(), high.tolist(), strict=True
        )
    ]


def _combined(one: Estimate, drawn: FloatArray) -> Estimate:
    """Return an estimate that is the mean of itself and of the median of draws of its number."""
    drawn = drawn[np.isfinite(drawn)]
    if one.value is None or one.standard_error is None or not len(drawn):
        return one
    of_design, of_model = one.standard_error**2, float(np.var(drawn))
    if of_design + of_model == 0:
        return one
    share = of_design / (of_design + of_model)
    return dataclasses.replace(one, value=(1 - share) * one.value + share * float(np.median(drawn)))


def _assisted(
    one: Estimate, drawn: FloatArray, others: Sequence["_OtherShare"], is_default: bool
) -> Estimate:
    """Return an estimate with the interval that draws of its number give.

    Args:
        one: the estimate.
        drawn: shape (draws,).
        others: draws of the same number under other shares of hidden positives.
        is_default: whether the interval is to be the first.
    """
    defined = np.isfinite(drawn)
    if defined.mean() < 1 - _MOST_UNDEFINED:
        return one
    one = _with_chance(one, drawn[defined])
    low, high = shortest_interval(drawn[defined], one.confidence)
    interval = _interval(one, low, high)
    if not is_default:
        return dataclasses.replace(one, intervals=(*one.intervals, interval))
    warnings = []
    if one.value is not None and max(low - one.value, one.value - high) > (high - low) / 2:
        warnings.append(
            f"{one.target.title}: the weighted estimate {one.value:.4g} is far from what scores "
            f"and labels together make expect, {low:.4g} to {high:.4g}; the interval holds both"
        )
    return dataclasses.replace(
        one,
        intervals=(interval, *one.intervals),
        warnings=tuple(warnings),
        reliable=(interval.low, interval.high) != one.target.bounds,
        sensitivity=tuple(other.sensitivity(one) for other in others),
    )


def _with_chance(one: Estimate, drawn: FloatArray) -> Estimate:
    """Add to the estimate of a comparison the share of draws in which the first is greater."""
    null = one.target.null
    if null is None:
        return one
    chance = float(np.mean(drawn > null) + np.mean(drawn == null) / 2)
    tested = one.significance or Significance(None)
    return dataclasses.replace(one, significance=dataclasses.replace(tested, chance_above=chance))


def _interval(one: Estimate, low: float, high: float, what: str = "") -> Interval:
    """Return an interval of draws, widened by what the design says."""
    method = f"{METHOD}, {what}" if what else METHOD
    if not (np.isfinite(low) and np.isfinite(high)):
        return dataclasses.replace(whole_range(one.target.bounds, method), kind=KIND)
    if one.value is not None:
        reach = HELD if one.claims else 0.0
        design = one.intervals[0]
        low = min(low, one.value, one.value - reach * (one.value - design.low))
        high = max(high, one.value, one.value + reach * (design.high - one.value))
    return Interval(low, high, KIND, method)


@dataclasses.dataclass(frozen=True)
class _OtherShare:
    """Draws of a number had another share of hidden positives been expected.

    Attributes:
        share: it.
        values: shape (draws,).
        weight: shape (draws,): of each draw.
    """

    share: float
    values: FloatArray
    weight: FloatArray

    def sensitivity(self, one: Estimate) -> Sensitivity:
        """Return the interval that an estimate then has."""
        defined = np.isfinite(self.values)
        low, high = np.nan, np.nan
        if self.weight[defined].sum() > 0:
            drawn, weight = self.values[defined], self.weight[defined]
            low, high = shortest_interval(drawn, one.confidence, weight)
        interval = _interval(one, low, high)
        return Sensitivity(self.share, interval.low, interval.high)


def _other_shares(
    values: FloatArray, measure: Measure, model: LabelModel
) -> tuple[_OtherShare, ...]:
    """Return draws under `OTHER_SHARES`: the same ones weighted, or, if few count, new ones.

    ``values``, shape (draws,), are those of a measure of one component under the share as it is.
    The share moves the prior of log rho: a draw's weight is the ratio of the new density to the
    old. Where the spread is small, next to no draw lies where the new prior does.
    """
    others = []
    for factor in OTHER_SHARES:
        log_weight = np.zeros(len(values))
        for curve in model.curves:
            moved = np.log(factor) / curve.curve.hidden.spread
            log_weight += moved * curve.z[:, -1]
        weight = np.exp(log_weight - log_weight.max())
        share = model.curves[0].curve.hidden.share * factor
        if effective_size(weight) >= _FEWEST_EFFECTIVE:
            others.append(_OtherShare(share, values, weight))
            continue
        anew = model.with_share(share).everywhere.values(measure)[:, 0]
        others.append(_OtherShare(share, anew, np.ones(len(anew))))
    return tuple(others)


def shortest_interval(
    values: FloatArray, confidence: float, weight: FloatArray | None = None
) -> tuple[float, float]:
    """Return the ends of the shortest interval that holds a share of draws.

    Args:
        values: shape (n,), finite.
        confidence: the share, in (0, 1).
        weight: shape (n,), at least 0; alike if not given.
    """
    order = np.argsort(values)
    ordered = values[order]
    weight = np.ones(len(values)) if weight is None else weight[order]
    below = np.concatenate([[0.0], np.cumsum(weight)])
    below /= below[-1]
    starts = np.flatnonzero(below[:-1] + confidence <= 1 + 1e-12)
    ends = np.searchsorted(below[1:], below[starts] + confidence - 1e-12)
    ends = np.minimum(ends, len(values) - 1)
    best = int(np.argmin(ordered[ends] - ordered[starts]))
    return float(ordered[starts[best]]), float(ordered[ends[best]])


def simultaneous(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a band that holds a share of curves whole, shape (m,) each.

    All points get the same share of draws below the band and above it, as large as leaves enough
    curves inside. Where a point is undefined in some draws, the others make its band.

    Args:
        values: draws of the curve, shape (draws, m), NaN where undefined.
        confidence: the share, in (0, 1).
    """
    defined = np.isfinite(values)
    count = np.maximum(defined.sum(axis=0), 1)
    place = np.argsort(np.argsort(np.where(defined, values, np.inf), axis=0), axis=0)
    depth = np.minimum(place, count - 1 - place) / count
    outermost = np.where(defined, depth, np.inf).min(axis=1)
    cut = float(np.sort(outermost)[int((1 - confidence) * len(values))])
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    for point in np.flatnonzero(defined.any(axis=0)):
        drawn = np.sort(values[defined[:, point], point])
        inward = min(int(np.ceil(cut * len(drawn) - 1e-9)), (len(drawn) - 1) // 2)
        low[point], high[point] = drawn[inward], drawn[len(drawn) - 1 - inward]
    return low, high
