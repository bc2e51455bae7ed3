"""Kinds of scores: probabilities, log-odds, or an order; found from sums over a whole pool."""

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.log_odds import expit

PROBABILITY, LOG_ODDS, ORDER = "probability", "log-odds", "order"
CONFIDENCE = "confidence"
"""What scores may be; a confidence is the probability of the class predicted, of two."""

BEYOND = 1e300
"""Stands for an infinite score: such a row is below, or above, all others."""

ROUNDING = 1e-3
"""How far outside [0, 1] a probability may lie: float16 rounds numbers about 1 so."""

FIT = 3.0
"""Log-odds expect at most so many times the rows of each class that are predicted, or so few."""

FIT_ROWS = 3
"""Rows by which these numbers may differ in any case."""

CONTRADICTION = 10.0
"""From this factor between the positives expected and predicted on, a warning says so."""

_COSINES = 1.0
"""Scores that never go beyond it, above or below 0, are no log-odds: all would be near even."""

_ONE = float(1 << 32)
_STEP = float(expit(1.0)) - 0.5
"""Rise of expit from 0 to 1, where the line through both ends is within .007 of it."""

_ROWS_AT_A_TIME = 1 << 15
"""Rows summed at a time: so few stay in the cache, and float64 sums their units exactly."""


@dataclasses.dataclass(frozen=True)
class ScoreSums:
    """Ends of the scores of a pool, and the positives that they expect: a mergeable state."""

    least: float = math.inf  # least score but for infinite ones, +inf for none
    greatest: float = -math.inf  # greatest of these, -inf for none
    rows: int = 0  # number of scores counted
    beyond: int = 0  # those outside [0, 1], but for infinite ones
    # sum of round(2^32 expit(score)), exact in any order; expit is taken for a line from 0 to 1
    units: int = 0
    predicted: int = 0  # rows that the system predicts positive

    @classmethod
    def of(cls, scores: npt.NDArray[np.floating] | None, positive: BoolArray | None) -> "ScoreSums":
        """Return the sums of rows; of None, or without ``positive``, less of them."""
        if scores is None or not len(scores):
            return cls()
        finite, ends = scores, _ends(scores)
        if max(-ends[0], ends[1]) >= BEYOND:
            finite = scores[np.abs(scores) < BEYOND]
            ends = _ends(finite)
        if positive is None:
            return cls(*ends)
        inside = ends[0] >= 0 and ends[1] <= 1 and len(finite) == len(scores)
        units = beyond = 0
        for begin in range(0, len(scores), _ROWS_AT_A_TIME):
            part = scores[begin : begin + _ROWS_AT_A_TIME]
            chance = np.multiply(part, _STEP, dtype=np.float64)
            chance += 0.5
            if not inside:
                outside = (part < 0) | (part > 1)
                chance[outside] = expit(part[outside])
                beyond += int(outside.sum())
            chance *= _ONE
            units += int(np.rint(chance, out=chance).sum())
        beyond -= len(scores) - len(finite)
        return cls(*ends, len(scores), beyond, units, int(positive.sum()))

    def __add__(self, other: "ScoreSums") -> "ScoreSums":
        """Return the sums of both parts of the pool together."""
        return ScoreSums(
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            self.rows + other.rows,
            self.beyond + other.beyond,
            self.units + other.units,
            self.predicted + other.predicted,
        )

    @property
    def ends(self) -> tuple[float, float] | None:
        """Least and greatest score, None for none."""
        return (self.least, self.greatest) if self.least <= self.greatest else None

    @property
    def expected(self) -> float:
        """Rows that are positive if the scores are log-odds."""
        return self.units / _ONE

    @property
    def fits(self) -> bool:
        """Whether log-odds expect about as many rows of each class as are predicted."""
        return fits(self.expected, self.predicted, self.rows)

    @property
    def kind(self) -> str | None:
        """The kind of the scores by themselves; None if they were not counted."""
        if self.ends is None:  # Perhaps all are infinite.
            return None if not self.rows else LOG_ODDS if self.fits else ORDER
        if self.least >= -ROUNDING and self.greatest <= 1 + ROUNDING:
            return PROBABILITY
        if not self.rows:  # Of pools whose ends alone are known.
            return LOG_ODDS
        near = self.least >= -_COSINES and self.greatest <= _COSINES
        both_signs = self.least < 0 < self.greatest
        return LOG_ODDS if self.fits and both_signs and not near else ORDER

    def words(self, column: str, kind: str, stated: bool) -> str:
        """Return a sentence on the kind that scores are taken for, and why; empty if plain."""
        if kind == PROBABILITY and not (stated or self.beyond):
            return ""
        is_one = {
            PROBABILITY: "probabilities",
            LOG_ODDS: "log-odds",
            ORDER: "an order, of which only ranks count",
            CONFIDENCE: "the confidence in the class predicted",
        }[kind]
        text = f"{column!r} is read as {is_one}"
        if stated:
            text += ", as the spec says"
        elif kind == LOG_ODDS and self.rows:
            text += ": the positives that it expects fit those predicted"
        elif kind == ORDER:
            text += f": {self.why_order}"
        if kind == PROBABILITY and self.beyond:
            rows = "1 row" if self.beyond == 1 else f"{self.beyond:,} rows"
            cut = "is cut" if self.beyond == 1 else "are cut"
            text += f"; {rows} outside [0, 1] by rounding {cut} to it"
        return text

    @property
    def why_order(self) -> str:
        """Why the scores are neither probabilities nor log-odds, in words."""
        text = "it is infinite"
        if self.ends is not None:
            text = f"it goes from {self.least:.6g} to {self.greatest:.6g}"
        if self.fits:
            return text
        expected = count_text(self.expected)
        return (
            f"{text}, and as log-odds it would expect {expected} positives where "
            f"{self.predicted:,} are predicted"
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the counts, for JSON, as `from_mapping` takes them; ends may be infinite."""
        return {key: getattr(self, key) for key in ("rows", "beyond", "units", "predicted")}

    @classmethod
    def from_mapping(
        cls, ends: "tuple[float, float] | list[float] | None", counts: dict[str, Any]
    ) -> "ScoreSums":
        """Return the sums with given ends, None for none, and what `to_mapping` returned."""
        return cls(*(ends or (math.inf, -math.inf)), **counts)


def _ends(scores: npt.NDArray[np.floating]) -> tuple[float, float]:
    """Return least and greatest score; +inf and -inf of none."""
    return float(scores.min(initial=math.inf)) + 0.0, float(scores.max(initial=-math.inf)) + 0.0


def count_text(rows: float) -> str:
    """Return an expected number of rows as text."""
    return f"{rows:,.0f}" if rows >= 10 else f"{rows:.2g}"


def fits(expected: float, predicted: float, rows: float) -> bool:
    """Tell whether as many rows of each class are expected as predicted, but for a factor `FIT`."""
    both = (expected, predicted), (rows - expected, rows - predicted)
    return all(max(pair) <= FIT * min(pair) + FIT_ROWS for pair in both)


def contradicts(expected: float, predicted: float) -> bool:
    """Tell whether the positives expected and predicted differ by the factor `CONTRADICTION`."""
    low, high = sorted((max(expected, 1.0), max(predicted, 1.0)))
    return high >= CONTRADICTION * low


def chance_of_order(score: FloatArray, count: IntArray, share: FloatArray) -> float:
    """Return the chance that a positive scores above a negative, ties half; 1/2 without either."""
    _, place = np.unique(score, return_inverse=True)
    positives, negatives = (np.bincount(place, count * part) for part in (share, 1 - share))
    pairs = positives.sum() * negatives.sum()
    below = np.cumsum(negatives) - negatives / 2
    return float(positives @ below / pairs) if pairs else 0.5


def cut_to_probabilities(scores: FloatArray) -> FloatArray:
    """Return probabilities in [0, 1], shape (n,): the very array if nothing lies outside."""
    if len(scores) and (scores.min() < 0 or scores.max() > 1):
        return np.clip(scores, 0.0, 1.0)
    return scores
