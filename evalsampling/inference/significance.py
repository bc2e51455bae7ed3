"""Tests of whether two systems differ, their power and the number of draws they need.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, sections 3.2.1
    and 5.1. Equation 3.24 prints a one-sided probability; the two-sided one is meant.
"""

import bisect
import dataclasses
import math

import numpy as np
import scipy


@dataclasses.dataclass(frozen=True)
class Significance:
    """The results of tests of whether one system is better than another."""

    # two-sided p-value of the hypothesis that both systems are equal. It goes with the first
    # interval: it is at most 1 - confidence if and only if that leaves out what equal systems have.
    # Valid for a single look at a sample size fixed before. None if the labels allow no claim
    p_value: float | None
    # p-value that is valid after every draw (`inference.anytime`); None if no such test was made
    anytime_p_value: float | None = None
    # probability that the first system's value is the greater of the two, plus half the probability
    # of a tie, where the model of the labels stands in front: 1 - p / 2 or p / 2; None of a test by
    # the design alone
    chance_above: float | None = None
    # degrees of freedom of the standard error, None without a standard error
    degrees: float | None = None

    @classmethod
    def known(cls, value: float, null: float) -> "Significance":
        """Return the test results of a difference that is known without error."""
        p_value = 1.0 if value == null else 0.0
        return cls(p_value, p_value, float(value > null) + float(value == null) / 2)


def two_sided_p_value(statistic: float, degrees: float = math.inf) -> float:
    """Return the two-sided p-value P(|T| > |t|) (eq. 3.24), T normal or Student's."""
    return float(2 * scipy.special.stdtr(degrees, -abs(statistic)))


def power(
    effect: float, deviation: float, draws: float, alpha: float, degrees: float = math.inf
) -> float:
    """Return the probability that a two-sided test rejects (eq. 5.3, 5.4, in closed form).

    It is 1 - Phi(z - mu) + Phi(-z - mu) with mu = sqrt(n) effect / deviation, the deviation that of
    a single draw. For Student's test the noncentral t distribution replaces the normal, as if
    contributions of draws were normal.
    """
    location = math.sqrt(draws) * abs(effect) / deviation
    if math.isinf(degrees):
        reach = float(scipy.special.ndtri(1 - alpha / 2))
        return float(scipy.special.ndtr(location - reach) + scipy.special.ndtr(-location - reach))
    reach = float(scipy.special.stdtrit(degrees, 1 - alpha / 2))
    below, lower = (scipy.special.nctdtr(degrees, location, end) for end in (reach, -reach))
    return float(1 - np.nan_to_num(below) + np.nan_to_num(lower))  # NaN far out, next to 0


def required_draws(effect: float, deviation: float, wanted: float, alpha: float) -> float:
    """Return the draws that give a two-sided normal test a power: (z + z_wanted)^2 (s / e)^2."""
    reach = float(scipy.special.ndtri(1 - alpha / 2) + scipy.special.ndtri(wanted))
    return (reach * deviation / effect) ** 2


def required_draws_of_student(effect: float, deviation: float, wanted: float, alpha: float) -> int:
    """Return the least number of draws with which Student's test has a power; at least 2."""
    few = max(math.floor(required_draws(effect, deviation, wanted, alpha)), 2)
    many = few
    while power(effect, deviation, many, alpha, many - 1) < wanted:
        few, many = many + 1, 2 * many
    return few + bisect.bisect_left(
        range(few, many), wanted, key=lambda n: power(effect, deviation, n, alpha, n - 1)
    )
