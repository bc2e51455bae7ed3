"""Estimates of measures over thresholds from a precision curve: values, and bounds that hold."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, whole_range
from evalsampling.inference.precision_curve import Bounded, PrecisionCurve
from evalsampling.inference.results import Estimate, undefined
from evalsampling.measures.base import Measure
from evalsampling.measures.binary import (
    Accuracy,
    FalsePositiveRate,
    FBeta,
    Precision,
    Recall,
    Specificity,
)
from evalsampling.measures.curves import AveragePrecision, PRCurve, ROCArea, ROCCurve, Thresholded
from evalsampling.measures.f_alpha import FAlpha
from evalsampling.stats.cells import CellTable
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

    The only interval is the one between the bounds; the whole range if nothing is guaranteed.
    """
    assert isinstance(measure, Thresholded)
    place = places_on(curve.ranked, measure)
    assert place is not None
    if isinstance(measure, PRCurve):
        pairs = [_at(curve.precision, place, np.nan), _share_at(curve.recall, place)]
    elif isinstance(measure, ROCCurve):
        pairs = [_share_at(curve.recall, place), _share_at(curve.false_positive_rate, place)]
    else:
        pairs = [curve.average_precision(np.unique(place[place >= 0]))]
    found = [np.concatenate([getattr(one, end) for one in pairs]) for end in _ENDS]
    confidence = curve.guarantee.confidence
    estimates = []
    targets = scope.targets(measure, Domain())
    for target, value, low, high in zip(targets, *(ends.tolist() for ends in found), strict=True):
        if not np.isfinite(value):
            reason = (
                f"{target.title} is undefined (0/0): no {measure.undefined_without} or no such rows"
            )
            estimates.append(undefined(target, confidence, "undefined", reason, warn=True))
            continue
        if curve.guarantee.factor is None:
            nothing = (whole_range(target.bounds, METHOD),)
            warnings = curve.guarantee.warnings
            estimates.append(
                Estimate(
                    target, value, None, confidence, nothing, warnings=warnings, reliable=False
                )
            )
            continue
        interval = Interval(low, high, SIMULTANEOUS, METHOD)
        estimates.append(Estimate(target, value, None, confidence, (interval,)))
    return estimates


def with_envelope(
    estimates: Sequence[Estimate], measure: Measure, curve: PrecisionCurve, table: CellTable
) -> list[Estimate]:
    """Return estimates with the bounds of the envelope beside their intervals, where it has any.

    It has of the area below the ROC curve, and of measures of predictions that are those of a
    threshold of the score: precision, recall, specificity, accuracy, F1 and its kin. Not of parts
    of the pool, nor where nothing is guaranteed or its confidence is below the one wanted.

    Args:
        estimates: of the measure.
        measure: what was estimated.
        curve: the precision at every rank.
        table: the cells.
    """
    found = None if curve.guarantee.factor is None else _bounded(measure, curve, table)
    if found is None or np.isnan(found.value[0]):
        return list(estimates)
    beside = Interval(float(found.low[0]), float(found.high[0]), "simultaneous", METHOD)
    return [
        one.with_interval(beside)
        if one.value is not None
        and one.target.slice is None
        and one.confidence <= curve.guarantee.confidence + 1e-12
        else one
        for one in estimates
    ]


def _bounded(measure: Measure, curve: PrecisionCurve, table: CellTable) -> Bounded | None:
    """Return the bounds of one number, each of shape (1,); None if there are none."""
    if measure.system:
        return None
    if isinstance(measure, ROCArea):
        corners = curve.ranked.reaching(np.array(measure.thresholds))
        return None if corners is None else curve.roc_area(np.unique(corners[corners >= 0]))
    if table.classes != 2:
        return None
    found = _at_last_predicted(curve, table, getattr(measure, "positive", 1))
    if found is None:
        return None
    cut, place = found
    if isinstance(measure, FBeta):
        every = cut.f_alpha(1 / (1 + measure.beta**2))
    elif isinstance(measure, FAlpha):
        every = cut.f_alpha(measure.alpha)
    elif isinstance(measure, Precision | Recall | Specificity | FalsePositiveRate | Accuracy):
        every = cut.measures[measure.name]
    else:
        return None
    return _at(every, np.array([place]), np.nan)


def _at_last_predicted(
    curve: PrecisionCurve, table: CellTable, positive: int
) -> tuple[PrecisionCurve, int] | None:
    """Return a curve that tells the rows predicted positive from the others, and their last group.

    None if predictions are not those of a threshold of the score: if there is no such row, or one
    below a group with others.
    """
    predicted = table.outputs.prediction[:, 0] == positive
    called = table.mean_by_cell(predicted.astype(np.float64))
    if np.any((called > 0) & (called < 1)):
        return None
    ranked = curve.ranked
    rows = np.bincount(ranked.group, called * table.count, len(ranked)).astype(np.int64)
    last = int(np.max(np.flatnonzero(rows), initial=-1))
    if last < 0 or not np.array_equal(rows[:last], ranked.rows[:last]):
        return None
    whole = rows[last] == ranked.rows[last]
    return (curve if whole else curve.cut(last, int(rows[last]))), last


_ENDS = ("value", "low", "high")


def _at(one: Bounded, place: IntArray, nowhere: float) -> Bounded:
    """Return values at some groups; ``nowhere`` where no group reaches the threshold."""
    ends = [np.where(place < 0, nowhere, getattr(one, end)[place]) for end in _ENDS]
    return Bounded(*ends)


def _share_at(share: Bounded, place: IntArray) -> Bounded:
    """Return a share of the positives, or of the negatives, at some groups.

    0 where no group reaches the threshold; undefined there too if there are none of them.
    """
    return _at(share, place, 0.0 if np.isfinite(share.value[-1]) else np.nan)
