"""Exposures: the chance that each row had of being labelled, round by round.

A *trial* is a random set of rows that is strongly Rayleigh (Borcea, Brändén and Liggett): one draw,
or a whole round without replacement. Each row of a cell without a label from an earlier trial is in
the trial with the same chance x, its *exposure*, known before the trial is made.

- With replacement only draws of rows not drawn before are trials. Given that it is a trial, a draw
  falls on a cell with chance q_c F_c / phi, where F_c is the number of its rows not drawn before
  and phi = sum_c q_c F_c. Draws of other rows bring no new label, so their chances do not matter.
- Without replacement the round is the trial, x = pi.
- With a stochastic oracle each draw asks again: each is a trial, x = q.

A draw whose row has no label is left out. That is valid if within a round labels are missing at
random: rows of a cell come in random order, so those without a label are then like those never
drawn, and of F'_c rows without an earlier label each has the same exposure
q_c F_c / (phi F'_c); of a round without replacement pi_c F_c / F'_c times the share with labels
(a random part, of given size, of a strongly Rayleigh set is strongly Rayleigh).

References:
    J. Borcea, P. Brändén and T. M. Liggett, *Negative dependence and the geometry of polynomials*,
    Journal of the AMS 22, 2009.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History

LEVELS = (0.02, 0.25, 0.5, 0.9, 1.0)
"""Quantiles over rows at which exposures are capped, for the rules of `inference.undetected`."""


@dataclasses.dataclass(frozen=True)
class RoundOfTrials:
    """The trials of one round: row i of cell c has the exposure chance_c step_tc in trial t.

    Attributes:
        chance: shape (cells,): chances known when the round began.
        total: shape (cells,): sum of the steps of all trials.
        question: shape (n,): indices of the questions with a label, in order.
        reached: shape (n,): sum of the steps of the question's cell up to its own trial.
    """

    chance: FloatArray
    total: FloatArray
    question: IntArray
    reached: FloatArray


@dataclasses.dataclass(frozen=True)
class Exposure:
    """Sums of the exposures of all trials, each capped at several levels.

    With the cap kappa of a round the capped exposure is g = min(x, kappa step). Caps are the
    quantiles `LEVELS` of the chances over some rows.

    Attributes:
        total: shape (levels, cells): sum of g.
        share: shape (levels, n): g / x of each labelled question in its own trial, in (0, 1].
        reached: shape (levels, n): sum of g of the question's cell up to its own trial; 0 with a
            stochastic oracle, whose answers are independent.
        question: shape (n,): indices of the labelled questions, in order.
    """

    total: FloatArray
    share: FloatArray
    reached: FloatArray
    question: IntArray

    @classmethod
    def over(
        cls,
        rounds: Sequence[RoundOfTrials],
        rows: IntArray,
        cell: IntArray,
        stochastic: bool = False,
    ) -> "Exposure":
        """Return the exposures of some rounds.

        Args:
            rounds: rounds of trials.
            rows: shape (cells,), not all 0: the rows that caps are quantiles over.
            cell: shape (questions,): cell of each question of the history.
            stochastic: whether a row's labels vary.
        """
        inside = np.flatnonzero(rows)
        total = np.zeros((len(LEVELS), len(rows)))
        share, reached = [], []
        for trials in rounds:
            cap = _quantiles(trials.chance[inside], rows[inside])[:, None]
            own = cell[trials.question]
            capped = np.minimum(trials.chance, cap)
            chance = trials.chance[own]
            share.append(np.minimum(1.0, cap / np.where(chance > 0, chance, 1.0)))
            reached.append((total[:, own] + capped[:, own] * trials.reached) * (not stochastic))
            total += capped * trials.total
        none = np.zeros((len(LEVELS), 0))
        return cls(
            total,
            np.concatenate([none, *share], axis=1),
            np.concatenate([none, *reached], axis=1),
            np.concatenate([np.zeros(0, np.int64), *(trials.question for trials in rounds)]),
        )


def rounds_of_trials(
    table: CellTable, history: History, with_replacement: bool, stochastic: bool
) -> list[RoundOfTrials] | None:
    """Return the trials of each round that has a label; None if chances were not kept.

    None, too, if rounds without replacement ask a stochastic oracle: they are no trials.

    Args:
        table: the cells.
        history: rounds and labels.
        with_replacement: whether each draw is a trial, rather than each round.
        stochastic: whether each draw asks a question.
    """
    if stochastic and not with_replacement:
        return None
    fresh = table.count.astype(np.float64)
    unlabelled = fresh.copy()
    first, rounds = 0, []
    for drawn in history.rounds:
        question = np.arange(first, first + int(drawn.new.sum()))
        first += len(question)
        cell, answered = history.cell[question], history.label[question] != NO_LABEL
        if answered.any():
            if drawn.cell_probability is None:
                return None
            chance = drawn.cell_probability
            if stochastic:
                steps = np.cumsum(answered).astype(np.float64)
                total, reached = np.full(len(table), steps[-1]), steps
            elif with_replacement:
                total, reached = _sequence(chance, fresh, unlabelled, cell, answered)
            else:
                total = answered.mean() * fresh / np.maximum(unlabelled, 1)
                reached = total[cell]
            rounds.append(RoundOfTrials(chance, total, question[answered], reached[answered]))
        if not stochastic:
            fresh -= np.bincount(cell, minlength=len(table))
            unlabelled -= np.bincount(cell[answered], minlength=len(table))
    return rounds


def _sequence(
    chance: FloatArray,
    fresh: FloatArray,
    unlabelled: FloatArray,
    cell: IntArray,
    answered: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the steps of one round: over all draws by cell, and up to each draw.

    ``chance``, ``fresh`` and ``unlabelled``, shape (cells,), are q, and numbers of rows not drawn
    and without a label before the round. ``cell`` and ``answered``, shape (n,), are those of its
    draws of rows not drawn before, in order.
    """
    own = chance[cell]
    # The mass left is at least that of the later draws, whatever the rounding.
    left = np.maximum(chance @ fresh - (np.cumsum(own) - own), np.cumsum(own[::-1])[::-1])
    steps = np.cumsum(answered / left)
    total = np.full(len(chance), steps[-1])
    reached = steps.copy()
    # In cells with drawn rows that have no label, the others represent them.
    missing = np.unique(np.append(cell[~answered], np.flatnonzero(fresh < unlabelled)))
    draws = np.flatnonzero(np.isin(cell, missing))
    for c in missing.tolist():
        last, sum_so_far = 0.0, 0.0
        rows, others = fresh[c], unlabelled[c]
        for draw in draws[cell[draws] == c].tolist():
            sum_so_far += rows / max(others, 1) * (steps[draw] - last)
            reached[draw], last = sum_so_far, steps[draw]
            rows, others = rows - 1, others - float(answered[draw])
        total[c] = sum_so_far + rows / max(others, 1) * (steps[-1] - last)
    return total, reached


def _quantiles(chance: FloatArray, rows: IntArray) -> FloatArray:
    """Return the quantiles `LEVELS` of the chances of rows, shape (levels,)."""
    order = np.argsort(chance)
    below = np.cumsum(rows[order])
    places = np.searchsorted(below, np.array(LEVELS) * below[-1])
    return chance[order][np.minimum(places, len(order) - 1)]
