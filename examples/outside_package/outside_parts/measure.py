"""A measure: specs name it ``cost``."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import Mean, set_own
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
    looks_at = frozenset({"prediction"})
    greater_is_better = False

    def __post_init__(self) -> None:
        """Put the parameters into the name, as a spec may list the measure with others."""
        name, most = f"cost({self.missed:g}, {self.alarm:g})", max(self.missed, self.alarm)
        set_own(self, name=name, bounds=(0.0, most))

    def loss(self, outputs: Outputs, label: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the cost of each row, shape (n, 1)."""
        predicted = outputs.prediction[:, self.system] == self.positive
        true = label == self.positive
        return (self.missed * (true & ~predicted) + self.alarm * (predicted & ~true))[:, None]
