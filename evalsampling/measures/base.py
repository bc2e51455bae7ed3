"""What a measure is: per-row losses, a mapping of their mean, its Jacobian."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class Measure(Protocol):
    """A generalized measure G = g(R), R = E[l(x, y)] in R^d ([MR] definition 1).

    Predictions and labels are class codes, the places of the classes in the spec's list.

    Attributes:
        name: its name in specs and results, parameters included.
        bounds: least and greatest value it can have.
    """

    @property
    def name(self) -> str:
        """Name in specs and results, parameters included."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value of the measure."""

    def loss(self, prediction: IntArray, label: IntArray) -> FloatArray:
        """Return l(x, y) of rows.

        Args:
            prediction: shape (n, systems): class codes predicted.
            label: shape (n,): class codes.

        Returns:
            Shape (n, d).
        """

    def value(self, risk: FloatArray) -> float:
        """Return g at ``risk``, shape (d,): NaN where the measure is undefined."""

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return the Jacobian of g at ``risk``, shape (1, d): NaN where it is undefined."""

    def evidence(self, prediction: IntArray, label: IntArray) -> npt.NDArray[np.bool_]:
        """Return which rows carry the estimate, shape (n,).

        A normal approximation may be trusted once enough of *these* were seen: for recall the
        positives, however many negatives there are beside them.
        """

    @property
    def evidence_name(self) -> str:
        """What `evidence` counts, in words, for warnings: "positives"."""
