"""Rows that were drawn elsewhere, each with a chance of its own, which is known of these alone.

Those of leaves next to each other are taken together, some twenty labels or more.
"""

import dataclasses

import numpy as np

from evalsampling.inference.class_rates import have_own_rates
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import ELSEWHERE, History, Round

LABELS_A_PART = 20
"""Rows drawn elsewhere of leaves that are taken together, to know of the chances of others."""

FEWEST_EFFECTIVE = 0.9
"""Least share of effective labels with which chances go with the scores, more or less."""

_NEARLY_ALL = 0.999
"""The same of leaves with rates of their own, which no estimate of the design corrects."""


def mean_chances(table: CellTable, history: History, drawn: Round) -> FloatArray:
    """Return the harmonic mean of chances in the leaves about that of each question: (n,).

    It is that of rows of the pool, of which a labelled one stands for one over its chance.
    """
    part = leaf = table.leaf[history.cell]
    own, number = leaf[drawn.question], len(drawn.question)
    if not table.leaves.exchangeable:
        parts = max(number // LABELS_A_PART, 1)
        part = np.searchsorted(np.sort(own), np.minimum(leaf, own.max())) * parts // number
    within, size = part[drawn.question], part.max() + 1
    sums = [np.bincount(within, drawn.probability**-k, size) for k in (1.0, 2.0)]
    return np.asarray((sums[0] / np.maximum(sums[1], 1e-300))[part])


def go_with_scores(table: CellTable, history: History) -> bool:
    """Tell whether rows of equal scores had nearly equal chances, in each round drawn elsewhere.

    They had if labels are worth `FEWEST_EFFECTIVE` of their number: of leaves taken together they
    are worth (sum w)^2 / sum w^2, w being one over the chance (L. Kish, *Survey Sampling*, Wiley
    1965, section 11.7). Rates of leaves take as much of each round, and rows that count the same.
    """
    is_of_leaves = have_own_rates(table)
    least = _NEARLY_ALL if is_of_leaves else FEWEST_EFFECTIVE
    return not (is_of_leaves and table.kinds.weight is not None) and all(
        effective_labels(table, history, drawn) >= least * np.count_nonzero(drawn.new)
        for drawn in history.rounds
        if is_of_leaves or drawn.origin == ELSEWHERE
    )


def effective_labels(table: CellTable, history: History, drawn: Round) -> float:
    """Return how many labels new ones of a round are worth, of rows drawn evenly in leaves."""
    question, probability = drawn.question[drawn.new], drawn.probability[drawn.new]
    drawn = dataclasses.replace(drawn, question=question, probability=probability)
    return float((mean_chances(table, history, drawn)[question] / probability).sum())
