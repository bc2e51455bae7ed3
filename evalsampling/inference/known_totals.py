"""Calibration of design weights to totals that are known of the whole pool.

References:
    J.-C. Deville and C.-E. Särndal, *Calibration estimators in survey sampling*, JASA 87, 1992:
    the linear case, which is the generalized regression estimator.
"""

import dataclasses

import numpy as np

from evalsampling.arrays import FloatArray

_COLLINEAR = 1e-9
"""Directions in which the auxiliaries vary less than this, against the largest, are left out."""


@dataclasses.dataclass(frozen=True)
class CalibratedWeights:
    """Weights whose sums of the auxiliaries are the known means.

    Attributes:
        weight: shape (n,): calibrated weights; some may be negative.
        ratio: shape (n,): calibrated over design weights.
        auxiliary: shape (n, k).
        projection: shape (k, n): takes values of the rows to their regression coefficients.
    """

    weight: FloatArray
    ratio: FloatArray
    auxiliary: FloatArray
    projection: FloatArray

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return what is left of values, shape (n, m), after regression on the auxiliaries.

        Times `ratio`, so that design weights and these give the variance of the calibrated
        estimate (Deville and Särndal, eq. 3.4).
        """
        return self.ratio[:, None] * (values - self.auxiliary @ (self.projection @ values))


def calibrate(weight: FloatArray, auxiliary: FloatArray, mean: FloatArray) -> CalibratedWeights:
    """Move weights as little as needed to reproduce known means.

    w_j (1 + (Z - Z^)' T^-1 z_j), T = sum_j w_j z_j z_j'. Auxiliaries that the sample does not
    vary in cannot be calibrated to and are left out.

    Args:
        weight: shape (n,), n at least 1: design weights whose weighted sums estimate means over
            the pool.
        auxiliary: z, shape (n, k).
        mean: Z, shape (k,): means of the auxiliaries over the pool.
    """
    weighted = weight[:, None] * auxiliary
    inverse = np.linalg.pinv(auxiliary.T @ weighted, rcond=_COLLINEAR, hermitian=True)
    projection = inverse @ weighted.T
    ratio = 1 + auxiliary @ (inverse @ (mean - weighted.sum(axis=0)))
    return CalibratedWeights(weight * ratio, ratio, auxiliary, projection)
