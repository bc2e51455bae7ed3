"""Proportional stratified sampling without replacement.

References:
    Druck and McCallum, *Toward interactive training and evaluation*, CIKM 2011; [MR] Marchant
    and Rubinstein, KDD 2021, section 6.1 (a baseline there).
"""

import dataclasses

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.samplers.base import Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round


@dataclasses.dataclass(frozen=True)
class Stratified(Sampler):
    """Rows one at a time: a leaf with chance M_k / M, then one of its rows not drawn before.

    Leaves that are used up drop out. The estimator is sum_k (M_k / M) mean_k over leaves with a
    label, renormalised as the authors of [MR] do.
    """

    name = "stratified"

    def __post_init__(self) -> None:
        """Check the oracle."""
        if self.stochastic:
            raise ValueError("stratified draws each row once, so it takes a deterministic oracle")

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
        rank = history.drawn_by_cell(len(table))
        left = table.count - rank
        leaf_left = table.sum_by_leaf(left[:, None])[:, 0]
        cells, ranks, chances = [], [], []
        for uniform, second in rng.random((min(wanted, int(left.sum())), 2)):
            weight = np.where(leaf_left > 0, table.leaf_count, 0)
            cumulated = np.cumsum(weight)
            leaf = int(np.searchsorted(cumulated, uniform * cumulated[-1], side="right"))
            members = np.flatnonzero(table.leaf == leaf)
            within = np.cumsum(left[members])
            cell = int(members[np.searchsorted(within, second * within[-1], side="right")])
            cells.append(cell)
            ranks.append(int(rank[cell]))
            chances.append(float(weight[leaf] / cumulated[-1] / leaf_left[leaf]))
            rank[cell] += 1
            left[cell] -= 1
            leaf_left[leaf] -= 1
        new = np.array(cells, dtype=np.int64)
        drawn = Round(
            question=len(history) + np.arange(len(new)),
            probability=np.array(chances, dtype=np.float64),
            new=np.ones(len(new), dtype=np.bool_),
        )
        outputs = table.outputs.take(table.first_kind[new])
        return history.with_round(drawn, new, np.array(ranks, dtype=np.int64), outputs)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Weigh the rows of each leaf alike."""
        question = np.flatnonzero(history.label != NO_LABEL)
        leaf = table.leaf[history.cell[question]]
        return WeightedSample.stratified(question, leaf, table.leaf_count)
