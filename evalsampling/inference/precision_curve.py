"""The precision at every rank of a list, with bounds that hold together, and what follows from it.

Of N rows, P of them positive, the r ranked first hold c = r p(r) positives; so precision, recall
(the true positive rate) c / P, F1, the false positive rate (r - c) / (N - P), specificity, accuracy
and the gain c are functions of p(r) and p(N), monotone in each ([SX] section 2).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.ranked_list import RankedList

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Guarantee:
    """How far a curve is to be trusted, and what it took.

    Attributes:
        factor: no precision is off by more, up or down; None if nothing is guaranteed.
        confidence: of all ranks together.
        wanted: factor that was asked for, beta (1 + epsilon).
        beta: factor by which a queried precision is off, at most; None if it is unknown.
        height: of the envelope, at most: its upper bound by its lower one.
        queries: ranks that were queried.
        ranks: of these queries.
        draws: answers that each query has, at least, were they spread evenly.
        p_min: least precision that was reckoned with.
        head: rows labelled throughout.
        settled: whether no further question is to be asked.
        warnings: what a reader must know.
    """

    factor: float | None
    confidence: float
    wanted: float
    beta: float | None
    height: float | None
    queries: int
    ranks: tuple[int, ...]
    draws: int | None
    p_min: float | None
    head: int
    settled: bool
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Guarantee":
        """Return the guarantee that an object stands for."""
        lists = {name: tuple(content[name]) for name in ("ranks", "warnings")}
        return cls(**{**content, **lists})

    @property
    def words(self) -> str:
        """What is guaranteed and what it took, in one line."""
        if self.factor is None:
            return "no precision is guaranteed" + " yet" * (not self.settled)
        return (
            f"at every rank the precision is within a factor of {self.factor:.4g}, with confidence "
            f"{self.confidence:g} ({self.queries} queries, the first {self.head:,} ranks labelled)"
        )


@dataclasses.dataclass(frozen=True)
class Bounded:
    """Values of a measure with their bounds, each of shape (groups,); NaN where undefined."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclasses.dataclass(frozen=True)
class PrecisionCurve:
    """Precision at the rank of every group of a ranked list.

    Attributes:
        ranked: the list.
        precision: with bounds that hold at all ranks together, as the guarantee says.
        guarantee: see there.
    """

    ranked: RankedList
    precision: Bounded
    guarantee: Guarantee

    @property
    def rank(self) -> FloatArray:
        """Rows ranked so high or higher, shape (groups,)."""
        return self.ranked.rank.astype(np.float64)

    @property
    def gain(self) -> Bounded:
        """Positives c among the rows ranked so high or higher: the cumulated gain."""
        one, most = self.precision, self.rank
        return Bounded(one.value * most, one.low * most, one.high * most)

    @property
    def recall(self) -> Bounded:
        """C / P: the true positive rate, or sensitivity."""
        return _one_at_last(_share(self.gain, self._positives))

    def f_alpha(self, alpha: float) -> Bounded:
        """C / (alpha r + (1 - alpha) P): precision for alpha of 1, recall for 0."""
        c, p, r = self.gain, self._positives, self.rank
        least = np.maximum(p.low, c.high)  # There are no fewer positives than among the first r.
        mixed = (alpha * r + (1 - alpha) * end for end in (p.value, least, p.high))
        return _share(c, Bounded(*mixed))

    @property
    def f1(self) -> Bounded:
        """2 c / (r + P)."""
        return self.f_alpha(0.5)

    @property
    def false_positive_rate(self) -> Bounded:
        """(r - c) / (N - P)."""
        c, p, r = self.gain, self._positives, self.rank
        rows = self.rank[-1]
        negatives = Bounded(r - c.value, r - c.high, r - c.low)
        of_all = Bounded(rows - p.value, rows - p.high, rows - p.low)
        return _one_at_last(_share(negatives, of_all))

    @property
    def specificity(self) -> Bounded:
        """1 less the false positive rate."""
        rate = self.false_positive_rate
        return Bounded(1 - rate.value, 1 - rate.high, 1 - rate.low)

    @property
    def accuracy(self) -> Bounded:
        """(2 c - P + N - r) / N, of the classifier that calls the first r rows positive."""
        c, p, r, rows = self.gain, self._positives, self.rank, self.rank[-1]
        rest = rows - r
        return Bounded(
            np.clip((2 * c.value - p.value + rest) / rows, 0, 1),
            np.clip((2 * c.low - p.high + rest) / rows, 0, 1),
            np.clip((2 * c.high - p.low + rest) / rows, 0, 1),
        )

    @property
    def _positives(self) -> Bounded:
        """P, of shape (1,)."""
        c = self.gain
        return Bounded(c.value[-1:], c.low[-1:], c.high[-1:])

    def average_precision(self, place: IntArray | None = None) -> Bounded:
        """Return sum_j (recall_j - recall_(j-1)) p_j over groups, each of shape (1,).

        With h_j falling this is sum_j recall_j (h_j - h_(j+1)) for h = p, monotone in the recalls;
        so it is bounded by that of a falling h above p with the greatest recalls, and of one below
        it with the least.

        Args:
            place: groups to sum over, ascending; all if not given.
        """
        kept = np.arange(len(self.ranked)) if place is None else place
        recall, p = self.recall, self.precision
        above = np.maximum.accumulate(p.high[kept][::-1])[::-1]
        below = np.minimum.accumulate(p.low[kept])
        return Bounded(
            _weighted(recall.value[kept], p.value[kept]),
            _weighted(recall.low[kept], below),
            np.minimum(_weighted(recall.high[kept], above), 1.0),
        )

    def roc_area(self, place: IntArray | None = None) -> Bounded:
        """Return the area below the ROC curve, by trapezoids over groups, each of shape (1,).

        With A the area below c over ranks, but for the part (N - r_k) P / 2 of the last trapezoid,
        it is (A + (N - r_k) P / 2 - P^2 / 2) / (P (N - P)). It rises with A. So the bounds are
        its least and its greatest value over P, with the least and the greatest A.

        Args:
            place: groups whose ranks are the corners, ascending; all if not given.
        """
        rows, c, p = float(self.rank[-1]), self.gain, self._positives
        kept = np.arange(len(self.ranked)) if place is None else place
        kept = kept[kept < len(self.ranked) - 1]
        rank = self.rank[kept]
        corners = np.concatenate([[0.0], rank, [rows]])
        reach, last = (corners[2:] - corners[:-2]) / 2, (rows - corners[-2]) / 2
        area = float(c.value[kept] @ reach)
        least = float(np.minimum(c.low[kept], p.high) @ reach)
        most = float(np.minimum(np.minimum(c.high[kept], rank), p.high) @ reach)
        ends = float(p.low[0]), float(p.high[0])
        return Bounded(
            np.array([_area(area, last, rows, float(p.value[0]))]),
            np.array([max(min(_areas(least, last, rows, ends)), 0.0)]),
            np.array([min(max(_areas(most, last, rows, ends)), 1.0)]),
        )

    def cut(self, place: int, rows: int) -> "PrecisionCurve":
        """Return the curve with a group cut in two, its first part of so many rows.

        Of that no more is known than of the groups: it has no fewer positives than the groups
        above it, and no more than with all of its own rows.

        Args:
            place: number of the group.
            rows: at least 1, below those of the group.
        """
        ranked, c = self.ranked, self.gain
        above = [float(end[place - 1]) if place else 0.0 for end in (c.value, c.low, c.high)]
        rest = int(ranked.rows[place]) - rows
        share = rows / int(ranked.rows[place])
        gains = (
            above[0] + share * (float(c.value[place]) - above[0]),
            max(above[1], float(c.low[place]) - rest),
            min(above[2] + rows, float(c.high[place])),
        )
        rank = int(ranked.rank[place]) - rest
        ends = (self.precision.value, self.precision.low, self.precision.high)
        inserted = [
            np.insert(end, place, gain / rank) for end, gain in zip(ends, gains, strict=True)
        ]
        counts = np.insert(ranked.rows, place, rows)
        counts[place + 1] = rest
        finer = RankedList(
            group=ranked.group + (ranked.group > place),
            rows=counts,
            rank=np.insert(ranked.rank, place, rank),
            threshold=np.insert(ranked.threshold, place, ranked.threshold[place]),
            highest=np.insert(ranked.highest, place, ranked.highest[place]),
        )
        return dataclasses.replace(self, ranked=finer, precision=Bounded(*inserted))

    @property
    def measures(self) -> Mapping[str, Bounded]:
        """Every measure of a rank, by its name."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "false_positive_rate": self.false_positive_rate,
            "specificity": self.specificity,
            "accuracy": self.accuracy,
            "gain": self.gain,
        }

    def at(self, rank: float) -> dict[str, float]:
        """Return all measures where the ranks reach ``rank``, as ``name``, ``name.low``, ...

        Rows that share a score share a rank: the rank told is the first that goes as far.

        >>> curve.at(1000)["precision"]  # doctest: +SKIP
        0.91
        """
        group = self.ranked.at_rank(rank)
        told = {
            "rank": int(self.ranked.rank[group]),
            "threshold": float(self.ranked.threshold[group]),
        }
        for name, one in self.measures.items():
            told[name] = float(one.value[group])
            told[f"{name}.low"], told[f"{name}.high"] = (
                float(one.low[group]),
                float(one.high[group]),
            )
        return told


def _share(part: Bounded, whole: Bounded) -> Bounded:
    """Return shares, at most 1: NaN where the value is 0/0.

    An end that is 0/0 is 0 where the value is defined: of a share that is not, nothing is a part.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.minimum(part.value / whole.value, 1.0)
        ends = (part.low / whole.high, part.high / whole.low)
    low, high = (
        np.where(np.isnan(value), np.nan, np.minimum(np.nan_to_num(end, posinf=1.0), 1.0))
        for end in ends
    )
    return Bounded(value, low, high)


def _area(area: float, last: float, rows: float, positives: float) -> float:
    """Return (A + P w - P^2 / 2) / (P (N - P)): NaN without positives or without negatives."""
    if not 0 < positives < rows:
        return np.nan
    return (area + positives * last - positives**2 / 2) / (positives * (rows - positives))


def _areas(area: float, last: float, rows: float, ends: tuple[float, float]) -> list[float]:
    """Return the area where P is at either end, or between them where its slope is nil.

    There P^2 (N / 2 - w) - 2 A P + A N = 0. Where there might be no positives or no negatives it
    may be anything.
    """
    if ends[0] <= 0 or ends[1] >= rows:
        return [0.0, 1.0]
    roots = np.roots([rows / 2 - last, -2 * area, area * rows])
    inner = [float(one.real) for one in roots if one.imag == 0 and ends[0] < one.real < ends[1]]
    return [_area(area, last, rows, one) for one in (*ends, *inner)]


def _one_at_last(share: Bounded) -> Bounded:
    """Return shares of what all ranks together have: 1 at the last rank if they are defined."""
    for end in (share.low, share.high, share.value):
        end[-1] = np.where(np.isnan(share.value[-1]), np.nan, 1.0)
    return share


def _weighted(recall: FloatArray, height: FloatArray) -> FloatArray:
    """Return sum_j (recall_j - recall_(j-1)) height_j, shape (1,)."""
    return np.sum(recall * (height - np.append(height[1:], 0.0)), keepdims=True)
