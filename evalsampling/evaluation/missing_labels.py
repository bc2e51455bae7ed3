"""Rows that were drawn and have no label, and what numbers may be, whatever their labels are."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import Domain
from evalsampling.inference.nonresponse import share_answered
from evalsampling.inference.results import Target
from evalsampling.report.numbers import compared, decimals, shown_range, title
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL, History

MORE_THAN_A_FEW = 3
"""Fewest rows or answers that are mentioned, however few there are in all."""

_SHARE = 0.02
"""Share of all rows or answers from which they are mentioned."""

_MOST_CLASSES = 16
"""Most classes that are all tried; with more, only those of labels and predictions are."""

_MOST_NUMBERS = 3
"""Numbers whose bounds are said."""


def more_than_a_few(count: int, of: int) -> bool:
    """Tell whether a count of rows or answers is mentioned before any number."""
    return count >= max(MORE_THAN_A_FEW, _SHARE * of)


@dataclasses.dataclass(frozen=True)
class MissingBounds:
    """Least and greatest estimate of a number, over what missing labels may be.

    Either is None if the number is undefined for some labels. The interval goes from the least
    lower to the greatest upper end.
    """

    measure: str
    system: str | None
    threshold: float | None
    low: float | None
    high: float | None
    interval_low: float
    interval_high: float
    against: str | None = None

    def is_of(self, target: Target) -> bool:
        """Tell whether these are the bounds of a number, which is of the whole pool."""
        own = self.measure, self.system, self.threshold, self.against, None
        named = target.measure, target.system, target.threshold, target.against, target.slice
        return own == named


def missing_beside_labels(history: History) -> IntArray:
    """Return the questions without a label of rounds in which others have one."""
    answered = share_answered(history)[history.met] > 0
    return np.flatnonzero((history.label == NO_LABEL) & answered)


def missing_bounds(analysis: Analysis, questions: IntArray) -> list[MissingBounds]:
    """Return bounds for each number on the whole pool, over the missing labels of questions.

    They are over labels that are all one class, all as a system predicts, or all other than it
    predicts: for two classes the least and the greatest that any labels give. The list is empty if
    no label is missing, or labels are no classes of rows. Rounds without any label are left out, as
    they are from the estimates.
    """
    history = analysis.history
    missing = np.intersect1d(missing_beside_labels(history), questions)
    if not len(missing) or not analysis.reading.has_classes:
        return []
    whole = dataclasses.replace(analysis.scope, domains=(Domain(),), bands_seed=None)
    filled = []
    for codes in _fillings(history, analysis.table.classes, missing):
        label = history.label.copy()
        label[missing] = codes
        filled.append(analysis.with_history(history.with_labels(label)).estimate(scope=whole))
    bounds = []
    for estimates in zip(*filled, strict=True):
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


def _fillings(history: History, classes: int, missing: IntArray) -> list[IntArray]:
    """Return the labels that the questions without one may have: shape (missing,), no two alike."""
    prediction = history.outputs.prediction[missing]
    codes: Any = range(classes)
    if classes > _MOST_CLASSES:
        codes = np.unique([*history.label[history.labelled], *prediction.flat])
    candidates: list[Any] = [np.full(len(missing), code) for code in codes]
    for predicted in np.clip(prediction.T.astype(np.int64), 0, classes - 1):
        candidates += [predicted, (predicted + 1) % classes]
    return [np.array(each) for each in dict.fromkeys(tuple(row.tolist()) for row in candidates)]


def seldom_at_random(counts: Mapping[str, int], drawn: int, bounds: Sequence[MissingBounds]) -> str:
    """Return a text on rows without a label, with bounds of numbers."""
    total = sum(counts.values())
    listed = ", ".join(f"{count} {why}" for why, count in counts.items() if count and why)
    why = f" ({listed})" if listed else ""
    parts = []
    for bound in [bound for bound in bounds if bound.threshold is None][:_MOST_NUMBERS]:
        ends = bound.interval_low, bound.interval_high
        name = title(compared(bound.measure), bound.system, bound.against)
        parts.append(f"{name} {shown_range(*ends, decimals(*ends))}")
    least = f" Whatever they are: {', '.join(parts)}." if parts else ""
    return f"{total} of {drawn} rows drawn have no label{why}, which is seldom at random.{least}"
