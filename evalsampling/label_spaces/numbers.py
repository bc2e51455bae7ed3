"""Labels that are numbers of a range, in small steps.

Samplers and estimators know labels as codes. Codes of numbers are far above those of classes; in
place of classes there are four errors that a model expects. They stand for the errors of a normal
prediction, in units of its standard deviation: their mean, variance, mean absolute deviation and
fourth moment are those of the normal distribution, so expectations of the squared loss, of its
square and of the absolute loss are exact.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import (
    LABEL,
    MEDIAN,
    Codes,
    Columns,
    Field,
    InSpec,
    Keys,
    LabelSpace,
    Named,
    Scores,
    System,
    UnlistedCodes,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

EXPECTED = ("far below", "below", "above", "far above")
"""The errors that a model expects; their codes are 0 to 3."""

_NEAR, _FAR = 0.4630138417367114, 1.88302042650581
_CHANCE_NEAR, _CHANCE_FAR = 0.3820883217521819, 0.11791167824781812
"""The only solution such that chances add to 1, and |error| has the mean sqrt(2 / pi), the mean
square 1 and the mean fourth power 3."""

ERRORS = np.array([-_FAR, -_NEAR, _NEAR, _FAR])
CHANCES = np.array([_CHANCE_FAR, _CHANCE_NEAR, _CHANCE_NEAR, _CHANCE_FAR])
"""The errors in standard deviations, by the codes of `EXPECTED`, and their chances."""

FIRST = 1 << 20
"""Code of the least number of a range."""

STEPS = 1 << 40
"""Steps of a range: a number is stored to one part in 10^12 of it."""

NORMAL = "normal"
"""Rule of probabilities: errors are taken to be normal."""

_FARTHEST = 1e6
"""Ranges of labels from which on a predicted number is taken to be damaged."""


@dataclasses.dataclass(frozen=True)
class Numbers(LabelSpace):
    """The numbers from one to another."""

    kind: ClassVar[str] = "numbers"
    in_spec: ClassVar[InSpec] = InSpec(
        measure="mse",
        sampler="active_risk",
        score="variance",
        system_keys=("variance", "prediction"),
        compared="compared numbers",
        are="labels are numbers",
        refusal="is about classes; with labels.range there are mse, rmse, mae, r2 and mean_error",
    )
    rule: ClassVar[str] = MEDIAN
    has_classes: ClassVar[bool] = False
    positive: ClassVar[int] = 0  # type: ignore[misc]
    needs_columns: ClassVar[bool] = False
    low: float
    high: float

    @classmethod
    def read(cls, labels: Keys) -> Self:
        labels.refuse(
            ("classes", "positive", "multilabel", "meanings"),
            "with labels.range, labels are numbers",
        )
        labels.refuse(
            ("gold", "repeats"),
            "answers are compared with others there, and with labels.range no two numbers need be "
            "the same",
        )
        ends = labels.get("range")
        if not isinstance(ends, list) or len(ends) != 2:
            problem = f"must be the least and the greatest label, got {ends!r}"
            raise InputError(f"labels.range: {problem}")
        low, high = labels.numbers("range")
        if low >= high:
            raise InputError(f"labels.range: must be increasing, got {ends!r}")
        if labels.get("oracle", "deterministic") != "deterministic":
            raise InputError("labels.oracle: numbers come from a deterministic oracle")
        return cls(low, high)

    def to_mapping(self) -> dict[str, Any]:
        return {"range": [self.low, self.high]}

    @property
    def names(self) -> tuple[int | str, ...]:
        """None: annotators write a number."""
        return ()

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        return EXPECTED

    def score(self, pool: Keys, without: bool) -> str | None:
        """Return the column of predictive variances; of several systems there is none."""
        pool.refuse(("score", "probability"), "with labels.range strata are those of pool.variance")
        if without:
            raise InputError(
                "strata.method: kd, or strata.columns: with labels.range strata are those of "
                "pool.variance"
            )
        if pool.get("systems") is None:
            return pool.text("variance") or "variance"
        pool.refuse(["variance"], "with systems, each has a variance of its own")
        return None

    # --- codes and texts

    @property
    def step(self) -> float:
        """Difference between the numbers of two neighbouring codes."""
        return (self.high - self.low) / STEPS

    @property
    def ends(self) -> tuple[str, str]:
        """The least and the greatest number as text."""
        low, high = (repr(float(end)).removesuffix(".0") for end in (self.low, self.high))
        return low, high

    def encode(self, values: FloatArray) -> IntArray:
        """Return the codes of numbers, shape (n,), which may lie outside the range."""
        return FIRST + np.rint((values - self.low) / self.step).astype(np.int64)

    def decode(self, codes: IntArray) -> FloatArray:
        """Return the numbers of codes, shape (n,)."""
        return np.asarray(self.low + (codes - FIRST) * self.step, dtype=np.float64)

    def holds(self, values: FloatArray) -> BoolArray:
        """Return which numbers lie in the range, shape (n,)."""
        return (values >= self.low) & (values <= self.high)

    @functools.cached_property
    def codes(self) -> Mapping[str, int]:
        return UnlistedCodes(self._code)

    def _code(self, text: str) -> int | None:
        try:
            value = float(text)
        except ValueError:
            return None
        if "_" in text or not self.holds(np.array(value)):
            return None
        return int(self.encode(np.array(value)))

    def text(self, code: int) -> str:
        """Return the shortest text of a code, with as many decimals as a step has, or more."""
        decimals = -math.ceil(math.log10(self.step))
        value = min(max(float(self.decode(np.array(code))), self.low), self.high)
        rounded = round(value, decimals) + 0.0  # no minus before 0
        texts = [f"{rounded:.12g}", *(f"{value:.{digits}g}" for digits in range(13, 18))]
        return next((text for text in texts if self.codes.get(text) == code), texts[-1])

    @property
    def words(self) -> str:
        return "the numbers from {} to {}".format(*self.ends)

    def problem(self, text: str) -> str:
        return "label {!r} is no number from {} to {}".format(text, *self.ends)

    def goes_on(self, text: str) -> bool:
        return True

    # --- annotators

    @property
    def field(self) -> Field:
        form = "from {} to {}, with a point before decimals".format(*self.ends)
        return Field("a number", form=form, ends=self.ends)

    # --- columns of a pool

    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
        """Return the codes of the numbers predicted, whose variances stand for scores."""
        assert system.prediction is not None
        assert system.score is not None
        variance = rows.numbers(system.score)
        _check(rows, system.score, variance, variance < 0, "a variance is at least 0, got {}")
        predicted = rows.numbers(system.prediction).astype(np.float64, copy=False)
        far = np.abs(predicted - self.low) > _FARTHEST * (self.high - self.low)
        _check(rows, system.prediction, predicted, far, "{} is too far from labels.range")
        return self.encode(predicted)

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.zeros_like(predictions)

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        return np.tile(CHANCES, (len(rows), 1))

    def prior_rule(self, named: Any, kind: str | None) -> str:
        return NORMAL

    def true_codes(self, rows: Columns) -> IntArray:
        values = rows.numbers(LABEL).astype(np.float64, copy=False)
        words = f"{{}} is not from {self.low:g} to {self.high:g}"
        _check(rows, LABEL, values, ~self.holds(values), words)
        return self.encode(values)


@dataclasses.dataclass(frozen=True)
class ComparedNumbers(Numbers):
    """The numbers from one to another, which several systems predict.

    The label is expected to be of the equal mixture of the systems' predictive distributions. So
    there are four errors for each system: code 4 k + e says that the error of system k is that of
    `ERRORS` number e, and what the errors of the other systems are follows.

    Attributes:
        systems: how many systems, at least 2.
    """

    has_score: ClassVar[bool] = False
    systems: int = 2

    @classmethod
    def of(cls, numbers: Numbers, systems: int) -> Self:
        """Return the same numbers, predicted by several systems."""
        return cls(numbers.low, numbers.high, systems)

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        return tuple(f"{error} {k}" for k in range(self.systems) for error in EXPECTED)

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return the number of systems for each: cells are cut by the order of predictions."""
        return (systems,) * systems

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how many lower numbers the other systems predict, (n, systems); ties are alike."""
        order = np.argsort(predictions, axis=1, kind="stable")
        ascending = np.take_along_axis(predictions, order, axis=1)
        rank = np.zeros_like(order)
        np.cumsum(np.diff(ascending, axis=1) > 0, axis=1, out=rank[:, 1:])
        ranks = np.empty_like(rank)
        np.put_along_axis(ranks, order, rank, axis=1)
        return ranks

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        return np.tile(CHANCES / self.systems, (len(rows), self.systems))

    def own_probabilities(self) -> FloatArray:
        """Return the chances that each system gives the errors, (systems, outcomes)."""
        return np.kron(np.eye(self.systems), CHANCES)

    def mixture(self, systems: tuple[int, ...]) -> FloatArray:
        """Return the chances of the errors under the mixture of some systems, (outcomes,)."""
        return np.asarray(self.own_probabilities()[list(systems)].mean(axis=0))

    # --- positions, in units of the range

    def positions(self, codes: IntArray) -> FloatArray:
        """Return numbers as positions in the range, from -1 to 2: see `stats.disagreement`."""
        return np.clip((codes - FIRST) / STEPS, -1.0, 2.0)

    def codes_at(self, position: FloatArray) -> IntArray:
        """Return the codes of positions, the inverse of `positions`."""
        return FIRST + np.rint(position * STEPS).astype(np.int64)

    def relative(self, variance: FloatArray) -> FloatArray:
        """Return variances in units of the squared range, at most 1."""
        width = self.high - self.low
        return np.minimum(variance / width / width, 1.0)

    def absolute(self, relative: FloatArray) -> FloatArray:
        """Return variances in units of the squared label, the inverse of `relative`."""
        width = self.high - self.low
        return np.asarray(relative * width * width)


def _check(
    rows: Columns, name: str, values: npt.NDArray[np.floating], wrong: BoolArray, words: str
) -> None:
    """Raise the `InputError` of the first wrong value, if there is one."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise rows.error(name, row, words.format(f"{values[row]:g}"))
