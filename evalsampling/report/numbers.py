"""Estimates as a report shows them: their names and figures as text, and the CSV of all."""

import csv
import dataclasses
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.results import (
    EXACT,
    Estimate,
    ReportedInterval,
    ReportedSensitivity,
    as_json,
)
from evalsampling.parts.records import read_record
from evalsampling.stats.magnitudes import BY

CLAIM_NOTHING = (
    "no ", "few ", "undefined", "zero variance", "missing weight", "logit at",
    "picked rows",
)  # fmt: skip
"""Beginnings of the methods whose default interval is the whole range of its measure."""

OUTCOMES = {True: "reached", False: "not reached", None: "cannot be said"}
"""What intervals say of a claim, in words."""

BY_LABELS_ALONE = "By the labels alone"
"""How the sentence begins that says what labels leave open without any model."""

MOSTLY_PRIOR = "in brackets: not the default, as labels or cells say too little beside the model"
"""Explains the brackets around a model-based interval."""

_SMALL = 0.01

MOST_DIGITS = 4
"""Most decimals that are shown of a number."""

HALF_AND_TWICE = ("half as many", "twice as many")
"""Hidden positives that the entries of `sensitivity` expect, beside those of the spec: words for
`inference.predictive.OTHER_SHARES`, in their order."""

COLUMNS = (
    "round", "labels", "latest", "measure", "system", "against", "slice", "threshold", "value",
    "standard_error", "low", "high", "confidence", "method", "reason", "effective_size",
    "design_effect", "largest_share", "largest_weight",
)  # fmt: skip
"""Columns of the CSV: fields of a number of `estimate --json`."""

_NAMES = {
    "f1": "F1", "mcc": "MCC", "multiclass_mcc": "Multiclass MCC", "npv": "NPV",
    "mse": "MSE", "rmse": "RMSE", "mae": "MAE", "r2": "R²",
    "roc_auc": "ROC AUC", "macro_f1": "Macro F1", "micro_f1": "Micro F1",
    "f1_of_macro_averages": "F1 of macro averages", "weighted_f1": "Weighted F1",
    "brier": "Brier (sum over classes)", "dcg": "DCG", "err": "ERR",
}  # fmt: skip
"""Display names of measures that are not the name in words."""

_OF_CLASS = re.compile(r"class_(\w+)(?:\[(.*)\])?", re.DOTALL)
"""Matches the name of a measure of one class, or of each: the measure and the class, if any."""

_COMPARISONS = {"difference": "Difference in", "ratio": "Ratio of"}
"""Display names of comparisons of two systems, by the beginning of the measure's name."""


@dataclasses.dataclass(frozen=True)
class Number:
    """One estimate of `estimate --json`, as docs/cli.md tells it; what is not known is None."""

    measure: str
    system: str | None
    against: str | None
    slice: str | None
    threshold: float | None
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    confidence: float
    method: str
    intervals: tuple[ReportedInterval, ...]
    reason: str | None
    effective_size: float | None
    design_effect: float | None
    largest_share: float | None
    largest_weight: float | None
    sensitivity: tuple[ReportedSensitivity, ...] = ()
    unsearched: Mapping[str, Any] | None = None
    bias: Mapping[str, float | None] | None = None
    significance: Mapping[str, float | None] | None = None
    statement: str = ""
    without_unmet: Mapping[str, float | None] | None = None
    outlook: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, estimate: Estimate) -> "Number":
        """Return the number of an estimate, as `estimate --json` tells it."""
        return read_record(cls, as_json(estimate))

    @property
    def is_point(self) -> bool:
        """Whether the number is a point of a curve."""
        return self.threshold is not None

    @property
    def is_of_pool(self) -> bool:
        """Whether the number is of the whole pool and no point of a curve."""
        return self.slice is None and not self.is_point

    @property
    def is_exact(self) -> bool:
        """Whether the estimate is exact: every row that matters has a label, or none matters."""
        return self.method in EXACT

    @property
    def claims(self) -> bool:
        """Whether the default interval is more than the whole range of the measure."""
        return not self.method.startswith(CLAIM_NOTHING)

    @property
    def band(self) -> ReportedInterval | None:
        """The interval that holds simultaneously for all points of the curve, if any."""
        bands = (item for item in self.intervals if item.method.endswith(", simultaneous"))
        return next(bands, self.of_kind("simultaneous"))

    @property
    def neutral(self) -> float:
        """The value of a comparison of two equal systems: 1 for a ratio, 0 for a difference."""
        return 1.0 if self.measure.startswith("ratio(") else 0.0

    @property
    def title(self) -> str:
        """Name of measure and systems: ``f1 of new against old``."""
        return title(self.measure, self.system, self.against)

    def of_kind(self, kind: str) -> ReportedInterval | None:
        """Return the first interval of a kind, None if there is none."""
        return next((item for item in self.intervals if item.kind == kind), None)


def two_digits(value: float) -> str:
    """Return a number with two significant digits, never with an exponent if it is above 0.0001.

    Of one that is hardly below 1, what is missing has two digits: no share is said to be 1.
    """
    rounded = float(f"{value:.2g}")
    rounded = 1 - float(f"{1 - value:.2g}") if value < 1 == rounded else rounded
    return f"{rounded:g}"


def is_mostly_prior(interval: ReportedInterval, intervals: Sequence[ReportedInterval]) -> bool:
    """Return whether an interval of a number is model-based but not its default, the first."""
    return interval.kind == MODEL_BASED != intervals[0].kind


def higher(
    low: float | None, high: float | None, null: float, names: tuple[str | None, str | None]
) -> str:
    """Return which of two systems is higher by the interval of a comparison, empty if neither."""
    if low is not None and low > null:
        return f"{names[0]} is higher"
    return f"{names[1]} is higher" if high is not None and high < null else ""


def title(measure: str, system: str | None = None, against: str | None = None) -> str:
    """Return the name of a number: ``f1 of new against old``."""
    text = measure if system is None else f"{measure} of {system}"
    return text if against is None else f"{text} against {against}"


def pretty(number: Number) -> str:
    """Return the name of a number for a sentence: ``F1 of new``."""
    return title(compared(number.measure), number.system, number.against)


def compared(measure: str) -> str:
    """Return the display name of a measure or of a comparison, with its systems if it has them."""
    kind, mark, inner = measure.partition("(")
    if not (mark and kind in _COMPARISONS):
        return called(measure)
    inner, of, systems = inner.partition(") of ")
    name = called(inner.removesuffix("" if of else ")"))
    name = name if name.startswith(tuple(_NAMES.values())) else name[:1].lower() + name[1:]
    return f"{_COMPARISONS[kind]} {name}{of.removeprefix(')')}{systems}"


def called(measure: str) -> str:
    """Return the display name of a measure: ``F1``, ``F1 for toxic``, ``F1 by views``."""
    measure, by, rows = measure.partition(BY)
    if by:
        return f"{called(measure)}{by}{rows}"
    name, of, systems = measure.partition(" of ")
    if of and not {"(", "["} & {*name}:  # Names of systems stay as they are.
        return f"{called(name)}{of}{systems}"
    of_class = _OF_CLASS.fullmatch(measure)
    if of_class:
        return f"{called(of_class[1])} for {of_class[2] or 'each class'}"
    head = re.split(r"[(@]", measure)[0]  # of `roc_auc(positive=b)` and `dcg@10`
    name = measure if "(" in measure else measure.replace("_", " ")
    return _NAMES.get(head, name[:1].upper() + name[1 : len(head)]) + name[len(head) :]


def label_of(measure: str) -> str | None:
    """Return the label that a measure of one class or label is of; None of all others."""
    of_class = _OF_CLASS.fullmatch(measure.partition(BY)[0])
    return of_class[2] if of_class else None


def decimals(low: float | None, high: float | None) -> int:
    """Return how many decimals to show of a number: two significant figures of its interval."""
    if low is None or high is None or not low <= high or math.isinf(high - low):
        return 3
    width = high - low
    if width == 0:
        # An exact number, which may be a small difference.
        return 3 if abs(low) >= _SMALL or not low else MOST_DIGITS
    return min(max(2, 1 - math.floor(math.log10(width))), MOST_DIGITS)


def shown(value: float | None, digits: int = 3) -> str:
    """Return a number as text: ``-`` for None, a true minus sign before a negative one."""
    if value is None:
        return "-"
    text = f"{value:,.{digits}f}"
    if not float(text.replace(",", "")):
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def shown_range(
    low: float | None, high: float | None, digits: int = 3, between: str = " to "
) -> str:
    """Return an interval as text: ``0.53 to 0.87``."""
    return f"{shown(low, digits)}{between}{shown(high, digits)}"


def percent(share: float) -> str:
    """Return a share in percent, with two figures: ``0.012 %``, ``9.1 %``, ``99 %``."""
    value = 100 * share
    if value <= 0 or value >= 99.95:
        return f"{value:.0f} %"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{min(digits if value < 99 else 1, 6)}f} %"


def as_csv(content: Mapping[str, Any], cell: Callable[[Any], Any] = lambda value: value) -> str:
    """Return the numbers of a report's JSON as CSV: of earlier rounds, then all the latest ones.

    A function returns each value as it is written, so that no program takes a text for a formula.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for after in (*content["rounds"][:-1], content["estimate"]):
        latest = "true" if after is content["estimate"] else "false"
        moment = {"round": after["round"], "labels": after["labels"], "latest": latest}
        for number in after["measures"]:
            line = moment | flat(number)
            writer.writerow({name: cell(value) for name, value in line.items()})
    return text.getvalue()


def flat(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a number of `estimate --json`."""
    return {name: number[name] for name in COLUMNS if name in number}
