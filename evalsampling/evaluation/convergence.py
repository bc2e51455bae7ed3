"""Estimates after each round, by the labels of now, and why an interval became wider."""

import dataclasses

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.statement import display_name
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate
from evalsampling.report.numbers import decimals, shown

MOST_ROUNDS = 12
"""Most rounds that are looked at; of more rounds, evenly spaced ones are taken."""


WIDER = 1.1
"""Ratio of the widths of two intervals from which the later one is said to be wider."""


@dataclasses.dataclass(frozen=True)
class RoundEstimates:
    """The estimates after a round.

    Attributes:
        round: number of the round, from 1.
        labels: questions of the rounds so far that have an answer.
        estimates: of measures that are one number, on the whole pool.
        widened: a sentence on each interval that is wider than after the round before.
    """

    round: int
    labels: int
    estimates: tuple[Estimate, ...]
    widened: tuple[str, ...] = ()


def convergence(analysis: Analysis, most: int = MOST_ROUNDS) -> list[RoundEstimates]:
    """Return the estimates after each round, in order; the last round is always among them.

    Each entry is what `estimate` returns for the rounds up to that one. An answer that came late
    counts for the round that asked for it. Curves and rounds without any answer are left out.
    """
    single = [measure for measure in analysis.measures if len(measure.components) == 1]
    rounds = len(analysis.history.rounds)
    if not single or not rounds:
        return []
    numbers = np.unique(np.linspace(rounds, 1, min(most, rounds)).round().astype(int)).tolist()
    scope = ReportedDomains(systems=analysis.scope.systems)
    by_round: list[RoundEstimates] = []
    before: Analysis | None = None
    for number in numbers:
        then = analysis.with_history(analysis.history.first(number))
        labels = len(then.history.labelled)
        if labels:
            estimates = tuple(then.estimate(single, scope=scope))
            wider: list[str] = []
            if before is not None:
                pairs = zip(by_round[-1].estimates, estimates, strict=True)
                wider = [why_wider(before, then, *pair, number) for pair in pairs]
            by_round.append(RoundEstimates(number, labels, estimates, tuple(filter(None, wider))))
            before = then
    return by_round


def why_wider(
    before: Analysis, now: Analysis, earlier: Estimate, later: Estimate, round: int
) -> str:
    """Return in a sentence that an interval became wider, and why; empty if it did not."""
    widths = earlier.high - earlier.low, later.high - later.low
    if not (earlier.claims and later.claims and widths[1] > WIDER * widths[0] > 0):
        return ""
    digits = decimals(0.0, widths[1])
    wide = [shown(width, digits) for width in widths]
    return (
        f"With round {round} the interval of {display_name(later)} became wider, {wide[1]} after "
        f"{wide[0]}: {_reason(before, now, earlier, later)}."
    )


def _reason(before: Analysis, now: Analysis, earlier: Estimate, later: Estimate) -> str:
    kinds = earlier.intervals[0].kind, later.intervals[0].kind
    if kinds[0] != kinds[1]:
        return f"it is {kinds[1]} now and was {kinds[0]}"
    if _lowest_positive(now) < _lowest_positive(before):
        return "a positive scores lower than all that were labelled before, so more may hide there"
    return "its labels fit the scores and the earlier labels less well than was to be expected"


def _lowest_positive(analysis: Analysis) -> float:
    """Return the least prior probability of a labelled positive; infinite without one."""
    table, history = analysis.table, analysis.history
    if table.classes != 2:
        return np.inf
    labelled = history.labelled
    positive = history.cell[labelled[history.label[labelled] == 1]]
    return float(table.prior[positive, 1].min(initial=np.inf))
