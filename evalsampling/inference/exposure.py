"""How far a design has searched: the chance that each row had to be labelled, round by round.

A *trial* is a random set of rows that is strongly Rayleigh (Borcea, Brändén and Liggett): one draw,
or a whole round without replacement. Each row of a cell without a label from an earlier trial is in
the trial with the same chance x, its *exposure*, known before the trial is made.

- With replacement only draws of rows that nobody drew before are trials. Given that it is one, a
  draw falls on a cell with chance q_c F_c / phi, F_c being the rows of the cell not drawn before
  and phi = sum_c q_c F_c. Draws of rows met before tell nothing new, labels that are known already
  play no part, and so it does not matter what the proposal did with them.
- Without replacement the round is the trial, x = pi.
- A stochastic oracle is asked anew by each draw: each is a trial, x = q.

A draw whose row has no label is left out. That is right if within a round it does not depend on the
row whether its label is there: rows of a cell come in random order, so those without a label are
then like those never drawn, and of F'_c rows without an earlier label each has the same exposure
q_c F_c / (phi F'_c); of a round without replacement pi_c F_c / F'_c times the share with labels
(a random part, of given size, of a strongly Rayleigh set is strongly Rayleigh).

References:
    J. Borcea, P. Brändén and T. M. Liggett, *Negative dependence and the geometry of polynomials*,
    Journal of the AMS 22, 2009.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.measures.base import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History

LEVELS = (0.02, 0.25, 0.5, 0.9, 1.0)
"""Exposures are capped, for the rules of `inference.undetected`, at these quantiles over rows."""


@dataclasses.dataclass(frozen=True)
class RoundOfTrials:
    """The trials of one round: row i of cell c has the exposure chance_c step_tc in trial t.

    Attributes:
        chance: shape (cells,), known when the round began.
        total: shape (cells,): the steps of all trials, summed.
        question: shape (n,): those with a label, in order.
        reached: shape (n,): the steps of the question's cell, summed up to its own trial.
    """

    chance: FloatArray
    total: FloatArray
    question: IntArray
    reached: FloatArray


@dataclasses.dataclass(frozen=True)
class Exposure:
    """Exposures of all trials, each capped at a few levels, and summed.

    With the cap kappa of a round g = min(x, kappa step). Caps are the `LEVELS` of the chances over
    some rows.

    Attributes:
        total: shape (levels, cells): sum of g.
        share: shape (levels, n): g / x of each labelled question in its own trial, in (0, 1].
        reached: shape (levels, n): sum of g of the question's cell up to its own trial; 0 where a
            label says nothing of the next one for the same row.
        question: shape (n,): the labelled questions, in order.
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
        """Sum the exposures of rounds.

        Args:
            rounds: of trials.
            rows: shape (cells,), not all 0: the rows that caps are quantiles over.
            cell: shape (questions,): of each question of the history.
            stochastic: whether a row's labels vary.
        """
        inside = np.flatnonzero(rows)
        total = np.zeros((len(LEVELS), len(rows)))
        share, reached = [], []
        for one in rounds:
            cap = _quantiles(one.chance[inside], rows[inside])[:, None]
            own = cell[one.question]
            capped = np.minimum(one.chance, cap)
            chance = one.chance[own]
            share.append(np.minimum(1.0, cap / np.where(chance > 0, chance, 1.0)))
            reached.append((total[:, own] + capped[:, own] * one.reached) * (not stochastic))
            total += capped * one.total
        none = np.zeros((len(LEVELS), 0))
        return cls(
            total,
            np.concatenate([none, *share], axis=1),
            np.concatenate([none, *reached], axis=1),
            np.concatenate([np.zeros(0, np.int64), *(one.question for one in rounds)]),
        )


def rounds_of_trials(
    table: CellTable, history: History, with_replacement: bool, stochastic: bool
) -> list[RoundOfTrials] | None:
    """Return the trials of each round that has a label; None if chances were not kept.

    None, too, where a round asks a stochastic oracle about several rows at once: it is no trial.

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
    begin, found = 0, []
    for one in history.rounds:
        question = np.arange(begin, begin + int(one.new.sum()))
        begin += len(question)
        cell, answered = history.cell[question], history.label[question] != NO_LABEL
        if answered.any():
            if one.cell_probability is None:
                return None
            chance = one.cell_probability
            if stochastic:
                steps = np.cumsum(answered).astype(np.float64)
                total, reached = np.full(len(table), steps[-1]), steps
            elif with_replacement:
                total, reached = _sequence(chance, fresh, unlabelled, cell, answered)
            else:
                total = answered.mean() * fresh / np.maximum(unlabelled, 1)
                reached = total[cell]
            found.append(RoundOfTrials(chance, total, question[answered], reached[answered]))
        if not stochastic:
            fresh -= np.bincount(cell, minlength=len(table))
            unlabelled -= np.bincount(cell[answered], minlength=len(table))
    return found


def _sequence(
    chance: FloatArray,
    fresh: FloatArray,
    unlabelled: FloatArray,
    cell: IntArray,
    answered: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the summed steps of the draws of one round: by cell, and up to each draw in its cell.

    Args:
        chance: shape (cells,): q.
        fresh: shape (cells,): rows not drawn before the round.
        unlabelled: shape (cells,): rows without a label from before the round.
        cell: shape (n,): of each draw of a row that nobody drew before, in order.
        answered: shape (n,): whether the row has a label.
    """
    own = chance[cell]
    # What is left is at least what is still drawn: so rounding can never make it too small.
    left = np.maximum(chance @ fresh - (np.cumsum(own) - own), np.cumsum(own[::-1])[::-1])
    steps = np.cumsum(answered / left)
    total = np.full(len(chance), steps[-1])
    reached = steps.copy()
    # Where rows were drawn that have no label, the others stand for them.
    missing = np.unique(np.append(cell[~answered], np.flatnonzero(fresh < unlabelled)))
    draws = np.flatnonzero(np.isin(cell, missing))
    for c in missing.tolist():
        here, last, sum_so_far = draws[cell[draws] == c], 0.0, 0.0
        rows, others = fresh[c], unlabelled[c]
        for draw in here.tolist():
            sum_so_far += rows / max(others, 1) * (steps[draw] - last)
            reached[draw], last = sum_so_far, steps[draw]
            rows, others = rows - 1, others - float(answered[draw])
        total[c] = sum_so_far + rows / max(others, 1) * (steps[-1] - last)
    return total, reached


def _quantiles(chance: FloatArray, rows: IntArray) -> FloatArray:
    """Return the `LEVELS` of the chances of rows, shape (levels,)."""
    order = np.argsort(chance)
    below = np.cumsum(rows[order])
    places = np.searchsorted(below, np.array(LEVELS) * below[-1])
    return chance[order][np.minimum(places, len(order) - 1)]
