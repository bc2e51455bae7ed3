"""Optimal importance sampling: what Poisson sampling is compared with, made of the same inputs.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithm 1.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.ratio import RatioOptions
from evalsampling.measures.deviation import Deviation
from evalsampling.samplers.base import ReplacementSampler, no_atoms
from evalsampling.spec.parameters import check_share
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import mix_evenly


@dataclasses.dataclass(frozen=True)
class OptimalImportance(ReplacementSampler):
    """Draws with replacement from q proportional to the deviation h, the same for every round.

    Attributes:
        delta: share of the pool's own distribution in the proposal, as for `poisson`.
        smoothing: lambda of p_a = lambda p + (1 - lambda) / classes, in [0, 1]; 0.9 in [Y].
    """

    delta: float = 0.1
    smoothing: float = 1.0
    name = "optimal_importance"
    trusts_prior = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_share("smoothing", self.smoothing)

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal q = h / sum h ([Y] eq. 53)."""
        return Proposal(self._size(table), no_atoms(), np.zeros(0))

    def unmixed_support(self, table: CellTable) -> npt.NDArray[np.bool_]:
        """Return which cells are expected to move the measure, shape (cells,)."""
        return self._size(table) > 0

    def inputs(self, table: CellTable, history: History, confidence: float) -> EstimationInput:
        """Return what estimates are made from: the ratio estimator of [Y] eq. 4."""
        inputs = super().inputs(table, history, confidence)
        return dataclasses.replace(inputs, self_normalised=True, options=RatioOptions(beta=True))

    def _size(self, table: CellTable) -> npt.NDArray[np.float64]:
        """Return q, even over all rows where none is expected to move the measure."""
        return mix_evenly(self.deviation(table).of_cells(table, table.prior), table.count, 0.0)

    def deviation(self, table: CellTable) -> Deviation:
        """Return h, before what labels cost.

        Raises:
            InputError: if the measure is undefined on the pool.
        """
        return Deviation.from_cells(self.measure, table, table.prior, self.smoothing)
