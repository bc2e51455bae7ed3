"""Mergeable histograms of scores whose result does not depend on how the pool was cut."""

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray, summed

_FINEST = -1000
"""Exponent of the finest bins, for a pool whose scores are all zero."""

_NO_VALUES, _NO_ROWS = np.zeros(0), np.zeros(0, dtype=np.int64)

_MANTISSA = 52
"""Bits of the mantissa of float64 that are stored."""

_POWERS = 1 << 10
"""Powers of two that share as many bins as a histogram with one width has."""

_ROWS_AT_A_TIME = 1 << 15
"""Scores counted at a time: the numbers of their bins stay in the cache."""


@dataclasses.dataclass(frozen=True)
class ScoreHistogram:
    """Counts of scores in dyadic bins: bin i holds the scores in [i 2^e, (i + 1) 2^e).

    The exponent e is the smallest for which the bins from the least to the greatest score are
    no more than ``limit`` (and for which bin numbers are exact in float64). It depends on the
    two extreme scores alone and only grows as they move apart, so merging halves resolutions
    exactly and any sharding of a pool gives the same histogram.
    """

    # most bins between the extreme scores, at least 2, one on either side of zero; more than half
    # of it are used
    limit: int
    minimum: float = math.inf  # least score seen, +inf for none
    maximum: float = -math.inf  # greatest score seen, -inf for none
    exponent: int = _FINEST  # e, the binary logarithm of the bins' width
    first: int = 0  # number i of the first bin
    # (bins,), int64: rows a bin
    counts: IntArray = dataclasses.field(default_factory=_NO_ROWS.copy)

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.floating], limit: int) -> "ScoreHistogram":
        """Return the histogram of scores."""
        if not len(scores):
            return cls(limit)
        # Zeros without a sign: which zero comes first depends on how the pool was cut.
        made = _spanning(float(scores.min()) + 0.0, float(scores.max()) + 0.0, limit)
        _count(made.counts, made.first, scores, lambda part: dyadic_bins(part, made.exponent))
        return made

    @classmethod
    def gathered(
        cls,
        limit: int,
        parts: Sequence["ScoreHistogram"],
        values: FloatArray = _NO_VALUES,
        rows: IntArray = _NO_ROWS,
    ) -> "ScoreHistogram":
        """Return the histogram of all scores of parts with limits no smaller, and of others.

        These are ascending, shape (n,), each with its rows, at least 1.
        """
        held = [part for part in parts if len(part.counts)]
        if len(held) == 1 and held[0].limit == limit and not len(values):
            return held[0]
        ends = [end for part in held for end in (part.minimum, part.maximum)]
        ends += [float(value) + 0.0 for value in (*values[:1], *values[-1:])]
        if not ends:
            return cls(limit)
        made = _spanning(min(ends), max(ends), limit)
        for part in held:
            bins = (part.first + np.arange(len(part.counts))) >> (made.exponent - part.exponent)
            np.add.at(made.counts, bins - made.first, part.counts)
        np.add.at(made.counts, dyadic_bins(values, made.exponent) - made.first, rows)
        return made

    def __add__(self, other: "ScoreHistogram") -> "ScoreHistogram":
        """Return the histogram of both pools together."""
        return self.gathered(self.limit, (self, other))

    @property
    def rows(self) -> int:
        """Number of scores counted."""
        return int(self.counts.sum())

    @property
    def lower_ends(self) -> FloatArray:
        """Lower ends of the bins, shape (bins,)."""
        numbers = self.first + np.arange(len(self.counts), dtype=np.float64)
        return np.ldexp(numbers, self.exponent)


@dataclasses.dataclass(frozen=True)
class MagnitudeHistogram:
    """Counts of scores in bins by the leading bits of float64: narrow where scores are near zero.

    Between any power of two and the next there are as many bins, of equal width: limit / 1,024,
    rounded down to a power of two, and at least 1. They do not depend on the scores, so parts
    merge exactly.
    """

    shift: int  # trailing bits left out
    # (bins,): numbers of the bins that hold scores, ascending
    bins: IntArray = dataclasses.field(default_factory=_NO_ROWS.copy)
    counts: IntArray = dataclasses.field(default_factory=_NO_ROWS.copy)  # (bins,): rows a bin

    @classmethod
    def zero(cls, limit: int) -> "MagnitudeHistogram":
        """Return the histogram of no scores."""
        return cls(_MANTISSA - max(limit // _POWERS, 1).bit_length() + 1)

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.floating], limit: int) -> "MagnitudeHistogram":
        """Return the histogram of scores, shape (n,), finite."""
        made = cls.zero(limit)
        if not len(scores):
            return made
        ends = np.array([scores.min(), scores.max()])
        first, last = float_order(ends, made.shift).tolist()
        counts = np.zeros(last - first + 1, dtype=np.int64)
        _count(counts, first, scores, lambda part: float_order(part, made.shift))
        filled = np.flatnonzero(counts)
        return cls(made.shift, first + filled, counts[filled])

    @classmethod
    def gathered(
        cls,
        limit: int,
        parts: Sequence["MagnitudeHistogram"],
        values: FloatArray = _NO_VALUES,
        rows: IntArray = _NO_ROWS,
    ) -> "MagnitudeHistogram":
        """Return the histogram of all scores of parts with limits no smaller, and of others.

        These are shape (n,), each with its rows, at least 1.
        """
        made = cls.zero(limit)
        every = [part.bins >> (made.shift - part.shift) for part in parts]
        every.append(float_order(values, made.shift))
        counts = np.concatenate([*(part.counts for part in parts), rows])
        return cls(made.shift, *summed(np.concatenate(every), counts))

    @property
    def lower_ends(self) -> FloatArray:
        """Lower ends of the bins, shape (bins,)."""
        order = self.bins << self.shift
        return np.copysign(np.abs(order).view(np.float64), order) + 0.0


def _count(
    counts: IntArray,
    first: int,
    scores: npt.NDArray[np.floating],
    bins_of: Callable[[npt.NDArray[np.floating]], IntArray],
) -> None:
    """Add scores to the counts of the bins from the first one on."""
    for begin in range(0, len(scores), _ROWS_AT_A_TIME):
        bins = bins_of(scores[begin : begin + _ROWS_AT_A_TIME])
        bins -= first
        np.add.at(counts, bins, 1)


def float_order(scores: npt.NDArray[np.floating], shift: int) -> IntArray:
    """Return integers in the order of finite scores, shape (n,): float64 without trailing bits.

    Scores with the same integer lie between two that have no other bits, the lower one included.
    """
    bits = np.add(scores, 0.0, dtype=np.float64).view(np.int64)  # -0.0 + 0.0 is 0.0
    # Negative numbers have a bit for the sign and the bits of their amount, which runs the wrong
    # way: minus that amount takes their place.
    bits ^= (bits >> 63) & np.iinfo(np.int64).max
    bits -= bits >> 63
    bits >>= shift
    return bits


def _spanning(minimum: float, maximum: float, limit: int) -> ScoreHistogram:
    """Return a histogram with the bins between two scores, in which nothing is counted yet."""
    exponent = dyadic_exponent(minimum, maximum, limit)
    first = _bin(minimum, exponent)
    counts = np.zeros(_bin(maximum, exponent) - first + 1, dtype=np.int64)
    return ScoreHistogram(limit, minimum, maximum, exponent, first, counts)


def dyadic_bins(scores: npt.NDArray[np.floating], exponent: int) -> IntArray:
    """Return the bin of width 2^exponent of each score: floor(score / 2^exponent), exactly.

    Quotients are below 2^53, float32 scores their float64 values, exponents in [-1000, 1024].
    """
    # float64 has 2^-e, so the product rounds like the quotient, and only if it underflows.
    quotients = np.multiply(scores, math.ldexp(1.0, -exponent), dtype=np.float64)
    np.floor(quotients, out=quotients)
    bins = quotients.astype(np.int64)
    if exponent > 0:
        bins[(bins == 0) & (scores < 0)] = -1  # so close to 0 that the quotient underflows
    return bins


def dyadic_floor(scores: FloatArray, exponent: int) -> FloatArray:
    """Return the greatest multiple of 2^exponent at or below each score, shape (n,), exactly."""
    with np.errstate(over="ignore"):
        quotients = np.ldexp(scores, -exponent)
        is_small = np.abs(quotients) < 2.0**52
        floors = np.floor(np.where(is_small, quotients, 0.0))
        floors[(floors == 0) & (scores < 0)] = -1.0  # so close to 0 that the quotient underflows
        return np.where(is_small, np.ldexp(floors, exponent), scores) + 0.0


def dyadic_exponent(minimum: float, maximum: float, limit: int) -> int:
    """Return the smallest exponent with at most ``limit`` bins, of exact numbers, in a range."""
    magnitude = math.frexp(max(abs(minimum), abs(maximum)))[1]
    exponent = max(_FINEST, magnitude - 52)
    spread = maximum - minimum
    if spread > 0:
        exponent = max(exponent, math.frexp(spread / limit)[1] - 1)
    while _bin(maximum, exponent) - _bin(minimum, exponent) >= limit:
        exponent += 1
    return exponent


def _bin(score: float, exponent: int) -> int:
    number = math.floor(math.ldexp(score, -exponent))
    return -1 if score < 0 and number == 0 else number
