"""Static importance sampling: the optimal proposal for the prior, never adapted.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, remark 4, eq. 5 and
    proposition 2; Sawade, Landwehr, Bickel and Scheffer, *Active risk estimation*, ICML 2010.
"""

import dataclasses

import numpy as np

from evalsampling.inference.score_calibration import (
    Calibration,
    check_calibration,
    recalibrated_table,
)
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.on_cells import FLOOR, cells_adding_to, expected_norms
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.spec.parameters import above_0
from evalsampling.stats.arrays import BoolArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class Importance(ReplacementSampler):
    """Importance sampling that takes the scores' probabilities as true.

    For a deterministic oracle v(x) = p(x) sum_y n(x, y) s(y|k), for a stochastic one
    v(x) = p(x) sqrt(sum_y n(x, y)^2 s(y|k)). s(y|k) is the leaf's mean prior probability, and
    n(x, y) the norm of the loss times the Jacobian at the risk that the prior implies. Of rows with
    any number of many labels v(x) is the root mean square in both cases: `measures.deviation`.

    Attributes:
        calibration: ``logistic`` or ``isotonic`` regression of the labels so far on the prior,
            before each round, or a function (`inference.score_calibration.OwnModel`); None for the
            prior as it is, the same for every round.
        epsilon: eps_0 of [MR] proposition 2, above 0: least weight of a loss that is not 0.
    """

    calibration: Calibration = None
    epsilon: float = FLOOR
    name = "importance"
    takes_tags = True
    trusts_prior = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_calibration(self.calibration)
        above_0("epsilon", self.epsilon)

    @property
    def needs_classes(self) -> bool:  # type: ignore[override]
        """Whether labels must be classes: to calibrate the prior."""
        return self.calibration is not None

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal, the same for every round without a calibration."""
        if table.expected is not None:
            deviation = Deviation.from_cells(self.measure, table, table.prior)
            value = deviation.of_cells(table, table.prior)
            return Proposal(value / np.sum(table.count * value))
        table = recalibrated_table(table, history, self.calibration, self.measure.system)
        prior = table.leaf_prior[table.leaf]
        value = expected_norms(self.measure, table, prior, self.stochastic, self.epsilon)
        if not value.any():  # No row adds, so any will do.
            value = np.ones(len(table))
        return Proposal(value / np.sum(table.count * value))

    def unmixed_support(self, table: CellTable) -> BoolArray:
        """Return which cells can add to the measure sampled for, shape (cells,)."""
        return cells_adding_to(self.measure, table)
