"""A measure: specs name it ``cost``."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import Mean
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class Cost(Mean):
    """Mean cost of a decision.

    Attributes:
        missed: cost of a positive that was not predicted, at least 0.
        alarm: cost of a negative that was predicted positive, at least 0.
        positive: code of the positive class.
        system: number of the system it is about.
    """

    missed: float = 10.0
    alarm: float = 1.0
    positive: int = 1
    system: int = 0
    name = "cost"
    looks_at = frozenset({"prediction"})

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value."""
        return 0.0, max(self.missed, self.alarm)

    def loss(self, outputs: Outputs, label: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the cost of each row, shape (n, 1)."""
        predicted = outputs.prediction[:, self.system] == self.positive
        true = label == self.positive
        return (self.missed * (true & ~predicted) + self.alarm * (predicted & ~true))[:, None]
