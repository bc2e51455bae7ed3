"""A sampler: specs name it ``by_score``."""

import dataclasses

import numpy as np

from evalsampling.samplers.base import ReplacementSampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class ByScore(ReplacementSampler):
    """Draws a row with a chance in proportion to its prior probability of the second class.

    Attributes:
        least: share of the greatest probability that every row has at least, in (0, 1].
    """

    least: float = 0.01
    name = "by_score"

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if not 0 < self.least <= 1:
            raise ValueError(f"least must be above 0 and at most 1, got {self.least}")

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the chance of one row of each cell to be drawn next."""
        positive = table.prior[:, 1]
        weight = np.maximum(positive, self.least * positive.max(initial=1e-9))
        return Proposal(weight / (table.count @ weight))
