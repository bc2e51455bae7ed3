"""The precision at every rank of a list with simultaneous bounds, and measures computed from it.

Of N rows, P of them positive, the r ranked first hold c = r p(r) positives; so precision, recall
(the true positive rate) c / P, F1, the false positive rate (r - c) / (N - P), specificity, accuracy
and the gain c are functions of p(r) and p(N), monotone in each ([SX] section 2).
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.ranked_list import RankedList


@dataclasses.dataclass(frozen=True)
class Guarantee:
    """The guaranteed accuracy of a precision curve, and the labels it took."""

    # greatest factor by which any precision is off, up or down; None if nothing is guaranteed
    factor: float | None
    confidence: float  # simultaneous confidence of all ranks
    wanted: float  # factor requested, beta (1 + epsilon)
    beta: float | None  # greatest factor by which a queried precision is off; None if it is unknown
    height: float | None  # greatest ratio of the upper bound of the envelope to the lower one
    queries: int  # number of queried ranks
    ranks: tuple[int, ...]  # the queried ranks
    draws: int | None  # least number of answers of a query, as if spread evenly over its ranks
    p_min: float | None  # least precision assumed
    head: int  # number of top rows that are all labelled
    settled: bool  # whether no further question is to be asked
    warnings: tuple[str, ...] = ()  # what a reader must know

    @property
    def words(self) -> str:
        """The guarantee and the labels it took, in one line."""
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

    @property
    def ends(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, lower and upper bound."""
        return self.value, self.low, self.high

    def rising(self, function: Callable[[FloatArray], FloatArray]) -> "Bounded":
        """Return a function of the values that rises with them."""
        return Bounded(*map(function, self.ends))

    def falling(self, function: Callable[[FloatArray], FloatArray]) -> "Bounded":
        """Return a function of the values that falls as they rise."""
        return Bounded(function(self.value), function(self.high), function(self.low))


@dataclasses.dataclass(frozen=True)
class PrecisionCurve:
    """Precision at the rank of every group of a ranked list."""

    ranked: RankedList
    precision: Bounded
    guarantee: Guarantee

    @property
    def rank(self) -> FloatArray:
        """Number of rows of each group and those above it, shape (groups,)."""
        return self.ranked.rank.astype(np.float64)

    @property
    def gain(self) -> Bounded:
        """Positives c of each group and those above it: the cumulated gain."""
        return self.precision.rising(lambda end: end * self.rank)

    @property
    def recall(self) -> Bounded:
        """Recall c / P: the true positive rate, or sensitivity."""
        return _one_at_last(_share(self.gain, self._positives))

    def f_alpha(self, alpha: float) -> Bounded:
        """Return c / (alpha r + (1 - alpha) P): precision for alpha of 1, recall for 0."""
        c, p, r = self.gain, self._positives, self.rank
        least = np.maximum(p.low, c.high)  # There are no fewer positives than among the first r.
        mixed = (alpha * r + (1 - alpha) * end for end in (p.value, least, p.high))
        return _share(c, Bounded(*mixed))

    @property
    def false_positive_rate(self) -> Bounded:
        """False positive rate (r - c) / (N - P)."""
        part = self.gain.falling(lambda end: self.rank - end)
        negatives = self._positives.falling(lambda end: self.rank[-1] - end)
        return _one_at_last(_share(part, negatives))

    @property
    def accuracy(self) -> Bounded:
        """Accuracy (2 c - P + N - r) / N of the classifier that calls the first r rows positive."""
        c, p, rows = self.gain, self._positives, self.rank[-1]
        right = Bounded(2 * c.value - p.value, 2 * c.low - p.high, 2 * c.high - p.low)
        return right.rising(lambda end: np.clip((end + (rows - self.rank)) / rows, 0, 1))

    @property
    def _positives(self) -> Bounded:
        """Number of positives P, shape (1,)."""
        return self.gain.rising(lambda end: end[-1:])

    def average_precision(self, place: IntArray | None = None) -> Bounded:
        """Return sum_j (recall_j - recall_(j-1)) p_j over groups, with bounds of shape (1,).

        For h = p this is sum_j recall_j (h_j - h_(j+1)), monotone in the recalls if h falls. So it
        is at most the sum for a falling h above p with the greatest recalls, and at least that for
        a falling h below p with the least recalls.
        """
        chosen = np.arange(len(self.ranked)) if place is None else place
        recall, p = self.recall, self.precision
        above = np.maximum.accumulate(p.high[chosen][::-1])[::-1]
        below = np.minimum.accumulate(p.low[chosen])
        return Bounded(
            _weighted(recall.value[chosen], p.value[chosen]),
            _weighted(recall.low[chosen], below),
            np.minimum(_weighted(recall.high[chosen], above), 1.0),
        )

    def roc_area(self, place: IntArray | None = None) -> Bounded:
        """Return the area below the ROC curve, by trapezoids over groups, with bounds: shape (1,).

        With A the area below c over ranks, without the part (N - r_k) P / 2 of the last trapezoid,
        it is (A + (N - r_k) P / 2 - P^2 / 2) / (P (N - P)). It rises with A. So the bounds are
        its least and its greatest value over P, with the least and the greatest A.
        """
        rows, c, p = float(self.rank[-1]), self.gain, self._positives
        chosen = np.arange(len(self.ranked)) if place is None else place
        chosen = chosen[chosen < len(self.ranked) - 1]
        rank = self.rank[chosen]
        corners = np.concatenate([[0.0], rank, [rows]])
        reach, last = (corners[2:] - corners[:-2]) / 2, (rows - corners[-2]) / 2
        area = float(c.value[chosen] @ reach)
        least = float(np.minimum(c.low[chosen], p.high) @ reach)
        most = float(np.minimum(np.minimum(c.high[chosen], rank), p.high) @ reach)
        ends = float(p.low[0]), float(p.high[0])
        return Bounded(
            np.array([_area(area, last, rows, float(p.value[0]))]),
            np.array([max(min(_areas(least, last, rows, ends)), 0.0)]),
            np.array([min(max(_areas(most, last, rows, ends)), 1.0)]),
        )

    def cut(self, place: int, rows: int) -> "PrecisionCurve":
        """Return the curve with a group cut in two, with bounds for the first part.

        The cumulated gain is at least that above, and the greatest if the whole part is positive.
        """
        ranked, c = self.ranked, self.gain
        above = [float(end[place - 1]) if place else 0.0 for end in c.ends]
        rest = int(ranked.rows[place]) - rows
        share = rows / int(ranked.rows[place])
        gains = (
            above[0] + share * (float(c.value[place]) - above[0]),
            max(above[1], float(c.low[place]) - rest),
            min(above[2] + rows, float(c.high[place])),
        )
        rank = int(ranked.rank[place]) - rest
        inserted = [
            np.insert(end, place, gain / rank)
            for end, gain in zip(self.precision.ends, gains, strict=True)
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
            "f1": self.f_alpha(0.5),
            "false_positive_rate": self.false_positive_rate,
            "specificity": self.false_positive_rate.falling(lambda end: 1 - end),
            "accuracy": self.accuracy,
            "gain": self.gain,
        }

    def at(self, rank: float) -> dict[str, float]:
        """Return all measures at the first rank not below one, with their bounds, by name."""
        group = self.ranked.at_rank(rank)
        content = {
            "rank": int(self.ranked.rank[group]),
            "threshold": float(self.ranked.threshold[group]),
        }
        for name, bounded in self.measures.items():
            for end, values in zip(("", ".low", ".high"), bounded.ends, strict=True):
                content[name + end] = float(values[group])
        return content


def _share(part: Bounded, whole: Bounded) -> Bounded:
    """Return shares with bounds, at most 1; NaN where the value is 0/0, 0 where a bound is."""
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
    """Return the areas whose extremes over P are bounds: at its ends and at stationary points.

    There P^2 (N / 2 - w) - 2 A P + A N = 0. Without positives or negatives it may be anything.
    """
    if ends[0] <= 0 or ends[1] >= rows:
        return [0.0, 1.0]
    roots = np.roots([rows / 2 - last, -2 * area, area * rows])
    inner = [float(p.real) for p in roots if p.imag == 0 and ends[0] < p.real < ends[1]]
    return [_area(area, last, rows, p) for p in (*ends, *inner)]


def _one_at_last(share: Bounded) -> Bounded:
    """Return shares with value and bounds set to 1 at the last rank, if they are defined there."""
    for end in reversed(share.ends):  # the value last, which says where it is defined
        end[-1] = np.where(np.isnan(share.value[-1]), np.nan, 1.0)
    return share


def _weighted(recall: FloatArray, height: FloatArray) -> FloatArray:
    """Return sum_j (recall_j - recall_(j-1)) height_j, shape (1,)."""
    return np.sum(recall * (height - np.append(height[1:], 0.0)), keepdims=True)
