"""Estimates: a value with its intervals and what a reader must know before trusting them."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.inference.assumption_light import AssumptionLight
from evalsampling.inference.intervals import Interval, whole_range
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.significance import Significance
from evalsampling.stats.finite import finite

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Target:
    """The one number an estimate is about.

    Attributes:
        measure: its name.
        bounds: least and greatest value, infinite where there is none.
        system: name of the system, None if the evaluation has one that needs no name.
        threshold: score threshold, if it belongs to one.
        slice: ``column=value`` of the rows it is about, None for the whole pool.
        against: name of the system that this one is compared with, None if with none.
    """

    measure: str
    bounds: tuple[float, float] = (0.0, 1.0)
    system: str | None = None
    threshold: float | None = None
    slice: str | None = None
    against: str | None = None

    @property
    def title(self) -> str:
        """Everything that tells it from other numbers, in words."""
        text = self.measure
        text += "" if self.threshold is None else f" at {self.threshold:.6g}"
        text += "" if self.system is None else f" of {self.system}"
        text += "" if self.against is None else f" against {self.against}"
        return text + ("" if self.slice is None else f" where {self.slice}")

    @property
    def null(self) -> float | None:
        """What it is if the two systems compared are alike: 1 of a ratio, 0 of a difference."""
        if self.against is None:
            return None
        return 1.0 if self.bounds == (0.0, math.inf) else 0.0


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """The default interval had there been another prior of the hidden positives.

    Attributes:
        share: median of their number by that of the positives that the scores tell.
        low: lower end.
        high: upper end.
    """

    share: float
    low: float
    high: float


TIE = 1e-12
"""Measures of two systems that differ by no more are the same but for rounding."""

_NEAR = 1e-9
"""A value so near to an end of an interval is not outside: ends are found by search."""


@dataclasses.dataclass(frozen=True, repr=False)
class Estimate:
    """An estimate of one number.

    Attributes:
        target: what it is an estimate of.
        value: estimate, None where it is undefined.
        standard_error: of the estimate, None where it is undefined.
        confidence: level of the intervals.
        intervals: at least one; the first is the default.
        reason: why the value is undefined, else None.
        warnings: what a reader must know before trusting the interval.
        effective_size: labels that would do as well if all weights were equal (Kish).
        design_effect: variance over that of as many labels of rows drawn alike.
        largest_share: share of the variance that comes from a single row, at most.
        largest_weight: share of the weights of all labelled rows that a single one has, at most.
        reliable: whether the default interval claims anything and no warning speaks against it.
        sensitivity: the model-based interval for other shares of hidden positives, if it is the
            default.
        light: how the assumption-light interval came about, or why there is none; None where it was
            not asked for, or would say nothing more.
        of_value: those of the warnings that are about the value, whatever interval is the default.
        notes: what was done otherwise than usual, and why; none speaks against the interval.
        bias: to second order; None where it is not known, or nil by design.
        significance: of a comparison of two systems, else None.
    """

    target: Target
    value: float | None
    standard_error: float | None
    confidence: float
    intervals: tuple[Interval, ...]
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    effective_size: float | None = None
    design_effect: float | None = None
    largest_share: float | None = None
    largest_weight: float | None = None
    reliable: bool = True
    sensitivity: tuple[Sensitivity, ...] = ()
    light: AssumptionLight | None = None
    of_value: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    bias: Bias | None = None
    significance: Significance | None = None

    @property
    def measure(self) -> str:
        """Name of the measure."""
        return self.target.measure

    @property
    def low(self) -> float:
        """Lower end of the default interval."""
        return self.intervals[0].low

    @property
    def high(self) -> float:
        """Upper end of the default interval."""
        return self.intervals[0].high

    @property
    def half_width(self) -> float:
        """Half the width of the default interval, infinite where it has no end."""
        return (self.high - self.low) / 2

    def __repr__(self) -> str:
        """Return value and default interval in a line."""
        value = "undefined" if self.value is None else f"{self.value:.4f}"
        return (
            f"<Estimate {self.target.title}: {value}, {100 * self.confidence:g} % "
            f"{self.low:.4f} to {self.high:.4f}>"
        )

    @property
    def claims(self) -> bool:
        """Whether the default interval claims anything: whether it is not the whole range."""
        return (self.intervals[0].low, self.intervals[0].high) != self.target.bounds

    def moved_into(self, interval: Interval) -> "Estimate":
        """Return the estimate with its value in an interval that is sure to hold what it is of.

        A value that had to be moved is told, and its default interval holds it still.
        """
        if self.value is None:
            return self
        value = min(max(self.value, interval.low), interval.high)
        if math.isclose(value, self.value, rel_tol=_NEAR, abs_tol=_NEAR):
            return self
        words = (
            f"{self.target.title}: the estimate was {self.value:.4g}, which the labels exclude "
            f"whatever the scores say; the nearest that they allow is {value:.4g}"
        )
        default = self.intervals[0]
        held = dataclasses.replace(
            default, low=min(default.low, value), high=max(default.high, value)
        )
        return dataclasses.replace(
            self,
            value=value,
            intervals=(held, *self.intervals[1:]),
            warnings=(*self.warnings, words),
            of_value=(*self.of_value, words),
        )

    def with_interval(self, interval: Interval) -> "Estimate":
        """Return the estimate with one interval more, after those that it has."""
        return dataclasses.replace(self, intervals=(*self.intervals, interval))

    def interval(self, kind: str | None = None) -> Interval | None:
        """Return the first interval of a kind, if there is one; without a kind the default."""
        return next((one for one in self.intervals if kind in (None, one.kind)), None)


def undefined(
    target: Target, confidence: float, method: str, reason: str, warn: bool = False
) -> Estimate:
    """Return the estimate of a number the data say nothing about."""
    nothing = whole_range(target.bounds, method)
    warnings = (reason,) if warn else ()
    return Estimate(target, None, None, confidence, (nothing,), reason, warnings, reliable=False)


def census(target: Target, value: float, confidence: float, undefined_without: str) -> Estimate:
    """Return the exact value of a number all of whose rows have labels.

    Args:
        target: what it is.
        value: g at the risk of all rows that it is about, NaN if undefined.
        confidence: in (0, 1).
        undefined_without: rows that the measure needs, in words that follow "no".
    """
    if not np.isfinite(value):
        whose = "the pool has" if target.slice is None else "there are"
        reason = f"{target.title} is undefined (0/0): {whose} no {undefined_without}"
        return undefined(target, confidence, "undefined", reason)
    tested = None
    if target.null is not None:
        if math.isclose(value, target.null, rel_tol=TIE, abs_tol=TIE):
            value = target.null  # a tie but for the order in which numbers were added
        tested = Significance.known(value, target.null)
    exact = Interval(value, value, "design-based", "census")
    return Estimate(target, value, 0.0, confidence, (exact,), significance=tested)


def brief(
    estimates: Sequence[Estimate],
    sentences: Callable[[Estimate], Sequence[str]] = attrgetter("warnings"),
    most: int = 3,
) -> list[str]:
    """Return what is said of estimates, each sentence once, those of many points summed up.

    Args:
        estimates: of any numbers.
        sentences: returns those of an estimate: its warnings, or its notes.
        most: sentences of one kind about one measure that are all returned.
    """
    kinds: dict[str, dict[str, None]] = {}
    for estimate in estimates:
        for sentence in sentences(estimate):
            # A kind is told by its first words, numbers apart.
            words = sentence.replace(estimate.target.title, "").strip(": ").split()[:2]
            kind = " ".join([estimate.target.measure, *(w for w in words if not w.isdecimal())])
            kinds.setdefault(kind, {})[sentence] = None
    lines: list[str] = []
    for alike in map(list, kinds.values()):
        lines.extend(alike[:1] if len(alike) > most else alike)
        if len(alike) > most:
            lines[-1] += f" (and {len(alike) - 1} more of its kind)"
    return list(dict.fromkeys(lines))


def widest_half(estimates: Sequence[Estimate], kind: str | None = None) -> float | None:
    """Return half the width of the widest interval on the whole pool.

    Comparisons of systems, which come by themselves, count only where there is nothing else.

    Args:
        estimates: of numbers on the pool, or on slices too.
        kind: of intervals; None for the default ones.

    Returns:
        At least 0; None if there is no estimate on the whole pool, or one has no such interval, or
        a default one claims nothing or is not to be relied on, or an end is unknown: then there is
        no width to stop at.
    """
    whole = _watched(estimates)
    chosen = [one.interval(kind) for one in whole]
    halves = [(one.high - one.low) / 2 for one in chosen if one is not None]
    known = 0 < len(halves) == len(whole) and all(map(math.isfinite, halves))
    known = known and (kind is not None or all(one.reliable for one in whole))
    return max(halves) if known else None


def _watched(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates whose widths count: on the whole pool, of systems if there are any."""
    whole = [one for one in estimates if one.target.slice is None]
    return [one for one in whole if one.target.against is None] or whole


def no_width_because(estimates: Sequence[Estimate]) -> str | None:
    """Return why `widest_half` tells no width, None if it tells one."""
    if widest_half(estimates) is not None:
        return None
    for one in _watched(estimates):
        default, title = one.intervals[0], one.target.title
        if not one.claims:
            return f"the interval of {title} claims nothing ({one.reason or default.method})"
        if not one.reliable:
            why = f": {one.warnings[0].removeprefix(f'{title}: ')}" if one.warnings else ""
            return f"the interval of {title} is not to be relied on{why}"
        if not math.isfinite(one.half_width):
            return f"the interval of {title} has no end"
    return "nothing is estimated on the whole pool"


def is_narrow(
    estimates: Sequence[Estimate], half_width: float | None, kind: str | None = None
) -> bool:
    """Tell whether every interval on the whole pool is known to be as narrow as wanted.

    Args:
        estimates: of numbers on the pool, or on slices too.
        half_width: greatest half-width wanted; None for no such wish, which is never met.
        kind: of intervals; None for the default ones.
    """
    widest = widest_half(estimates, kind)
    return half_width is not None and widest is not None and widest <= half_width


def is_significant(
    estimates: Sequence[Estimate], level: float | None, anytime: bool = True
) -> bool:
    """Tell whether the comparisons of the first measure, on the whole pool, are all significant.

    Args:
        estimates: at least one, those of the first measure first.
        level: greatest p-value wanted; None for no such wish, which is never met.
        anytime: whether the p-values are those that may be looked at after every round.
    """
    compared = [
        one for one in estimates
        if one.target.null is not None
        and one.target.slice is None
        and one.target.measure == estimates[0].target.measure
    ]  # fmt: skip
    tested = [one.significance or Significance(None) for one in compared]
    found = [one.anytime_p_value if anytime else one.p_value for one in tested]
    if level is None or not found:
        return False
    return all(p_value is not None and p_value <= level for p_value in found)


def as_json(estimate: Estimate) -> dict[str, Any]:
    """Return the object that stands for an estimate in `estimate --json`."""
    target, default, tested = estimate.target, estimate.intervals[0], estimate.significance
    told = {
        "measure": target.measure,
        "system": target.system,
        "against": target.against,
        "slice": target.slice,
        "threshold": target.threshold,
        "value": estimate.value,
        "standard_error": estimate.standard_error,
        "low": default.low,
        "high": default.high,
        "confidence": estimate.confidence,
        "method": default.method,
        "intervals": [dataclasses.asdict(interval) for interval in estimate.intervals],
        "sensitivity": [dataclasses.asdict(one) for one in estimate.sensitivity],
        "reason": estimate.reason,
        "effective_size": estimate.effective_size,
        "design_effect": estimate.design_effect,
        "largest_share": estimate.largest_share,
        "largest_weight": estimate.largest_weight,
        "bias": None if estimate.bias is None else estimate.bias.as_json(),
        "undetected": None if estimate.light is None else estimate.light.as_json(),
        "significance": None if tested is None else dataclasses.asdict(tested),
    }
    return finite(told)


@dataclasses.dataclass(frozen=True)
class ReportedInterval:
    """An interval as JSON has it; an end is None where it is infinite."""

    low: float | None
    high: float | None
    kind: str
    method: str


@dataclasses.dataclass(frozen=True)
class ReportedSensitivity:
    """The default interval for another share of hidden positives, as JSON has it."""

    share: float
    low: float | None
    high: float | None
