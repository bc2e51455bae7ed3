"""What a measure may be, with no assumption about what the design hardly looked at."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evalsampling.inference.exposure import Exposure, RoundOfTrials
from evalsampling.inference.intervals import Interval
from evalsampling.inference.undetected import Most, fill, most_undetected
from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.measures.tallies import Tally
from evalsampling.stats.cells import CellTable
from evalsampling.stats.votes import Votes

KIND = "assumption-light"
METHOD = "betting"

ASSUMES = (
    "holds whatever labels the other rows have; labels are taken to be right, and within a round "
    "it does not depend on the row whether its label is there"
)
"""What the interval rests on, beside the way rows were drawn."""

FACTOR = 2.0
"""`Further` tells what makes the interval at most so many times as wide as the default one."""

_OF_FALLING = 4.0
"""Chance to be wrong that the greatest number of a falling tally has, of the others' 1."""

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class CountBounds:
    """Bounds on the number of rows that a measure depends on.

    Attributes:
        name: what is counted: "false negatives".
        among: of what: "rows predicted negative".
        low: least number of them, labelled ones included.
        high: greatest number.
        rows: that may be counted.
        labelled: how many of these have a label.
        met: how many of them are known to count.
    """

    name: str
    among: str
    low: float
    high: float
    rows: int
    labelled: int
    met: int

    @property
    def words(self) -> str:
        """What could hide, in words."""
        return (
            f"up to {self.high:,.0f} {self.name} could be among {self.rows:,} {self.among}, "
            f"of which {self.labelled:,} have a label and {self.met:,} were met"
        )


@dataclasses.dataclass(frozen=True)
class Further:
    """About how many labels would narrow the interval, if they bring nothing new.

    Attributes:
        labels: how many, spread over rows so that all are searched alike.
        first_leaf: least number of a leaf that they are in.
        last_leaf: greatest number.
        name: of the tally that they bound: "false negatives".
        width: of the interval then.
    """

    labels: int
    first_leaf: int
    last_leaf: int
    name: str
    width: float

    @property
    def words(self) -> str:
        """The same, in words."""
        return (
            f"about {self.labels:,} further labels in leaves {self.first_leaf} to {self.last_leaf} "
            f"that bring no {self.name} would make the {KIND} interval {self.width:.2g} wide, at "
            f"most {FACTOR:g} times the default one"
        )


@dataclasses.dataclass(frozen=True)
class AssumptionLight:
    """The assumption-light interval of one number, or why there is none.

    Attributes:
        interval: of kind `KIND`; None if there is none.
        counts: bounds of the numbers of rows that it is made from.
        further: what would narrow it; None if nothing is to be narrowed, or no labels do.
        reason: why there is none, in words, else None.
    """

    interval: Interval | None
    counts: tuple[CountBounds, ...] = ()
    further: Further | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """What could hide and what would help; or why it is not known."""
        if self.reason is not None:
            return self.reason
        widest = max(self.counts, key=lambda one: one.high - one.low)
        return "; ".join([widest.words] + ([self.further.words] if self.further else []))

    def as_json(self) -> dict[str, Any]:
        """Return the object `undetected` of an estimate in `estimate --json`."""
        return {
            "assumes": None if self.interval is None else ASSUMES,
            "words": self.words,
            "counts": [dataclasses.asdict(one) for one in self.counts],
            "further": None if self.further is None else dataclasses.asdict(self.further),
        }


@dataclasses.dataclass(frozen=True)
class Searched:
    """What was searched of a pool, or of a domain of it, and what was found.

    Attributes:
        table: the cells.
        rounds: of trials; None if the chances of all cells were not kept.
        rows: shape (cells,): of the domain.
        cell: shape (questions,): of all questions of the history.
        known: shape (n,): labelled questions that are about rows of the domain.
        prediction: shape (questions, systems): of the rows asked about.
        votes: the answers to the n questions.
        stochastic: whether a row's labels vary.
    """

    table: CellTable
    rounds: Sequence[RoundOfTrials] | None
    rows: IntArray
    cell: IntArray
    known: IntArray
    prediction: IntArray
    votes: Votes
    stochastic: bool = False


def assumption_light(
    measure: Measure, searched: Searched, confidence: float, default: Interval | None
) -> AssumptionLight:
    """Return the interval of a measure that holds whatever hides where nobody looked.

    The measure is monotone in each of its tallies, so its values at their ends bound it, if all
    ends hold together. The chance 1 - confidence to be wrong is divided among these: most goes to
    the greatest number of what lowers the measure, for that is what hides. The least number of rows
    that count is what the greatest number of those that do not leaves.

    Args:
        measure: of class predictions; any other is refused with a reason.
        searched: what was labelled.
        confidence: in (0, 1).
        default: interval that it is compared with; None if that claims nothing.
    """
    table, tallies = searched.table, measure.tallies
    if not tallies:
        words = f"{measure.name} is not a function of numbers of rows told by prediction and label"
        return AssumptionLight(None, reason=f"{words}: no assumption-light interval")
    if searched.rounds is None:
        words = "rounds were drawn before the chances of all cells were kept"
        return AssumptionLight(None, reason=f"{words}: no assumption-light interval")
    kinds = table.outputs.prediction[:, measure.system]
    prediction = kinds[table.first_kind]
    if np.any(kinds != prediction[table.kind_cell]):
        words = "some cells hold rows of different predictions"
        return AssumptionLight(None, reason=f"{words}: no assumption-light interval")
    shares = [(1.0, 1.0) if tally.rises else (1.0, _OF_FALLING) for tally in tallies]
    unit = (1 - confidence) / sum(map(sum, shares))
    found = [
        _bounds(tally, searched, prediction, measure.system, (low * unit, high * unit))
        for tally, (low, high) in zip(tallies, shares, strict=True)
    ]
    counts = tuple(bounds for bounds, _ in found)
    if any(one.low > one.high * (1 + _ROUNDING) + _ROUNDING for one in counts):
        words = "rows with a label are no random part of those drawn"
        return AssumptionLight(None, reason=f"{words}: no assumption-light interval")
    predicted = np.bincount(prediction, searched.rows, table.classes).astype(np.int64)
    between = functools.partial(_range, measure, predicted)
    low, high = between([one.low for one in counts], [one.high for one in counts])
    further = None
    if default is not None:
        width = FACTOR * (default.high - default.low)
        further = _further(searched, found, between, width) if high - low > width else None
    return AssumptionLight(Interval(low, high, KIND, METHOD), counts, further)


def _range(
    measure: Measure, predicted: IntArray, low: Sequence[float], high: Sequence[float]
) -> tuple[float, float]:
    """Return least and greatest value of a measure with its tallies in a box."""
    rises = [tally.rises for tally in measure.tallies]
    box, values = list(zip(low, high, strict=True)), []
    for up, bound in zip((False, True), measure.bounds, strict=True):
        corner = [ends[rise == up] for ends, rise in zip(box, rises, strict=True)]
        value = float(measure.value(measure.risk_at(corner, predicted))[0])
        values.append(value if np.isfinite(value) else bound)
    return values[0], values[1]


def _bounds(
    tally: Tally,
    searched: Searched,
    prediction: IntArray,
    system: int,
    alpha: tuple[float, float],
) -> tuple[CountBounds, Most]:
    """Return the bounds of a tally, and what its greatest number comes from.

    Args:
        tally: of the measure.
        searched: what was labelled.
        prediction: shape (cells,): of the rows of each cell.
        system: number of the system that predicts.
        alpha: chance of each bound to be wrong.
    """
    rows = np.where(tally.may_count(prediction), searched.rows, 0)
    known, votes = searched.known, searched.votes
    told = searched.prediction[known, system]
    # Of answers that differ, the share that counts: the rules about hits are linear in it.
    counts = votes.mean(tally.counts(told[votes.row], votes.label).astype(np.float64))
    inside = tally.may_count(told)
    met, labelled = round(float(counts.sum())), int(inside.sum())
    free = rows
    if not searched.stochastic:
        free = rows - np.bincount(searched.cell[known[inside]], minlength=len(rows))
    if not rows.any():
        nothing = Most(0.0, rows * 0.0, 0.0, rows * 0.0, rows)
        return CountBounds(tally.name, tally.among, 0, 0, 0, 0, 0), nothing
    assert searched.rounds is not None
    exposure = Exposure.over(searched.rounds, rows, searched.cell, searched.stochastic)
    hit, miss = (
        _spread(known, share, len(searched.cell))[exposure.question]
        for share in (counts, inside - counts)
    )
    most = most_undetected(exposure, hit, miss, free, alpha[1])
    others = most_undetected(exposure, miss, hit, free, alpha[0])
    total = int(free.sum())
    if searched.stochastic:
        low, high = total - others.count, most.count
    else:
        # Rows are whole, rounding aside.
        low = met + total - np.floor(others.count + _ROUNDING * (1 + total))
        high = met + np.floor(most.count + _ROUNDING * (1 + total))
    bounds = CountBounds(
        tally.name, tally.among, float(low), float(high), int(rows.sum()), labelled, met
    )
    return bounds, most


def _spread(known: IntArray, share: FloatArray, count: int) -> FloatArray:
    shares = np.zeros(count)
    shares[known] = share
    return shares


def _further(
    searched: Searched,
    found: Sequence[tuple[CountBounds, Most]],
    between: Callable[[Sequence[float], Sequence[float]], tuple[float, float]],
    width: float,
) -> Further | None:
    """Return what would make the interval of some width by bounding one tally better.

    That is the one which adds most to the width. The cells searched least are searched until all
    have the same exposure, and what is found there is taken to be no hit.
    """
    low = [bounds.low for bounds, _ in found]
    high = [bounds.high for bounds, _ in found]

    def width_at(place: int, count: float) -> float:
        ends = between(low, [count if i == place else one for i, one in enumerate(high)])
        return ends[1] - ends[0]

    place = min(range(len(found)), key=lambda i: width_at(i, low[i]))
    bounds, most = found[place]
    if width_at(place, bounds.low) > width:
        return None
    allowed, _ = _bisected(lambda count: width_at(place, count) > width, bounds.low, bounds.high)

    def count_at(level: float) -> float:
        most_there = fill(np.maximum(most.slope, level), most.budget, most.rows).sum()
        return min(bounds.met + np.floor(most_there), bounds.high)

    # Where one row costs more than the budget, none is left.
    _, level = _bisected(lambda one: count_at(one) <= allowed, 0.0, 1.001 * most.budget)
    need = np.minimum(most.rows, most.rows * np.maximum(level - most.slope, 0.0) / most.bet)
    leaves = searched.table.leaf[need > 0]
    if not len(leaves):
        return None
    return Further(
        int(np.ceil(need.sum())),
        int(leaves.min()),
        int(leaves.max()),
        bounds.name,
        width_at(place, count_at(level)),
    )


def _bisected(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return where something begins to hold: the last place where it does not, and the first.

    Taken not to hold at ``low`` and to hold at ``high``, if it begins nowhere between them.
    """
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
