"""Calibration curves: the rate of positives as a function of the score, fitted to labels.

Which row of a cell gets a label does not depend on its label, so the likelihood of the labels needs
no weights, whatever design chose the rows.

References:
    docs/studies/calibrated-trials.md describes the models tried before this one, with results.
"""

import dataclasses
import functools

import numpy as np
import scipy

from evalsampling.inference.curve_coordinates import STEPS, Coordinates, fallen
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray, IntArray, distinct_rows
from evalsampling.stats.hamiltonian import Schedule, climb, hamiltonian, nested_r_hat
from evalsampling.stats.log_odds import log_odds_of_rank

PREDICTION_SPREAD = 5.0
"""Standard deviation of the effect, in log-odds, of a prediction that the score does not explain.

It is large: a second system's prediction may be as informative as the score."""

_LEAST = 1e-300
"""Least rate whose logarithm is taken."""

_LOWEST = -700.0
"""Least log-odds in a likelihood: the odds are finite, and the rate is below `_LEAST`."""

STARTS = 4
"""Number of different starting points of climbs to the mode, and of groups of chains."""

_CUTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
_SLOPES = (-3.0, -2.0, -1.0, 0.0, 1.0)
_BACKGROUNDS = (-2.0, 0.0, 2.0)
"""Possible starting points of climbs, in standard deviations of the prior."""

_FAR_BELOW = 10.0
"""Log-density below the highest mode at which the posterior mass of a mode is negligible."""

HIDDEN = HiddenPrior()
"""The default prior of hidden positives (reasons: docs/studies/calibrated-trials.md)."""

SCHEDULE = Schedule()
"""The default length and number of chains."""


@dataclasses.dataclass(frozen=True)
class CalibrationCurve:
    """The model of a calibration curve: log-odds over the rank of the score, and a background.

    x is the log-odds of the share of the rows that are ranked lower, so only the order of the
    scores matters.

    Over J equal steps of x from the top down, eta_j = eta_{j-1} - exp(b + s_j) dx, s a stationary
    Gaussian process; between the steps it is linear, and a at the cut, above which there are as
    many rows as are predicted positive. The rate of a cell is
    p = (m + sigma) / (1 + m), sigma = expit(eta(x) + effects), the odds m of the background being
    rho times the pool's mean of sigma (1 - sigma), the overlap of the classes: where scores
    separate them, few positives hide. A prior relative to positives takes the mean of sigma
    instead. Nothing depends on the pool's size.
    a, b, s, log rho and the effects are normal, so the parameters z are standard normal ones.
    """

    # (cells,): group of each cell; cells at the same place on the curve with the same effects form
    # a group
    group: IntArray
    # (groups, J + 1): weight of each corner of the curve in the log-odds of a group
    weight: FloatArray
    share: FloatArray  # (groups,): share of the pool's rows
    # (groups, effects): shift of the log-odds of a group by one standard deviation of each effect
    effect: FloatArray
    step: float  # dx
    cut: float  # place of the cut in steps from the top, in [0, J]
    hidden: HiddenPrior = HIDDEN  # prior of rho

    @classmethod
    def from_cells(
        cls,
        probability: FloatArray,
        count: IntArray,
        predicted: float,
        effect: FloatArray | None = None,
        hidden: HiddenPrior = HIDDEN,
    ) -> "CalibrationCurve":
        """Return the model of the curve of a pool, before any label.

        `probability`: shape (cells,): prior probability of a positive; only its order matters.
        `predicted`: number of rows that are predicted positive; of several systems, their mean.
        `effect`: shape (cells, effects): shift of the log-odds by one standard deviation of each.
        """
        x = log_odds_of_rank(probability, count)
        share = count / count.sum()
        step = max(np.ptp(x) / STEPS, 1e-9)
        place = (x.max() - x) / step
        effects = [] if effect is None else [effect]
        if not np.ptp(x):  # Without an order there is no cut: the level may be any.
            effects.append(np.full((len(x), 1), PREDICTION_SPREAD))
        places = np.column_stack([place, *effects])
        first, group = distinct_rows(places)
        key = places[first]
        at = key[:, 0]
        corner = np.minimum(at.astype(np.int64), STEPS - 1)
        weight = np.zeros((len(key), STEPS + 1))
        each = np.arange(len(key))
        weight[each, corner] = 1 - (at - corner)
        weight[each, corner + 1] = at - corner
        rows_of: FloatArray = np.bincount(group, share).astype(np.float64)
        rows = int(count.sum())
        above = min(max(predicted, 0.5), rows - 0.5)
        cut = float(np.clip((x.max() - np.log(rows / above - 1)) / step, 0, STEPS))
        return cls(group, weight, rows_of, key[:, 1:], step, cut, hidden)

    @property
    def corner(self) -> IntArray:
        """The corner nearest to each cell, shape (cells,), 0 to J from the top."""
        return np.argmax(self.weight, axis=1)[self.group]

    @property
    def dimensions(self) -> int:
        """Number of parameters: a, b, s, the effects and log rho."""
        return 3 + STEPS + self.effect.shape[1]

    def fit(self, labelled: IntArray, positive: IntArray) -> "CurveFit":
        """Return the posterior near its mode, given labelled and positive rows of each cell."""
        labels = GroupLabels.from_cells(self, labelled, positive)
        start = _starts(self, labels)
        z, height, information = climb(lambda z: PosteriorAt(self.at(z), labels), start)
        best = int(np.argmax(height))
        modes = z[height > height[best] - _FAR_BELOW]
        return CurveFit(self, labels, z[best], information[best], float(height[best]), modes)

    def at(self, x: FloatArray, coordinates: Coordinates | None = None) -> "CurvesAt":
        """Return the curves at coordinates x, shape (draws, dimensions), by default parameters."""
        return CurvesAt(self, x, coordinates or self.coordinates)

    @functools.cached_property
    def design(self) -> FloatArray:
        """Coefficients of corners and effects in the log-odds: (groups, J + 1 + effects)."""
        return np.concatenate([self.weight, self.effect], axis=1)

    @functools.cached_property
    def against(self) -> FloatArray:
        """The transpose of `design`, negated: (J + 1 + effects, groups)."""
        return np.ascontiguousarray(-self.design.T)

    @functools.cached_property
    def coordinates(self) -> Coordinates:
        """The coordinate system whose coordinates are the parameters themselves."""
        return Coordinates.of_parameters(self.effect.shape[1], self.step, self.hidden)

    @functools.cached_property
    def fallen(self) -> FloatArray:
        """Coefficients of the falls in corners and effects, shape (J, J + 1 + effects)."""
        return fallen(self.cut, self.effect.shape[1])


@dataclasses.dataclass(frozen=True)
class GroupLabels:
    """Numbers of labels in the n groups of a curve that have labels."""

    group: IntArray  # (n,): indices of these groups
    positive: FloatArray  # (n,): number of positive labels
    negative: FloatArray  # (n,): number of negative labels
    negative_everywhere: FloatArray  # (groups,): number of negative labels of all groups
    design: FloatArray  # (n, J + 1 + effects): `CalibrationCurve.design` of these groups

    @classmethod
    def from_cells(
        cls, curve: CalibrationCurve, labelled: IntArray, positive: IntArray
    ) -> "GroupLabels":
        """Return the numbers of labels by group, given the numbers by cell, shape (cells,) each."""
        groups = len(curve.share)
        rows: FloatArray = np.bincount(curve.group, labelled, groups).astype(np.float64)
        hits: FloatArray = np.bincount(curve.group, positive, groups).astype(np.float64)
        group, misses = np.flatnonzero(rows), rows - hits
        return cls(group, hits[group], misses[group], misses, curve.design[group])

    @functools.cached_property
    def met(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The groups with labelled positives, the number in each, and its row of the design."""
        some = self.positive > 0
        return self.group[some], self.positive[some], self.design[some]

    @functools.cached_property
    def rows(self) -> float:
        """The number of labels in all groups."""
        return float(self.positive.sum() + self.negative.sum())


class CurvesAt:
    """Curves at some parameters, (draws, dimensions), with what all uses share.

    Of each draw there are the `falls` of the log-odds over each step, (draws, J), and the `ratio`
    rho; of each group, (draws, groups), `odds_against`, minus eta, the rate `sigma` by the curve
    without the background, its complement `rest` and the product of both, the `overlap`; over all
    rows of the pool the `reference`, the mean of the overlap, or of sigma if the prior is relative
    to positives, and the odds m of the `background`.
    """

    def __init__(self, curve: CalibrationCurve, x: FloatArray, coordinates: Coordinates) -> None:
        """Work the curves out."""
        self.curve, self.x, self.coordinates = curve, x, coordinates
        linear = x @ coordinates.linear
        linear += coordinates.constant
        positive = np.minimum(linear[:, : STEPS + 1], coordinates.ceiling)
        np.exp(positive, out=positive)
        self.falls, self.ratio = positive[:, :STEPS], positive[:, STEPS]
        terms = self.falls @ curve.fallen
        terms += linear[:, STEPS + 1 :]
        against = terms @ curve.against
        if not against.max() <= -_LOWEST:  # also if not a number; the test is faster than the cut
            np.minimum(against, -_LOWEST, out=against)
        sigma = np.exp(against)  # far faster than scipy's expit
        sigma += 1
        np.divide(1, sigma, out=sigma)
        self.odds_against, self.sigma, self.rest = against, sigma, 1 - sigma
        self.overlap = sigma * self.rest
        over = sigma if curve.hidden.relative_to == "positives" else self.overlap
        self.reference = over @ curve.share
        self.background = self.ratio * self.reference

    @functools.cached_property
    def z(self) -> FloatArray:
        """The parameters, shape (draws, dimensions)."""
        return self.coordinates.parameters(self.x)

    def reference_slope(self, factor: FloatArray) -> FloatArray:
        """Return the gradient of the reference by the log-odds, times a factor of each draw."""
        slope = factor[:, None] * self.curve.share
        slope *= self.overlap
        if self.curve.hidden.relative_to != "positives":
            slope *= self.rest - self.sigma
        return slope

    @functools.cached_property
    def rates(self) -> FloatArray:
        """The rate of positives in each group, shape (draws, groups)."""
        background = self.background[:, None]
        rates = background + self.sigma
        return np.divide(rates, 1 + background, out=rates)

    def through(self, of_terms: FloatArray, of_log_ratio: FloatArray) -> FloatArray:
        """Return the gradient by coordinates, from that by corners and effects and by log rho."""
        of_linear = np.empty((len(self.x), len(self.coordinates.constant)))
        of_linear[:, STEPS + 1 :] = of_terms
        of_linear[:, STEPS] = of_log_ratio
        np.multiply(of_terms @ self.curve.fallen.T, self.falls, out=of_linear[:, :STEPS])
        return of_linear @ self.coordinates.linear.T


@dataclasses.dataclass(frozen=True)
class PosteriorAt:
    """The posterior density of some parameters given labels, up to a constant."""

    curves: CurvesAt
    labels: GroupLabels

    @functools.cached_property
    def log_likelihood(self) -> FloatArray:
        """The log-likelihood of the labels, shape (draws,)."""
        # log p = log(m + sigma) - log(1 + m), log(1 - p) = log(1 - sigma) - log(1 + m).
        curves, labels = self.curves, self.labels
        sigma = curves.sigma.take(labels.group, axis=1)
        miss = curves.odds_against.take(labels.group, axis=1)
        miss += np.log(sigma, out=sigma)
        both = np.log(self._hit) @ labels.met[1] + miss @ labels.negative
        return np.asarray(both - labels.rows * np.log1p(curves.background))

    @functools.cached_property
    def logarithm(self) -> FloatArray:
        """The sum of log-likelihood and log-prior, shape (draws,)."""
        return self.log_likelihood - np.einsum("ij,ij->i", self.curves.z, self.curves.z) / 2

    @functools.cached_property
    def gradient(self) -> FloatArray:
        """The gradient of the logarithm by the coordinates, shape (draws, dimensions)."""
        curves, labels = self.curves, self.labels
        met, positive, design = labels.met
        by_hit = positive / self._hit
        of_background = np.add.reduce(by_hit, axis=1) - labels.rows / (1 + curves.background)
        by_hit *= curves.overlap.take(met, axis=1)
        of_log_odds = curves.reference_slope(of_background * curves.ratio)
        of_log_odds -= labels.negative_everywhere * curves.sigma
        of_terms = of_log_odds @ curves.curve.design
        of_terms += by_hit @ design
        gradient = curves.through(of_terms, of_background * curves.background)
        gradient += curves.coordinates.prior_gradient(curves.x)
        return gradient

    @functools.cached_property
    def information(self) -> FloatArray:
        """The Fisher information of labels and prior, of coordinates that are the parameters."""
        curves, labels = self.curves, self.labels
        kept, linear = labels.group, curves.coordinates.linear
        slope, direct = linear[:, :STEPS], linear[:, STEPS + 1 :]
        of_terms = direct + (slope * curves.falls[:, None]) @ curves.curve.fallen
        slope = labels.design @ np.swapaxes(of_terms, 1, 2)
        of_reference = curves.reference_slope(curves.ratio) @ curves.curve.design
        of_background = curves.through(of_reference, curves.background)
        odds, up = 1 + curves.background[:, None], curves.sigma.take(kept, axis=1)
        rate = np.maximum(up + curves.background[:, None], _LEAST) / odds
        rest = (1 - up) / odds
        # The rate's derivative by its complement, which may be 0: up slope + of_background / odds.
        weight = np.sqrt((labels.positive + labels.negative) * rest / rate)
        slope *= (up * weight)[:, :, None]
        slope += weight[:, :, None] * (of_background / odds)[:, None]
        information = np.swapaxes(slope, 1, 2) @ slope
        information += np.eye(information.shape[2])  # that of the prior
        return information

    @functools.cached_property
    def _hit(self) -> FloatArray:
        """The sum m + sigma in the groups with labelled positives, shape (draws, such groups)."""
        hit = self.curves.sigma.take(self.labels.met[0], axis=1)
        hit += self.curves.background[:, None]
        return np.maximum(hit, _LEAST, out=hit)


@dataclasses.dataclass(frozen=True)
class CurveFit:
    """The posterior of the parameters of a curve near its mode."""

    curve: CalibrationCurve
    labels: GroupLabels
    mode: FloatArray  # (dimensions,): the parameters of greatest posterior density
    information: FloatArray  # Fisher information of labels and prior at the mode
    height: float  # log-likelihood plus log-prior at the mode, up to a constant
    # (n, dimensions): end points of the climbs from different starts, without those far below the
    # mode; they are mostly equal
    modes: FloatArray

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of the log-probability of the labels, up to a constant."""
        return self.height - float(np.log(self._axes[0]).sum()) / 2

    @property
    def at_mode(self) -> "CurveDraws":
        """The curve at the mode, as a single draw."""
        return CurveDraws(self.curve.at(self.mode[None]))

    @functools.cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of the information, which is at least that of the prior."""
        values, vectors = np.linalg.eigh(self.information)
        return np.maximum(values, 1.0), vectors

    def draw(self, rng: np.random.Generator, schedule: Schedule = SCHEDULE) -> "CurveDraws":
        """Return draws from the posterior of the parameters, by Hamiltonian Monte Carlo.

        The coordinates make the posterior near its mode standard normal, by the symmetric root of
        the information: it is the same on all machines, the signs of eigenvectors are not. Each of
        `STARTS` groups of chains begins at one of `modes`, so that R-hat shows if they do not mix.
        """
        values, vectors = self._axes
        root = vectors / np.sqrt(values) @ vectors.T
        scaled = self.curve.coordinates.around(self.mode, root)

        def density(u: FloatArray) -> PosteriorAt:
            return PosteriorAt(self.curve.at(u, scaled), self.labels)

        near = self.modes[np.arange(STARTS) % len(self.modes)] - self.mode
        from_mode = near @ (vectors * np.sqrt(values) @ vectors.T)
        start = np.repeat(from_mode, schedule.chains // STARTS, axis=0)
        u = hamiltonian(density, start, schedule, rng)
        drawn = self.curve.at(self.mode + u @ root)
        positives = np.log(drawn.rates @ self.curve.share)
        by_start = positives.reshape(schedule.kept, STARTS, -1)
        return CurveDraws(drawn, nested_r_hat(np.moveaxis(by_start, 0, 2)))


@dataclasses.dataclass(frozen=True)
class CurveDraws:
    """Draws from the posterior of a curve."""

    drawn: CurvesAt
    # how far chains from different starts disagree on the number of positives: nested R-hat of its
    # logarithm, 1 if they agree (`stats.hamiltonian`)
    r_hat: float = 1.0

    @property
    def curve(self) -> CalibrationCurve:
        """The model of the curve."""
        return self.drawn.curve

    @property
    def z(self) -> FloatArray:
        """The drawn parameters, shape (draws, dimensions)."""
        return self.drawn.z

    def thinned(self, most: int) -> "CurveDraws":
        """Return a limited number of the draws, evenly apart: at most `most`."""
        if len(self.z) <= most:
            return self
        chosen = np.arange(most) * len(self.z) // most
        return CurveDraws(self.curve.at(self.z[chosen]), self.r_hat)

    def weights(self, share: float) -> FloatArray:
        """Return importance weights of draws under another prior share: (draws,), at most 1."""
        hidden = self.curve.hidden
        log_weight = np.log(share / hidden.share) / hidden.spread * self.z[:, -1]
        return np.asarray(np.exp(log_weight - log_weight.max()))

    def with_share(self, share: float, rng: np.random.Generator) -> "CurveDraws":
        """Return as many draws under another prior share of hidden positives, by resampling.

        A draw's copies are in proportion to its weight (systematic resampling); its rates stay.
        """
        old = self.curve.hidden
        reached = np.cumsum(self.weights(share))
        at = (np.arange(len(reached)) + rng.random()) / len(reached) * reached[-1]
        z = self.z[np.searchsorted(reached, at, side="right")]
        z[:, -1] -= np.log(share / old.share) / old.spread  # rho is as it was
        hidden = old.with_share(share)
        return CurveDraws(dataclasses.replace(self.curve, hidden=hidden).at(z), self.r_hat)

    def rates(self) -> FloatArray:
        """Return the rate of positives in each cell, shape (draws, cells), in [0, 1]."""
        return self.drawn.rates[:, self.curve.group]

    @property
    def hidden_ratio(self) -> FloatArray:
        """The positives of the background divided by those of the curve, shape (draws,)."""
        return self.drawn.ratio * self._reference_ratio

    def prior_ratio(self, level: float) -> float:
        """Return a prior quantile of `hidden_ratio`, at the drawn curves' median reference."""
        hidden = self.curve.hidden
        quantile = hidden.share * np.exp(hidden.spread * scipy.special.ndtri(level))
        return float(quantile * np.median(self._reference_ratio))

    @property
    def _reference_ratio(self) -> FloatArray:
        """The reference of the background divided by the curve's positives, shape (draws,)."""
        return self.drawn.reference / (self.drawn.sigma @ self.curve.share)


def _starts(curve: CalibrationCurve, labels: GroupLabels) -> FloatArray:
    """Return the starting points of climbs to the mode, shape (`STARTS`, dimensions).

    They are the points of highest posterior density on a grid over the prior of the cut, the mean
    slope and the background, each with another cut or slope: from the prior mean, where most rates
    may be 0 or 1, no step would find the mode.
    """
    grid = np.stack(np.meshgrid(_CUTS, _SLOPES, _BACKGROUNDS), axis=-1).reshape(-1, 3)
    points = np.zeros((len(grid), curve.dimensions))
    points[:, [0, 1, -1]] = grid
    order = np.argsort(-PosteriorAt(curve.at(points), labels).logarithm)
    first, _ = distinct_rows(points[order, :2])
    return points[order[np.sort(first)[:STARTS]]]
