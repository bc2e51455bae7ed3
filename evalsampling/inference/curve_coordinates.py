"""Coordinates of the parameters of a calibration curve, and quantities linear in them."""

import dataclasses
import functools
from typing import Self

import numpy as np

from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray

STEPS = 24
"""Steps of the curve from the top score to the bottom."""

CUT_SPREAD = 3.0
"""Standard deviation of the log-odds at the cut between predicted rows and others.

Fits to all labels of 53 real pools have a mean of -1.6 and a standard deviation of 1.9
(docs/studies/calibrated-trials.md)."""

SLOPE_SPREAD = 1.0
"""Standard deviation of the logarithm of the curve's mean slope, by that of the prior."""

STEP_SPREAD = 1.1
"""Standard deviation of the logarithm of one step by the mean slope."""

STEP_DECAY = 0.25
"""Correlation of steps d apart is exp(-d times this)."""

_STEEPEST = 30.0
"""Greatest logarithm of a fall by dx."""


@dataclasses.dataclass(frozen=True)
class Coordinates:
    """Coordinates x of the parameters z = origin + x root, which are standard normal a priori.

    Linear in them are the logarithms of the J falls of the log-odds, that of rho, and what is
    direct: what x adds to the log-odds of corners and effects beside the falls.
    """

    origin: FloatArray  # (dimensions,): z where x is 0
    root: FloatArray  # (dimensions, dimensions): derivative of z, in the columns, by x
    constant: FloatArray  # (J + 1 + J + 1 + effects,): what is linear in x where x is 0
    linear: FloatArray  # (dimensions, J + 1 + J + 1 + effects): its derivative by x
    ceiling: FloatArray  # (J + 1,): greatest logarithms of falls and rho

    @classmethod
    def of_parameters(cls, effects: int, step: float, hidden: HiddenPrior) -> "Coordinates":
        """Return the parameters themselves as coordinates."""
        dimensions, corners = 3 + STEPS + effects, STEPS + 1
        apart = np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS)))
        covariance = np.exp(-STEP_DECAY * apart) + 1e-9 * np.eye(STEPS)
        slope, ratio = np.zeros((dimensions, STEPS)), np.zeros((dimensions, 1))
        slope[1] = SLOPE_SPREAD
        slope[2 : 2 + STEPS] = STEP_SPREAD * np.linalg.cholesky(covariance).T
        ratio[-1] = hidden.spread
        direct = np.zeros((dimensions, corners + effects))
        direct[0, :corners], direct[2 + STEPS : -1, corners:] = CUT_SPREAD, np.eye(effects)
        linear = np.concatenate([slope, ratio, direct], axis=1)
        constant = np.zeros(linear.shape[1])
        constant[:STEPS], constant[STEPS] = np.log(step), np.log(hidden.share)
        ceiling = np.full(corners, np.inf)
        ceiling[:STEPS] = _STEEPEST + np.log(step)
        return cls(np.zeros(dimensions), np.eye(dimensions), constant, linear, ceiling)

    def around(self, origin: FloatArray, root: FloatArray) -> Self:
        """Return coordinates u, these being origin + u root."""
        return dataclasses.replace(
            self,
            origin=self.origin + origin @ self.root,
            root=root @ self.root,
            constant=self.constant + origin @ self.linear,
            linear=root @ self.linear,
        )

    def parameters(self, x: FloatArray) -> FloatArray:
        """Return z of coordinates, shape (draws, dimensions)."""
        return self.origin + x @ self.root

    def prior_gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of the log-prior by x, shape (draws, dimensions)."""
        gradient = x @ self._pull[1]
        gradient += self._pull[0]
        return gradient

    @functools.cached_property
    def _pull(self) -> tuple[FloatArray, FloatArray]:
        """The gradient of the log-prior at x = 0, and its derivative by x."""
        return -self.origin @ self.root.T, -self.root @ self.root.T


def fallen(cut: float, effects: int) -> FloatArray:
    """Return the changes of corners and effects by each fall, shape (J, J + 1 + effects).

    Corners above the cut, a place in steps from the top, are higher than it by the falls between,
    those below it lower.
    """
    falls = np.arange(STEPS)[:, None]
    added = np.zeros((STEPS, STEPS + 1 + effects))
    added[:, : STEPS + 1] = np.clip(cut - falls, 0, 1) - (falls < np.arange(STEPS + 1))
    return added
