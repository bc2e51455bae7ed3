"""Optimal importance sampling, with the inputs of Poisson sampling, which it is compared with.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithm 1.
"""

import dataclasses

from evalsampling.inference.score_calibration import (
    Calibration,
    check_calibration,
    recalibrated,
)
from evalsampling.measures.deviation import Deviation
from evalsampling.samplers.optimal import DeviationSampler
from evalsampling.spec.parameters import check_share
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import mix_evenly


@dataclasses.dataclass(frozen=True)
class OptimalImportance(DeviationSampler):
    """Draws with replacement from q proportional to the deviation h.

    Without a calibration q is the same for every round.

    Attributes:
        delta: share of the pool's own distribution in the proposal, as for `poisson`.
        smoothing: lambda of p_a = lambda p + (1 - lambda) / classes, in [0, 1]; 0.9 in [Y].
        calibration: ``logistic`` or ``isotonic`` regression of the labels so far on the scores,
            before each round; None for the scores as they are.
    """

    delta: float = 0.1
    smoothing: float = 1.0
    calibration: Calibration = None
    name = "optimal_importance"
    takes_tags = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_share("smoothing", self.smoothing)
        check_calibration(self.calibration)

    @property
    def needs_classes(self) -> bool:  # type: ignore[override]
        """Whether labels must be classes: to calibrate the prior."""
        return self.calibration is not None

    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return q = h / sum h ([Y] eq. 53), shape (cells,); uniform if h is 0 for all rows."""
        prior = recalibrated(table, history, self.calibration, self.measure.system)
        deviation = self.deviation(table, prior)
        return mix_evenly(deviation.of_cells(table, prior), table.count, 0.0)

    def deviation(self, table: CellTable, prior: FloatArray) -> Deviation:
        """Return the deviation h of the measure, before costs of labels.

        Args:
            table: the cells.
            prior: shape (cells, classes): probability of each class in each cell.

        Raises:
            InputError: if the measure is undefined on the pool.
        """
        return Deviation.from_cells(self.measure, table, prior, self.smoothing)
