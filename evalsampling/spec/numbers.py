"""Labels that are numbers, as whole codes.

Samplers and estimators know labels as codes. Codes of numbers are far above those of classes; in
place of classes there are four errors that a model expects (`stats.normal_errors`).
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray, IntArray

EXPECTED = ("far below", "below", "above", "far above")
"""The errors that a model expects; their codes are 0 to 3."""

FIRST = 1 << 20
"""Code of the least number of a range."""

STEPS = 1 << 40
"""Steps of a range: a number is stored to one part in 10^12 of it."""


@dataclasses.dataclass(frozen=True)
class NumberRange:
    """The numbers that a label can be.

    Attributes:
        low: the least.
        high: the greatest.
    """

    low: float
    high: float

    @property
    def step(self) -> float:
        """Difference between the numbers of two neighbouring codes."""
        return (self.high - self.low) / STEPS

    @property
    def ends(self) -> tuple[str, str]:
        """The least and the greatest number as text."""
        return _written(self.low), _written(self.high)

    def codes(self, values: FloatArray) -> IntArray:
        """Return the codes of numbers, shape (n,), which may lie outside the range."""
        return FIRST + np.rint((values - self.low) / self.step).astype(np.int64)

    def values(self, codes: IntArray) -> FloatArray:
        """Return the numbers of codes, shape (n,)."""
        return np.asarray(self.low + (codes - FIRST) * self.step, dtype=np.float64)

    def holds(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which numbers lie in the range, shape (n,)."""
        return (values >= self.low) & (values <= self.high)


@dataclasses.dataclass(frozen=True)
class NumberCodes(Mapping[str, int]):
    """The codes of numbers by their texts, in place of a mapping from classes to codes.

    There are too many numbers to list, so iteration yields none.

    Attributes:
        range: the possible numbers.
    """

    range: NumberRange

    def __getitem__(self, text: str) -> int:
        """Return the code of a text.

        Raises:
            KeyError: the text is no number of the range.
        """
        try:
            value = float(text)
        except ValueError:
            raise KeyError(text) from None
        if "_" in text or not self.range.holds(np.array(value)):
            raise KeyError(text)
        return int(self.range.codes(np.array(value)))

    def __iter__(self) -> Iterator[str]:
        """Return an empty iterator: no number is listed."""
        return iter(())

    def __len__(self) -> int:
        """Return 0: no number is listed."""
        return 0

    def __hash__(self) -> int:
        """Return the hash of the range."""
        return hash(self.range)

    @property
    def words(self) -> str:
        """The possible labels, in words."""
        return "the numbers from {} to {}".format(*self.range.ends)

    def text(self, code: int) -> str:
        """Return the text of the number of a code: the shortest that has this code.

        It has as many decimals as a step has, or more where these are not enough.
        """
        decimals = -math.ceil(math.log10(self.range.step))
        value = min(max(float(self.range.values(np.array(code))), self.range.low), self.range.high)
        rounded = round(value, decimals) + 0.0  # no minus before 0
        texts = [f"{rounded:.12g}", *(f"{value:.{digits}g}" for digits in range(13, 18))]
        return next((text for text in texts if self.get(text) == code), texts[-1])


def _written(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def text_of(codes: Mapping[str, int], code: int) -> str:
    """Return the text of a code: of a class, or of a number."""
    return codes.text(code) if isinstance(codes, NumberCodes) else list(codes)[code]


def hold_numbers(label: IntArray) -> bool:
    """Tell whether one of the labels is a number."""
    return bool(np.any(label >= FIRST))
