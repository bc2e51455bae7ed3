"""Draws from a density by Hamiltonian Monte Carlo, many chains side by side.

References:
    R. M. Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011.
"""

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

from evalsampling.stats.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The number and the length of chains, and their steps.

    Attributes:
        chains: run side by side.
        burn_in: first trajectories of each chain, which are discarded.
        kept: trajectories of each chain after that, whose ends are the draws.
        leaps: leapfrog steps of a trajectory.
        step: mean step size; that of each trajectory differs from it by at most three tenths.
    """

    chains: int = 32
    burn_in: int = 4
    kept: int = 8
    leaps: int = 8
    step: float = 0.25


class Density(Protocol):
    """A density at n points; each attribute is computed when it is read."""

    @property
    def logarithm(self) -> FloatArray:
        """Logarithm of the density, up to a constant, shape (n,)."""
        ...

    @property
    def gradient(self) -> FloatArray:
        """Gradient of the logarithm, shape (n, dimensions)."""
        ...


_JITTER = 0.3
"""Greatest relative deviation of step sizes: with a fixed size trajectories may be periodic."""


def hamiltonian(
    density: Callable[[FloatArray], Density],
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return draws of x with a given density, shape (kept x chains, dimensions).

    Best where x is scaled so that the density is near to a standard normal one. The first draw of
    every chain comes first. A trajectory that ends where the density is not finite is rejected.

    Args:
        density: of points, shape (n, dimensions).
        start: shape (chains, dimensions).
        schedule: numbers and lengths of chains.
        rng: source of randomness.

    Raises:
        ValueError: if the density is 0 or not a number at a start.
    """
    state = start.copy()
    initial = density(state)
    height, gradient = initial.logarithm.copy(), initial.gradient.copy()
    if not np.all(np.isfinite(height)):
        raise ValueError("the log-density must be finite where chains start")
    kept = np.empty((schedule.kept, *state.shape))
    for trajectory in range(schedule.burn_in + schedule.kept):
        momentum = rng.standard_normal(state.shape)
        jitter = rng.uniform(1 - _JITTER, 1 + _JITTER, (len(state), 1))
        steps = np.repeat(schedule.step * jitter, state.shape[1], axis=1)
        energy = height - np.einsum("ij,ij->i", momentum, momentum) / 2
        with np.errstate(over="ignore", invalid="ignore"):
            end, speed, proposed = _leapfrog(
                density, state, momentum, gradient, steps, schedule.leaps
            )
            end_height, end_gradient = proposed.logarithm, proposed.gradient
            gain = end_height - np.einsum("ij,ij->i", speed, speed) / 2 - energy
        accepted = np.log(rng.random(len(state))) < np.where(np.isfinite(gain), gain, -np.inf)
        state[accepted], height[accepted] = end[accepted], end_height[accepted]
        gradient[accepted] = end_gradient[accepted]
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
    """Return the ends of trajectories, shape (chains, dimensions), their momentum and density."""
    momentum = momentum + step / 2 * gradient
    for _ in range(leaps - 1):
        point = point + step * momentum
        momentum += step * density(point).gradient
    point = point + step * momentum
    end = density(point)
    momentum += step / 2 * end.gradient
    return point, momentum, end
