"""Draws from a density by Hamiltonian Monte Carlo, many chains side by side.

References:
    R. M. Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011.
"""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long chains run.

    Attributes:
        chains: run side by side.
        burn_in: trajectories that are forgotten.
        kept: trajectories of each chain after that, whose ends are the draws.
        leaps: leapfrog steps of a trajectory.
        step: mean size of these; each trajectory of a chain has one within three tenths of it.
    """

    chains: int = 32
    burn_in: int = 4
    kept: int = 8
    leaps: int = 8
    step: float = 0.25


class Density(Protocol):
    """A density at some points; each number is worked out where it is asked for."""

    @property
    def logarithm(self) -> FloatArray:
        """Its logarithm, but for a constant, shape (n,)."""
        ...

    @property
    def gradient(self) -> FloatArray:
        """The gradient of its logarithm, shape (n, dimensions)."""
        ...


_JITTER = 0.3
"""How far sizes of steps are from their mean: with one size some trajectories would come back."""


def hamiltonian(
    density: Callable[[FloatArray], Density],
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return draws of x with a given density, shape (kept x chains, dimensions).

    Best where x is scaled so that the density is near to a standard normal one. The first draw of
    every chain comes first. A trajectory that leaves where the density is a number is refused.

    Args:
        density: of points, shape (n, dimensions).
        start: shape (chains, dimensions).
        schedule: how long.
        rng: source of randomness.

    Raises:
        ValueError: if the density is 0 or no number at a start.
    """
    state = start.copy()
    here = density(state)
    height, gradient = here.logarithm.copy(), here.gradient.copy()
    if not np.all(np.isfinite(height)):
        raise ValueError("the log-density must be finite where chains start")
    kept = np.empty((schedule.kept, *state.shape))
    for trajectory in range(schedule.burn_in + schedule.kept):
        momentum = rng.standard_normal(state.shape)
        jitter = rng.uniform(1 - _JITTER, 1 + _JITTER, (len(state), 1))
        energy = height - (momentum**2).sum(axis=1) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            end, speed, there = _leapfrog(
                density, state, momentum, gradient, schedule.step * jitter, schedule.leaps
            )
            higher, steeper = there.logarithm, there.gradient
            gain = higher - (speed**2).sum(axis=1) / 2 - energy
        taken = np.log(rng.random(len(state))) < np.where(np.isfinite(gain), gain, -np.inf)
        state[taken], height[taken], gradient[taken] = end[taken], higher[taken], steeper[taken]
        if trajectory >= schedule.burn_in:
            kept[trajectory - schedule.burn_in] = state
    return kept.reshape(-1, state.shape[1])


def _leapfrog(
    density: Callable[[FloatArray], Density],
    point: FloatArray,
    momentum: FloatArray,
    gradient: FloatArray,
    step: FloatArray,
    leaps: int,
) -> tuple[FloatArray, FloatArray, Density]:
    """Return where trajectories end, shape (chains, dimensions), their momentum, the density."""
    momentum = momentum + step / 2 * gradient
    for leap in range(leaps):
        point = point + step * momentum
        there = density(point)
        momentum = momentum + (step if leap < leaps - 1 else step / 2) * there.gradient
    return point, momentum, there
