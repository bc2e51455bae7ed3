"""Estimates, with simultaneous bounds, of measures over thresholds from a precision curve."""

from collections.abc import Sequence

import numpy as np

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
from evalsampling.measures.curves import AveragePrecision, PRCurve, ROCArea, ROCCurve
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable

METHOD = "envelope"
"""Method of the bounds, which hold simultaneously at all points of all curves."""


def curve_estimates(
    measure: Measure, curve: PrecisionCurve, scope: ReportedDomains
) -> list[Estimate] | None:
    """Return the estimates of a measure on the whole pool; None if they do not follow from a curve.

    They do not if the measure is not of the ranking, or a threshold cuts a group.
    """
    if not isinstance(measure, PRCurve | ROCCurve | AveragePrecision) or measure.system:
        return None
    groups = curve.ranked.reaching(np.array(measure.thresholds))
    if groups is None:
        return None
    if isinstance(measure, PRCurve):
        parts = [
            _at(curve.precision, groups, np.nan),
            _share_at(curve.recall, groups),
            _at(curve.f_alpha(0.5), groups, _of_no_rows(curve.recall)),
        ]
    elif isinstance(measure, ROCCurve):
        parts = [_share_at(curve.recall, groups), _share_at(curve.false_positive_rate, groups)]
    else:
        parts = [curve.average_precision(np.unique(groups[groups >= 0]))]
    by_end = zip(*(part.ends for part in parts), strict=True)
    ends = [np.concatenate(of_parts).tolist() for of_parts in by_end]
    guarantee, confidence, estimates = curve.guarantee, curve.guarantee.confidence, []
    is_guaranteed = guarantee.factor is not None
    for target, value, low, high in zip(scope.targets(measure, Domain()), *ends, strict=True):
        if not np.isfinite(value):
            reason = f"{target.title} is undefined (0/0): no {measure.undefined_without}"
            estimates.append(undefined(target, confidence, "undefined", reason, warn=True))
            continue
        interval = whole_range(target.bounds, METHOD)
        if is_guaranteed:
            interval = Interval(low, high, SIMULTANEOUS, METHOD)
        estimates.append(
            Estimate(
                target,
                value,
                None,
                confidence,
                (interval,),
                warnings=() if is_guaranteed else guarantee.warnings,
                reliable=is_guaranteed,
            )
        )
    return estimates


def with_envelope(
    estimates: Sequence[Estimate], measure: Measure, curve: PrecisionCurve, table: CellTable
) -> list[Estimate]:
    """Return estimates with the bounds of the envelope added to their intervals, if there are any.

    There are none on parts of the pool, nor if less is guaranteed than the confidence wanted.
    """
    bounds = None if curve.guarantee.factor is None else _bounded(measure, curve, table)
    if bounds is None or np.isnan(bounds.value[0]):
        return list(estimates)
    interval = Interval(float(bounds.low[0]), float(bounds.high[0]), SIMULTANEOUS, METHOD)
    return [
        estimate.with_interval(interval)
        if estimate.value is not None
        and estimate.target.slice is None
        and estimate.confidence <= curve.guarantee.confidence + 1e-12
        else estimate
        for estimate in estimates
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
    at_cut = _at_last_predicted(curve, table, getattr(measure, "positive", 1))
    if at_cut is None:
        return None
    cut, group = at_cut
    if isinstance(measure, FBeta):
        bounds = cut.f_alpha(measure.weight_of_precision)
    elif isinstance(measure, Precision | Recall | Specificity | FalsePositiveRate | Accuracy):
        bounds = cut.measures[measure.name]
    else:
        return None
    return _at(bounds, np.array([group]), np.nan)


def _at_last_predicted(
    curve: PrecisionCurve, table: CellTable, positive: int
) -> tuple[PrecisionCurve, int] | None:
    """Return a curve cut after the rows predicted positive, and where; None without a threshold."""
    share = table.kinds.predicted(positive)
    if np.any((share > 0) & (share < 1)):
        return None
    ranked = curve.ranked
    rows = np.bincount(ranked.group, share * table.count, len(ranked)).astype(np.int64)
    last = int(np.max(np.flatnonzero(rows), initial=-1))
    if last < 0 or not np.array_equal(rows[:last], ranked.rows[:last]):
        return None
    whole = rows[last] == ranked.rows[last]
    return (curve if whole else curve.cut(last, int(rows[last]))), last


def _at(bounded: Bounded, groups: IntArray, nowhere: float) -> Bounded:
    """Return values at some groups; ``nowhere`` where no group reaches the threshold."""
    return bounded.rising(lambda end: np.where(groups < 0, nowhere, end[groups]))


def _share_at(share: Bounded, groups: IntArray) -> Bounded:
    """Return a share of positives or negatives at some groups; NaN if it is undefined at each."""
    return _at(share, groups, _of_no_rows(share))


def _of_no_rows(share: Bounded) -> float:
    return 0.0 if np.isfinite(share.value[-1]) else np.nan
