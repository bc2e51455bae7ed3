"""Rows that were drawn elsewhere, each with a chance of its own, which is known of these alone.

Leaves next to each other are taken together, of some twenty labels; verdicts are not.
"""

import numpy as np

from evalsampling.inference.class_rates import have_own_rates
from evalsampling.inference.evidence import FEWEST_EVIDENCE, UnseenSide
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.intervals import clopper_pearson
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.on_cells import model_risk
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import ELSEWHERE, History, Round

LABELS_A_PART = 20
"""Rows drawn elsewhere of leaves that are taken together, to know of the chances of others."""

FEWEST_EFFECTIVE = 0.9
"""Least share of effective labels with which chances go with the scores, more or less."""

_NEARLY_ALL = 0.999
"""The same of leaves with rates of their own: no estimate of the design corrects these."""


def mean_chances(
    table: CellTable, history: History, question: IntArray, probability: FloatArray
) -> FloatArray:
    """Return the harmonic mean of some questions' chances in the leaves about each question: (n,).

    It is that of rows of the pool, of which a labelled one stands for one over its chance.
    """
    part = leaf = table.leaf[history.cell]
    own, number = leaf[question], len(question)
    if not table.leaves.exchangeable:
        parts = max(number // LABELS_A_PART, 1)
        part = np.searchsorted(np.sort(own), np.minimum(leaf, own.max())) * parts // number
    sums = [np.bincount(part[question], probability**-k, part.max() + 1) for k in (1.0, 2.0)]
    return np.asarray((sums[0] / np.maximum(sums[1], 1e-300))[part])


def go_with_scores(table: CellTable, history: History) -> bool:
    """Tell whether rows of equal scores had nearly equal chances, as models of labels assume.

    They had if labels are worth nearly as much as labels of rows drawn evenly in leaves: these are
    worth (sum w)^2 / sum w^2 labels, w being one over the chance (L. Kish, *Survey Sampling*, Wiley
    1965, section 11.7). A curve asks it of rounds drawn elsewhere. Rates of their own, as leaves of
    verdicts have, ask it of all rounds, and more strictly; rows have to count the same, too.
    """
    rounds, least = history.rounds, _NEARLY_ALL
    if not have_own_rates(table):
        rounds = tuple(drawn for drawn in rounds if drawn.origin == ELSEWHERE)
        least = FEWEST_EFFECTIVE
    elif table.kinds.weight is not None:
        return False
    return all(
        effective_labels(table, history, drawn) >= least * np.count_nonzero(drawn.new)
        for drawn in rounds
    )


def effective_labels(table: CellTable, history: History, drawn: Round) -> float:
    """Return how many labels, of rows drawn evenly in leaves, the new rows of a round are worth."""
    question, probability = drawn.question[drawn.new], drawn.probability[drawn.new]
    mean = mean_chances(table, history, question, probability)[question]
    return float((mean / probability).sum())


def unseen_side(
    measure: Measure, inputs: EstimationInput, unlabelled: IntArray, slope: FloatArray, error: float
) -> UnseenSide | None:
    """Return the rows that one of several systems alone predicts, if labels hardly tell of them.

    Of rows drawn within the verdicts of another system there may be next to none, or none of
    another class, so their part of the variance is not seen. Rounds of ours look for all systems.
    The share of positives of such rows lies in the interval of Clopper and Pearson. It is no matter
    if all ``unlabelled`` ones, by the ``slope`` of the value, (1, d), cannot move it by its
    standard ``error`` to either side.
    """
    table, history = inputs.table, inputs.history
    predicted = table.kinds.prediction[table.kinds.first] == 1
    compared = measure.systems if isinstance(measure, Comparison) else (measure.system,)
    known, words, reach = history.labelled[~history.picked[history.labelled]], [], 0.0
    names = ("it",) if len(compared) == 1 else ("the first", "the second")
    for name, system in zip(names, compared, strict=True):
        rivals = compared if len(compared) > 1 else range(predicted.shape[1])
        others = [one for one in rivals if one != system]
        only = predicted[:, system] & ~predicted[:, others].any(axis=1)
        label = history.label[known[only[history.cell[known]]]]
        seen, positive = len(label), int(np.count_nonzero(label))
        if seen >= FEWEST_EVIDENCE and 0 < positive < seen:
            continue
        rows = only * unlabelled / table.rows
        change = slope @ model_risk(measure, table, np.stack([-rows, rows], axis=1))
        if abs(float(change[0])) > 2 * error:
            low, high = clopper_pearson(positive, seen, inputs.confidence)
            reach += (high - low) * abs(float(change[0]))
            doubt = f"fewer than {FEWEST_EVIDENCE}" if seen < FEWEST_EVIDENCE else "all of a class"
            words.append(f"{seen or 'no'} rows seen that {name} alone predicts positive, {doubt}")
    words.append("its interval allows for all that they may be")
    return UnseenSide("; ".join(words), reach) if reach else None
