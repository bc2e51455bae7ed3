"""Labels that are numbers, predicted by several systems: what a model of all of them expects.

The label is expected to be of the equal mixture of the systems' predictive distributions. So there
are four errors for each system: code 4 k + e says that the error of system k is that of
`numbers.ERRORS` number e, and what the errors of the other systems are follows.
"""

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from evalsampling.label_spaces.base import Columns, Named, Scores
from evalsampling.label_spaces.numbers import CHANCES, EXPECTED, FIRST, STEPS, Numbers
from evalsampling.stats.arrays import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class ComparedNumbers(Numbers):
    """The numbers from one to another, which several systems predict.

    Attributes:
        systems: how many systems, at least 2.
    """

    has_score: ClassVar[bool] = False
    systems: int = 2

    @classmethod
    def of(cls, numbers: Numbers, systems: int) -> Self:
        """Return the same numbers, predicted by several systems."""
        return cls(numbers.low, numbers.high, systems)

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        """The errors that a model expects of each system."""
        return tuple(f"{error} {k}" for k in range(self.systems) for error in EXPECTED)

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return the number of systems for each of them: cells know the order of predictions."""
        return (systems,) * systems

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how many lower numbers the other systems predict, (n, systems); ties are alike."""
        order = np.argsort(predictions, axis=1, kind="stable")
        ascending = np.take_along_axis(predictions, order, axis=1)
        rank = np.zeros_like(order)
        np.cumsum(np.diff(ascending, axis=1) > 0, axis=1, out=rank[:, 1:])
        ranks = np.empty_like(rank)
        np.put_along_axis(ranks, order, rank, axis=1)
        return ranks

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        """Return the chances of the errors under the mixture, the same for all rows."""
        return np.tile(CHANCES / self.systems, (len(rows), self.systems))

    def own_probabilities(self) -> FloatArray:
        """Return the chances that each system gives the errors, (systems, outcomes)."""
        return np.kron(np.eye(self.systems), CHANCES)

    def mixture(self, systems: tuple[int, ...]) -> FloatArray:
        """Return the chances of the errors under the mixture of some systems, (outcomes,)."""
        return np.asarray(self.own_probabilities()[list(systems)].mean(axis=0))

    # --- positions, in units of the range

    def positions(self, codes: IntArray) -> FloatArray:
        """Return numbers as positions in the range, from -1 to 2: see `stats.disagreement`."""
        return np.clip((codes - FIRST) / STEPS, -1.0, 2.0)

    def codes_at(self, position: FloatArray) -> IntArray:
        """Return the codes of positions, the inverse of `positions`."""
        return FIRST + np.rint(position * STEPS).astype(np.int64)

    def relative(self, variance: FloatArray) -> FloatArray:
        """Return variances in units of the squared range, at most 1."""
        width = self.high - self.low
        return np.minimum(variance / width / width, 1.0)

    def absolute(self, relative: FloatArray) -> FloatArray:
        """Return variances in units of the squared label, the inverse of `relative`."""
        width = self.high - self.low
        return np.asarray(relative * width * width)
