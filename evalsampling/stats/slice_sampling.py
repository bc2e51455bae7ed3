"""Draws from a density that is a standard normal one times a likelihood.

References:
    I. Murray, R. P. Adams and D. J. C. MacKay, *Elliptical slice sampling*, AISTATS 2010.
    R. Nishihara, I. Murray and R. P. Adams, *Parallel MCMC with generalized elliptical slice
    sampling*, JMLR 15, 2014 (a normal approximation of the posterior in place of the prior).
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How long chains run.

    Attributes:
        chains: run side by side.
        burn_in: steps that are forgotten.
        kept: states kept of each chain after that.
        thinning: steps from one kept state to the next.
    """

    chains: int = 64
    burn_in: int = 10
    kept: int = 8
    thinning: int = 2


def elliptical_slice(
    log_likelihood: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return draws of x with density proportional to N(x; 0, I) L(x): (chains x kept, dimensions).

    Each step takes a normal direction and an angle on the ellipse through it, and shrinks the
    bracket of angles until the likelihood is above the slice. Chains whose angle was taken wait
    for the others.

    Args:
        log_likelihood: log L of points, shape (n, dimensions): shape (n,).
        start: shape (chains, dimensions).
        schedule: how long.
        rng: source of randomness.

    Raises:
        ValueError: if L is 0 or no number at a start: no angle would ever be taken.
    """
    state = start.copy()
    height = log_likelihood(state)
    if not np.all(np.isfinite(height)):
        raise ValueError("the log-likelihood must be finite where chains start")
    kept = []
    for step in range(1, schedule.burn_in + schedule.kept * schedule.thinning + 1):
        _step(log_likelihood, state, height, rng)
        if step > schedule.burn_in and (step - schedule.burn_in) % schedule.thinning == 0:
            kept.append(state.copy())
    return np.concatenate(kept)


def _step(
    log_likelihood: Callable[[FloatArray], FloatArray],
    state: FloatArray,
    height: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Move every chain one step, in place."""
    chains = len(state)
    direction = rng.standard_normal(state.shape)
    slice_height = height - rng.exponential(size=chains)
    angle = rng.random(chains) * 2 * np.pi
    low, high = angle - 2 * np.pi, angle.copy()
    waiting = np.arange(chains)
    while len(waiting):
        turn = angle[waiting, None]
        point = state[waiting] * np.cos(turn) + direction[waiting] * np.sin(turn)
        found = log_likelihood(point)
        taken = found > slice_height[waiting]
        state[waiting[taken]] = point[taken]
        height[waiting[taken]] = found[taken]
        waiting = waiting[~taken]
        left = angle[waiting] < 0
        low[waiting[left]] = angle[waiting[left]]
        high[waiting[~left]] = angle[waiting[~left]]
        angle[waiting] = low[waiting] + rng.random(len(waiting)) * (high - low)[waiting]
