"""Joint confidence regions of several measures, and simultaneous bands of a curve.

References:
    [MR] N. G. Marchant and B. I. P. Rubinstein, *Needle in a Haystack: Label-Efficient
    Evaluation under Extreme Class Imbalance*, KDD 2021.
    V. Chernozhukov, D. Chetverikov and K. Kato, *Gaussian approximations and multiplier
    bootstrap for maxima of sums of high-dimensional random vectors*, Annals of Statistics 41,
    2013.
"""

import dataclasses
import math

import numpy as np
import scipy

from evalsampling.stats.arrays import BoolArray, FloatArray

_ROUNDING = 1e-7
"""Share of the value below which a standard error is rounding error and taken for 0.

Variances are computed to 16 digits, so their roots to 8."""

_COLLINEAR = 1e-10
"""Eigenvalue of the correlation matrix below which it is rounding error and taken for 0."""

_ENTRIES_AT_A_TIME = 1 << 21
"""Multipliers and sums held at a time by the bootstrap: 16 MB."""

_NEAR = 1e-9
"""Rounding error allowed between a component and its ends, as a share of its size."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ellipsoid:
    """A confidence region: the G with d' covariance^-1 d <= radius, and low <= G <= high.

    d is G - centre. The inverse of a singular covariance is its pseudo-inverse on its range.
    Off that range the projections alone bound the region: measures that are functions of each
    other, as F1 of precision and recall, lie on a curved surface that the range only touches. With
    a covariance of zero the region is its centre, which says only that the data show no variance.

    Attributes:
        centre: the estimate, shape (k,).
        covariance: covariance of the estimate, shape (k, k).
        radius: greatest squared Mahalanobis distance; infinite if the draws allow no claim.
        confidence: level of the region, in (0, 1).
    """

    centre: FloatArray
    covariance: FloatArray
    radius: float
    confidence: float

    @property
    def low(self) -> FloatArray:
        """Lower ends of the projections, shape (k,)."""
        return self.centre - self._reach

    @property
    def high(self) -> FloatArray:
        """Upper ends of the projections, shape (k,)."""
        return self.centre + self._reach

    @property
    def _reach(self) -> FloatArray:
        """Half-widths of the projections, shape (k,)."""
        error = _errors(self.centre, self.covariance)
        varies: BoolArray = error > 0
        return np.multiply(error, math.sqrt(self.radius), out=np.zeros(len(error)), where=varies)

    def contains(self, point: FloatArray) -> bool:
        """Tell whether a point, shape (k,), is in the region; a point with a NaN never is."""
        slack = _NEAR * np.maximum(np.abs(self.centre), 1.0)
        if not np.all((self.low - slack <= point) & (point <= self.high + slack)):
            return False
        scale, directions, variances = _principal(self.centre, self.covariance)
        along = ((point - self.centre) / scale) @ directions
        return bool((along**2 / variances).sum() <= self.radius)


def f_ellipsoid(
    value: FloatArray, covariance: FloatArray, draws: int, confidence: float
) -> Ellipsoid:
    """Return the region whose radius allows for an estimated covariance ([MR] section 3).

    The source has (G* - G^)' S^-1 (G* - G^) <= (N - 1) k / (N (N - k)) F with S = N x covariance
    and F the quantile of F_{k, N-k}, k the rank; for the covariance of the estimate the radius is
    hence (N - 1) k / (N - k) F, infinite with N <= k. It is exact for the mean of N normal terms
    (Hotelling's T^2); for k = 1 it is the Student interval with N - 1 degrees of freedom.
    """
    if not (np.isfinite(value).all() and np.isfinite(covariance).all()):
        raise ValueError("a region needs finite values and covariances")
    rank = len(_principal(value, covariance)[2])
    radius, spare = math.inf if rank else 0.0, draws - rank
    if rank and spare > 0:
        quantile = float(scipy.special.fdtri(rank, spare, confidence))
        radius = (draws - 1) * rank / spare * quantile
    return Ellipsoid(value, covariance, radius, confidence)


@dataclasses.dataclass(frozen=True)
class Bands:
    """Simultaneous confidence bands, which contain the whole curve with the given confidence."""

    low: FloatArray
    high: FloatArray
    # (m,): components with a standard error and a value between the bounds; the band of every other
    # one is the whole range
    claimed: BoolArray
    critical: float  # standard errors from the value to either end, on the scale of the bands


def simultaneous_bands(
    value: FloatArray,
    contributions: FloatArray,
    confidence: float,
    bounds: tuple[FloatArray | float, FloatArray | float],
    generator: np.random.Generator,
    replicates: int = 1000,
) -> Bands:
    """Return simultaneous bands of a curve, by the Gaussian multiplier bootstrap.

    The ends are those of logit(value) +- c standard_error / (value (1 - value)), mapped back (for
    bounds 0 and 1; plain value +- c standard_error without bounds): near a bound, where much of a
    curve lies, errors are skewed, and a plain band would end at the bound.

    With contributions psi_j that add up to the error, c is the quantile over xi ~ N(0, 1) of max_i
    |sum_j xi_j psi_ji| / s_i, s_i^2 = sum_j psi_ji^2 (Chernozhukov et al., section 3), and never
    below the quantile for a single component.

    `contributions`: shape (n, m): weighted and centred, so that psi' psi is the covariance.
    `bounds`: least and greatest value of each component, shape (m,), or of all.
    `replicates`: number of bootstrap replicates, at least 1 / (1 - confidence).
    """
    error = np.sqrt(np.einsum("ji,ji->i", contributions, contributions))
    claimed = np.isfinite(value) & np.isfinite(error) & (error > _ROUNDING * np.abs(value))
    low, high = (np.array(np.broadcast_to(b, value.shape), dtype=np.float64) for b in bounds)
    claimed &= (value > low) & (value < high)
    value, error = value[claimed], error[claimed]
    terms = contributions[:, claimed]
    terms /= error
    peaks = _peaks(terms, generator, replicates)
    single = float(scipy.special.ndtri((1 + confidence) / 2))
    critical = max(float(np.quantile(peaks, confidence, method="higher")), single)
    ends = _on_logits(value, error, critical, low[claimed], high[claimed])
    low[claimed], high[claimed] = ends
    return Bands(low, high, claimed, critical)


def _on_logits(
    value: FloatArray, error: FloatArray, critical: float, least: FloatArray, greatest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of bands on logits, or without bounds on the plain scale: (m,) each."""
    is_bounded = np.isfinite(greatest - least)
    start, width = np.where(is_bounded, least, 0.0), np.where(is_bounded, greatest - least, 1.0)
    share = np.where(is_bounded, (value - start) / width, 0.5)
    centre, reach = scipy.special.logit(share), critical * error / (width * share * (1 - share))
    low, high = (
        np.where(is_bounded, start + width * scipy.special.expit(centre + side * reach),
                 value + side * critical * error)
        for side in (-1, 1)
    )  # fmt: skip
    return low, high


def _peaks(terms: FloatArray, generator: np.random.Generator, replicates: int) -> FloatArray:
    """Return the greatest |sum_j xi_j terms_ji| over i of each replicate of xi."""
    rows, components = terms.shape
    peaks = np.empty(replicates)
    step = max(_ENTRIES_AT_A_TIME // (rows + components + 1), 1)
    for start in range(0, replicates, step):
        block = peaks[start : start + step]
        sums = generator.standard_normal((len(block), rows)) @ terms
        block[:] = np.abs(sums).max(axis=1, initial=0.0)
    return peaks


def _principal(
    centre: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return scale, principal directions and variances of a correlation, without those of 0.

    Of shape (k,), 1 without variance; (k, rank), orthonormal; and (rank,).
    """
    error = _errors(centre, covariance)
    varies = error > 0
    scale = np.where(varies, error, 1.0)
    correlation = covariance / np.outer(scale, scale) * np.outer(varies, varies)
    variances, directions = np.linalg.eigh(correlation)
    kept = variances > _COLLINEAR
    return scale, directions[:, kept], variances[kept]


def _errors(centre: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return the standard errors of the components, shape (k,), 0 where they are rounding error."""
    error: FloatArray = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.asarray(np.where(error > _ROUNDING * np.abs(centre), error, 0.0))
