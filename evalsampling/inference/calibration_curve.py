"""The rate of positives in every cell: a curve over the scores, learnt from labels.

Which row of a cell gets a label does not depend on its label, so the likelihood of the labels needs
no weights, whatever design chose the rows.

References:
    docs/calibrated.md tells what was tried before this model, and how it did.
"""

import dataclasses
import functools

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.chains import nested_r_hat
from evalsampling.stats.hamiltonian import Schedule, hamiltonian
from evalsampling.stats.score_summary import prior_log_odds

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

STEPS = 24
"""Steps of the curve from the top score to the bottom."""

_PER_STEP = 6
"""Cells are told apart to so many parts of a step."""

_TRIM = 1e-3
"""Share of the rows at the bottom, of the expected positives at the top, past the curve's ends."""

_MOST_TRIMMED = 5
"""Most rows at the top past the curve's end: probabilities may be far too high."""

_TOP_SPREAD = 5.0
"""Standard deviation of the log-odds of the highest scores."""

_SLOPE_SPREAD = 1.0
"""Standard deviation of the logarithm of the curve's mean slope, by that of the prior."""

_STEP_SPREAD = 1.1
"""Standard deviation of the logarithm of one step by the mean slope."""

_STEP_DECAY = 0.25
"""Correlation of steps d apart is exp(-d times this)."""

_PREDICTION_SPREAD = 5.0
"""Standard deviation of the effect, in log-odds, of a prediction that the score does not explain:
that of a second system may tell as much as the score does."""

_DIP_SPREAD = 2.0
"""Standard deviation of the effect, in log-odds, of being at the top, where spam and copies are."""

_TOP_STEPS = 3.0
"""Steps from the top over which the effect of being there falls to 1 / e of itself."""

_LEAST = 1e-300
"""Least rate whose logarithm is taken."""

_LOWEST = -700.0
"""Least log-odds in a likelihood: the odds are still a number, and the rate is below `_LEAST`."""

STARTS = 4
"""Climbs to the mode, and groups of chains, that begin at different points."""

_TOPS = (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)
_SLOPES = (-3.0, -2.0, -1.0, 0.0, 1.0)
_BACKGROUNDS = (-2.0, 0.0, 2.0)
"""Where climbs may begin, in standard deviations of the prior."""

_FAR_BELOW = 10.0
"""A mode whose density is lower than the highest by exp(this) holds next to nothing."""

_MOST_STEPS = 60
"""Steps of a climb."""

HIDDEN = HiddenPrior()
"""The prior unless a spec has its own (docs/calibrated.md tells why)."""

SCHEDULE = Schedule()
"""How long chains run."""


@dataclasses.dataclass(frozen=True)
class CalibrationCurve:
    """A curve of log-odds over the prior log-odds x of cells, and a background.

    Over J equal steps of x from the top down, eta_0 = a, eta_j = eta_{j-1} - exp(b + s_j) dx, s a
    stationary Gaussian process; between the steps it is linear. It is monotone but for the effect
    of being at the top, which may be a dip. The rate of a cell is
    p = (m + sigma) / (1 + m), sigma = expit(eta(x) + effects), the odds m of the background being
    rho times the pool's mean of sigma. So a background is relative to the positives there are, and
    nothing depends on the pool's size.
    a, b, s, log rho and the effects are normal, so the parameters z are standard normal ones.

    Attributes:
        group: shape (cells,): cells of the same place on the curve are one group.
        weight: shape (groups, J + 1): of each corner of the curve in the log-odds of a group.
        share: shape (groups,): of the pool's rows.
        effect: shape (groups, effects): what one standard deviation of each effect, beside x,
            shifts the log-odds of a group by.
        step: dx.
        hidden: prior of rho.
    """

    group: IntArray
    weight: FloatArray
    share: FloatArray
    effect: FloatArray
    step: float
    hidden: HiddenPrior = HIDDEN

    @classmethod
    def from_cells(
        cls,
        probability: FloatArray,
        count: IntArray,
        effect: FloatArray | None = None,
        hidden: HiddenPrior = HIDDEN,
    ) -> "CalibrationCurve":
        """Return the curve of a pool, before any label.

        Args:
            probability: shape (cells,): prior probability of a positive; only its order and, as a
                prior, its slope matter.
            count: shape (cells,): rows.
            effect: shape (cells, effects): predictions that the score does not explain, in [-1, 1];
                none by default.
            hidden: prior of the background.
        """
        x = prior_log_odds(probability, int(count.sum()))
        share = count / count.sum()
        high, low = _ends(x, count)
        step = max((high - low) / STEPS, 1e-9)
        place = np.rint(np.clip((high - x) / step, 0, STEPS) * _PER_STEP)
        at_top = _DIP_SPREAD * np.exp(-place / _PER_STEP / _TOP_STEPS)
        effects = [at_top] if effect is None else [_PREDICTION_SPREAD * effect, at_top]
        effect = np.column_stack(effects)
        key, group = np.unique(np.column_stack([place, effect]), axis=0, return_inverse=True)
        at = key[:, 0] / _PER_STEP
        corner = np.minimum(at.astype(np.int64), STEPS - 1)
        weight = np.zeros((len(key), STEPS + 1))
        rows = np.arange(len(key))
        weight[rows, corner] = 1 - (at - corner)
        weight[rows, corner + 1] = at - corner
        rows_of: FloatArray = np.bincount(group.ravel(), share).astype(np.float64)
        return cls(group.ravel(), weight, rows_of, key[:, 1:], step, hidden)

    @property
    def corner(self) -> IntArray:
        """Which corner is nearest to each cell, shape (cells,), 0 to J from the top."""
        return np.argmax(self.weight, axis=1)[self.group]

    @property
    def dimensions(self) -> int:
        """Number of parameters: a, b, s, the effects and log rho."""
        return 3 + STEPS + self.effect.shape[1]

    def fit(self, labelled: IntArray, positive: IntArray) -> "CurveFit":
        """Return the mode of the posterior given labels.

        Args:
            labelled: shape (cells,): rows with a label.
            positive: shape (cells,): those that are positive.
        """
        labels = GroupLabels.from_cells(self, labelled, positive)
        z, height = _climb(self, labels, _starts(self, labels))
        best = int(np.argmax(height))
        modes = z[height > height[best] - _FAR_BELOW]
        information = self.at(z[best : best + 1]).information(labels)[0]
        return CurveFit(self, labels, z[best], information, float(height[best]), modes)

    def at(self, z: FloatArray) -> "CurvesAt":
        """Return the curves of parameters z, shape (draws, dimensions)."""
        return CurvesAt(self, z)

    @functools.cached_property
    def design(self) -> FloatArray:
        """What corners and effects count for in the log-odds: (groups, J + 1 + effects)."""
        return np.concatenate([self.weight, self.effect], axis=1)

    def prior_ratio(self, level: float) -> float:
        """Return a quantile of the prior of rho."""
        return float(self.hidden.share * np.exp(self.hidden.spread * scipy.special.ndtri(level)))


@dataclasses.dataclass(frozen=True)
class GroupLabels:
    """Labels of the groups of a curve that have any.

    Attributes:
        group: shape (n,).
        positive: shape (n,).
        negative: shape (n,).
    """

    group: IntArray
    positive: FloatArray
    negative: FloatArray

    @classmethod
    def from_cells(
        cls, curve: CalibrationCurve, labelled: IntArray, positive: IntArray
    ) -> "GroupLabels":
        """Sum the labels of cells, shape (cells,), by group."""
        groups = len(curve.share)
        rows: FloatArray = np.bincount(curve.group, labelled, groups).astype(np.float64)
        hits: FloatArray = np.bincount(curve.group, positive, groups).astype(np.float64)
        group = np.flatnonzero(rows)
        return cls(group, hits[group], (rows - hits)[group])

    @functools.cached_property
    def rows(self) -> float:
        """Number of labels."""
        return float(self.positive.sum() + self.negative.sum())


@dataclasses.dataclass(frozen=True)
class CurvesAt:
    """Curves of some parameters, and how the log-likelihood of labels changes with these.

    Attributes:
        curve: whose parameters.
        z: shape (draws, dimensions).
    """

    curve: CalibrationCurve
    z: FloatArray

    @functools.cached_property
    def falls(self) -> FloatArray:
        """By how much the log-odds fall over each step, shape (draws, J)."""
        log_slope = _SLOPE_SPREAD * self.z[:, 1:2] + self.z[:, 2 : 2 + STEPS] @ _step_root().T
        return np.exp(np.minimum(log_slope, 30)) * self.curve.step

    @functools.cached_property
    def log_odds(self) -> FloatArray:
        """Eta of each group, without the background, shape (draws, groups)."""
        terms = np.empty((len(self.z), self.curve.design.shape[1]))
        terms[:, 0] = _TOP_SPREAD * self.z[:, 0]
        terms[:, 1 : STEPS + 1] = terms[:, :1] - np.cumsum(self.falls, axis=1)
        terms[:, STEPS + 1 :] = self.z[:, 2 + STEPS : -1]
        return np.maximum(terms @ self.curve.design.T, _LOWEST)

    @functools.cached_property
    def _below(self) -> FloatArray:
        """1 / sigma of each group: far faster than scipy's expit and log_expit."""
        return np.asarray(1 + np.exp(-self.log_odds))

    @functools.cached_property
    def sigma(self) -> FloatArray:
        """What the curve alone says of the rate of each group, shape (draws, groups)."""
        return np.asarray(1 / self._below)

    @functools.cached_property
    def ratio(self) -> FloatArray:
        """rho: positives of the background by those of the curve, shape (draws,)."""
        hidden = self.curve.hidden
        return np.asarray(hidden.share * np.exp(hidden.spread * self.z[:, -1]))

    @functools.cached_property
    def background(self) -> FloatArray:
        """The odds m of the background, shape (draws,)."""
        return np.asarray(self.ratio * (self.sigma @ self.curve.share))

    def log_likelihood(self, labels: GroupLabels) -> FloatArray:
        """Return the log-likelihood of labels, shape (draws,)."""
        # log p = log(m + sigma) - log(1 + m), log(1 - p) = log(1 - sigma) - log(1 + m).
        miss = -self.log_odds[:, labels.group] - np.log(self._below[:, labels.group])
        both = np.log(self._hit(labels)) @ labels.positive + miss @ labels.negative
        return np.asarray(both - labels.rows * np.log1p(self.background))

    def log_posterior(self, labels: GroupLabels) -> FloatArray:
        """Return log-likelihood and log-prior, but for a constant, shape (draws,)."""
        return self.log_likelihood(labels) - np.einsum("ij,ij->i", self.z, self.z) / 2

    def gradient(self, labels: GroupLabels) -> FloatArray:
        """Return the gradient of the log-posterior, shape (draws, dimensions)."""
        kept, by_hit = labels.group, labels.positive / self._hit(labels)
        of_background = by_hit.sum(axis=1) - labels.rows / (1 + self.background)
        slope = self.sigma * (1 - self.sigma)
        of_log_odds = (of_background * self.ratio)[:, None] * (self.curve.share * slope)
        of_log_odds[:, kept] += by_hit * slope[:, kept] - labels.negative * self.sigma[:, kept]
        gradient = self._through(of_log_odds)
        gradient[:, -1] = of_background * self.curve.hidden.spread * self.background
        return np.asarray(gradient - self.z)

    def information(self, labels: GroupLabels) -> FloatArray:
        """Return the Fisher information of labels and prior: (draws, dimensions, dimensions)."""
        kept, up = labels.group, self.sigma[:, labels.group]
        corners = np.zeros((len(self.z), STEPS + 1, self.z.shape[1]))
        corners[:, :, 0] = _TOP_SPREAD
        lower = -np.tril(np.ones((STEPS, STEPS))) * self.falls[:, None]
        corners[:, 1:, 1] = lower.sum(axis=2) * _SLOPE_SPREAD
        corners[:, 1:, 2 : 2 + STEPS] = lower @ _step_root()
        slope = self.curve.weight[kept] @ corners
        slope[:, :, 2 + STEPS : -1] = self.curve.effect[kept]
        of_curve = self.curve.share * self.sigma * (1 - self.sigma)
        of_background = self._through(self.ratio[:, None] * of_curve)
        of_background[:, -1] = self.curve.hidden.spread * self.background
        odds = 1 + self.background[:, None]
        rate, rest = self._hit(labels) / odds, (1 - up) / odds
        # The rate's derivative by its complement, which may be 0.
        of_rate = up[:, :, None] * slope + (of_background / odds)[:, None]
        rows = labels.positive + labels.negative
        scaled = of_rate * np.sqrt(rows * rest / rate)[:, :, None]
        return np.asarray(np.eye(self.z.shape[1]) + np.swapaxes(scaled, 1, 2) @ scaled)

    def _hit(self, labels: GroupLabels) -> FloatArray:
        """Return m + sigma of the groups with labels, shape (draws, n)."""
        hit = self.sigma[:, labels.group] + self.background[:, None]
        return np.asarray(np.maximum(hit, _LEAST))

    def _through(self, of_log_odds: FloatArray) -> FloatArray:
        """Return a gradient by z, 0 by log rho, of one by log-odds, shape (draws, groups)."""
        terms = of_log_odds @ self.curve.design
        further_down = np.cumsum(terms[:, STEPS:0:-1], axis=1)[:, ::-1]
        of_falls = -further_down * self.falls
        gradient = np.zeros_like(self.z)
        gradient[:, 0] = _TOP_SPREAD * terms[:, : STEPS + 1].sum(axis=1)
        gradient[:, 1] = _SLOPE_SPREAD * of_falls.sum(axis=1)
        gradient[:, 2 : 2 + STEPS] = of_falls @ _step_root()
        gradient[:, 2 + STEPS : -1] = terms[:, STEPS + 1 :]
        return gradient


@dataclasses.dataclass(frozen=True)
class CurveFit:
    """The posterior of a curve near its mode.

    Attributes:
        curve: whose parameters.
        labels: given which.
        mode: shape (dimensions,).
        information: Fisher information of labels and prior there.
        height: log-likelihood and log-prior there, but for a constant.
        modes: shape (n, dimensions): what climbs from different starts ended at, but for those far
            below the mode; mostly the same n times.
    """

    curve: CalibrationCurve
    labels: GroupLabels
    mode: FloatArray
    information: FloatArray
    height: float
    modes: FloatArray

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of the log-probability of the labels, but for a constant."""
        return self.height - float(np.log(self._axes[0]).sum()) / 2

    @property
    def at_mode(self) -> "CurveDraws":
        """The mode in place of draws."""
        return CurveDraws(self.curve, self.mode[None])

    @functools.cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of the information, which is at least that of the prior."""
        values, vectors = np.linalg.eigh(self.information)
        return np.maximum(values, 1.0), vectors

    def draw(self, rng: np.random.Generator, schedule: Schedule = SCHEDULE) -> "CurveDraws":
        """Return draws of the parameters.

        By Hamiltonian Monte Carlo in coordinates in which the posterior near its mode is a
        standard normal one. Chains are in `STARTS` groups, each of which begins at one of `modes`,
        so that it shows if they do not mix.

        Args:
            rng: source of randomness.
            schedule: how long the chains run.
        """
        values, vectors = self._axes
        root = vectors / np.sqrt(values)

        def log_density(u: FloatArray) -> tuple[FloatArray, FloatArray]:
            curves = self.curve.at(self.mode + u @ root.T)
            return curves.log_posterior(self.labels), curves.gradient(self.labels) @ root

        near = self.modes[np.arange(STARTS) % len(self.modes)] - self.mode
        start = np.repeat(near @ (vectors * np.sqrt(values)), schedule.chains // STARTS, axis=0)
        u = hamiltonian(log_density, start, schedule, rng)
        draws = CurveDraws(self.curve, self.mode + u @ root.T)
        positives = np.log(draws.group_rates @ self.curve.share)
        by_start = positives.reshape(schedule.kept, STARTS, -1)
        return dataclasses.replace(draws, r_hat=nested_r_hat(np.moveaxis(by_start, 0, 2)))


@dataclasses.dataclass(frozen=True)
class CurveDraws:
    """Draws of the parameters of a curve.

    Attributes:
        curve: whose parameters.
        z: shape (draws, dimensions).
        r_hat: how far chains from different starts disagree on the number of positives: nested
            R-hat of its logarithm, 1 if they agree (`stats.chains`).
    """

    curve: CalibrationCurve
    z: FloatArray
    r_hat: float = 1.0

    def thinned(self, most: int) -> "CurveDraws":
        """Return at most so many of the draws, evenly apart."""
        return dataclasses.replace(self, z=self.z[:: -(-len(self.z) // most)])

    def weights(self, share: float) -> FloatArray:
        """Return what each draw counts for had another share been expected, shape (draws,).

        The share moves the prior of log rho: a draw's weight is the ratio of the new density to
        the old, by the greatest one.
        """
        log_weight = (
            np.log(share / self.curve.hidden.share) / self.curve.hidden.spread * self.z[:, -1]
        )
        return np.asarray(np.exp(log_weight - log_weight.max()))

    def with_share(self, share: float, rng: np.random.Generator) -> "CurveDraws":
        """Return as many draws with another share of hidden positives, taken from these.

        Each is taken as often as its weight says, but for less than one time (systematic
        resampling); its rates stay as they are.
        """
        old = self.curve.hidden
        reached = np.cumsum(self.weights(share))
        at = (np.arange(len(reached)) + rng.random()) / len(reached) * reached[-1]
        z = self.z[np.searchsorted(reached, at, side="right")]
        z[:, -1] -= np.log(share / old.share) / old.spread  # rho is as it was
        hidden = dataclasses.replace(old, share=share)
        return CurveDraws(dataclasses.replace(self.curve, hidden=hidden), z, self.r_hat)

    @functools.cached_property
    def group_rates(self) -> FloatArray:
        """The rate of positives in each group, shape (draws, groups)."""
        curves = self.curve.at(self.z)
        background = curves.background[:, None]
        return np.asarray((background + curves.sigma) / (1 + background))

    def rates(self) -> FloatArray:
        """Return the rate of positives in each cell, shape (draws, cells), in [0, 1]."""
        return self.group_rates[:, self.curve.group]

    @property
    def hidden_ratio(self) -> FloatArray:
        """Positives of the background by those of the curve, shape (draws,)."""
        return self.curve.at(self.z).ratio


def _starts(curve: CalibrationCurve, labels: GroupLabels) -> FloatArray:
    """Return where climbs to the mode begin, shape (`STARTS`, dimensions).

    The likeliest of some points over the prior of the top, the mean slope and the background, all
    else being as the prior expects, with those of another top or slope. Where prior probabilities
    reach over many units of log-odds, rates at the middle of the prior are all 0 or 1 but for a
    few: from there alone no step would find the mode.
    """
    points = _points_of_prior(curve.dimensions)
    order = np.argsort(-curve.at(points).log_posterior(labels))
    _, first = np.unique(points[order, :2], axis=0, return_index=True)
    return points[order[np.sort(first)[:STARTS]]]


@functools.cache
def _points_of_prior(dimensions: int) -> FloatArray:
    """Return points over the prior of the top, the mean slope and the background."""
    grid = np.stack(np.meshgrid(_TOPS, _SLOPES, _BACKGROUNDS), axis=-1).reshape(-1, 3)
    points = np.zeros((len(grid), dimensions))
    points[:, [0, 1, -1]] = grid
    return points


def _climb(
    curve: CalibrationCurve, labels: GroupLabels, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the modes of the posterior that starts lead to, and the log-posterior there.

    By scoring steps, damped where they do not climb (Levenberg and Marquardt), side by side.

    Args:
        curve: the curve.
        labels: its labels.
        start: shape (n, dimensions).
    """
    z, height = start.copy(), curve.at(start).log_posterior(labels)
    gradient, information = np.empty_like(z), np.empty((*z.shape, z.shape[1]))
    damping = np.full(len(z), 1e-3)
    going = moved = np.arange(len(z))
    for _ in range(_MOST_STEPS):
        here = curve.at(z[moved])
        gradient[moved], information[moved] = here.gradient(labels), here.information(labels)
        diagonal = np.einsum("nii->ni", information[going]) * damping[going, None]
        damped = information[going] + diagonal[:, :, None] * np.eye(z.shape[1])
        step = np.linalg.solve(damped, gradient[going, :, None])[:, :, 0]
        step *= np.minimum(1, 3 / np.maximum(np.linalg.norm(step, axis=1), 1e-300))[:, None]
        higher = curve.at(z[going] + step).log_posterior(labels)
        rises = higher >= height[going]
        gained = higher[rises] - height[going[rises]]
        moved, missed = going[rises], going[~rises]
        z[moved] += step[rises]
        height[moved] = higher[rises]
        damping[moved] = np.maximum(damping[moved] / 5, 1e-6)
        damping[missed] = 10 * damping[missed] + 1e-3
        moved = moved[gained >= 1e-4]
        going = np.concatenate([moved, missed])
        if not len(going):
            break
    return z, height


def _ends(x: FloatArray, count: IntArray) -> tuple[float, float]:
    """Return the ends of the curve: it must not hang on a few rows far from all others."""
    order = np.argsort(x)
    rows = np.cumsum(count[order])
    low = x[order][np.searchsorted(rows, _TRIM * rows[-1])]
    downward = order[::-1]
    positives = np.cumsum(count[downward] * scipy.special.expit(x[downward]))
    reached = np.searchsorted(positives, _TRIM * positives[-1])
    reached = min(reached, np.searchsorted(np.cumsum(count[downward]), _MOST_TRIMMED, "right"))
    high = x[downward][reached]
    return (float(high), float(low)) if high > low else (float(x.max()), float(x.min()))


@functools.cache
def _step_root() -> FloatArray:
    """Return the root of the covariance of the steps, shape (J, J)."""
    apart = np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS)))
    covariance = np.exp(-_STEP_DECAY * apart) + 1e-9 * np.eye(STEPS)
    return np.asarray(_STEP_SPREAD * np.linalg.cholesky(covariance))
