"""Mean losses of predicted probabilities."""

import dataclasses
import math

import numpy as np

from evalsampling.measures.base import Share, rows_of_class, set_own
from evalsampling.measures.mean_and_ratio import Mean
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


class Risk(Mean):
    """Base of mean losses of predicted probabilities: intervals need labels of every class."""

    looks_at = frozenset({"probability"})
    greater_is_better = False

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the rows of each class."""
        return tuple(rows_of_class(label, code) for code in range(outputs.probability.shape[2]))


@dataclasses.dataclass(frozen=True)
class Brier(Risk):
    """Brier score, from 0 to 2: l = sum_c (p_c - 1[y = c])^2, g(R) = R.

    With two classes it is 2 (p_1 - y)^2 ([MR] table 1): twice what scikit-learn returns.
    """

    system: int = 0
    name = "brier"
    bounds = (0.0, 2.0)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the squared distance to the truth, shape (n, 1)."""
        distance = outputs.probability[:, self.system].copy()
        distance[np.arange(len(label)), label] -= 1
        return np.sum(distance**2, axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class LogLoss(Risk):
    """Log loss, from 0 to -log clip: l = -log p_y, g(R) = R.

    Attributes:
        system: number of the system it is about.
        clip: p_y is cut to [clip, 1 - clip] to bound the loss; above 0, below 0.5.

    Raises:
        ValueError: `clip` is not such a number.
    """

    system: int = 0
    clip: float = 1e-6

    def __post_init__(self) -> None:
        """Check the clip, which the name shows unless it is 1e-6."""
        if isinstance(self.clip, bool) or not isinstance(self.clip, int | float):
            raise ValueError(f"clip must be a number, got {self.clip!r}")
        if not 0 < self.clip < 0.5:
            raise ValueError(f"clip must be above 0 and below 0.5, got {self.clip!r}")
        name = "log_loss" if self.clip == 1e-6 else f"log_loss(clip={self.clip:.12g})"
        set_own(self, name=name, bounds=(0.0, -math.log(self.clip)))

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return -log p_y, shape (n, 1)."""
        chosen = outputs.probability[np.arange(len(label)), self.system, label]
        return -np.log(np.clip(chosen, self.clip, 1 - self.clip))[:, None]
