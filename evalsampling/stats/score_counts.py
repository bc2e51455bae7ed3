"""Mergeable counts of scores in bins whose width does not depend on outliers."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray, summed
from evalsampling.stats.histogram import (
    MagnitudeHistogram,
    ScoreHistogram,
    dyadic_exponent,
    dyadic_floor,
)

EXTREMES = 32
"""Distinct scores that are counted singly at either end."""

_STRETCH = 3
"""How often outliers may double the bins' width before they are binned by themselves."""


@dataclasses.dataclass(frozen=True)
class ScoreBins:
    """Bins that hold rows, ascending: bin i has the scores in [lower_ends[i], upper_ends[i])."""

    lower_ends: FloatArray  # (bins,)
    upper_ends: FloatArray  # (bins,): none above the next lower end
    counts: IntArray  # (bins,): rows, at least 1
    minimum: float  # least score
    maximum: float  # greatest score
    # no bin reaches over a multiple of 2^exponent; None if each distinct score has its own bin
    exponent: int | None = None

    def of_one_width(self) -> "ScoreBins":
        """Return the bins joined to dyadic ones of width 2^exponent."""
        if self.exponent is None:
            return self
        floor = dyadic_floor(self.lower_ends, self.exponent)
        lower, first = np.unique(floor, return_index=True)
        with np.errstate(over="ignore"):
            upper = lower + math.ldexp(1.0, self.exponent)
            upper = np.maximum(upper, np.nextafter(lower, np.inf))
        counts = np.add.reduceat(self.counts, first)
        return dataclasses.replace(self, lower_ends=lower, upper_ends=upper, counts=counts)


@dataclasses.dataclass(frozen=True)
class ScoreCounts:
    """Counts of a pool's scores: the least and greatest distinct ones singly, others in bins.

    A score among the `EXTREMES` least or greatest distinct ones of a pool is so in each part that
    has it. So parts merge exactly, and any sharding of a pool gives the same counts. All others
    are counted twice: in bins of one width, and in bins that are narrow near zero.
    """

    extreme: FloatArray  # (values,), ascending, distinct: at most 2 x `EXTREMES`
    extreme_rows: IntArray  # (values,): rows of each
    bulk: ScoreHistogram  # all other scores; empty unless there are 2 x `EXTREMES` extremes
    near: MagnitudeHistogram  # the same scores

    @classmethod
    def zero(cls, limit: int) -> "ScoreCounts":
        """Return the counts of no scores, to be binned in at most ``limit`` bins."""
        near = MagnitudeHistogram.zero(limit)
        return cls(np.zeros(0), np.zeros(0, dtype=np.int64), ScoreHistogram(limit), near)

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.floating], limit: int) -> "ScoreCounts":
        """Return the counts of scores, shape (n,), finite; float32 ones at their float64 values."""
        if not len(scores):
            return cls.zero(limit)
        low, high = _bounds(scores)
        inner = (scores > low) & (scores < high)
        others = scores[inner]
        values, rows = np.unique(scores[~inner], return_counts=True)
        return cls._of(
            [ScoreHistogram.from_scores(others, limit)],
            [MagnitudeHistogram.from_scores(others, limit)],
            values.astype(np.float64) + 0.0,
            rows.astype(np.int64),
        )

    def __add__(self, other: "ScoreCounts") -> "ScoreCounts":
        """Return the counts of both pools together."""
        values, rows = summed(
            np.concatenate([self.extreme, other.extreme]),
            np.concatenate([self.extreme_rows, other.extreme_rows]),
        )
        return self._of([self.bulk, other.bulk], [self.near, other.near], values, rows)

    @classmethod
    def _of(
        cls,
        bulk: Sequence[ScoreHistogram],
        near: Sequence[MagnitudeHistogram],
        values: FloatArray,
        rows: IntArray,
    ) -> "ScoreCounts":
        """Return the counts of the scores of histograms, and of distinct ascending ones with rows.

        All extremes are among the latter.
        """
        inner = slice(EXTREMES, max(len(values) - EXTREMES, EXTREMES))
        outer = np.ones(len(values), dtype=bool)
        outer[inner] = False
        limit = bulk[0].limit
        others = values[inner], rows[inner]
        return cls(
            values[outer],
            rows[outer],
            ScoreHistogram.gathered(limit, bulk, *others),
            MagnitudeHistogram.gathered(limit, near, *others),
        )

    @property
    def rows(self) -> int:
        """Number of scores counted."""
        return int(self.extreme_rows.sum()) + self.bulk.rows

    def bins(self, limit: int | None = None) -> ScoreBins:
        """Return bins that tell ranks apart on any scale of scores: at most some 5 x ``limit``.

        Extremes have bins of their own. Others are parted by the dyadic ends of at most ``limit``
        bins of one width, and near zero by those of limit / 1,024 bins between powers of two. The
        exponent of `ScoreBins` is that of one width over the range of scores; where extremes
        stretch that range to more than eight times that of the others, it follows from the others.
        """
        limit = self.bulk.limit if limit is None else limit
        if not self.rows:
            raise ValueError("no scores to bin")
        minimum, maximum = float(self.extreme[0]), float(self.extreme[-1])
        with np.errstate(over="ignore"):  # Beyond the greatest number there is infinity.
            above = np.nextafter(self.extreme, np.inf)
        if not self.bulk.rows:
            return ScoreBins(self.extreme, above, self.extreme_rows, minimum, maximum)
        bulk = ScoreHistogram.gathered(limit, [self.bulk])
        histograms = bulk, MagnitudeHistogram.gathered(limit, [self.near])
        ends = np.unique(np.concatenate([each.lower_ends for each in histograms]))
        ends = np.append(bulk.minimum, ends[ends > bulk.minimum])
        # Where its bins end a histogram tells how many rows are below, elsewhere how many at least.
        below = np.max([_rows_below(each, ends) for each in histograms], axis=0)
        counts = np.diff(below, append=bulk.rows)
        filled = counts > 0
        upper = np.append(ends[1:], np.nextafter(bulk.maximum, np.inf))
        exponent = dyadic_exponent(minimum, maximum, limit)
        if exponent - bulk.exponent > _STRETCH:
            exponent = bulk.exponent

        def every(extreme: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([extreme[:EXTREMES], others[filled], extreme[EXTREMES:]])

        return ScoreBins(
            lower_ends=every(self.extreme, ends),
            upper_ends=every(above, upper),
            counts=every(self.extreme_rows, counts),
            minimum=minimum,
            maximum=maximum,
            exponent=exponent,
        )


def _rows_below(histogram: ScoreHistogram | MagnitudeHistogram, ends: FloatArray) -> IntArray:
    """Return how many rows a histogram has in the bins below that of each end, shape (n,)."""
    below = np.append(0, np.cumsum(histogram.counts))
    return below[np.searchsorted(histogram.lower_ends, ends, side="right") - 1]


def _bounds(scores: npt.NDArray[np.floating]) -> tuple[np.floating, np.floating]:
    """Return two of the scores, shape (n,), n at least 1, with no extreme strictly between them.

    The `EXTREMES` least scores of a sample are scores of the whole, so at least as many extremes
    are no greater; likewise the greatest. Only scores outside the bounds have to be sorted.
    """
    # As many rows are sampled as are then expected outside; odd steps hit even and odd places.
    step = math.isqrt(len(scores) // (2 * EXTREMES)) | 1
    distinct = np.unique(scores[::step])
    place = min(EXTREMES, len(distinct))
    return distinct[place - 1], distinct[-place]
