"""The rate of positives in every cell: a curve over the scores, learnt from labels.

Which row of a cell gets a label does not depend on its label, so the likelihood of the labels needs
no weights, whatever design chose the rows.

References:
    docs/studies/calibrated-trials.md tells what was tried before this model, and how it did.
"""

import dataclasses
import functools

import numpy as np
import scipy

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.inference.curve_coordinates import STEPS, Coordinates, fallen
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.chains import nested_r_hat
from evalsampling.stats.climbing import climb
from evalsampling.stats.distinct import distinct_rows
from evalsampling.stats.hamiltonian import Schedule, hamiltonian
from evalsampling.stats.score_summary import ends_of_curve, prior_log_odds

_PER_STEP = 6
"""Cells are told apart to so many parts of a step."""

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

HIDDEN = HiddenPrior()
"""The prior unless a spec has its own (docs/studies/calibrated-trials.md tells why)."""

SCHEDULE = Schedule()
"""How long chains run."""


@dataclasses.dataclass(frozen=True)
class CalibrationCurve:
    """A curve of log-odds over the prior log-odds x of cells, and a background.

    Over J equal steps of x from the top down, eta_0 = a, eta_j = eta_{j-1} - exp(b + s_j) dx, s a
    stationary Gaussian process; between the steps it is linear. It is monotone but for the effect
    of being at the top, which may be a dip. The rate of a cell is
    p = (m + sigma) / (1 + m), sigma = expit(eta(x) + effects), the odds m of the background being
    rho times the pool's mean of sigma (1 - sigma), the overlap of the classes: where scores
    separate them, few positives hide. A prior relative to positives takes the mean of sigma in its
    place. Nothing depends on the pool's size.
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
        high, low = ends_of_curve(x, count)
        step = max((high - low) / STEPS, 1e-9)
        place = np.rint(np.clip((high - x) / step, 0, STEPS) * _PER_STEP)
        at_top = _DIP_SPREAD * np.exp(-place / _PER_STEP / _TOP_STEPS)
        effects = [at_top] if effect is None else [_PREDICTION_SPREAD * effect, at_top]
        effect = np.column_stack(effects)
        rows = np.column_stack([place, effect])
        first, group = distinct_rows(rows)
        key = rows[first]
        at = key[:, 0] / _PER_STEP
        corner = np.minimum(at.astype(np.int64), STEPS - 1)
        weight = np.zeros((len(key), STEPS + 1))
        each = np.arange(len(key))
        weight[each, corner] = 1 - (at - corner)
        weight[each, corner + 1] = at - corner
        rows_of: FloatArray = np.bincount(group, share).astype(np.float64)
        return cls(group, weight, rows_of, key[:, 1:], step, hidden)

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
        z, height, information = climb(lambda z: self.at(z).given(labels), _starts(self, labels))
        best = int(np.argmax(height))
        modes = z[height > height[best] - _FAR_BELOW]
        return CurveFit(self, labels, z[best], information[best], float(height[best]), modes)

    def at(self, x: FloatArray, coordinates: Coordinates | None = None) -> "CurvesAt":
        """Return the curves of parameters, shape (draws, dimensions), or of other coordinates."""
        return CurvesAt.from_coordinates(self, x, coordinates or self.coordinates)

    @functools.cached_property
    def design(self) -> FloatArray:
        """What corners and effects count for in the log-odds: (groups, J + 1 + effects)."""
        return np.concatenate([self.weight, self.effect], axis=1)

    @functools.cached_property
    def against(self) -> FloatArray:
        """Minus `design`, the other way round: (J + 1 + effects, groups)."""
        return np.ascontiguousarray(-self.design.T)

    @functools.cached_property
    def coordinates(self) -> Coordinates:
        """The parameters themselves."""
        return Coordinates.of_parameters(self.effect.shape[1], self.step, self.hidden)

    @functools.cached_property
    def fallen(self) -> FloatArray:
        """What falls add to corners and effects, shape (J, J + 1 + effects)."""
        return fallen(self.effect.shape[1])


@dataclasses.dataclass(frozen=True)
class GroupLabels:
    """Labels of the groups of a curve that have any.

    Attributes:
        group: shape (n,).
        positive: shape (n,).
        negative: shape (n,).
        negative_everywhere: shape (groups,): those of all groups.
        design: shape (n, J + 1 + effects): `CalibrationCurve.design` of these groups.
    """

    group: IntArray
    positive: FloatArray
    negative: FloatArray
    negative_everywhere: FloatArray
    design: FloatArray

    @classmethod
    def from_cells(
        cls, curve: CalibrationCurve, labelled: IntArray, positive: IntArray
    ) -> "GroupLabels":
        """Sum the labels of cells, shape (cells,), by group."""
        groups = len(curve.share)
        rows: FloatArray = np.bincount(curve.group, labelled, groups).astype(np.float64)
        hits: FloatArray = np.bincount(curve.group, positive, groups).astype(np.float64)
        group, misses = np.flatnonzero(rows), rows - hits
        return cls(group, hits[group], misses[group], misses, curve.design[group])

    @functools.cached_property
    def met(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Groups with positives, few of those with labels, how many each has, and its design."""
        some = self.positive > 0
        return self.group[some], self.positive[some], self.design[some]

    @functools.cached_property
    def rows(self) -> float:
        """Number of labels."""
        return float(self.positive.sum() + self.negative.sum())


@dataclasses.dataclass(eq=False)
class CurvesAt:
    """Curves of some parameters; what all uses need is worked out at once, for there are many.

    Attributes:
        curve: whose parameters.
        x: shape (draws, dimensions): coordinates of the parameters.
        coordinates: what these are.
        falls: shape (draws, J): by how much the log-odds fall over each step.
        ratio: shape (draws,): rho, positives of the background over what they are relative to.
        odds_against: shape (draws, groups): minus eta, without the background.
        sigma: shape (draws, groups): what the curve alone says of the rate.
        rest: shape (draws, groups): 1 - sigma.
        overlap: shape (draws, groups): sigma (1 - sigma).
        reference: shape (draws,): what the background is relative to, over the rows of the pool.
        background: shape (draws,): the odds m of the background.
    """

    curve: CalibrationCurve
    x: FloatArray
    coordinates: Coordinates
    falls: FloatArray
    ratio: FloatArray
    odds_against: FloatArray
    sigma: FloatArray
    rest: FloatArray
    overlap: FloatArray
    reference: FloatArray
    background: FloatArray

    @classmethod
    def from_coordinates(
        cls, curve: CalibrationCurve, x: FloatArray, coordinates: Coordinates
    ) -> "CurvesAt":
        """Return the curves at coordinates of their parameters, shape (draws, dimensions)."""
        linear = x @ coordinates.linear
        linear += coordinates.constant
        positive = np.minimum(linear[:, : STEPS + 1], coordinates.ceiling)
        np.exp(positive, out=positive)
        falls, ratio = positive[:, :STEPS], positive[:, STEPS]
        terms = falls @ curve.fallen
        terms += linear[:, STEPS + 1 :]
        against = terms @ curve.against
        if not against.max() <= -_LOWEST:  # or not a number; to look is faster than to cut
            np.minimum(against, -_LOWEST, out=against)
        sigma = np.exp(against)  # far faster than scipy's expit
        sigma += 1
        np.divide(1, sigma, out=sigma)
        rest = 1 - sigma
        overlap = sigma * rest
        over = sigma if curve.hidden.relative_to == "positives" else overlap
        reference = over @ curve.share
        background = ratio * reference
        return cls(
            curve,
            x,
            coordinates,
            falls,
            ratio,
            against,
            sigma,
            rest,
            overlap,
            reference,
            background,
        )

    @functools.cached_property
    def z(self) -> FloatArray:
        """The parameters, shape (draws, dimensions)."""
        return self.coordinates.parameters(self.x)

    def reference_slope(self, factor: FloatArray) -> FloatArray:
        """Return the gradient of the reference by the log-odds, times a factor of each draw.

        Args:
            factor: shape (draws,).

        Returns:
            Shape (draws, groups).
        """
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
        """Return a gradient by the coordinates, shape (draws, dimensions).

        Args:
            of_terms: by the log-odds of corners and effects, shape (draws, J + 1 + effects).
            of_log_ratio: by log rho, shape (draws,).
        """
        of_linear = np.empty((len(self.x), len(self.coordinates.constant)))
        of_linear[:, STEPS + 1 :] = of_terms
        of_linear[:, STEPS] = of_log_ratio
        np.multiply(of_terms @ self.curve.fallen.T, self.falls, out=of_linear[:, :STEPS])
        return of_linear @ self.coordinates.linear.T

    def given(self, labels: GroupLabels) -> "PosteriorAt":
        """Return the posterior of labels at these parameters."""
        return PosteriorAt(self, labels)


@dataclasses.dataclass(frozen=True)
class PosteriorAt:
    """The posterior of some parameters given labels, up to a constant.

    Attributes:
        curves: of the parameters.
        labels: given which.
    """

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
        """Log-likelihood and log-prior, shape (draws,)."""
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
        """The Fisher information of labels and prior, (draws, dimensions, dimensions).

        In the parameters as coordinates alone.
        """
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
        np.einsum("nii->ni", information)[...] += 1  # that of the prior
        return information

    @functools.cached_property
    def _hit(self) -> FloatArray:
        """What m + sigma is in the groups with positives, shape (draws, n)."""
        hit = self.curves.sigma.take(self.labels.met[0], axis=1)
        hit += self.curves.background[:, None]
        return np.maximum(hit, _LEAST, out=hit)


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
        return CurveDraws(self.curve.at(self.mode[None]))

    @functools.cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of the information, which is at least that of the prior."""
        values, vectors = np.linalg.eigh(self.information)
        return np.maximum(values, 1.0), vectors

    def draw(self, rng: np.random.Generator, schedule: Schedule = SCHEDULE) -> "CurveDraws":
        """Return draws of the parameters.

        By Hamiltonian Monte Carlo in coordinates in which the posterior near its mode is a
        standard normal one, by the symmetric root of the information: that is the same on all
        machines, while linear algebra chooses the signs of eigenvectors. Chains are in `STARTS`
        groups, each of which begins at one of `modes`, so that it shows if they do not mix.

        Args:
            rng: source of randomness.
            schedule: how long the chains run.
        """
        values, vectors = self._axes
        root = vectors / np.sqrt(values) @ vectors.T

        scaled = self.curve.coordinates.around(self.mode, root)

        def density(u: FloatArray) -> PosteriorAt:
            return self.curve.at(u, scaled).given(self.labels)

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
    """Draws of the parameters of a curve.

    Attributes:
        drawn: the curves.
        r_hat: how far chains from different starts disagree on the number of positives: nested
            R-hat of its logarithm, 1 if they agree (`stats.chains`).
    """

    drawn: CurvesAt
    r_hat: float = 1.0

    @property
    def curve(self) -> CalibrationCurve:
        """Whose parameters."""
        return self.drawn.curve

    @property
    def z(self) -> FloatArray:
        """Parameters, shape (draws, dimensions)."""
        return self.drawn.z

    def thinned(self, most: int) -> "CurveDraws":
        """Return at most so many of the draws, evenly apart."""
        if len(self.z) <= most:
            return self
        return CurveDraws(self.curve.at(self.z[:: -(-len(self.z) // most)]), self.r_hat)

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
        return CurveDraws(dataclasses.replace(self.curve, hidden=hidden).at(z), self.r_hat)

    def rates(self) -> FloatArray:
        """Return the rate of positives in each cell, shape (draws, cells), in [0, 1]."""
        return self.drawn.rates[:, self.curve.group]

    @property
    def hidden_ratio(self) -> FloatArray:
        """Positives of the background over those of the curve, shape (draws,)."""
        return self.drawn.ratio * self._reference_ratio

    def prior_ratio(self, level: float) -> float:
        """Return a quantile of `hidden_ratio` before labels, for the curves that they leave."""
        hidden = self.curve.hidden
        quantile = hidden.share * np.exp(hidden.spread * scipy.special.ndtri(level))
        return float(quantile * np.median(self._reference_ratio))

    @property
    def _reference_ratio(self) -> FloatArray:
        """What the background is relative to over the positives of the curve, shape (draws,)."""
        return self.drawn.reference / (self.drawn.sigma @ self.curve.share)


def _starts(curve: CalibrationCurve, labels: GroupLabels) -> FloatArray:
    """Return where climbs to the mode begin, shape (`STARTS`, dimensions).

    The likeliest of some points over the prior of the top, the mean slope and the background, all
    else being as the prior expects, with those of another top or slope. Where prior probabilities
    reach over many units of log-odds, rates at the middle of the prior are all 0 or 1 but for a
    few: from there alone no step would find the mode.
    """
    points = _points_of_prior(curve.dimensions)
    order = np.argsort(-curve.at(points).given(labels).logarithm)
    first, _ = distinct_rows(points[order, :2])
    return points[order[np.sort(first)[:STARTS]]]


@functools.cache
def _points_of_prior(dimensions: int) -> FloatArray:
    """Return points over the prior of the top, the mean slope and the background."""
    grid = np.stack(np.meshgrid(_TOPS, _SLOPES, _BACKGROUNDS), axis=-1).reshape(-1, 3)
    points = np.zeros((len(grid), dimensions))
    points[:, [0, 1, -1]] = grid
    return points
