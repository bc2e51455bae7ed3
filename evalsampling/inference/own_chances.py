"""Rows that were drawn elsewhere, each with a chance of its own, which is known of these alone.

Those of leaves next to each other are taken together, some twenty labels or more. If their chances
differ, whatever these went with may differ too, and a label of a row that had half the chance
stands for twice as many rows.
"""

import numpy as np

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import ELSEWHERE, History, Round

LABELS_A_PART = 20
"""Rows drawn elsewhere of leaves that are taken together, to know of the chances of others."""

FEWEST_EFFECTIVE = 0.9
"""Least share of effective labels with which chances go with the scores, more or less."""


def mean_chances(table: CellTable, history: History, drawn: Round) -> FloatArray:
    """Return the harmonic mean of chances in the leaves about that of each question: (n,).

    It is that of rows of the pool, of which a labelled one stands for one over its chance.
    """
    leaf = table.leaf[history.cell]
    own, number = leaf[drawn.question], len(drawn.question)
    parts = max(number // LABELS_A_PART, 1)
    part = np.searchsorted(np.sort(own), np.minimum(leaf, own.max())) * parts // number
    sums = [np.bincount(part[drawn.question], drawn.probability**-k, parts) for k in (1.0, 2.0)]
    return np.asarray((sums[0] / np.maximum(sums[1], 1e-300))[part])


def effective_labels(table: CellTable, history: History) -> FloatArray:
    """Return how many labels that of each question counts as: (n,); 1 if we drew the row.

    They go with the rows that a label stands for. Of leaves taken together they add up to Kish's
    effective number, (sum w)^2 / sum w^2 (*Survey Sampling*, Wiley 1965, section 11.7). Likelihoods
    so weighted are those of D. A. Binder, International Statistical Review 51, 1983.
    """
    number = np.ones(len(history))
    for drawn in history.rounds:
        if drawn.origin == ELSEWHERE and len(drawn.question):
            mean = mean_chances(table, history, drawn)[drawn.question]
            number[drawn.question] = mean / drawn.probability
    return number


def go_with_scores(table: CellTable, history: History) -> bool:
    """Tell whether rows of equal scores had nearly equal chances, in each round drawn elsewhere."""
    number = effective_labels(table, history)
    return all(
        number[drawn.question].sum() >= FEWEST_EFFECTIVE * len(drawn.question)
        for drawn in history.rounds
        if drawn.origin == ELSEWHERE
    )
