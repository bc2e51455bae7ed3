"""Proportional stratified sampling without replacement.

References:
    W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, sections 5A.9 (post-stratification),
    5A.12 (collapsed strata); Druck and McCallum, *Toward interactive training and evaluation*, CIKM
    2011; [MR] Marchant and Rubinstein, KDD 2021, section 6.1 (a baseline there).
"""

import dataclasses

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import IntArray
from evalsampling.samplers.base import Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.inclusion import draw_unseen

LABELS_PER_STRATUM = 10
"""Labels that a stratum of the estimate should have: leaves are joined until they are expected."""


@dataclasses.dataclass(frozen=True)
class Stratified(Sampler):
    """A sample stratified by leaf in proportion to its rows, each round of those not drawn yet.

    Each of the U rows left has the same chance n / U to be among the n of a round. A leaf gets its
    share of them, rounded up or down, and so does a cell, by ordered pivotal sampling
    (`stats.pivotal`). So all rows have the same chance to be drawn so far.

    The estimator is sum_h (M_h / M) mean_h over strata of adjacent leaves, joined until
    `LABELS_PER_STRATUM` labels are expected in each. Strata of single leaves would not do: where
    these outnumber the labels most have none, and [MR], who draw leaf by leaf at random, leave them
    out, which biases the estimate.
    """

    name = "stratified"
    takes_stochastic_oracle = False

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        """Draw one round: see `Sampler.design`."""
        wanted = new_rows if budget is None else min(new_rows, budget)
        rows = int((table.count - history.drawn_by_cell(len(table))).sum())
        chance = np.full(len(table), min(wanted, rows) / max(rows, 1))
        return draw_unseen(table, history, chance, rng)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Weigh the labelled rows of each stratum alike; they stand for those without a label."""
        question = np.flatnonzero(history.label != NO_LABEL)
        leaf = table.leaf[history.cell[question]]
        stratum = _joined(table.leaf_count, np.bincount(leaf, minlength=table.leaves))
        rows = np.bincount(stratum, table.leaf_count).astype(np.int64)
        return WeightedSample.stratified(question, stratum[leaf], rows)


def _joined(rows: IntArray, labels: IntArray) -> IntArray:
    """Return the stratum of each leaf, shape (leaves,), from the rows and labels of each.

    Walking up the leaves, a stratum ends where its share of the labels is `LABELS_PER_STRATUM` and
    it has two of them or all of its rows; what is left at the end joins the last one.
    """
    expected = labels.sum() / max(rows.sum(), 1)
    stratum = np.zeros(len(rows), dtype=np.int64)
    number, begin = 0, 0
    for end in range(1, len(rows) + 1):
        inside = slice(begin, end)
        stratum[inside] = number
        taken, there = labels[inside].sum(), rows[inside].sum()
        if there * expected >= LABELS_PER_STRATUM and taken >= min(2, there):
            number, begin = number + 1, end
    if begin < len(rows):
        stratum[begin:] = max(number - 1, 0)
    return stratum
