"""An interval method: Agresti and Coull's interval of a share."""

import scipy

from evalsampling.inference.interval_methods import SampledNumber
from evalsampling.inference.intervals import Interval


def agresti_coull(number: SampledNumber) -> Interval | None:
    """Return Agresti and Coull's interval with the effective size of the design, of shares."""
    if not number.is_share:
        return None
    z = float(scipy.special.ndtri((1 + number.confidence) / 2))
    size = min(number.value * (1 - number.value) / number.error**2, number.draws)
    centre = (size * number.value + z**2 / 2) / (size + z**2)
    reach = z * (centre * (1 - centre) / (size + z**2)) ** 0.5
    low, high = max(centre - reach, 0.0), min(centre + reach, 1.0)
    return Interval(low, high, "design-based", "agresti-coull")
