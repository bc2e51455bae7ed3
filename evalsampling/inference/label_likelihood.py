"""The label likelihood: a test of whether probabilities are good enough to choose rows by.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, eq. 2.9 and
    section 4.4.2.
"""

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.deviation import anticipate
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

WORTH_CHOOSING = 0.6
"""Likelihood above which rows chosen by the probabilities beat even draws.

Section 4.4.2 found it for spam and for digits of two classes, where guessing has 0.5."""

FEWEST_LABELS = 30
"""Fewest labels that give a likelihood: with fewer, a single confident miss would decide."""


def expected_likelihood(table: CellTable) -> float:
    """Return the label likelihood that a pool would have if the probabilities are right, in (0, 1].

    It is the geometric mean of the probability of a label, exp(mean over rows of sum_y p log p).
    """
    prior = anticipate(table.prior, 1.0)
    return float(np.exp(table.count @ np.sum(prior * np.log(prior), axis=1) / table.rows))


def label_likelihood(
    table: CellTable, history: History, sample: WeightedSample, inside: BoolArray | None = None
) -> float | None:
    """Return the label likelihood that the labels show, in (0, 1]; None for too few labels.

    exp(sum v log p(y|x) / sum v) over the labelled rows ``inside``, with their weights v and the
    mean prior p of the cell, which designs are made from.
    """
    question, weight = sample.question, sample.weight
    if inside is not None:
        chosen = inside[question]
        question, weight = question[chosen], weight[chosen]
    votes = history.votes(question)
    if len(question) < FEWEST_LABELS or not weight.sum() > 0:
        return None
    prior: FloatArray = anticipate(table.prior[history.cell[question]], 1.0)
    log_probability = np.log(prior[votes.row, votes.label])
    return float(np.exp(votes.spread(weight) @ log_probability / weight.sum()))


def doubts(likelihood: float | None, what: str) -> list[str]:
    """Return a warning if a likelihood is too low for rows to be chosen by probabilities."""
    if likelihood is None or likelihood >= WORTH_CHOOSING:
        return []
    return [
        f"the label likelihood {what} is {likelihood:.2f}, below {WORTH_CHOOSING}: rows chosen by "
        "such probabilities may bring less than even draws (sampler: passive) or an adaptive "
        "sampler (calibrated, ais)"
    ]
