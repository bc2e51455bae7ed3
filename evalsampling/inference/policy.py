"""Which interval of a number stands in front, and what a reader must know of it.

Of a number three intervals are shown: the default, the design-based one, and the assumption-light
one where it says more. Others are made if they are asked for by name (`interval_methods`).

1. *By design.* Korn and Graubard's for shares; Fisher's z (the normal interval on the logit scale)
   for correlations, whose bounds lie evenly about 0; Student's on the logarithmic scale for what is
   above 0 and has no upper bound, as ratios of two systems and mean squared errors; Student's for
   all others, differences of two systems among them. The whole range, with words, where labels
   allow no claim: because of a gap in the evidence, or as no labelled row speaks against the value.
2. *By the model of the labels*, if there is one that labels do not contradict: it comes before the
   design's with `FEWEST_EVIDENCE` labelled rows of the scarcest share, unless cells leave more open
   of the number than labels do.
3. Whatever stands in front holds the value, and while nothing excludes it the measure's bound.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy

from evalsampling.inference.drawn_range import DrawnRange
from evalsampling.inference.evidence import FEWEST_EVIDENCE, Gap
from evalsampling.inference.interval_methods import (
    BY_NAME,
    IntervalMethod,
    SampledNumber,
    by_korn_graubard,
    by_log_student,
    by_logit,
    by_student,
)
from evalsampling.inference.intervals import Interval, whole_range
from evalsampling.inference.results import Estimate
from evalsampling.inference.weights import largest_share

NARROW = 0.15
"""Share of the expected width below which an interval is not to be relied on."""

NARROW_AND_SYMMETRIC = 0.5
"""The same for a symmetric interval where one row has more than `DOMINANT` of the variance."""

DOMINANT = 0.2
"""Share of the variance from which on one row decides how wide an interval is."""

DISAGREEMENT = 3.0
"""Intervals disagree if that of the design, made so many times as wide, does not meet the model's.

By chance alone it misses the truth in one of twenty estimates, at some point of most curves. With
2, words came with a quarter of the log losses of a prior that falls where the rate rises, of which
the default interval held .99 (docs/studies/coverage.md)."""

FAR_OFF = 0.2
"""Share of its range by which the value of a measure is off the median of draws if it misleads."""


@dataclasses.dataclass(frozen=True)
class DesignBased:
    """The design-based intervals of a number.

    Attributes:
        value: within the bounds.
        intervals: the default first, then those that were asked for.
        of_value: that the value had to be cut, if it had.
        warnings: the same, and why the default claims nothing, or is not to be relied on.
        is_sound: whether it claims something and nothing speaks against it.
    """

    value: float
    intervals: tuple[Interval, ...]
    of_value: tuple[str, ...]
    warnings: tuple[str, ...]
    is_sound: bool


def default_method(number: SampledNumber) -> IntervalMethod:
    """Return the method of the design-based interval of a number that has an error."""
    low, high = number.bounds
    if (low, high) == (0.0, np.inf) and number.value > 0:
        return by_log_student
    if number.target.against is not None or not np.isfinite([low, high]).all():
        return by_student
    if (low, high) == (0.0, 1.0):
        return by_korn_graubard
    is_correlation = low == -high and abs(number.value) < high
    return by_logit if is_correlation else by_student


def gap_of(number: SampledNumber, gap: Gap | None) -> Gap | None:
    """Return why labels allow no claim of a number, if they do not.

    Args:
        number: it.
        gap: in the evidence for it.
    """
    if number.error == 0:
        words = "no labelled row contradicts this value, so its variance is estimated to be zero"
        return Gap("zero variance", words)
    return gap


def by_design(number: SampledNumber, gap: Gap | None, asked: Sequence[str] = ()) -> DesignBased:
    """Return the design-based intervals of a number.

    Args:
        number: it; a value beyond the bounds is cut.
        gap: why labels allow no claim: `gap_of`.
        asked: names of the methods that are to stand beside the default.
    """
    title, bounds = number.target.title, number.bounds
    warnings, doubt = [], None
    if not bounds[0] <= number.value <= bounds[1]:
        warnings.append(
            f"{title}: the weighted estimate {number.value:.4g} lies outside its range and was "
            "cut; more labels will mend that"
        )
        cut = min(max(number.value, bounds[0]), bounds[1])
        number = dataclasses.replace(number, value=cut)
    of_value = tuple(warnings)
    if gap is not None:
        default = whole_range(bounds, gap.method)
        warnings.append(f"{title}: {gap.words}; the interval is the whole range of the measure")
    else:
        made = default_method(number)(number)
        assert made is not None, "there is an error"
        default, doubt = made, doubt_about(made, number)
        warnings += [f"{title}: {doubt}"] if doubt else []
    claims = (default.low, default.high) != bounds
    if not (claims or warnings):
        words = "its interval is the whole range of the measure: it takes more labels"
        warnings.append(f"{title}: {words}")
    answers = (BY_NAME[name](number) for name in asked)
    beside = (one for one in answers if one is not None and one.method != default.method)
    return DesignBased(
        number.value,
        (default, *beside),
        of_value,
        tuple(warnings),
        is_sound=claims and not (gap or doubt),
    )


def doubt_about(interval: Interval, number: SampledNumber) -> str | None:
    """Return why an interval is not to be relied on, in words, if it is not.

    A symmetric interval, as losses have, does not know that a few rows far off make up most of a
    mean: where one row that was met decides its width, it has to be nearer the expected one.
    """
    if number.expected_error is None:
        return None
    reach = float(scipy.special.ndtri((1 + number.confidence) / 2))
    expected = 2 * reach * number.expected_error
    width = interval.high - interval.low
    is_one_row = interval.method == "student" and largest_share(number.terms) > DOMINANT
    if width >= (NARROW_AND_SYMMETRIC if is_one_row else NARROW) * expected:
        return None
    return (
        f"its interval is {width:.2g} wide, scores and labels make expect {expected:.2g}: rows "
        "that weigh much are hardly ever drawn, and none or few were met, so do not rely on it"
    )


def with_model_based(
    estimate: Estimate,
    interval: Interval,
    of_draws: tuple[float, float],
    drawn: DrawnRange,
    evidence: int,
) -> Estimate:
    """Return an estimate with its model-based interval, in front where labels say enough.

    Args:
        estimate: by the design.
        interval: the model-based one.
        of_draws: between what the draws lie, without the design.
        drawn: the number in each draw.
        evidence: labelled rows of the scarcest share.
    """
    if not (evidence >= FEWEST_EVIDENCE and drawn.is_told):
        return estimate.with_interval(interval)
    (low, high), design, title = of_draws, estimate.intervals[0], estimate.target.title
    warnings = list(estimate.of_value)
    further = (DISAGREEMENT - 1) * (design.high - design.low) / 2
    if estimate.claims and (design.high + further < low or high < design.low - further):
        warnings.append(
            f"{title}: the draws say {design.low:.4g} to {design.high:.4g}, scores "
            f"and labels {low:.4g} to {high:.4g}: one misleads, so the interval holds both"
        )
        interval = dataclasses.replace(
            interval, low=min(low, design.low), high=max(high, design.high)
        )
    least, greatest = estimate.target.bounds
    is_far = (
        estimate.value is not None
        and not estimate.claims
        and abs(estimate.value - drawn.median) > FAR_OFF * (greatest - least)
    )
    if is_far:
        warnings.append(
            f"{title}: {estimate.value:.4g} is the value of the rows that were met, and too "
            f"few of a kind were; scores and labels make about {drawn.median:.4g} likely: go by "
            "the interval"
        )
    return dataclasses.replace(
        estimate,
        intervals=(interval, *estimate.intervals),
        warnings=tuple(warnings),
        reliable=(interval.low, interval.high) != estimate.target.bounds,
    )
