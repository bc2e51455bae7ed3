"""What was estimated after each round, as far as the labels are known by now."""

import dataclasses

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate

MOST_ROUNDS = 12
"""Rounds that are looked at: of more, evenly spaced ones."""


@dataclasses.dataclass(frozen=True)
class RoundEstimates:
    """The estimates after a round.

    Attributes:
        round: its number.
        labels: questions of the rounds so far that have an answer.
        estimates: of measures that are one number, on the whole pool.
    """

    round: int
    labels: int
    estimates: tuple[Estimate, ...]


def convergence(analysis: Analysis, most: int = MOST_ROUNDS) -> list[RoundEstimates]:
    """Return the estimates after each round, in order; the last round is always among them.

    Each is what `estimate` says of the first rounds alone. An answer that came late counts for
    the round that asked for it. Curves are left out, rounds without any answer too.

    Args:
        analysis: of all rounds.
        most: rounds to look at, at least 1.
    """
    single = [one for one in analysis.measures if len(one.components) == 1]
    rounds = len(analysis.history.rounds)
    if not single or not rounds:
        return []
    numbers = np.unique(np.linspace(rounds, 1, min(most, rounds)).round().astype(int)).tolist()
    scope, found = ReportedDomains(systems=analysis.scope.systems), []
    for number in numbers:
        then = analysis.with_history(analysis.history.first(number))
        labels = len(then.history.labelled)
        if labels:
            found.append(RoundEstimates(number, labels, tuple(then.estimate(single, scope=scope))))
    return found
