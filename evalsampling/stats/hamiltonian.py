"""Draws from a density by Hamiltonian Monte Carlo, many chains side by side; ascent to its modes.

References:
    R. M. Neal, *MCMC using Hamiltonian dynamics*, Handbook of Markov Chain Monte Carlo, 2011.
    C. C. Margossian, M. D. Hoffman, P. Sountsov, L. Riou-Durand, A. Vehtari and A. Gelman, *Nested
    R-hat: assessing the convergence of Markov chain Monte Carlo when running many short chains*,
    Bayesian Analysis 2024.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Protocol

import numpy as np

from evalsampling.stats.arrays import FloatArray

_MOST_STEPS = 60
"""Most steps of a climb."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The number and the length of chains, and their steps."""

    chains: int = 32
    burn_in: int = 4  # first trajectories of each chain, which are discarded
    kept: int = 8  # trajectories of each chain after that, whose ends are the draws
    leaps: int = 8  # leapfrog steps of a trajectory
    # mean step size; that of each trajectory differs from it by at most three tenths
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

    @property
    def information(self) -> FloatArray:
        """Expected negative second derivatives of the logarithm, (n, dimensions, dimensions)."""
        ...


_JITTER = 0.3
"""Greatest relative deviation of step sizes: with a fixed size trajectories may be periodic."""


def hamiltonian(
    density: Callable[[FloatArray], Density],
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return draws of x with a given density, shape (kept x chains, dimensions), first draws first.

    Best where the density is nearly standard normal. A trajectory that ends where the density is
    not finite is rejected.
    """
    state = start.copy()
    initial = density(state)
    height, gradient = initial.logarithm.copy(), initial.gradient.copy()
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


def nested_r_hat(values: FloatArray) -> float:
    """Return how far chains from different starts disagree: 1 if not at all, inf if none moves.

    sqrt(1 + B / W): B the variance of the means of groups of chains, each from a start of its own,
    W the mean within groups of the variance of the means of chains and of the variance within
    chains. Values have the shape (groups, chains, draws), at least two of each.
    """
    chains = values.mean(axis=2)
    between = np.var(chains.mean(axis=1), ddof=1)
    within = np.mean(np.var(chains, axis=1, ddof=1) + np.var(values, axis=2, ddof=1).mean(axis=1))
    if between == 0:
        return 1.0
    return float(np.sqrt(1 + between / within)) if within > 0 else np.inf


def climb(
    density: Callable[[FloatArray], Density], start: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return modes reached by damped scoring steps, (n, d), their log density and information."""
    initial = density(start)
    z, height = start.copy(), initial.logarithm.copy()
    gradient, information = initial.gradient.copy(), initial.information.copy()
    damping = np.full(len(z), 1e-3)
    going = np.arange(len(z))
    for _ in range(_MOST_STEPS):
        damped = information[going]
        diagonal = np.einsum("nii->ni", damped)  # a view, which may be written to
        diagonal += diagonal * damping[going, None]
        step = np.linalg.solve(damped, gradient[going, :, None])[:, :, 0]
        length = np.sqrt(np.einsum("ni,ni->n", step, step))
        step *= np.minimum(1, 3 / np.maximum(length, 1e-300))[:, None]
        proposed = density(z[going] + step)
        gained = proposed.logarithm - height[going]
        rises = gained >= 0
        moved, missed = going[rises], going[~rises]
        damping[moved] = np.maximum(damping[moved] / 5, 1e-6)
        damping[missed] = 10 * damping[missed] + 1e-3
        if len(moved):
            z[moved] += step[rises]
            height[moved] = proposed.logarithm[rises]
            gradient[moved] = proposed.gradient[rises]
            information[moved] = proposed.information[rises]
        going = np.concatenate([moved[gained[rises] >= 1e-4], missed])
        if not len(going):
            break
    return z, height, information


_LARGEST = 1 << 24
"""Bytes of the block by which the C library learns what is worth keeping: 16 MB."""


@functools.cache
def keep_freed_memory() -> None:
    """Let the process keep up to 32 MB of freed memory for its next arrays.

    Asking the system for the same pages each round takes a tenth of its processor time. The C
    library of Linux keeps twice the largest block that was ever freed (mallopt(3),
    M_MMAP_THRESHOLD), so one is made and freed here, untouched.
    """
    np.empty(_LARGEST, dtype=np.uint8)
