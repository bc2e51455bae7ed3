"""What is known of rows beside the label: what systems say of them, and what a label costs."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of every system for some rows, or for one row that stands for each of some cells.

    Attributes:
        prediction: shape (n, systems): class codes predicted.
        score: shape (n, systems): scores; finite.
        probability: shape (n, systems, classes): probability of each class, in [0, 1].
        cost: shape (n,): what a label costs, above 0, which no loss looks at; None if all cost the
            same.
    """

    prediction: IntArray
    score: FloatArray
    probability: FloatArray
    cost: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.prediction)

    def take(self, index: npt.ArrayLike) -> "Outputs":
        """Return some of the rows, by index or mask."""
        index = np.asarray(index)
        cost = None if self.cost is None else self.cost[index]
        return Outputs(self.prediction[index], self.score[index], self.probability[index], cost)

    @classmethod
    def none(cls, systems: int, classes: int) -> "Outputs":
        """Return the outputs for no rows."""
        return cls(
            np.zeros((0, systems), dtype=np.int64),
            np.zeros((0, systems)),
            np.zeros((0, systems, classes)),
        )

    @classmethod
    def concatenate(cls, parts: Sequence["Outputs"]) -> "Outputs":
        """Return the rows of all parts, at least one, in order."""
        costs = [part.cost for part in parts if len(part)]
        known = [cost for cost in costs if cost is not None]
        return cls(
            np.concatenate([part.prediction for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.probability for part in parts]),
            np.concatenate(known) if known and len(known) == len(costs) else None,
        )
