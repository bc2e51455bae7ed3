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
from evalsampling.stats.score_summary import prior_log_odds
from evalsampling.stats.slice_sampling import Schedule, elliptical_slice

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

_TEMPER = 3.0
"""What the information of labels is divided by in the normal approximation that draws start from.

Its tails are then no lighter than those of the posterior, and no heavier than the prior's."""


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

SCHEDULE_OF_SEVERAL = Schedule(kept=4)
"""How long those of each of several classes run: labels are drawn by all, which takes longer."""


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
        ends = [_climb(self, labels, start) for start in _starts(self, labels)]
        best = max(ends, key=lambda end: end.height)
        modes = [end.z for end in ends if end.height > best.height - _FAR_BELOW]
        return CurveFit(self, labels, best.z, best.information, best.height, np.stack(modes))

    def log_likelihood(self, z: FloatArray, labels: "GroupLabels") -> FloatArray:
        """Return the log-likelihood of labels, of parameters z: (draws, dimensions): (draws,)."""
        log_odds = np.maximum(self.log_odds(z), _LOWEST)
        below = 1 + np.exp(-log_odds)  # 1 / sigma; far faster than scipy's expit and log_expit
        curve = 1 / below
        background = self.background(z, curve)
        # log p = log(m + sigma) - log(1 + m), log(1 - p) = log(1 - sigma) - log(1 + m).
        hit = np.log(np.maximum(curve[:, labels.group] + background[:, None], _LEAST))
        miss = -log_odds[:, labels.group] - np.log(below[:, labels.group])
        both = hit @ labels.positive + miss @ labels.negative
        return np.asarray(both - labels.rows * np.log1p(background))

    def log_odds(self, z: FloatArray) -> FloatArray:
        """Return eta of each group, without the background, shape (draws, groups)."""
        terms = np.empty((len(z), self._design.shape[1]))
        terms[:, 0] = _TOP_SPREAD * z[:, 0]
        terms[:, 1 : STEPS + 1] = terms[:, :1] - np.cumsum(self.falls(z), axis=1)
        terms[:, STEPS + 1 :] = z[:, 2 + STEPS : -1]
        return terms @ self._design.T

    @functools.cached_property
    def _design(self) -> FloatArray:
        """What corners and effects count for in the log-odds: (groups, J + 1 + effects)."""
        return np.concatenate([self.weight, self.effect], axis=1)

    def falls(self, z: FloatArray) -> FloatArray:
        """Return by how much the log-odds fall over each step, shape (draws, J)."""
        log_slope = _SLOPE_SPREAD * z[:, 1:2] + z[:, 2 : 2 + STEPS] @ _step_root().T
        return np.exp(np.minimum(log_slope, 30)) * self.step

    def background(self, z: FloatArray, curve: FloatArray) -> FloatArray:
        """Return the odds m of the background, shape (draws,), given sigma of the groups."""
        return self.ratio(z) * (curve @ self.share)

    def prior_ratio(self, level: float) -> float:
        """Return a quantile of the prior of rho."""
        return float(self.hidden.share * np.exp(self.hidden.spread * scipy.special.ndtri(level)))

    def ratio(self, z: FloatArray) -> FloatArray:
        """Return rho: positives of the background by those of the curve, shape (draws,)."""
        return self.hidden.share * np.exp(self.hidden.spread * z[:, -1])


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

        Chains of elliptical slice sampling; the normal distribution behind their ellipses is about
        the mode, the prior's with a part of the labels' information. They start in `STARTS`
        groups, each at a point near one of `modes`, so that it shows if they do not mix.

        Args:
            rng: source of randomness.
            schedule: how long the chains run.
        """
        values, vectors = self._axes
        root = vectors / np.sqrt(1 + (values - 1) / _TEMPER)

        def log_ratio(u: FloatArray) -> FloatArray:
            z = self.mode + u @ root.T
            normal = np.einsum("ij,ij->i", u, u) - np.einsum("ij,ij->i", z, z)
            return self.curve.log_likelihood(z, self.labels) + normal / 2

        near = self.modes[np.arange(STARTS) % len(self.modes)] - self.mode
        points = near @ np.linalg.inv(root).T + rng.standard_normal(near.shape) / 2
        start = np.repeat(points, schedule.chains // STARTS, axis=0)
        draws = CurveDraws(
            self.curve, self.mode + elliptical_slice(log_ratio, start, schedule, rng) @ root.T
        )
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
        curve = scipy.special.expit(self.curve.log_odds(self.z))
        background = self.curve.background(self.z, curve)[:, None]
        return (background + curve) / (1 + background)

    def rates(self) -> FloatArray:
        """Return the rate of positives in each cell, shape (draws, cells), in [0, 1]."""
        return self.group_rates[:, self.curve.group]

    @property
    def hidden_ratio(self) -> FloatArray:
        """Positives of the background by those of the curve, shape (draws,)."""
        return self.curve.ratio(self.z)


@dataclasses.dataclass(frozen=True)
class _Point:
    """A point of the posterior.

    Attributes:
        z: the parameters.
        height: log posterior, but for a constant.
        gradient: of the height.
        information: Fisher information of labels and prior.
    """

    z: FloatArray
    height: float
    gradient: FloatArray
    information: FloatArray


def _starts(curve: CalibrationCurve, labels: GroupLabels) -> FloatArray:
    """Return where climbs to the mode begin, shape (`STARTS`, dimensions).

    The likeliest of some points over the prior of the top, the mean slope and the background, all
    else being as the prior expects, with those of another top or slope. Where prior probabilities
    reach over many units of log-odds, rates at the middle of the prior are all 0 or 1 but for a
    few: from there alone no step would find the mode.
    """
    points = _points_of_prior(curve.dimensions)
    heights = curve.log_likelihood(points, labels) - np.einsum("ij,ij->i", points, points) / 2
    order = np.argsort(-heights)
    _, first = np.unique(points[order, :2], axis=0, return_index=True)
    return points[order[np.sort(first)[:STARTS]]]


@functools.cache
def _points_of_prior(dimensions: int) -> FloatArray:
    """Return points over the prior of the top, the mean slope and the background."""
    grid = np.stack(np.meshgrid(_TOPS, _SLOPES, _BACKGROUNDS), axis=-1).reshape(-1, 3)
    points = np.zeros((len(grid), dimensions))
    points[:, [0, 1, -1]] = grid
    return points


def _climb(curve: CalibrationCurve, labels: GroupLabels, start: FloatArray) -> _Point:
    """Return the mode of the posterior that a start leads to.

    By scoring steps, damped where they do not climb (Levenberg and Marquardt).
    """
    here, damping = _point(curve, labels, start), 1e-3
    for _ in range(_MOST_STEPS):
        damped = here.information + damping * np.diag(np.diag(here.information))
        step = np.linalg.solve(damped, here.gradient)
        step *= min(1.0, 3 / max(float(np.linalg.norm(step)), 1e-300))
        there = _point(curve, labels, here.z + step)
        if there.height < here.height:
            damping = 10 * damping + 1e-3
            continue
        gained = there.height - here.height
        here, damping = there, max(damping / 5, 1e-6)
        if gained < 1e-4:
            break
    return here


def _point(curve: CalibrationCurve, labels: GroupLabels, z: FloatArray) -> _Point:
    """Return a point of the posterior given labels."""
    at = z[None]
    log_odds = curve.log_odds(at)[0]
    up, down = scipy.special.expit(log_odds), scipy.special.expit(-log_odds)
    corners = np.zeros((STEPS + 1, len(z)))
    corners[:, 0] = _TOP_SPREAD
    lower = -np.tril(np.ones((STEPS, STEPS))) * curve.falls(at)
    corners[1:, 1] = lower.sum(axis=1) * _SLOPE_SPREAD
    corners[1:, 2 : 2 + STEPS] = lower @ _step_root()
    slope = curve.weight @ corners
    slope[:, 2 + STEPS : -1] = curve.effect
    background = float(curve.background(at, up[None])[0])
    of_background = float(curve.ratio(at)[0]) * ((curve.share * up * down) @ slope)
    of_background[-1] += curve.hidden.spread * background
    kept = labels.group
    odds = np.maximum(up[kept] + background, _LEAST)
    rate, rest = odds / (1 + background), down[kept] / (1 + background)
    # The rate's derivative by its complement, which may be 0.
    of_rate = up[kept, None] * slope[kept] + of_background / (1 + background)
    gradient = of_rate.T @ (labels.positive * (rest / rate) - labels.negative) - z
    scaled = of_rate * np.sqrt((labels.positive + labels.negative) * rest / rate)[:, None]
    information = np.eye(len(z)) + scaled.T @ scaled
    height = curve.log_likelihood(at, labels)[0] - z @ z / 2
    return _Point(z, float(height), gradient, information)


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
