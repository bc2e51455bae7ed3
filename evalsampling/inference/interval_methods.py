"""Design-based intervals by name: each method answers of a number that weighted rows have given.

A method is a function of a `SampledNumber`. It returns an interval, or None of a number that it has
none of. Packages add methods of their own as entry points of the group
``evalsampling.interval_methods``; which one stands in front says `policy`.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.errors import InputError
from evalsampling.inference.intervals import (
    Interval,
    beta,
    degrees_of_freedom,
    korn_graubard,
    log_student,
    logit,
    student,
    wald,
    wilson,
)
from evalsampling.inference.results import Target
from evalsampling.parts.registry import Registry

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class SampledNumber:
    """What weighted rows say of one number.

    Attributes:
        target: what it is.
        value: estimate; `policy` cuts it to the bounds before a method sees it.
        error: standard error, at least 0; 0 where it is no more than rounding.
        terms: shape (n,): squared contributions of the rows to it.
        draws: number of independent terms: draws whose row has a label.
        confidence: wanted of an interval, in (0, 1).
        latest_error: the standard error under the latest proposal, None if there is none.
        expected_error: the one that scores and labels make expect, None if that is unknown.
    """

    target: Target
    value: float
    error: float
    terms: FloatArray
    draws: int
    confidence: float
    latest_error: float | None = None
    expected_error: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest value that there can be, infinite where there is none."""
        return self.target.bounds

    @property
    def is_share(self) -> bool:
        """Whether the number lies in [0, 1] and has an error."""
        return self.error > 0 and self.bounds == (0.0, 1.0)

    @functools.cached_property
    def degrees(self) -> float:
        """Degrees of freedom of the variance, at least 1."""
        return degrees_of_freedom(self.terms, max(self.draws, 1))

    @property
    def cautious_error(self) -> float:
        """A standard error that makes up for how little the estimated one rests on.

        Where few rows carry a variance it is itself uncertain: the error is larger by Student's
        quantile over the normal one, as Korn and Graubard have it for few degrees of freedom. And
        where rows that weigh much were not met it is too small: it is no less than the one that
        scores and labels make expect.
        """
        level = (1 + self.confidence) / 2
        error = self.error * scipy.special.stdtrit(self.degrees, level) / scipy.special.ndtri(level)
        return max(float(error), self.expected_error or 0.0)


class IntervalMethod(Protocol):
    """What makes an interval of a number."""

    def __call__(self, number: SampledNumber) -> Interval | None:
        """Return the interval, None of a number that the method has none of."""
        ...


def by_korn_graubard(number: SampledNumber) -> Interval | None:
    """Return `korn_graubard`, of shares."""
    if not number.is_share:
        return None
    return korn_graubard(number.value, number.error, number.draws, number.confidence)


def by_logit(number: SampledNumber) -> Interval | None:
    """Return `logit`, of what has two bounds and is no difference of systems."""
    bounded = bool(np.isfinite(number.bounds).all())
    if not number.error or number.target.against is not None or not bounded:
        return None
    return logit(number.value, number.error, number.confidence, number.bounds)


def by_wilson(number: SampledNumber) -> Interval | None:
    """Return `wilson`, of shares."""
    if not number.is_share:
        return None
    return wilson(number.value, number.error, number.draws, number.confidence)


def by_log_student(number: SampledNumber) -> Interval | None:
    """Return `log_student`, of what is above 0 and has no upper bound."""
    if not number.error or number.bounds != (0.0, np.inf) or number.value <= 0:
        return None
    return log_student(number.value, number.error, number.confidence, number.degrees)


def by_student(number: SampledNumber) -> Interval | None:
    """Return `student`, of every number that has an error."""
    if not number.error:
        return None
    return student(number.value, number.error, number.confidence, number.bounds, number.degrees)


def by_wald(number: SampledNumber) -> Interval | None:
    """Return `wald`, of every number."""
    return wald(number.value, number.error, number.confidence, number.bounds)


def by_latest_proposal(number: SampledNumber) -> Interval | None:
    """Return `wald` with the error under the latest proposal ([MR] section 3), if there is one."""
    if number.latest_error is None:
        return None
    found = wald(number.value, number.latest_error, number.confidence, number.bounds)
    return dataclasses.replace(found, method="wald-latest-proposal")


def by_beta(number: SampledNumber) -> Interval | None:
    """Return `beta` with the cautious error ([Y] section 2.2), of shares."""
    if not number.is_share:
        return None
    return beta(number.value, number.cautious_error, number.confidence)


_OWN = {
    "korn-graubard": "by_korn_graubard",
    "logit": "by_logit",
    "wilson": "by_wilson",
    "log-student": "by_log_student",
    "student": "by_student",
    "wald": "by_wald",
    "wald-latest-proposal": "by_latest_proposal",
    "beta": "by_beta",
}

OWN = tuple(_OWN)
"""Names of our own methods."""

BY_NAME: Registry[IntervalMethod] = Registry(
    "interval_methods",
    {name: f"{__name__}:{function}" for name, function in _OWN.items()},
    f"{__name__}:IntervalMethod",
)
"""All methods: our own, and those of installed packages."""


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of methods, each once.

    Raises:
        InputError: if there is no method of a name.
    """
    for name in names:
        if name not in BY_NAME:
            raise InputError(f"no interval method {name!r}: there are {', '.join(BY_NAME)}")
    return tuple(dict.fromkeys(names))
