"""The assumption-light interval of a measure: no assumption about rows that were hardly sampled."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.inference.exposure import Exposure, RoundOfTrials
from evalsampling.inference.intervals import Interval
from evalsampling.inference.undetected import Most, fill, most_undetected
from evalsampling.measures.base import Measure
from evalsampling.measures.tallies import Tally
from evalsampling.stats.cells import CellTable
from evalsampling.stats.votes import Votes

KIND = "assumption-light"
METHOD = "betting"

ASSUMES = (
    "holds whatever labels the other rows have; labels are taken to be right, and within a round "
    "it does not depend on the row whether its label is there"
)
"""The assumptions of the interval, besides the way rows were drawn."""

FACTOR = 2.0
"""`Further` describes labels that make the interval at most this many times the default's width."""

_OF_FALLING = 4.0
"""Error probability of the upper bound of a falling tally, in units of that of other bounds."""

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class CountBounds:
    """Bounds on the number of rows of some kind, on which a measure depends.

    Attributes:
        name: what is counted: "false negatives".
        among: the rows that may count: "rows predicted negative".
        low: lower bound, labelled rows included.
        high: upper bound.
        rows: number of rows that may count.
        labelled: number of these that have a label.
        met: number of labelled rows that do count.
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
        """The number of undetected rows that is possible, in words."""
        return (
            f"up to {self.high:,.0f} {self.name} could be among {self.rows:,} {self.among}, "
            f"of which {self.labelled:,} have a label and {self.met:,} were met"
        )


@dataclasses.dataclass(frozen=True)
class Further:
    """Further labels that would narrow the interval if none of them counts in the tally.

    Attributes:
        labels: approximate number of labels, spread so that all rows get the same exposure.
        first_leaf: lowest number of their leaves.
        last_leaf: highest number of their leaves.
        name: name of the tally that they bound: "false negatives".
        width: width that the interval would have.
    """

    labels: int
    first_leaf: int
    last_leaf: int
    name: str
    width: float

    @property
    def words(self) -> str:
        """The labels and their effect, in words."""
        return (
            f"about {self.labels:,} further labels in leaves {self.first_leaf} to {self.last_leaf} "
            f"that bring no {self.name} would make the {KIND} interval {self.width:.2g} wide, at "
            f"most {FACTOR:g} times the default one"
        )


@dataclasses.dataclass(frozen=True)
class AssumptionLight:
    """The assumption-light interval of one number, or why there is none.

    Attributes:
        interval: the interval, of kind `KIND`; None if there is none.
        counts: bounds on the numbers of rows from which it is computed.
        further: labels that would narrow it; None if it is narrow enough or no labels help.
        reason: why there is no interval, in words; None if there is one.
    """

    interval: Interval | None
    counts: tuple[CountBounds, ...] = ()
    further: Further | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """The undetected rows that are possible and the labels that would help, or `reason`."""
        if self.reason is not None:
            return self.reason
        widest = max(self.counts, key=lambda bounds: bounds.high - bounds.low)
        return "; ".join([widest.words] + ([self.further.words] if self.further else []))

    def as_json(self) -> dict[str, Any]:
        """Return the object `undetected` of an estimate in `estimate --json`."""
        return {
            "assumes": None if self.interval is None else ASSUMES,
            "words": self.words,
            "counts": [dataclasses.asdict(bounds) for bounds in self.counts],
            "further": None if self.further is None else dataclasses.asdict(self.further),
        }


@dataclasses.dataclass(frozen=True)
class Searched:
    """The trials and labels of a pool, or of a domain of it.

    Attributes:
        table: the cells.
        rounds: rounds of trials; None if the chances of all cells were not kept.
        rows: shape (cells,): number of rows of the domain.
        cell: shape (questions,): cell of each question of the history.
        known: shape (n,): indices of the labelled questions about rows of the domain.
        prediction: shape (questions, systems): predictions for the row of each question.
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
    """Return the interval of a measure that holds whatever labels the unlabelled rows have.

    The measure is monotone in each of its tallies, so simultaneous bounds on these bound it. The
    error probability 1 - confidence is divided among the bounds: most goes to the upper bounds of
    tallies that lower the measure, since those rows may go undetected. The lower bound of a tally
    is the number of rows less the upper bound of those that do not count.

    Args:
        measure: a measure of class predictions; any other is refused with a reason.
        searched: the trials and labels.
        confidence: in (0, 1).
        default: the default interval, to compare widths; None if it claims nothing.
    """
    table, tallies = searched.table, measure.tallies
    if not tallies:
        reason = f"{measure.name} is not a function of numbers of rows told by prediction and label"
        return AssumptionLight(None, reason=f"{reason}: no assumption-light interval")
    if searched.rounds is None:
        reason = "rounds were drawn before the chances of all cells were kept"
        return AssumptionLight(None, reason=f"{reason}: no assumption-light interval")
    kinds = table.outputs.prediction[:, measure.system]
    prediction = kinds[table.first_kind]
    if np.any(kinds != prediction[table.kind_cell]):
        reason = "some cells hold rows of different predictions"
        return AssumptionLight(None, reason=f"{reason}: no assumption-light interval")
    shares = [(1.0, 1.0) if tally.rises else (1.0, _OF_FALLING) for tally in tallies]
    unit = (1 - confidence) / sum(map(sum, shares))
    bounded = [
        _bounds(tally, searched, prediction, measure.system, (low * unit, high * unit))
        for tally, (low, high) in zip(tallies, shares, strict=True)
    ]
    counts = tuple(bounds for bounds, _ in bounded)
    if any(bounds.low > bounds.high * (1 + _ROUNDING) + _ROUNDING for bounds in counts):
        reason = "rows with a label are no random part of those drawn"
        return AssumptionLight(None, reason=f"{reason}: no assumption-light interval")
    predicted = np.bincount(prediction, searched.rows, table.classes).astype(np.int64)
    range_between = functools.partial(_range, measure, predicted)
    low, high = range_between([bounds.low for bounds in counts], [bounds.high for bounds in counts])
    further = None
    if default is not None:
        width = FACTOR * (default.high - default.low)
        further = _further(searched, bounded, range_between, width) if high - low > width else None
    return AssumptionLight(Interval(low, high, KIND, METHOD), counts, further)


def _range(
    measure: Measure, predicted: IntArray, low: Sequence[float], high: Sequence[float]
) -> tuple[float, float]:
    """Return the least and the greatest value of a measure whose tallies have some bounds."""
    box, values = list(zip(measure.tallies, low, high, strict=True)), []
    for is_greatest, bound in zip((False, True), measure.bounds, strict=True):
        corner = [ends[tally.rises == is_greatest] for tally, *ends in box]
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
    """Return the bounds of a tally, and the bound on undetected rows behind the upper one.

    Args:
        tally: the tally.
        searched: the trials and labels.
        prediction: shape (cells,): prediction for the rows of each cell.
        system: index of the system that predicts.
        alpha: error probabilities of the lower and the upper bound.
    """
    rows = np.where(tally.may_count(prediction), searched.rows, 0)
    known, votes = searched.known, searched.votes
    predicted = searched.prediction[known, system]
    # If answers differ, the share of them that counts: the rules about hits are linear in it.
    counts = votes.mean(tally.counts(predicted[votes.row], votes.label).astype(np.float64))
    inside = tally.may_count(predicted)
    met, labelled = round(float(counts.sum())), int(inside.sum())
    free = rows
    if not searched.stochastic:
        free = rows - np.bincount(searched.cell[known[inside]], minlength=len(rows))
    if not rows.any():
        none = Most(0.0, rows * 0.0, 0.0, rows * 0.0, rows)
        return CountBounds(tally.name, tally.among, 0, 0, 0, 0, 0), none
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
    """Return the shares of labelled questions among all, shape (count,), 0 for the others."""
    shares = np.zeros(count)
    shares[known] = share
    return shares


def _further(
    searched: Searched,
    bounded: Sequence[tuple[CountBounds, Most]],
    range_between: Callable[[Sequence[float], Sequence[float]], tuple[float, float]],
    width: float,
) -> Further | None:
    """Return the further labels that reduce the interval to some width by bounding one tally.

    The tally is the one that adds most to the width. Labels go to the cells with the least exposure
    until all have the same, and none of them is assumed to count.
    """
    low = [bounds.low for bounds, _ in bounded]
    high = [bounds.high for bounds, _ in bounded]

    def width_at(index: int, count: float) -> float:
        ends = range_between(low, [*high[:index], count, *high[index + 1 :]])
        return ends[1] - ends[0]

    chosen = min(range(len(bounded)), key=lambda i: width_at(i, low[i]))
    bounds, most = bounded[chosen]
    if width_at(chosen, bounds.low) > width:
        return None
    allowed, _ = _bisected(lambda count: width_at(chosen, count) > width, bounds.low, bounds.high)

    def count_at(level: float) -> float:
        undetected = fill(np.maximum(most.slope, level), most.budget, most.rows).sum()
        return min(bounds.met + np.floor(undetected), bounds.high)

    # Where one row costs more than the budget, none is left.
    _, level = _bisected(lambda level: count_at(level) <= allowed, 0.0, 1.001 * most.budget)
    need = np.minimum(most.rows, most.rows * np.maximum(level - most.slope, 0.0) / most.bet)
    leaves = searched.table.leaf[need > 0]
    if not len(leaves):
        return None
    return Further(
        int(np.ceil(need.sum())),
        int(leaves.min()),
        int(leaves.max()),
        bounds.name,
        width_at(chosen, count_at(level)),
    )


def _bisected(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Return the bracket of the point from which a monotone condition holds.

    It is assumed to be false at ``low`` and true at ``high``.
    """
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
