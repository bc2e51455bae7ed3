"""Estimates: a value with its intervals and what a reader must know before trusting them."""

import dataclasses
import difflib
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from evalsampling.inference.intervals import (
    DESIGN_BASED,
    MODEL_BASED,
    STRATUM_RATES,
    Interval,
    whole_range,
)
from evalsampling.inference.outlook import Outlook
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.significance import Significance
from evalsampling.inference.unsearched import Unsearched
from evalsampling.parts.records import finite
from evalsampling.stats.magnitudes import BY


@dataclasses.dataclass(frozen=True)
class Target:
    """The one number that an estimate is about.

    Attributes:
        measure: name of the measure.
        bounds: least and greatest possible value, infinite if unbounded.
        system: name of the system, None if the evaluation has a single unnamed one.
        threshold: score threshold of the number, None if it has none.
        slice: ``column=value`` of its rows, None for the whole pool.
        against: name of the system that this one is compared with, None if it is no comparison.
        of_pairs: whether it counts pairs of a row and a label, so that it is no share of rows.
    """

    measure: str
    bounds: tuple[float, float] = (0.0, 1.0)
    system: str | None = None
    threshold: float | None = None
    slice: str | None = None
    against: str | None = None
    of_pairs: bool = False

    @functools.cached_property
    def title(self) -> str:
        """The number in words, different from those of all other numbers."""
        text = self.measure
        text += "" if self.threshold is None else f" at {self.threshold:.6g}"
        text += "" if self.system is None else f" of {self.system}"
        text += "" if self.against is None else f" against {self.against}"
        return text + ("" if self.slice is None else f" where {self.slice}")

    @property
    def compares_on_pool(self) -> bool:
        """Whether two systems are compared on the whole pool, in one number."""
        return self.against is not None and self.slice is None and self.threshold is None

    @property
    def null(self) -> float | None:
        """The value if the two compared systems are equal: 1 of a ratio, 0 of a difference."""
        if self.against is None:
            return None
        return 1.0 if self.bounds == (0.0, math.inf) else 0.0


def full_name(name: str, targets: Sequence[Target]) -> str:
    """Return the full name of a measure called without the weight of rows, if just one fits.

    Also by the name that sentences give it, as ``ROC AUC``.
    """
    measures = {target.measure for target in targets}
    alike = [each for each in measures if _plain(each.partition(BY)[0]) == _plain(name)]
    return alike[0] if len(alike) == 1 and name not in measures else name


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "_")


def place_of(name: str, targets: Sequence[Target]) -> int:
    """Return the place of the target of a name.

    `name`: a measure's, with or without how rows count, if there is one target of it on the whole
    pool; or a title: ``f1 of new where region=north``. Case does not matter.
    """
    everywhere = range(len(targets))
    titled = [place for place in everywhere if targets[place].title == name]
    titled = titled or [at for at in everywhere if _plain(targets[at].title) == _plain(name)]
    measure = full_name(name, targets)
    matching = titled or [place for place in everywhere if targets[place].measure == measure]
    whole = [place for place in matching if targets[place].slice is None] or matching
    single = [place for place in whole if targets[place].against is None] or whole
    if len(single) == 1:
        return single[0]
    titles = [targets[place].title for place in single or everywhere]
    listed = ", ".join(map(repr, titles[:8])) + ", ..." * (len(titles) > 8)
    near = [] if single else difflib.get_close_matches(name, titles, n=1, cutoff=0.75)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    why = f"{len(single)} estimates are called {name!r}" if single else f"no estimate {name!r}"
    raise KeyError(f"{why}; there are: {listed}{meant}")


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """The default interval under another prior of the hidden positives."""

    share: float  # prior median of the number of hidden positives divided by that of the others
    low: float
    high: float


SAID = "all numbers rest on what was said"
"""Beginning of the note on how the spec says that rows with labels at hand were drawn."""


def said_of_labels(notes: Iterable[str]) -> list[str]:
    """Return the notes on how labels at hand were drawn, as sentences."""
    return [f"A{note[1:]}." for note in notes if note.startswith(SAID)]


TIE = 1e-12
"""Measures of two systems that differ by at most this are equal up to rounding."""


@dataclasses.dataclass(frozen=True, repr=False)
class Estimate:
    """An estimate of one number.

    Attributes:
        target: the number estimated.
        value: estimated value, None where it is undefined.
        standard_error: standard error of the value, None where it is undefined.
        confidence: level of the intervals.
        intervals: at least one; the first is the default.
        reason: why the value is undefined, else None.
        warnings: what a reader must know before trusting the interval.
        effective_size: number of equally weighted labels that would be worth as much (Kish).
        design_effect: variance divided by that of a simple random sample of the same size.
        largest_share: largest share of the variance that comes from a single row, or cluster.
        largest_weight: largest share of the total weight of labelled rows that a single one has.
        reliable: whether the default interval claims anything and no warning speaks against it.
        sensitivity: the model-based interval for other shares of hidden positives, if it is the
            default.
        without_unmet: the default interval if no positive had a lower score than all that were
            met, where the default is model-based and of the pool: what is left open elsewhere.
        outlook: how many labels a narrower interval is likely to take; None if nothing is said.
        statement: what the estimate says, in plain sentences; empty before an evaluation sets it.
        unsearched: the positives that labels leave room for below all that were met; None where
            there is no such row, or no order of them.
        notes: departures from the usual method, with reasons, and how far to go by the value; none
            speaks against the interval.
        bias: second-order bias; None if it is unknown, or zero by design.
        significance: significance of a comparison of two systems, else None.
        cluster_effect: how many times the variance of rows by themselves the variance is, at least
            1; None if no two labelled rows share a cluster.
        unlabelled: rows without a label that the number depends on; None if it is not known, or
            labels of all leave the number open.
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
    without_unmet: Interval | None = None
    outlook: Outlook | None = None
    statement: str = ""
    unsearched: Unsearched | None = None
    notes: tuple[str, ...] = ()
    bias: Bias | None = None
    significance: Significance | None = None
    cluster_effect: float | None = None
    unlabelled: int | None = None

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
        """Half the width of the default interval, infinite if it is unbounded."""
        return (self.high - self.low) / 2

    def __repr__(self) -> str:
        """Return the value and the default interval in one line."""
        value = "undefined" if self.value is None else f"{self.value:.4f}"
        return (
            f"<Estimate {self.target.title}: {value}, {100 * self.confidence:g} % "
            f"{self.low:.4f} to {self.high:.4f}>"
        )

    @property
    def claims(self) -> bool:
        """Whether the default interval claims anything: whether it is not the whole range."""
        return (self.intervals[0].low, self.intervals[0].high) != self.target.bounds

    @property
    def claims_more_than_labels(self) -> bool:
        """Whether the default interval leaves out the value that labels allow: `unsearched`."""
        part = self.unsearched
        return part is not None and self.claims and not self.low <= part.value <= self.high

    @property
    def distrusted_because(self) -> str | None:
        """Why the default interval is not to be relied on, in words; None if it is."""
        title = self.target.title
        if not self.claims:
            why = self.reason or self.intervals[0].method
            return f"the interval of {title} claims nothing ({why})"
        if not self.reliable:
            why = self.warnings[0].removeprefix(f"{title}: ") if self.warnings else ""
            return f"the interval of {title} is not to be relied on" + f": {why}" * bool(why)
        return None

    def rescaled(self, rule: Callable[[float], Any], bounds: tuple[float, float]) -> "Estimate":
        """Return the estimate of the logarithm of a number above 0, or of its exponential."""

        def moved(each: Any) -> Any:
            with np.errstate(divide="ignore", over="ignore"):
                return dataclasses.replace(
                    each, low=float(rule(each.low)), high=float(rule(each.high))
                )

        value, error, aside = self.value, self.standard_error, self.without_unmet
        slope = 1 / (value or 1) if rule is np.log else math.exp(value or 0)
        return dataclasses.replace(
            self,
            target=dataclasses.replace(self.target, bounds=bounds),
            value=value if value is None else float(rule(value)),
            standard_error=error and error * slope,
            intervals=tuple(map(moved, self.intervals)),
            sensitivity=tuple(map(moved, self.sensitivity)),
            without_unmet=aside and moved(aside),
        )

    def with_interval(self, interval: Interval) -> "Estimate":
        """Return the estimate with one more interval, placed last."""
        return dataclasses.replace(self, intervals=(*self.intervals, interval))

    def interval(self, kind: str | None = None) -> Interval | None:
        """Return the first interval of a kind, if there is one; without a kind the default."""
        matching = (interval for interval in self.intervals if kind in (None, interval.kind))
        return next(matching, None)


def undefined(
    target: Target,
    confidence: float,
    method: str,
    reason: str,
    warn: bool = False,
    bias: Bias | None = None,
) -> Estimate:
    """Return an estimate without a value, whose interval is the whole range."""
    interval = whole_range(target.bounds, method)
    return Estimate(
        target,
        None,
        None,
        confidence,
        (interval,),
        reason,
        warnings=(reason,) if warn else (),
        reliable=False,
        bias=bias,
    )


CENSUS, DEFINITION = EXACT = "census", "definition"
"""Methods of exact numbers: every row that can add has a label, or no label can change it."""


def census(
    target: Target, value: float, confidence: float, undefined_without: str, method: str = CENSUS
) -> Estimate:
    """Return the exact estimate of a value that labels or definition tell, undefined if NaN."""
    if not np.isfinite(value):
        whose = "the pool has" if target.slice is None else "there are"
        reason = f"{target.title} is undefined (0/0): {whose} no {undefined_without}"
        return undefined(target, confidence, "undefined", reason)
    significance = None
    if target.null is not None:
        if math.isclose(value, target.null, rel_tol=TIE, abs_tol=TIE):
            value = target.null  # a tie, up to the order in which numbers were added
        significance = Significance.known(value, target.null)
    exact = Interval(value, value, "design-based", method)
    return Estimate(target, value, 0.0, confidence, (exact,), significance=significance)


def brief(
    estimates: Sequence[Estimate],
    sentences: Callable[[Estimate], Sequence[str]] = attrgetter("warnings"),
    most: int = 3,
) -> list[str]:
    """Return the sentences about estimates, at most ``most`` of a kind and a measure in full."""
    kinds: dict[str, dict[str, None]] = {}
    for estimate in estimates:
        for sentence in sentences(estimate):
            # A kind is identified by its first words, without numbers.
            words = sentence.replace(estimate.target.title, "").strip(": ").split()[:2]
            kind = " ".join([estimate.target.measure, *(w for w in words if not w.isdecimal())])
            kinds.setdefault(kind, {})[sentence] = None
    lines: list[str] = []
    for alike in map(list, kinds.values()):
        lines.extend(alike[:1] if len(alike) > most else alike)
        if len(alike) > most:
            lines[-1] += f" (and {len(alike) - 1} more of its kind)"
    return list(dict.fromkeys(lines))


def widest_half(estimates: Sequence[Estimate]) -> float | None:
    """Return half the widest default interval on the pool, None without a reliable, finite one."""
    watched = _watched(estimates)
    halves = [estimate.half_width for estimate in watched]
    is_told = all(estimate.reliable for estimate in watched) and all(map(math.isfinite, halves))
    return max(halves) if watched and is_told else None


def _watched(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates whose widths count: on the whole pool, of systems if there are any."""
    on_pool = [estimate for estimate in estimates if estimate.target.slice is None]
    return [estimate for estimate in on_pool if estimate.target.against is None] or on_pool


def no_width_because(estimates: Sequence[Estimate]) -> str | None:
    """Return why `widest_half` of the default intervals is None, or None if it is a number."""
    if widest_half(estimates) is not None:
        return None
    for estimate in _watched(estimates):
        if estimate.distrusted_because:
            return estimate.distrusted_because
        if not math.isfinite(estimate.half_width):
            return f"the interval of {estimate.target.title} has no end"
    return "nothing is estimated on the whole pool"


def is_narrow(estimates: Sequence[Estimate], half_width: float | None) -> bool:
    """Return whether default intervals on the whole pool are as narrow as wanted, if that is."""
    widest = widest_half(estimates)
    return half_width is not None and widest is not None and widest <= half_width


def is_significant(estimates: Sequence[Estimate], level: float | None, anytime: bool) -> bool:
    """Return whether the comparisons of the first measure, on the whole pool, are all significant.

    With ``anytime`` p-values are those that hold if they are looked at after every round.
    """
    significances = [
        estimate.significance or Significance(None) for estimate in estimates
        if estimate.target.null is not None
        and estimate.target.slice is None
        and estimate.target.measure == estimates[0].target.measure
    ]  # fmt: skip
    p_values = [each.anytime_p_value if anytime else each.p_value for each in significances]
    if level is None or not p_values:
        return False
    return all(p_value is not None and p_value <= level for p_value in p_values)


_IN_JSON = (
    "measure", "system", "against", "slice", "threshold", "value", "standard_error", "low", "high",
    "confidence", "method", "intervals", "sensitivity", "without_unmet", "outlook", "statement",
    "reason", "effective_size", "design_effect", "largest_share", "largest_weight", "bias",
    "unsearched", "significance",
)  # fmt: skip
"""Keys of an estimate in `estimate --json`."""


def as_json(estimate: Estimate) -> dict[str, Any]:
    """Return the JSON object of an estimate in `estimate --json`."""
    content = dataclasses.asdict(estimate)
    content |= content["target"] | content["intervals"][0]
    if estimate.without_unmet is not None:
        content["without_unmet"] = {end: content["without_unmet"][end] for end in ("low", "high")}
    return finite({key: content[key] for key in _IN_JSON})


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


ASSUMES: Mapping[str, str] = {
    MODEL_BASED: "holds if positives become likelier as the score rises, but for a few that "
    "score like negatives",
    DESIGN_BASED: "rests on how rows were drawn; it knows nothing of what no labelled row shows",
}
"""Kinds of intervals, in the order of reports, each with its assumptions in words."""


def rested_on(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return the assumptions of intervals, in words, by kind; exact numbers have none."""
    return assumed(each for each in intervals if each.method not in EXACT)


def assumed(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return the assumptions of the kinds of some intervals, in words, by kind, if any."""
    methods = {interval.kind: interval.method for interval in intervals}
    words = {kind: words for kind, words in ASSUMES.items() if kind in methods}
    if methods.get(MODEL_BASED, "").startswith(STRATUM_RATES):
        words[MODEL_BASED] = (
            "holds for rows drawn alike among all that are predicted alike; no score and no "
            "`hidden` enters it"
        )
    return words
