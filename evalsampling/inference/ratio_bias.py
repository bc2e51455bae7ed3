"""The bias of a ratio of two weighted means, to second order.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 9 and 24; W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 6.8.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.inference.sample import WeightedSample

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class RatioBias:
    """The estimated bias of x^ / y^ to second order: -S_xy / y^2 + x S_yy / y^3.

    [Y] stops at the first term. The second one is as large: of precision the two cancel.

    Attributes:
        covariance_term: -S_xy / y^2, that of [Y] eq. 9 and, of a Poisson sample, eq. 24.
        variance_term: x S_yy / y^3.
    """

    covariance_term: float
    variance_term: float

    @property
    def total(self) -> float:
        """The bias: what a correction subtracts."""
        return self.covariance_term + self.variance_term

    def as_json(self) -> dict[str, float]:
        """Return the object that stands for it in `estimate --json`."""
        return {**dataclasses.asdict(self), "total": self.total}


def ratio_bias(loss: FloatArray, sample: WeightedSample) -> RatioBias | None:
    """Return the bias of the ratio of the weighted means of two columns; None if it is undefined.

    Args:
        loss: shape (n, 2): f and g of the rows of the sample.
        sample: n rows with their weights.
    """
    x, y = sample.mean(loss)
    if y == 0 or not sample.draws:
        return None
    covariance = sample.covariance(loss)
    return RatioBias(
        covariance_term=float(-covariance[0, 1] / y**2),
        variance_term=float(x * covariance[1, 1] / y**3),
    )
