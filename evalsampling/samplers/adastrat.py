"""AdaStrat: precision-recall curves from queries at ranks that the answers so far call for.

References:
    [SX] A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
    UAI 2018: algorithm 1.
"""

import dataclasses

import numpy as np

from evalsampling.samplers.ranked import RankedSampler
from evalsampling.samplers.wave import Wave
from evalsampling.spec.parameters import check_count
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.precision_queries import head_rank
from evalsampling.stats.ranked_list import RankedList


@dataclasses.dataclass(frozen=True)
class AdaStrat(RankedSampler):
    """Queries the last rank, then bisects wherever the envelope is higher than (1 + epsilon)^2.

    An interval (l, r) of queried ranks is left alone if the envelope is so low within it, or if
    r / l is at most (1 + epsilon)^2, or if no rank lies between; else the rank nearest to sqrt(l r)
    is queried. A wave has one query in each interval that is not left alone, where the paper has
    one at all: no query of a wave bears on another but for those right beside it.

    Attributes:
        levels: number of bisections in one wave, at least 1. With 2 a wave also queries the
            quarters, needed or not: half as many rounds, and more queries.
    """

    name = "adastrat"
    levels: int = 1

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_count("levels", self.levels)

    def head_and_queries(self, ranked: RankedList) -> tuple[int, IntArray]:
        """Return the head up to l~ (section 4), and the last group if it is beyond."""
        head = ranked.at_rank(head_rank(self.epsilon, self.m, self.first))
        last = len(ranked) - 1
        return head, np.array([last][: last - head], dtype=np.int64)

    def next_queries(self, wave: Wave, envelope: Envelope) -> IntArray:
        """Return the middles of all intervals that are not settled."""
        ranked, squared = wave.ranked, (1 + self.epsilon) ** 2
        ends = np.append(wave.head, wave.queried)
        middles: list[int] = []
        for start, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            low = max(start, wave.strata.known - 1)
            inside = ranked.rank[low + 1 : high]
            if len(inside) and envelope.height(inside).max() > squared * (1 + 1e-12):
                middles += self._middles(ranked, low, high, self.levels)
        return np.array(sorted(middles), dtype=np.int64)

    def _middles(self, ranked: RankedList, low: int, high: int, levels: int) -> list[int]:
        """Return the groups that bisect an interval, and its parts, down to some level."""
        lowest, highest = int(ranked.rank[low]), int(ranked.rank[high])
        if not levels or high - low < 2 or highest <= lowest * (1 + self.epsilon) ** 2:
            return []
        middle = ranked.nearest(round((lowest * highest) ** 0.5), low, high)
        return [
            middle,
            *self._middles(ranked, low, middle, levels - 1),
            *self._middles(ranked, middle, high, levels - 1),
        ]
