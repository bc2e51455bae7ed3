"""Gains of ranked lists, DCG and ERR, of given grades and expected under probabilities of grades.

Expectations are over the grades of the items of a query, which are independent. They are computed
by dynamic programs of polynomial cost in the length of the lists, without division and without
logarithms: nothing overflows, and values that underflow are negligible.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, chapter 6 and
    appendix A.1; C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer and N. Landwehr, *Active
    evaluation of ranking functions based on graded relevance*, ECML 2012.
    K. Järvelin and J. Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM
    Transactions on Information Systems 20, 2002; O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan,
    *Expected reciprocal rank for graded relevance*, CIKM 2009.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray

NO_ITEM = -1
"""Grade, or item, at a rank where a list has ended."""


def discounts(depth: int) -> FloatArray:
    """Return 1 / log2(i + 1) of the ranks i = 1, ..., depth (eq. 6.1)."""
    return np.asarray(1 / np.log2(np.arange(2, depth + 2)))


def dcg(grade: IntArray) -> FloatArray:
    """Return the discounted cumulative gain sum_i (2^y_i - 1) / log2(i + 1) (eq. 6.1).

    Grades by rank, from 0, have the shape (n, depth), with `NO_ITEM` after the last.
    """
    gain = np.where(grade == NO_ITEM, 0.0, np.exp2(np.maximum(grade, 0)) - 1)
    return np.asarray(gain @ discounts(grade.shape[1]))


def err(grade: IntArray, top: int) -> FloatArray:
    """Return the expected reciprocal rank sum_i (1/i) k_i prod_{l<i} (1 - k_l) (eq. 6.2).

    k = (2^y - 1) / 2^top is the probability that a user stops at an item.
    """
    stop = np.where(grade == NO_ITEM, 0.0, (np.exp2(np.maximum(grade, 0)) - 1) / 2.0**top)
    reached = np.ones_like(stop)
    reached[:, 1:] = np.cumprod(1 - stop[:, :-1], axis=1)
    return np.asarray((stop * reached) @ (1 / np.arange(1, stop.shape[1] + 1)))


@dataclasses.dataclass(frozen=True)
class ExpectedLists:
    """Ranked lists of n queries, with moments of the grades of their items."""

    # (n, systems, depth): the item that each system has at each rank, by its number within the
    # query; `NO_ITEM` after the last
    place: IntArray
    mean: FloatArray  # (n, items): E k of each item, k = (2^y - 1) / 2^top
    square: FloatArray  # (n, items): E k^2
    top: int  # the greatest possible grade

    @classmethod
    def from_probabilities(cls, place: IntArray, probability: FloatArray) -> "ExpectedLists":
        """Return the lists whose items have given probabilities of grades."""
        top = probability.shape[2] - 1
        stop = (np.exp2(np.arange(top + 1)) - 1) / 2.0**top
        return cls(place, probability @ stop, probability @ stop**2, top)

    def cut(self, depth: int) -> "ExpectedLists":
        """Return all lists, cut to their first ``depth`` ranks."""
        return dataclasses.replace(self, place=self.place[:, :, :depth])

    def dcg_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E L and E L L' of the systems' DCG: (n, systems), (n, systems, systems).

        With c_z the discount of item z in a list, E L = sum_z c_z E k_z and the covariance of two
        lists is sum_z c_z c'_z Var k_z (A.1 to A.3 and A.10 to A.12, simplified).
        """
        n, systems, depth = self.place.shape
        discount = np.zeros((n, systems, self.mean.shape[1] + 1))
        np.put_along_axis(discount, self._padded_place, discounts(depth)[None, None], axis=2)
        discount = discount[:, :, :-1] * 2.0**self.top
        mean = np.einsum("nsz,nz->ns", discount, self.mean)
        spread = discount * (self.square - self.mean**2)[:, None]
        covariance = np.einsum("nsz,ntz->nst", discount, spread)
        return mean, covariance + mean[:, :, None] * mean[:, None, :]

    def err_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E L and E L L' of the systems' ERR: (n, systems), (n, systems, systems)."""
        n, systems, _ = self.place.shape
        mean, second = np.zeros((n, systems)), np.zeros((n, systems, systems))
        for left in range(systems):
            mean[:, left], second[:, left, left] = self._err_of(left)
            for right in range(left):
                second[:, left, right] = second[:, right, left] = self._err_product(left, right)
        return mean, second

    @property
    def _padded_place(self) -> IntArray:
        """The items of the lists, with the number of items in place of `NO_ITEM`."""
        return np.where(self.place == NO_ITEM, self.mean.shape[1], self.place)

    def _at_ranks(self, system: int) -> tuple[FloatArray, FloatArray]:
        """Return E k and E k^2 of the item at each rank of a list, 0 after the last item."""
        place = self._padded_place[:, system]
        pad = ((0, 0), (0, 1))
        return (
            np.take_along_axis(np.pad(self.mean, pad), place, axis=1),
            np.take_along_axis(np.pad(self.square, pad), place, axis=1),
        )

    def _ranks(self, system: int) -> IntArray:
        """Return the ranks of items in a list, shape (n, items + 1): depth + 1 if absent."""
        n, depth = self.place.shape[0], self.place.shape[2]
        ranks = np.full((n, self.mean.shape[1] + 1), depth + 1, dtype=np.int64)
        np.put_along_axis(
            ranks, self._padded_place[:, system], np.arange(1, depth + 1)[None], axis=1
        )
        ranks[:, -1] = depth + 1
        return ranks

    def _err_of(self, system: int) -> tuple[FloatArray, FloatArray]:
        """Return E L and E L^2 of a list (A.4 to A.9), by one sweep from its end."""
        mean, square = self._at_ranks(system)
        first, second = np.zeros(len(mean)), np.zeros(len(mean))
        for rank in range(mean.shape[1], 0, -1):
            m, s = mean[:, rank - 1], square[:, rank - 1]
            second = s / rank**2 + 2 / rank * (m - s) * first + (1 - 2 * m + s) * second
            first = m / rank + (1 - m) * first
        return first, second

    def _err_product(self, left: int, right: int) -> FloatArray:
        """Return E L1 L2 of two lists (A.13 to A.21), shape (n,).

        The sum over pairs of an item z of the left list and an item t of the right one, at ranks i
        and j, of 1 / (i j) times the expectation of stopping at z in the left and t in the right.
        For each t, the products over the items before and after z are cumulative ones.
        """
        place, right_place = self._padded_place[:, left], self._padded_place[:, right]
        mean, square = self._at_ranks(left)
        right_mean, right_square = self._at_ranks(right)
        rank_in_left, rank_in_right = self._ranks(left), self._ranks(right)
        n, depth = place.shape
        ranks = np.arange(1, depth + 1)
        rank_of_z = np.take_along_axis(rank_in_right, place, axis=1)
        total, passed = np.zeros(n), np.ones(n)
        for j in ranks.tolist():
            t = right_place[:, j - 1]
            m_t, s_t = right_mean[:, j - 1, None], right_square[:, j - 1, None]
            rank_of_t = np.take_along_axis(rank_in_left, t[:, None], axis=1)
            is_t = (place == t[:, None]) & (t[:, None] < self.mean.shape[1])
            before_t = rank_of_z < j
            before = np.where(before_t, 1 - 2 * mean + square, 1 - mean)
            behind = np.where(before_t, 1 - mean, 1.0)
            before[is_t] = behind[is_t] = 1.0
            stop_at_z = np.where(before_t, mean - square, mean)
            stop_at_t = np.where(rank_of_t < ranks, m_t - s_t, m_t)
            both = np.where(is_t, s_t, stop_at_z * stop_at_t)
            paths = _running(before) * _running(behind[:, ::-1])[:, ::-1]
            total += passed / j * np.sum(both * paths / ranks, axis=1)
            # Items of the right list alone must be passed to reach those after them.
            passed = passed * np.where(rank_of_t[:, 0] > depth, 1 - m_t[:, 0], 1.0)
        return total


def _running(factors: FloatArray) -> FloatArray:
    """Return the product of all factors before each one, shape (n, ranks)."""
    products = np.ones_like(factors)
    products[:, 1:] = np.cumprod(factors[:, :-1], axis=1)
    return products
