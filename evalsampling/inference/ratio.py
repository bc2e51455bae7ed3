"""What the estimates of the ratio estimator of [Y] carry beside those of every sampler.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithms 1 and 2.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.intervals import beta
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.results import Estimate

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class RatioOptions:
    """How a sampler's estimates are made and completed.

    Attributes:
        beta: whether the Beta interval stands beside the others.
        correct_bias: whether the bias is subtracted.
    """

    beta: bool = False
    correct_bias: bool = False

    def corrected(self, value: FloatArray, biases: Sequence[Bias | None]) -> FloatArray:
        """Return values, shape (m,), less their biases, if these are to be subtracted."""
        if not self.correct_bias:
            return value
        return value - np.array([0.0 if one is None else one.total for one in biases])

    def completed(
        self,
        estimates: Sequence[Estimate],
        errors: Sequence[float],
        biases: Sequence[Bias | None],
    ) -> list[Estimate]:
        """Return estimates with the bias of each and the Beta interval, if it is wanted.

        Args:
            estimates: of the components of one measure.
            errors: of each, what the Beta interval is made with: `delta_method.cautious_errors`.
            biases: of each, None where it is not known.
        """
        completed = []
        for one, error, bias in zip(estimates, errors, biases, strict=True):
            intervals = one.intervals
            known = one.value is not None and one.standard_error
            if self.beta and known and one.target.bounds == (0.0, 1.0):
                assert one.value is not None
                found = beta(one.value, error, one.confidence)
                intervals = (*intervals, found)
            completed.append(dataclasses.replace(one, intervals=intervals, bias=bias))
        return completed


PLAIN = RatioOptions()
"""What most samplers do."""
