"""Calibration of design weights to totals that are known for the whole pool.

References:
    J.-C. Deville and C.-E. Särndal, *Calibration estimators in survey sampling*, JASA 87, 1992:
    the linear case, which is the generalized regression estimator.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray

_COLLINEAR = 1e-9
"""Least variation of the auxiliaries in a direction, as a share of the largest, to be used."""


@dataclasses.dataclass(frozen=True)
class CalibratedWeights:
    """Weights under which the weighted sums of the auxiliaries equal their known means.

    Attributes:
        weight: shape (n,): calibrated weights; some may be negative.
        ratio: shape (n,): calibrated weights divided by design weights.
        auxiliary: shape (n, k): the auxiliaries of each row.
        projection: shape (k, n): maps values of the rows to their regression coefficients.
    """

    weight: FloatArray
    ratio: FloatArray
    auxiliary: FloatArray
    projection: FloatArray

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return the residuals of values, shape (n, m), after regression on the auxiliaries.

        They are multiplied by `ratio`: with the design weights they then give the variance of the
        calibrated estimate (Deville and Särndal, eq. 3.4).
        """
        return self.ratio[:, None] * (values - self.auxiliary @ (self.projection @ values))


def calibrate(weight: FloatArray, auxiliary: FloatArray, mean: FloatArray) -> CalibratedWeights:
    """Return weights that reproduce known means and differ as little as possible from the design's.

    They are w_j (1 + (Z - Z^)' T^-1 z_j) with T = sum_j w_j z_j z_j'. Auxiliaries that do not vary
    in the sample cannot be calibrated to and are left out.

    Args:
        weight: shape (n,), n at least 1: design weights whose weighted sums estimate means over
            the pool.
        auxiliary: z, shape (n, k): the auxiliaries of each row.
        mean: Z, shape (k,): means of the auxiliaries over the pool.
    """
    weighted = weight[:, None] * auxiliary
    inverse = np.linalg.pinv(auxiliary.T @ weighted, rcond=_COLLINEAR, hermitian=True)
    projection = inverse @ weighted.T
    ratio = 1 + auxiliary @ (inverse @ (mean - weighted.sum(axis=0)))
    return CalibratedWeights(weight * ratio, ratio, auxiliary, projection)
