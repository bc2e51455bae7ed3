"""Four errors, with probabilities, that stand for the errors of a normal prediction.

They are in units of the standard deviation. Their mean, variance, mean absolute deviation and
fourth moment are those of the normal distribution, so expectations of the squared loss, of its
square and of the absolute loss are exact.
"""

import numpy as np

_NEAR, _FAR = 0.4630138417367114, 1.88302042650581
_CHANCE_NEAR, _CHANCE_FAR = 0.3820883217521819, 0.11791167824781812
"""The only solution such that chances add to 1, and |error| has the mean sqrt(2 / pi), the mean
square 1 and the mean fourth power 3."""

ERRORS = np.array([-_FAR, -_NEAR, _NEAR, _FAR])
CHANCES = np.array([_CHANCE_FAR, _CHANCE_NEAR, _CHANCE_NEAR, _CHANCE_FAR])
"""The errors in standard deviations, by the codes of `spec.numbers.EXPECTED`, and their chances."""
