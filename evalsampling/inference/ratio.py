"""What the estimates of the ratio estimator of [Y] carry beside those of every sampler.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithms 1 and 2.
"""

import dataclasses
from collections.abc import Sequence

from evalsampling.inference.intervals import beta
from evalsampling.inference.ratio_bias import RatioBias
from evalsampling.inference.results import Estimate


@dataclasses.dataclass(frozen=True)
class RatioOptions:
    """How a sampler's estimates are made and completed.

    Attributes:
        beta: whether the Beta interval stands beside the others.
        correct_bias: whether the bias of a ratio is subtracted.
    """

    beta: bool = False
    correct_bias: bool = False

    def completed(self, estimates: Sequence[Estimate], bias: RatioBias | None) -> list[Estimate]:
        """Return estimates with the bias of each and the Beta interval, if it is wanted.

        Args:
            estimates: of the components of one measure.
            bias: of a ratio of two weighted means, None of any other measure.
        """
        completed = []
        for one in estimates:
            intervals = one.intervals
            known = one.value is not None and one.standard_error
            if self.beta and known and one.target.bounds == (0.0, 1.0):
                assert one.value is not None
                assert one.standard_error is not None
                found = beta(one.value, one.standard_error, one.confidence)
                intervals = (*intervals, found)
            completed.append(dataclasses.replace(one, intervals=intervals, bias=bias))
        return completed


PLAIN = RatioOptions()
"""What most samplers do."""
