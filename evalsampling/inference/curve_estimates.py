"""Estimates of measures over thresholds from a precision curve: values, and bounds that hold."""

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.inference.intervals import SIMULTANEOUS, Interval
from evalsampling.inference.precision_curve import Bounded, PrecisionCurve
from evalsampling.inference.results import Estimate, undefined
from evalsampling.measures.base import Measure
from evalsampling.measures.curves import AveragePrecision, PRCurve, ROCCurve, Thresholded
from evalsampling.stats.ranked_list import RankedList

IntArray = npt.NDArray[np.int64]

METHOD = "envelope"
"""Method of the bounds: those of all points of all curves hold together."""


def places_on(ranked: RankedList, measure: Measure) -> IntArray | None:
    """Return the last group that reaches each threshold of a measure, shape (thresholds,).

    -1 where none does. None if the curve says nothing of the measure: it is no curve and no average
    precision of the ranking system, or a threshold lies within a group.
    """
    if not isinstance(measure, PRCurve | ROCCurve | AveragePrecision) or measure.system:
        return None
    return ranked.reaching(np.array(measure.thresholds))


def curve_estimates(
    measure: Measure, curve: PrecisionCurve, scope: ReportedDomains
) -> list[Estimate]:
    """Return the estimates of a measure on the whole pool, of which `places_on` tells.

    The only interval is the one between the bounds.
    """
    assert isinstance(measure, Thresholded)
    place = places_on(curve.ranked, measure)
    assert place is not None
    if isinstance(measure, PRCurve):
        pairs = [_at(curve.precision, place, np.nan), _at(curve.recall, place, 0.0)]
    elif isinstance(measure, ROCCurve):
        pairs = [_at(curve.recall, place, 0.0), _at(curve.false_positive_rate, place, 0.0)]
    else:
        pairs = [curve.average_precision(np.unique(place[place >= 0]))]
    found = [np.concatenate([getattr(one, end) for one in pairs]) for end in _ENDS]
    confidence = curve.guarantee.confidence
    estimates = []
    targets = scope.targets(measure, Domain())
    for target, value, low, high in zip(targets, *(ends.tolist() for ends in found), strict=True):
        if not np.isfinite(value):
            reason = (
                f"{target.title} is undefined (0/0): no {measure.evidence_name} or no such rows"
            )
            estimates.append(undefined(target, confidence, "undefined", reason, warn=True))
            continue
        interval = Interval(low, high, SIMULTANEOUS, METHOD)
        estimates.append(Estimate(target, value, None, confidence, (interval,)))
    return estimates


_ENDS = ("value", "low", "high")


def _at(one: Bounded, place: IntArray, nowhere: float) -> Bounded:
    """Return values at some groups; ``nowhere`` where no group reaches the threshold."""
    ends = [np.where(place < 0, nowhere, getattr(one, end)[place]) for end in _ENDS]
    return Bounded(*ends)
