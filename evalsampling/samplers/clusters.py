"""Whole clusters, each with the same chance: what people read at once is drawn at once.

References:
    W. G. Cochran, *Sampling Techniques*, 3rd edition, Wiley 1977, section 9A.1 (clusters of unequal
    sizes, drawn with equal chances; the ratio to size).
"""

import dataclasses

import numpy as np

from evalsampling.samplers.calibrated import CalibratedDesign
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_these, draw_unseen


@dataclasses.dataclass(frozen=True)
class Clusters(CalibratedDesign):
    """Draws whole clusters (`pool.cluster`) at random; estimates as the sampler `calibrated` does.

    A round takes clusters in the order of their permanent random numbers until it has the rows that
    were asked for, the last one whole. Stopping with that cluster, not before it, keeps the ratio
    of rows of a kind to all rows unbiased but for terms of the order of one over the number of
    clusters (Wald's identity). Each row of the pool has the same chance.

    How far sizes of clusters vary is known of the whole pool, and a sample without the largest ones
    tells too little of it: see `WeightedSample.together`.
    """

    name = "clusters"
    draws_for_all = False
    draws_by_number = True
    draws_clusters = True
    by_row = False

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        """Draw one round: see `Sampler.design`. Single rows where those of the pool are unknown."""
        drawn = history.drawn_by_cell(len(table))
        left = table.rows - int(drawn.sum())
        wanted = min(new_rows, left, new_rows if budget is None else budget)
        if table.numbers is None:
            chance = np.full(len(table), wanted / max(left, 1))
            return draw_unseen(table, history, chance, rng)
        cell, rank = table.numbers.next_clusters(drawn, wanted, rng)
        chance = np.full(len(table), len(cell) / max(left, 1))
        return draw_these(table, history, chance, cell, rank)

    def remarks(self, table: CellTable) -> list[str]:
        """Return no warnings."""
        return []
