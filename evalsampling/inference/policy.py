"""The choice of the default interval of a number, with its warnings.

A number has a design-based interval, and a model-based one if there is a model of the labels.
Others are added if they are requested by name (`interval_methods`).

1. *Design-based.* Korn and Graubard's for shares of rows; the Beta distribution's for shares of
   pairs of a row and one of many labels, which are more than the draws; Fisher's z (the normal
   interval on the logit scale) for correlations, whose bounds are symmetric about 0; Student's on
   the logarithmic scale for positive numbers without an upper bound, as ratios of two systems and
   mean squared errors; Student's for all others, differences of two systems among them. The whole
   range, with a warning, if labels allow no claim: because of a gap in the evidence, or as no
   labelled row contradicts the value.
2. *Model-based*, if there is a model of the labels that they do not contradict: it comes before the
   design-based one with `FEWEST_EVIDENCE` labelled rows of the scarcest share, if the draws are
   informative (`DrawnRange.is_informative`). Of precision, accuracy and other means of rows that
   are known it must also be the narrower one: there the design misses nothing.
3. The default interval holds the value, and the measure's bound as long as no label excludes it.
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
    by_beta,
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
"""That share for a symmetric interval if one row has more than `DOMINANT` of the variance."""

DOMINANT = 0.2
"""Share of the variance above which a single row decides how wide an interval is."""

FAR_OFF = 0.2
"""Distance of a value from the median of draws, as a share of its range, that brings a note."""


def default_method(number: SampledNumber) -> IntervalMethod:
    """Return the method of the default design-based interval of a number with a standard error."""
    low, high = number.bounds
    if (low, high) == (0.0, np.inf) and number.value > 0:
        return by_log_student
    if number.target.against is not None or not np.isfinite([low, high]).all():
        return by_student
    if number.target.of_pairs:
        return by_beta
    if (low, high) == (0.0, 1.0):
        return by_korn_graubard
    is_correlation = low == -high and abs(number.value) < high
    return by_logit if is_correlation else by_student


def gap_of(number: SampledNumber, gap: Gap | None) -> Gap | None:
    """Return why labels allow no claim about a number; None if they do allow one.

    Args:
        number: the number.
        gap: gap in the evidence for it, if any.
    """
    if number.error == 0:
        words = "no labelled row contradicts this value, so its variance is estimated to be zero"
        return Gap("zero variance", words)
    return gap


def by_design(number: SampledNumber, gap: Gap | None, asked: Sequence[str] = ()) -> Estimate:
    """Return the design-based estimate of a number, with its intervals.

    Args:
        number: the number; a value beyond the bounds is cut.
        gap: why labels allow no claim: `gap_of`.
        asked: names of the methods of further intervals.
    """
    title, bounds = number.target.title, number.bounds
    notes: tuple[str, ...] = ()
    warnings, doubt = [], None
    if not bounds[0] <= number.value <= bounds[1]:
        notes = (
            f"{title}: the weighted estimate {number.value:.4g} lies outside its range and was "
            "cut; more labels will mend that",
        )
        cut = min(max(number.value, bounds[0]), bounds[1])
        number = dataclasses.replace(number, value=cut)
    if gap is not None:
        default = whole_range(bounds, gap.method)
        warnings.append(f"{title}: {gap.words}; the interval is the whole range of the measure")
    else:
        interval = default_method(number)(number)
        assert interval is not None, "there is an error"
        default, doubt = interval, doubt_about(interval, number)
        warnings += [f"{title}: {doubt}"] if doubt else []
    claims = (default.low, default.high) != bounds
    if not (claims or warnings):
        warning = "its interval is the whole range of the measure: it takes more labels"
        warnings.append(f"{title}: {warning}")
    requested = (BY_NAME[name](number) for name in asked)
    others = (each for each in requested if each is not None and each.method != default.method)
    return Estimate(
        number.target,
        number.value,
        number.error,
        number.confidence,
        (default, *others),
        warnings=tuple(warnings),
        reliable=claims and not (gap or doubt),
        notes=notes,
    )


def doubt_about(interval: Interval, number: SampledNumber) -> str | None:
    """Return why an interval is not reliable, in words; None if it is.

    A symmetric interval, as losses have, ignores that a few extreme rows may make up most of a
    mean: if one labelled row decides its width, that must be nearer the expected one.
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
        f"its interval is {width:.2g} wide, where scores and labels make {expected:.2g} likely. "
        "Rows that weigh much are hardly ever drawn, and few or none have a label: do not rely on "
        "it"
    )


def with_model_based(
    estimate: Estimate,
    interval: Interval,
    drawn: DrawnRange,
    evidence: int,
    of_known_rows: bool = False,
) -> Estimate:
    """Return an estimate with its model-based interval, first if there are enough labels.

    Args:
        estimate: the design-based estimate.
        interval: the model-based interval.
        drawn: the number in each draw.
        evidence: labelled rows of the scarcest share.
        of_known_rows: see `Measure.is_of_known_rows`.
    """
    design = estimate.intervals[0]
    is_wider = interval.high - interval.low >= design.high - design.low
    is_enough = of_known_rows and is_wider and estimate.claims and estimate.reliable
    if is_enough or evidence < FEWEST_EVIDENCE or not drawn.is_informative:
        return estimate.with_interval(interval)
    title, notes = estimate.target.title, list(estimate.notes)
    least, greatest = estimate.target.bounds
    is_far = (
        estimate.value is not None
        and not estimate.claims
        and abs(estimate.value - drawn.median) > FAR_OFF * (greatest - least)
    )
    if is_far:
        notes.append(
            f"{title}: {estimate.value:.4g} is the value of the labelled rows, and too few of "
            f"a kind are among them. Scores and labels make about {drawn.median:.4g} likely: go by "
            "the interval"
        )
    return dataclasses.replace(
        estimate,
        intervals=(interval, *estimate.intervals),
        warnings=(),
        notes=tuple(notes),
        reliable=(interval.low, interval.high) != estimate.target.bounds,
    )
