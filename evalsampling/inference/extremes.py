"""The least, or the greatest, of a number over slices: its interval from the slices' intervals.

The extreme of several estimates has no normal distribution where slices are tied, and no
derivative. But with limits L_k and U_k of K slices the least number g has

    P(min L_k > g) <= P(L_l > g), l being the least slice: its limit alone has to hold, and
    P(min U_k < g) <= sum_k P(U_k < g_k): all of them have to hold, by Bonferroni's inequality.

So the lower limits are those of intervals that miss with a probability of alpha / 2, the upper
ones of intervals that miss with alpha / (2 K). This holds at ties, however the slices' estimates
correlate, and however an interval divides its error between its ends.

References:
    R. L. Berger, *Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24,
    1982 (the first line: an intersection-union test).
"""

import dataclasses
from collections.abc import Sequence

from evalsampling.inference.intervals import MODEL_BASED, Interval
from evalsampling.inference.results import EXACT, Estimate, Target, census, undefined
from evalsampling.measures.extremes import Extreme, Greatest

METHOD = "of-slices"
"""End of the method of such an interval: ``least-of-slices``."""


def levels(confidence: float, slices: int) -> tuple[float, float]:
    """Return the confidence of the slices' intervals, for the ends near and far."""
    error = (1 - confidence) / 2
    return 1 - error, 1 - error / slices


def extreme_of(
    measure: Extreme,
    target: Target,
    near: Sequence[Estimate],
    far: Sequence[Estimate],
    confidence: float,
) -> Estimate:
    """Return the extreme of some slices: its near end is of ``near``, its far one of ``far``."""
    for estimate in near:
        if estimate.value is None:
            reason = f"{target.title} is undefined: {estimate.reason}"
            method, warn = estimate.intervals[0].method, bool(estimate.warnings)
            return undefined(target, confidence, method, reason, warn=warn)
    pick = max if isinstance(measure, Greatest) else min
    extreme = pick(near, key=_value)
    if all(estimate.intervals[0].method in EXACT for estimate in near):
        return census(target, _value(extreme), confidence, measure.undefined_without)
    lower, upper = (far, near) if isinstance(measure, Greatest) else (near, far)
    of_model = any(estimate.intervals[0].kind == MODEL_BASED for estimate in near)
    interval = Interval(
        pick(estimate.low for estimate in lower),
        pick(estimate.high for estimate in upper),
        MODEL_BASED if of_model else near[0].intervals[0].kind,
        f"{measure.kind}-{METHOD}",
    )
    warnings = dict.fromkeys(warning for estimate in near for warning in estimate.warnings)
    if (interval.low, interval.high) == target.bounds and not warnings:
        whole = "its interval is the whole range of the measure: it takes more labels"
        warnings[f"{target.title}: {whole}"] = None
    return dataclasses.replace(
        extreme,
        target=target,
        confidence=confidence,
        intervals=(interval,),
        warnings=tuple(warnings),
        notes=(_note(measure, target, extreme, near),),
        reliable=all(estimate.reliable for estimate in near)
        and (interval.low, interval.high) != target.bounds,
        sensitivity=(),
        without_unmet=None,
        bias=None,
        unlabelled=None,
    )


def _value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


def _note(measure: Extreme, target: Target, extreme: Estimate, near: Sequence[Estimate]) -> str:
    """Return which slice is the extreme one, and which others might be."""
    others = [
        estimate.target.title
        for estimate in near
        if estimate is not extreme and estimate.low <= extreme.high and extreme.low <= estimate.high
    ]
    said = f"{target.title}: it is {extreme.target.title}"
    if not others:
        return said
    beyond = "above" if isinstance(measure, Greatest) else "below"
    return (
        f"{said}; labels do not tell it apart from {' and '.join(others)}. The {measure.kind} of "
        f"estimates that are close lies {beyond} the {measure.kind} value on average: go by the "
        "interval"
    )
