"""Estimates after each round, from the labels that have come in by now."""

import dataclasses

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.widening import why_wider
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate

MOST_ROUNDS = 12
"""Most rounds that are looked at; of more rounds, evenly spaced ones are taken."""


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
