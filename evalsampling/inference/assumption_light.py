"""Assumption-light intervals, which assume nothing about the labels of rows hardly sampled."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evalsampling.inference.breakdown import Breakdown, below_all_met, breakdown
from evalsampling.inference.exposure import Exposure, RoundOfTrials
from evalsampling.inference.intervals import Interval
from evalsampling.inference.undetected import Rules, Undetected
from evalsampling.measures.base import Measure
from evalsampling.measures.tallies import Tally
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.votes import Votes

KIND = "assumption-light"
METHOD = "betting"

ASSUMES = (
    "holds whatever labels the other rows have; labels are taken to be right, and within a round "
    "it does not depend on the row whether its label is there"
)
"""The assumptions of the interval, besides the way rows were drawn."""

_OF_FALLING = 4.0
"""Error probability of the upper bound of a falling tally, in units of that of other bounds."""

_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class CountBounds:
    """Bounds on the number of rows of a kind that a measure depends on.

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
        """The largest possible number of undetected rows, in words."""
        shown = f"the {self.labelled:,} of these that have a label show {self.met:,}"
        if self.labelled < 2:
            shown = f"{'one' if self.labelled else 'none'} of these has a label" + (
                f" and shows {self.met:,}" * self.labelled
            )
        return (
            f"up to {self.high:,.0f} {self.name} could be among {self.rows:,} {self.among}; {shown}"
        )


@dataclasses.dataclass(frozen=True)
class AssumptionLight:
    """The assumption-light interval of one number, or the reason why it has none.

    Attributes:
        interval: the interval, of kind `KIND`; None if there is none.
        counts: bounds on the numbers of rows from which it is computed.
        breakdown: a lower bound of the measure that holds unless many positives are undetected;
            None if it would say no more than the interval.
        reason: why there is no interval, in words; None if there is one.
    """

    interval: Interval | None
    counts: tuple[CountBounds, ...] = ()
    breakdown: Breakdown | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """The largest possible number of undetected rows, in words, or `reason`."""
        if self.reason is not None:
            return self.reason
        return max(self.counts, key=lambda bounds: bounds.high - bounds.low).words

    def as_json(self) -> dict[str, Any]:
        """Return the object `undetected` of an estimate in `estimate --json`."""
        return {
            "assumes": None if self.interval is None else ASSUMES,
            "words": self.words,
            "counts": [dataclasses.asdict(bounds) for bounds in self.counts],
            "breakdown": None if self.breakdown is None else dataclasses.asdict(self.breakdown),
        }


@dataclasses.dataclass(frozen=True)
class Searched:
    """The trials and labels of a pool, or of a domain of it.

    Attributes:
        table: the cells.
        rounds: trials of each round; None if the chances of all cells were not kept.
        rows: shape (cells,): number of rows of the domain.
        cell: shape (questions,): cell of each question of the history.
        known: shape (n,): indices of the labelled questions about rows of the domain.
        prediction: shape (questions, systems): predictions for the row of each question.
        votes: the answers to the n questions.
        stochastic: whether answers about the same row may differ.
    """

    table: CellTable
    rounds: Sequence[RoundOfTrials] | None
    rows: IntArray
    cell: IntArray
    known: IntArray
    prediction: IntArray
    votes: Votes
    stochastic: bool = False


def assumption_light(measure: Measure, searched: Searched, confidence: float) -> AssumptionLight:
    """Return the interval of a measure that holds whatever labels the unlabelled rows have.

    The measure is monotone in each of its tallies, so simultaneous bounds on these bound it. The
    error probability 1 - confidence is divided among the bounds: most goes to the upper bounds of
    tallies that lower the measure, since those rows may go undetected. The lower bound of a tally
    is the number of rows less the upper bound of those that do not count.

    Args:
        measure: a measure of class predictions; any other is refused with a reason.
        searched: the trials and labels.
        confidence: in (0, 1).
    """
    table, tallies = searched.table, measure.tallies
    if not tallies:
        return _none(f"{measure.name} is not a function of numbers of rows by prediction and label")
    if searched.rounds is None:
        return _none("rounds were drawn before the chances of all cells were kept")
    kinds = table.outputs.prediction[:, measure.system]
    prediction = kinds[table.first_kind]
    if np.any(kinds != prediction[table.kind_cell]):
        return _none("some cells hold rows of different predictions")
    shares = [(1.0, 1.0) if tally.rises else (1.0, _OF_FALLING) for tally in tallies]
    unit = (1 - confidence) / sum(map(sum, shares))
    bounded = [
        _bounds(tally, searched, prediction, measure.system, (low * unit, high * unit))
        for tally, (low, high) in zip(tallies, shares, strict=True)
    ]
    counts = tuple(bounds for bounds, _ in bounded)
    if any(bounds.low > bounds.high * (1 + _ROUNDING) + _ROUNDING for bounds in counts):
        return _none("rows with a label are no random part of those drawn")
    predicted = np.bincount(prediction, searched.rows, table.classes).astype(np.int64)
    range_between = functools.partial(_range, measure, predicted)
    low, high = range_between([bounds.low for bounds in counts], [bounds.high for bounds in counts])
    return AssumptionLight(
        Interval(low, high, KIND, METHOD),
        counts,
        _breakdown(measure, searched, bounded, range_between, confidence),
    )


def _none(reason: str) -> AssumptionLight:
    """Return that there is no interval, and why."""
    return AssumptionLight(None, reason=f"{reason}: no assumption-light interval")


def _breakdown(
    measure: Measure,
    searched: Searched,
    bounded: Sequence[tuple[CountBounds, Undetected | None]],
    range_between: Callable[[Sequence[float], Sequence[float]], tuple[float, float]],
    confidence: float,
) -> Breakdown | None:
    """Return a lower bound of a measure that holds unless many positives are undetected.

    None for measures that are not of true positives and false negatives.
    """
    tallies = measure.tallies
    if len(tallies) != 2 or not tallies[0].rises or tallies[1].rises or tallies[1].missed is None:
        return None
    (true_positives, _), (false_negatives, undetected) = bounded
    if undetected is None:
        return None
    positive, votes, labelled = tallies[1].missed, searched.votes, searched.known
    met = searched.cell[labelled[votes.row[votes.label == positive]]]
    inside = labelled[searched.prediction[labelled, measure.system] != positive]
    return breakdown(
        undetected,
        below_all_met(searched.table, positive, met),
        np.bincount(searched.cell[inside], minlength=len(searched.rows)),
        (true_positives.low, false_negatives.met),
        lambda count: range_between(
            [true_positives.low, false_negatives.low], [true_positives.high, count]
        )[0],
        confidence,
    )


def _range(
    measure: Measure, predicted: IntArray, low: Sequence[float], high: Sequence[float]
) -> tuple[float, float]:
    """Return the least and the greatest value of a measure, given bounds of its tallies."""
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
) -> tuple[CountBounds, Undetected | None]:
    """Return the bounds of a tally, and the event that the upper bound follows from.

    The event is None if no row may count. Predictions, shape (cells,), are those of one system; the
    two alphas are the error probabilities of the lower and the upper bound.
    """
    rows = np.where(tally.may_count(prediction), searched.rows, 0)
    questions, votes = searched.known, searched.votes
    predicted = searched.prediction[questions, system]
    # If answers differ, the share of them that counts: the rules about hits are linear in it.
    counts = votes.mean(tally.counts(predicted[votes.row], votes.label).astype(np.float64))
    inside = tally.may_count(predicted)
    met, labelled = round(float(counts.sum())), int(inside.sum())
    free = rows
    if not searched.stochastic:
        free = rows - np.bincount(searched.cell[questions[inside]], minlength=len(rows))
    if not rows.any():
        return CountBounds(tally.name, tally.among, 0, 0, 0, 0, 0), None
    assert searched.rounds is not None
    exposure = Exposure.over(searched.rounds, rows, searched.cell, searched.stochastic)
    shares = np.zeros((2, len(searched.cell)))  # of all questions, 0 for those without a label
    shares[:, questions] = counts, inside - counts
    hit, miss = shares[:, exposure.question]
    undetected = Undetected(Rules.of(exposure, hit, miss, free), free, alpha[1])
    others = Undetected(Rules.of(exposure, miss, hit, free), free, alpha[0]).most()
    most, total = undetected.most(), int(free.sum())
    if searched.stochastic:
        low, high = total - others.count, most.count
    else:
        # Rows are whole, rounding aside.
        low = met + total - np.floor(others.count + _ROUNDING * (1 + total))
        high = met + np.floor(most.count + _ROUNDING * (1 + total))
    bounds = CountBounds(
        tally.name, tally.among, float(low), float(high), int(rows.sum()), labelled, met
    )
    return bounds, undetected
