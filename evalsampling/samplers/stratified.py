"""Proportional stratified sampling without replacement.

References:
    W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, sections 5A.9 (post-stratification),
    5A.12 (collapsed strata); Druck and McCallum, *Toward interactive training and evaluation*, CIKM
    2011; [MR] Marchant and Rubinstein, KDD 2021, section 5 (a baseline there).
"""

import dataclasses

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.samplers.base import Rng, Sampler
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen, water_fill
from evalsampling.stats.strata import with_labels

LABELS_PER_STRATUM = 10
"""Labels that a stratum of the estimate should have: leaves are joined until it expects them."""


@dataclasses.dataclass(frozen=True)
class Stratified(Sampler):
    """Draws rows without replacement, from each leaf in proportion to its rows.

    Each of the U rows not drawn yet has the same chance n / U to be among the n rows of a round. By
    ordered pivotal sampling (`stats.inclusion`) each leaf gets its share of the n, rounded up or
    down, and so does each cell. So after any round all rows have had the same chance to be drawn.

    Where labels differ in cost, rows are stratified by class of costs too, and the chance of a row
    is in proportion to one over the root of the mean cost of its class: the Neyman allocation with
    costs (Cochran, theorem 5.6) for strata of equal variance. A class of costs without a label is
    joined to the next.

    The estimator is sum_h (M_h / M) mean_h over strata of adjacent leaves, joined until
    `LABELS_PER_STRATUM` labels are expected in each. Single leaves as strata would not do: if there
    are more leaves than labels, most leaves have no label. [MR], who draw leaf by leaf at random,
    leave those out, which biases the estimate.
    """

    name = "stratified"
    takes = frozenset({"tags"})

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        wanted = new_rows if budget is None else min(new_rows, budget)
        left = table.count - history.drawn_by_cell(len(table))
        if table.cost is None:
            unseen = int(left.sum())
            chance = np.full(len(table), min(wanted, unseen) / max(unseen, 1))
            return draw_unseen(table, history, chance, rng)
        cost_class = _cost_class(table)
        rows = np.bincount(cost_class, table.count)
        cost = np.bincount(cost_class, table.count * table.cost) / np.maximum(rows, 1)
        size = per_root_cost(np.ones(len(cost)), np.maximum(cost, np.finfo(np.float64).tiny))
        chance = water_fill(size[cost_class], left, wanted)
        group = cost_class * len(table.leaves) + table.leaf
        return draw_unseen(table, history, chance, rng, group=group)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        question = history.labelled
        cell = history.cell[question]
        labelled = np.bincount(cell, minlength=len(table))
        cost_class = _cost_class(table)
        labels = np.bincount(cost_class, labelled).astype(np.int64)
        group = with_labels(labels)[cost_class]
        stratum, strata = np.zeros(len(table), dtype=np.int64), 0
        for number in range(int(group.max()) + 1):
            inside = group == number
            leaf, count = table.leaf[inside], table.count[inside]
            rows_of_leaf, labels_of_leaf = (
                np.bincount(leaf, values, len(table.leaves)).astype(np.int64)
                for values in (count, labelled[inside])
            )
            stratum[inside] = strata + _joined(rows_of_leaf, labels_of_leaf)[leaf]
            strata = int(stratum.max()) + 1
        rows = np.bincount(stratum, table.count).astype(np.int64)
        return WeightedSample.stratified(question, stratum[cell], rows)


def _cost_class(table: CellTable) -> IntArray:
    """Return the class of costs of each cell, shape (cells,); 0 if all labels cost the same."""
    of_kind = table.kinds.cost_class
    return np.zeros(len(table), np.int64) if of_kind is None else of_kind[table.kinds.first]


def _joined(rows: IntArray, labels: IntArray) -> IntArray:
    """Return the number of each leaf's stratum, shape (leaves,); each has labels enough.

    From the first leaf up, a stratum ends where `LABELS_PER_STRATUM` labels are expected in it and
    it has at least two labels, or labels of all of its rows. Leaves left at the end join the last.
    """
    expected = labels.sum() / max(rows.sum(), 1)
    stratum = np.zeros(len(rows), dtype=np.int64)
    number, begin = 0, 0
    for end in range(1, len(rows) + 1):
        inside = slice(begin, end)
        stratum[inside] = number
        labelled, size = labels[inside].sum(), rows[inside].sum()
        if size * expected >= LABELS_PER_STRATUM and labelled >= min(2, size):
            number, begin = number + 1, end
    if begin < len(rows):
        stratum[begin:] = max(number - 1, 0)
    return stratum
