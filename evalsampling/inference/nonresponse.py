"""Nonresponse: weights by which rows with a label represent those without."""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History

WELL_ANSWERED = 0.5
"""Share of a round that must have labels for these to represent the others in later rounds."""

_ANSWERS_PER_CLASS = 20
_FEWEST_ANSWERS = 10
"""Mean and least number of answers of a response class of a round."""


@dataclasses.dataclass(frozen=True)
class Response:
    """The draws that count in an estimate, and their adjustment for nonresponse."""

    draw: IntArray  # (n,): indices, among all draws of the history, of those that count
    # (n,): factors of their weights, with which the mean over all n is an estimate: 0 for a row
    # without a label, 1 everywhere if all rows have labels
    factor: FloatArray
    # (questions,): share of the estimate that takes the row as known, in [0, 1): there its loss has
    # the weight known / M, drawn or not. 0 except for corrected labels
    known: FloatArray


def adjust_for_nonresponse(history: History, table: CellTable, ask_again: bool = False) -> Response:
    """Return the factors by which rows with a label represent those without.

    Labels are taken to be missing at random among the rows of a *response class*: those first drawn
    in one round, in adjacent leaves. If a share rho of these has a label, each that has one gets
    the factor 1 / rho (W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 13.2; R. J.
    A. Little, *Survey nonresponse adjustments for estimates of means*, International Statistical
    Review 54, 1986). Rounds are weighted in proportion to their draws and to the share of their new
    rows that has a label.

    A draw of a row first drawn in an earlier round gets that round's factor, if `WELL_ANSWERED` of
    it have labels. If not, its labelled rows get the factor 1, and its S others in a cell, of
    weight 0, are represented by the U rows not drawn before: each new row counts (U + S) / U. If S
    exceeds U, the cell is joined with adjacent ones of the same predictions.

    Rounds drawn between the first label of a row and its correction may have had no chance to draw
    it: after a wrong label by which it adds nothing, it is never drawn again. These rounds take its
    loss as known, in place of their draws of it.

    `ask_again`: whether every draw is a new question, also of a row drawn before.
    """
    first_drawn, drawn, share = history.met, history.drawn, share_answered(history)
    draw = np.flatnonzero(share[drawn] > 0)
    question, drawn = history.question[draw], drawn[draw]
    factor = rows_represented(history, table, ask_again)[draw] * share[drawn]
    total = max(share[drawn].sum(), 1e-300)
    known = np.zeros(len(history))
    for asked, end in () if ask_again else history.corrected.items():
        late = (first_drawn[asked] < drawn) & (drawn < end)
        known[asked] = share[drawn[late]].sum() / total
        factor[late & (question == asked)] = 0
    return Response(draw, factor * len(draw) / total, known)


def share_answered(history: History) -> FloatArray:
    """Return the share of the rows first drawn in each round that have a label, 1 for no rows."""
    first_drawn = history.met
    asked = np.bincount(first_drawn, minlength=len(history.rounds))
    answered = np.bincount(first_drawn, history.label != NO_LABEL, minlength=len(history.rounds))
    return np.where(asked > 0, answered / np.maximum(asked, 1), 1.0)


def rows_represented(history: History, table: CellTable, ask_again: bool) -> FloatArray:
    """Return how many rows each draw represents, itself among them: (draws,), 0 without a label."""
    first_drawn, drawn, share = history.met, history.drawn, share_answered(history)
    question, has_label = history.question, history.label != NO_LABEL
    stands_for = np.zeros(len(history))
    leaf, leaves = table.leaf[history.cell], len(table.leaves)
    share_of_class = np.ones(len(history))
    for number in np.unique(first_drawn[~has_label]):
        rows = np.flatnonzero(first_drawn == number)
        share_of_class[rows] = response_by_leaf(leaf[rows], has_label[rows], leaves)[leaf[rows]]
    stands_for[has_label] = 1 / share_of_class[has_label]
    is_new = drawn == first_drawn[question]
    thin = share < WELL_ANSWERED
    represented = np.where(
        is_new | ~thin[first_drawn[question]], stands_for[question], has_label[question]
    )  # fmt: skip
    for number in np.flatnonzero(share > 0) if thin.any() and not ask_again else ():
        before = first_drawn < number
        lost = history.cell[before & thin[first_drawn] & ~has_label]
        if len(lost):
            unseen = table.count - np.bincount(history.cell[before], minlength=len(table))
            scale = _shared_by_unseen(table, unseen, np.bincount(lost, minlength=len(table)))
            new = is_new & (drawn == number)
            represented[new] *= scale[history.cell[question[new]]]
    return np.asarray(represented)


def response_by_cell(table: CellTable, history: History, question: IntArray) -> FloatArray:
    """Return the share of a round's rows that have a label, by the response class of each cell."""
    if not len(question):
        return np.ones(len(table))
    has_label = history.label[question] != NO_LABEL
    leaf, leaves = table.leaf[history.cell[question]], len(table.leaves)
    return response_by_leaf(leaf, has_label, leaves)[table.leaf]


def response_by_leaf(leaf: IntArray, has_label: BoolArray, leaves: int) -> FloatArray:
    """Return the share of a round's rows that have a label, in the response class of each leaf.

    Rows are cut by leaf into classes of equal size; those with few answers join the next.
    """
    most = max(int(has_label.sum()) // _ANSWERS_PER_CLASS, 1)
    below = np.searchsorted(np.sort(leaf), np.arange(leaves))
    part = np.minimum(below * most // len(leaf), most - 1)
    joined, answers = np.zeros(most, dtype=np.int64), 0
    for index, count in enumerate(np.bincount(part[leaf], has_label, minlength=most)):
        joined[index:] = joined[index] + (answers >= _FEWEST_ANSWERS)
        answers = count if answers >= _FEWEST_ANSWERS else answers + count
    if answers < _FEWEST_ANSWERS:
        joined[joined == joined[-1]] = max(joined[-1] - 1, 0)
    of_row = joined[part[leaf]]
    size = np.maximum(np.bincount(of_row, minlength=most), 1)
    share = np.bincount(of_row, has_label, minlength=most) / size
    return np.asarray(share[joined[part]])


def _shared_by_unseen(table: CellTable, unseen: IntArray, lost: IntArray) -> FloatArray:
    """Return how many rows an unseen row of each cell represents, shape (cells,).

    From the top leaf down, cells of the same predictions are joined until they hold as many unseen
    rows as drawn ones without a label.
    """
    predictions = table.kinds.prediction[table.kinds.first]
    signature = distinct_rows(predictions)[1]
    order = np.lexsort([-table.leaf, signature])
    group = np.zeros(len(table), dtype=np.int64)
    for kind in np.unique(signature):
        cells = order[signature[order] == kind]
        missing = np.cumsum(lost[cells] - unseen[cells])
        # A group ends with the cell whose unseen rows make up for those lost since the last end.
        least = np.minimum.accumulate(np.append(0, missing))
        ends = missing <= least[:-1]
        number: IntArray = np.cumsum(ends) - ends
        number = np.minimum(number, max(int(ends.sum()) - 1, 0))  # the rest joins the last
        group[cells] = group.max() + 1 + number
    total = np.bincount(group, unseen)
    return (1 + np.bincount(group, lost) / np.maximum(total, 1))[group]
