"""Passive sampling: every row of the pool with equal chance ([MR] definition 2)."""

import dataclasses

import numpy as np

from evalsampling.samplers.base import ReplacementSampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class Passive(ReplacementSampler):
    """Uniform draws with replacement; importance weights are all one."""

    name = "passive"
    takes_queries = True
    takes_tags = True
    heeds_costs = False

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal that gives each of the M rows of the pool the probability 1 / M."""
        return Proposal(np.full(len(table), 1 / table.rows))
