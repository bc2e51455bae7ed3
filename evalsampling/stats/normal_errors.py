"""Four errors that stand for those of a normal prediction.

They are so many standard deviations from it, with the chances of a distribution that has the normal
one's mean, variance, mean absolute deviation and fourth moment. So what is expected of the squared
loss, of its square and of the absolute loss is exact.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import optimize

FloatArray = npt.NDArray[np.float64]


def _four_points() -> tuple[FloatArray, FloatArray]:
    """Return the errors -b, -a, a, b, in standard deviations, and their chances.

    |error| has the mean sqrt(2 / pi), the mean square 1 and the mean fourth power 3.
    """
    mean = math.sqrt(2 / math.pi)
    spread = math.sqrt(1 - mean**2)

    def points(near: float) -> tuple[float, float]:
        ratio = math.sqrt(near / (1 - near))
        return mean - spread / ratio, mean + spread * ratio

    def excess(near: float) -> float:
        a, b = points(near)
        return near * a**4 + (1 - near) * b**4 - 3

    near = float(optimize.brentq(excess, 0.5, 0.99, xtol=1e-15))
    a, b = points(near)
    far = 1 - near
    return np.array([-b, -a, a, b]), np.array([far, near, near, far]) / 2


ERRORS, CHANCES = _four_points()
"""The errors in standard deviations, by the codes of `spec.numbers.EXPECTED`, and their chances."""
