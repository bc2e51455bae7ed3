"""LogStrat: precision-recall curves from queries at geometrically spaced ranks.

References:
    A. Sabharwal and H. Sedghi, *How good are my predictions? Efficiently approximating
    precision-recall curves for massive datasets*, UAI 2017; as stated in [SX] theorem 1.
"""

import dataclasses

import numpy as np

from evalsampling.samplers.ranked import RankedSampler
from evalsampling.samplers.wave import Wave
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.precision_queries import logarithmic_ranks, most_m
from evalsampling.stats.ranked_list import RankedList


@dataclasses.dataclass(frozen=True)
class LogStrat(RankedSampler):
    """Queries the precision at the ranks (1 + epsilon)^i, all in one wave.

    Between those ranks the curve is the middle of the envelope, which is no worse than the steps of
    the paper.
    """

    name = "logstrat"
    first: int = 3500

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        allowed = most_m(self.first, self.epsilon)
        if self.m > allowed:
            raise ValueError(
                f"m is {self.m}, and theorem 1 allows at most floor(e (1+e)^l - 1) = {allowed} for "
                f"e = {self.epsilon:g} and first = {self.first}: raise first, or lower m"
            )

    def head_and_queries(self, ranked: RankedList) -> tuple[int, IntArray]:
        """Return the group where the head ends, and the groups nearest to the ranks of LogStrat."""
        rows = int(ranked.rank[-1])
        exact, wanted = logarithmic_ranks(rows, min(self.first, rows), self.epsilon)
        head = ranked.at_rank(exact)
        ends = len(ranked)
        between = [rank for rank in wanted if rank > ranked.rank[head]]
        near = {ranked.nearest(rank, head, ends) for rank in between if head + 1 < ends}
        return head, np.array(sorted(near), dtype=np.int64)

    def next_queries(self, wave: Wave, envelope: Envelope) -> IntArray:
        """Return no ranks: all are queried in the first wave."""
        return np.zeros(0, dtype=np.int64)
