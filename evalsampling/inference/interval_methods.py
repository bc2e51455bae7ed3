"""Design-based intervals, by the name of their method.

A method is a function of a `SampledNumber`. It returns an interval, or None if the method does not
apply to the number. Packages add methods of their own as entry points of the group
``evalsampling.interval_methods``; `choice` has the default one.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
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
from evalsampling.stats.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class SampledNumber:
    """The estimate of one number from weighted rows, with its standard error.

    Attributes:
        target: the number.
        value: estimated value, within the bounds.
        error: standard error, at least 0; 0 if it is only rounding error.
        terms: shape (n,): squared contributions of the rows, or clusters, to the error.
        draws: number of draws whose row has a label.
        confidence: confidence of the interval, in (0, 1).
        latest_error: standard error under the latest proposal, None if there is none.
        expected_error: standard error predicted from scores and labels, None if it is unknown.
        units: number of independent terms where rows share clusters; None for the draws.
    """

    target: Target
    value: float
    error: float
    terms: FloatArray
    draws: int
    confidence: float
    latest_error: float | None = None
    expected_error: float | None = None
    units: int | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and greatest possible value, infinite if unbounded."""
        return self.target.bounds

    @property
    def is_share(self) -> bool:
        """Whether the number lies in [0, 1] and has an error."""
        return self.error > 0 and self.bounds == (0.0, 1.0)

    @functools.cached_property
    def degrees(self) -> float:
        """Degrees of freedom of the variance, at least 1."""
        return degrees_of_freedom(self.terms, max(self.units or self.draws, 1))

    @property
    def cautious_error(self) -> float:
        """A standard error that allows for the uncertainty of the estimated one.

        It is multiplied by the ratio of Student's quantile to the normal one, as Korn and Graubard
        do for few degrees of freedom. While rows with large weights have no label it is too small:
        so it is at least `expected_error`.
        """
        level = (1 + self.confidence) / 2
        error = self.error * scipy.special.stdtrit(self.degrees, level) / scipy.special.ndtri(level)
        return max(float(error), self.expected_error or 0.0)


class IntervalMethod(Protocol):
    """A function that returns an interval of a number."""

    def __call__(self, number: SampledNumber) -> Interval | None:
        """Return the interval, None if the method does not apply to the number."""
        ...


def by_korn_graubard(number: SampledNumber) -> Interval | None:
    """Return `korn_graubard`, of shares."""
    if not number.is_share:
        return None
    return korn_graubard(number.value, number.error, number.draws, number.confidence, number.units)


def by_logit(number: SampledNumber) -> Interval | None:
    """Return `logit`, of numbers that have two bounds and are no difference of systems."""
    bounded = bool(np.isfinite(number.bounds).all())
    if not number.error or number.target.against is not None or not bounded:
        return None
    return logit(number.value, number.error, number.confidence, number.bounds)


def by_wilson(number: SampledNumber) -> Interval | None:
    """Return `wilson`, of shares."""
    if not number.is_share:
        return None
    return wilson(number.value, number.error, number.draws, number.confidence, number.units)


def by_log_student(number: SampledNumber) -> Interval | None:
    """Return `log_student`, of positive numbers without an upper bound."""
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
    interval = wald(number.value, number.latest_error, number.confidence, number.bounds)
    return dataclasses.replace(interval, method="wald-latest-proposal")


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
    """Return names of methods, each once."""
    for name in names:
        if name not in BY_NAME:
            raise InputError(f"no interval method {name!r}: there are {', '.join(BY_NAME)}")
    return tuple(dict.fromkeys(names))
