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

    @property
    def steps(self) -> int:
        """Steps of a chain."""
        return self.burn_in + self.kept * self.thinning


def elliptical_slice(
    log_likelihood: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
) -> FloatArray:
    """Return draws of x with density proportional to N(x; 0, I) L(x): (chains x kept, dimensions).

    Each step takes a normal direction and an angle on the ellipse through it, and shrinks the
    bracket of angles until the likelihood is above the slice. No chain waits for another, so that
    each likelihood is of nearly as many points as there are chains.

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
    chains, dimensions = state.shape
    kept = np.empty((schedule.kept, chains, dimensions))
    direction = np.empty_like(state)
    level, angle, low, high = np.empty((4, chains))
    steps = np.zeros(chains, dtype=np.int64)
    going = fresh = np.arange(chains)  # those not at their end; of them those that begin a step
    while len(going):
        direction[fresh] = rng.standard_normal((len(fresh), dimensions))
        level[fresh] = height[fresh] - rng.exponential(size=len(fresh))
        angle[fresh] = high[fresh] = rng.random(len(fresh)) * 2 * np.pi
        low[fresh] = high[fresh] - 2 * np.pi
        turn = angle[going, None]
        point = state[going] * np.cos(turn) + direction[going] * np.sin(turn)
        found = log_likelihood(point)
        taken = found > level[going]
        moved, missed = going[taken], going[~taken]
        state[moved], height[moved] = point[taken], found[taken]
        steps[moved] += 1
        place, rest = np.divmod(steps[moved] - schedule.burn_in, schedule.thinning)
        keeps = (place > 0) & (rest == 0)
        kept[place[keeps] - 1, moved[keeps]] = state[moved[keeps]]
        left = angle[missed] < 0
        low[missed[left]] = angle[missed[left]]
        high[missed[~left]] = angle[missed[~left]]
        angle[missed] = low[missed] + rng.random(len(missed)) * (high - low)[missed]
        fresh = moved[steps[moved] < schedule.steps]
        going = np.concatenate([missed, fresh])
    return kept.reshape(-1, dimensions)
