"""Labels that are answers at random: the variance of a Poisson sample, one answer of each row.

A row x gets the label y with the probability P(y|x), and what is estimated is the mean of
<d> = sum_y P(y|x) d(y). A row that is in the sample with the chance b and has m answers of mean
d' and variance s^2 (divisor m - 1) adds

    v^2 ((1 - b) d'^2 + b s^2 / m),    v = 1 / (b M) being its weight,

to an unbiased estimate of [Y] eq. 25, whose second term is -<d>^2: two answers about the same row
have the product <d>^2 on average, one answer says nothing of it. But rows of a cell have the
same b, and the mean of <d>^2 over them is at least the mean of products <d> <d'> of two rows.
So rows with one answer add

    M_k / (M_k - 1) (sum v^2 d^2 - (sum v d)^2 / M_k)

for each group of M_k rows. That is too large on average, by what the rates of its rows differ, and
never larger than the first term of [Y] eq. 25 alone.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    eq. 25 and 27.
"""

import dataclasses

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.history import History, Votes

_GOLDEN = (5**0.5 - 1) / 2
"""The golden ratio's fraction, whose multiples are spread most evenly over [0, 1)."""


_Groups = tuple[FloatArray, FloatArray, FloatArray]
"""The `scale`, `mean_correction` and `centre` of a weighted sample's groups, (groups,) each."""


def with_random_answers(
    sample: WeightedSample, votes: Votes, inclusion: FloatArray, group: IntArray, rows: FloatArray
) -> WeightedSample:
    """Return a Poisson sample whose variance is that of its rows and of their answers at random.

    Questions of one ``group`` with one answer are about different rows of a cell of so many
    ``rows``, infinite if that is not known. The ``inclusion`` is b, in (0, 1]; all have shape (n,).
    """
    n, row = len(sample.question), votes.row
    answers = np.ones(n, dtype=np.int64) if votes.answers is None else votes.answers
    several = answers > 1
    group, alike = _numbered(group, rows, ~several)
    own = _of_several(sample.weight, answers, inclusion)
    scale, correction, centre = map(np.concatenate, zip(alike, own, strict=True))
    within = inclusion / np.maximum(answers - 1, 1)
    weight = sample.weight[row]
    return dataclasses.replace(
        sample,
        question=sample.question[row],
        weight=votes.spread(sample.weight),
        weight_square_sum=np.where(several[row], votes.share * within[row], weight**2),
        weight_sum=np.where(several[row], votes.share, weight),
        group=np.where(several, len(alike[0]) + np.arange(n), group)[row],
        scale=scale,
        mean_correction=correction,
        answer=None if len(row) == n else votes.label,
        centre=centre,
    )


def one_answer_a_row(history: History, classes: int) -> History:
    """Return the history of one answer about each row that has any, without its rounds.

    Where a row's answers differ, one is taken by their shares and multiples of the golden ratio, in
    the order of the cells. So neighbouring rows together have the shares of their answers.
    """
    labelled = history.labelled
    places = np.stack([history.cell[labelled], history.rank[labelled]], axis=1)
    first, row = distinct_rows(places)
    votes, shares = history.votes(labelled), np.zeros((len(first), classes))
    np.add.at(shares, (row[votes.row], votes.label), votes.share)
    cumulated = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    turn = (0.5 + np.arange(len(first)) * _GOLDEN) % 1
    label = np.sum(cumulated[:, :-1] <= turn[:, None], axis=1)
    kept = labelled[first]
    return History(
        history.cell[kept],
        history.rank[kept],
        label,
        history.outputs.take(kept),
        history.slice[kept],
    )


def _numbered(group: IntArray, rows: FloatArray, alone: BoolArray) -> tuple[IntArray, _Groups]:
    """Return the group of each question, from 0, and the groups of questions with one answer."""
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    size, drawn = rows[first], np.bincount(number, alone, len(first))
    scale = 1 + 1 / np.maximum(size - 1, 1) * (size > 1)
    correction = (size > 1) / size
    centre = (1 - np.sqrt(np.maximum(1 - correction * drawn, 0))) / np.maximum(drawn, 1)
    return number, (scale, correction, centre)


def _of_several(weight: FloatArray, answers: IntArray, inclusion: FloatArray) -> _Groups:
    """Return a group for each question, of its own answers."""
    more = np.maximum(answers - 1, 1)
    correction = inclusion * answers / more - 1
    centre = (1 - np.sqrt(more * np.maximum(1 / inclusion - 1, 0))) * inclusion / more
    return weight**2, correction, centre
