"""Mergeable counts of scores in bins whose width does not depend on outliers."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.histogram import ScoreHistogram, dyadic_exponent, dyadic_floor

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


@dataclasses.dataclass(frozen=True)
class ScoreCounts:
    """Counts of a pool's scores: the least and greatest distinct ones singly, others in bins.

    A score among the `EXTREMES` least or greatest distinct ones of a pool is so in each part that
    has it. So parts merge exactly, and any sharding of a pool gives the same counts.
    """

    extreme: FloatArray  # (values,), ascending, distinct: at most 2 x `EXTREMES`
    extreme_rows: IntArray  # (values,): rows of each
    bulk: ScoreHistogram  # all other scores; empty unless there are 2 x `EXTREMES` extremes

    @classmethod
    def zero(cls, limit: int) -> "ScoreCounts":
        """Return the counts of no scores, to be binned in at most ``limit`` bins."""
        return cls(np.zeros(0), np.zeros(0, dtype=np.int64), ScoreHistogram(limit))

    @classmethod
    def from_scores(cls, scores: npt.NDArray[np.floating], limit: int) -> "ScoreCounts":
        """Return the counts of scores, shape (n,), finite; float32 ones at their float64 values."""
        if not len(scores):
            return cls.zero(limit)
        low, high = _bounds(scores)
        inner = (scores > low) & (scores < high)
        bulk = ScoreHistogram.from_scores(scores[inner], limit)
        values, rows = np.unique(scores[~inner], return_counts=True)
        return cls._of([bulk], values.astype(np.float64) + 0.0, rows.astype(np.int64))

    def __add__(self, other: "ScoreCounts") -> "ScoreCounts":
        """Return the counts of both pools together."""
        every = np.concatenate([self.extreme, other.extreme])
        values, place = np.unique(every, return_inverse=True)
        rows = np.zeros(len(values), dtype=np.int64)
        np.add.at(rows, place.ravel(), np.concatenate([self.extreme_rows, other.extreme_rows]))
        return self._of([self.bulk, other.bulk], values, rows)

    @classmethod
    def _of(
        cls, bulk: Sequence[ScoreHistogram], values: FloatArray, rows: IntArray
    ) -> "ScoreCounts":
        """Return the counts of the scores of bulk, and of distinct ascending ones with their rows.

        All extremes are among the latter.
        """
        inner = slice(EXTREMES, max(len(values) - EXTREMES, EXTREMES))
        outer = np.ones(len(values), dtype=bool)
        outer[inner] = False
        limit = bulk[0].limit
        gathered = ScoreHistogram.gathered(limit, bulk, values[inner], rows[inner])
        return cls(values[outer], rows[outer], gathered)

    @property
    def rows(self) -> int:
        """Number of scores counted."""
        return int(self.extreme_rows.sum()) + self.bulk.rows

    def bins(self, limit: int | None = None) -> ScoreBins:
        """Return dyadic bins of one width, at most ``limit`` of them over the range of scores.

        Where extremes stretch that range to more than eight times that of the others, the width
        follows from the others. Few distinct scores are each the lower end of a bin of their own.
        """
        limit = self.bulk.limit if limit is None else limit
        if not self.rows:
            raise ValueError("no scores to bin")
        minimum, maximum = float(self.extreme[0]), float(self.extreme[-1])
        if not self.bulk.rows:
            with np.errstate(over="ignore"):  # Beyond the greatest number there is infinity.
                upper = np.nextafter(self.extreme, np.inf)
            return ScoreBins(self.extreme, upper, self.extreme_rows, minimum, maximum)
        exponent = dyadic_exponent(minimum, maximum, limit)
        bulk = self.bulk.coarsened(limit)
        if exponent - bulk.exponent > _STRETCH:
            exponent = bulk.exponent
        bulk = bulk.widened(exponent)
        filled = bulk.counts > 0
        extreme = dyadic_floor(self.extreme, exponent)
        with np.errstate(over="ignore"):
            upper = extreme + math.ldexp(1.0, exponent)
            upper = np.maximum(upper, np.nextafter(extreme, np.inf))
        lower, first, place = np.unique(
            np.concatenate([extreme, bulk.lower_ends[filled]]),
            return_index=True,
            return_inverse=True,
        )
        counts = np.zeros(len(lower), dtype=np.int64)
        np.add.at(counts, place.ravel(), np.concatenate([self.extreme_rows, bulk.counts[filled]]))
        upper = np.concatenate([upper, bulk.upper_ends[filled]])[first]
        return ScoreBins(lower, upper, counts, minimum, maximum)


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
