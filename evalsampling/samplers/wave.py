"""A wave of queries at ranks: what the labels say of them, and what is still to be asked."""

import dataclasses
import math

import numpy as np

from evalsampling.measures.base import IntArray
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.rank_strata import RankStrata
from evalsampling.stats.ranked_list import RankedList


@dataclasses.dataclass(frozen=True)
class Wave:
    """What the labels say of some queries, and what is still to be asked for them.

    Attributes:
        strata: of the list, cut behind the head and the queries.
        queried: groups, ascending: the precision is asked for at the rank of each.
        extra: shape (strata,): answers still wanted.
        p_min: least precision reckoned with, 0 if nothing is known of it.
    """

    strata: RankStrata
    queried: IntArray
    extra: IntArray
    p_min: float

    @property
    def draws(self) -> float:
        """Answers that each query has, at least, were they spread evenly; infinite if known."""
        draws = self.strata.least_density[self.queried] * self.ranked.rank[self.queried]
        return float(np.min(draws, initial=math.inf))

    @property
    def ranked(self) -> RankedList:
        """The list."""
        return self.strata.ranked

    @property
    def head(self) -> int:
        """Last group of those that are labelled throughout."""
        return self.strata.head

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be asked for these queries."""
        return not self.extra.any()

    @property
    def head_known(self) -> bool:
        """Whether every row of the head has its answers."""
        return self.strata.known > self.head

    def envelope(self, m: int, first: int) -> Envelope:
        """Return the envelope through the end of what is known, and the queries.

        Args:
            m: of the weak monotonicity.
            first: r~, from which rank on it holds; a list that ends before it is all head.
        """
        strata, rank = self.strata, self.ranked.rank
        end = max(strata.known - 1, self.head)
        near = np.flatnonzero((rank > rank[end] - m) & (rank >= min(first, rank[end])))
        points = np.union1d(near[(near <= end) & (near < strata.known)], self.queried)
        points = np.union1d(points[points >= near[0]], [end])
        return Envelope(
            rank=rank[points],
            precision=strata.hits[points] / rank[points],
            exact=points < strata.known,
            m=m,
            rows=int(rank[-1]),
        )
