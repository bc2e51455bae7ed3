"""Bounds of estimates, if all missing labels were of the same class."""

import dataclasses

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import Domain
from evalsampling.inference.nonresponse import share_answered
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL, History


@dataclasses.dataclass(frozen=True)
class MissingBounds:
    """Least and greatest estimate of a number, over the class that all missing labels may have.

    Attributes:
        measure: name of the number.
        system: system that it is about, if systems have names.
        threshold: threshold of a point of a curve, else None.
        low: least value, None if it is undefined for some class.
        high: greatest value, likewise.
        interval_low: least lower end of the default interval.
        interval_high: greatest upper end.
        against: system that the other is compared with, if any.
    """

    measure: str
    system: str | None
    threshold: float | None
    low: float | None
    high: float | None
    interval_low: float
    interval_high: float
    against: str | None = None


def missing_beside_labels(history: History) -> IntArray:
    """Return the questions without a label of rounds in which others have one."""
    answered = share_answered(history)[history.met] > 0
    return np.flatnonzero((history.label == NO_LABEL) & answered)


def missing_bounds(analysis: Analysis) -> list[MissingBounds]:
    """Return bounds for each number on the whole pool; an empty list if no label is missing.

    The list is empty too if labels are no classes of rows. Rounds without any label are left out,
    as they are from the estimates.

    Args:
        analysis: analysis of the labels so far.
    """
    history = analysis.history
    missing = missing_beside_labels(history)
    if not len(missing) or not analysis.has_classes:
        return []
    whole = dataclasses.replace(analysis.scope, domains=(Domain(),), bands_seed=None)
    by_class = []
    for code in range(analysis.table.classes):
        label = history.label.copy()
        label[missing] = code
        filled = analysis.with_history(history.with_labels(label))
        by_class.append(filled.estimate(scope=whole))
    bounds = []
    for estimates in zip(*by_class, strict=True):
        target = estimates[0].target
        values = [estimate.value for estimate in estimates if estimate.value is not None]
        is_defined = len(values) == len(estimates)
        bounds.append(
            MissingBounds(
                target.measure,
                target.system,
                target.threshold,
                min(values) if is_defined else None,
                max(values) if is_defined else None,
                min(estimate.intervals[0].low for estimate in estimates),
                max(estimate.intervals[0].high for estimate in estimates),
                target.against,
            )
        )
    return bounds
