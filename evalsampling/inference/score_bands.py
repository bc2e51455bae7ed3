"""Bands of scores with the rate of a class in each: by the prior, the labels and the model.

References:
    L. Kish, *Survey Sampling*, Wiley 1965: the effective size (sum w)^2 / sum w^2.
    E. L. Korn and B. I. Graubard, *Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data*, Survey Methodology 24, 1998.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.intervals import clopper_pearson
from evalsampling.inference.predictive import LabelModel
from evalsampling.parts.records import finite
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

MOST_BANDS = 12
"""Most bands by default: as many as a reader can take in at a glance."""


@dataclasses.dataclass(frozen=True)
class Rate:
    """A rate between 0 and 1 with an interval."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class ScoreBand:
    """A run of adjacent leaves, with the rate of a class in it."""

    first_leaf: int  # index of the lowest leaf
    last_leaf: int  # index of the highest leaf
    low: float | None  # least score of the first system in the band, None if it is not known
    high: float | None  # greatest score of the first system in the band, None if it is not known
    rows: int  # number of rows of the pool
    labelled: int  # number of questions with an answer
    met: int  # number of answers that are of the class
    # mean prior probability of the class; None where the scores are an order, which have none
    prior: float | None
    observed: Rate | None  # rate of the class by the labels alone, None without labels
    model: Rate | None  # rate of the class by the model of the labels, None without a model
    # what is predicted in the band, where that makes the strata; else None
    title: str | None = None


def score_bands(
    table: CellTable,
    history: History,
    codes: Sequence[int],
    confidence: float,
    model: LabelModel | None = None,
    most: int = MOST_BANDS,
) -> list[ScoreBand]:
    """Return bands of leaves, from the lowest score to the highest, with the rate of some classes.

    Bands are narrow where labels are dense: the mean of a band's share of the leaves and of its
    share of the labels is about the same for all. Classes are given by their codes.
    """
    labelled = history.labelled
    votes, cell = history.votes(labelled), history.cell[labelled]
    by_cell = np.bincount(cell, minlength=len(table))
    hit = votes.mean(np.isin(votes.label, codes).astype(np.float64))
    hits = np.bincount(cell, hit, len(table)).astype(np.float64)
    band_of_leaf = _bands(table.sum_by_leaf(by_cell[:, None])[:, 0], most)
    low, high = (each.score[table.kinds.first, 0] for each in (table.kinds, table.kinds.highest))
    levels = [0.5, (1 - confidence) / 2, (1 + confidence) / 2]
    bands = []
    for band in range(int(band_of_leaf.max()) + 1):
        leaves = np.flatnonzero(band_of_leaf == band)
        cells = np.flatnonzero(np.isin(table.leaf, leaves))
        rows = table.count[cells]
        total, modelled = int(rows.sum()), None
        if model is not None:  # the median and the central interval over all draws
            drawn = model.rates[:, cells][:, :, codes].sum(axis=2) @ rows / max(total, 1)
            modelled = Rate(*np.quantile(drawn, levels).tolist())
        bands.append(
            ScoreBand(
                first_leaf=int(leaves[0]),
                last_leaf=int(leaves[-1]),
                low=finite(float(low[cells].min(initial=np.inf))),
                high=finite(float(high[cells].max(initial=-np.inf))),
                rows=total,
                labelled=int(by_cell[cells].sum()),
                met=round(float(hits[cells].sum())),
                prior=float(rows @ table.prior[cells][:, codes].sum(axis=1) / max(total, 1)),
                observed=_observed(rows, by_cell[cells], hits[cells], confidence),
                model=modelled,
            )
        )
    return bands


def _bands(labels: FloatArray, most: int) -> IntArray:
    """Return the band of each leaf, shape (leaves,), numbered from 0 without gaps."""
    even = np.full(len(labels), 1 / len(labels))
    share = labels / labels.sum() if labels.sum() else even
    width = (share + even) / 2
    middle = np.cumsum(width) - width / 2
    return np.unique((middle * most).astype(np.int64), return_inverse=True)[1].ravel()


def _observed(
    rows: IntArray, labelled: IntArray, hits: FloatArray, confidence: float
) -> Rate | None:
    """Return the rate by the labels alone, None without labels.

    The mean of the rates of cells weighted by their rows, with the interval of Clopper and Pearson
    for Kish's effective number of labels.
    """
    seen = labelled > 0
    if not seen.any():
        return None
    weight = rows[seen].astype(np.float64)
    share = float(weight @ (hits[seen] / labelled[seen]) / weight.sum())
    size = float(weight.sum() ** 2 / np.sum(weight**2 / labelled[seen]))
    return Rate(share, *clopper_pearson(share * size, size, confidence))
