"""Queries of the precision at some ranks of a list."""

import dataclasses
import math

import numpy as np

from evalsampling.stats.arrays import IntArray
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.ranked_list import RankedList, RankStrata


@dataclasses.dataclass(frozen=True)
class Wave:
    """Queries of the precision at some ranks, with their labels and the answers still wanted."""

    strata: RankStrata  # cut behind the head and the queried groups
    queried: IntArray  # ascending
    extra: IntArray  # (strata,): the answers wanted
    p_min: float  # least precision assumed, 0 if it is unknown

    @property
    def draws(self) -> float:
        """Least number of answers of a query, as if spread evenly; infinite if all are known."""
        draws = self.strata.least_density[self.queried] * self.ranked.rank[self.queried]
        return float(np.min(draws, initial=math.inf))

    @property
    def ranked(self) -> RankedList:
        """The list."""
        return self.strata.ranked

    @property
    def head(self) -> int:
        """Last group of the head, whose rows are all to be labelled."""
        return self.strata.head

    @property
    def complete(self) -> bool:
        """Whether these queries have all the answers they need."""
        return not self.extra.any()

    @property
    def head_known(self) -> bool:
        """Whether every row of the head has its answers."""
        return self.strata.known > self.head

    def envelope(self, m: int, first: int) -> Envelope:
        """Return the envelope through the queries and the last ranks whose precision is known."""
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
