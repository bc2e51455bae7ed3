"""Stratified sampling by the model: more labels where the system is less certain.

References:
    G. Druck and A. McCallum, *Toward interactive training and evaluation*, CIKM 2011, section 4;
    W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 5.5.
"""

import dataclasses

import numpy as np

from evalsampling.samplers.equal_count import EqualCountStrata
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class ModelStratified(EqualCountStrata):
    """Strata of equal counts with the Neyman allocation that the prior makes best.

    The allocation is fixed before the first label, so that the estimate is unbiased once every
    stratum has labels.

    Attributes:
        least: least standard deviation of a stratum, in (0, 0.5], so that a stratum of which the
            model is certain gets labels too.
    """

    least: float = 0.01
    name = "strat_model"
    trusts_prior = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        if isinstance(self.least, bool) or not isinstance(self.least, int | float):
            raise ValueError(f"least must be a number, got {self.least!r}")
        if not 0 < self.least <= 0.5:
            raise ValueError(f"least must be above 0 and at most 0.5, got {self.least}")

    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return sqrt(e (1 - e)) of each stratum, e being its mean error under the prior."""
        rows = np.bincount(stratum, table.count)
        rate = np.bincount(stratum, table.count * self.error(table)) / rows
        return np.maximum(np.sqrt(np.maximum(rate * (1 - rate), 0.0)), self.least)
