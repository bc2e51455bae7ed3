"""Leaves of several scores: a row is as high as the score that ranks it highest has it."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.strata import LOGIT_RANK, logit_rank_levels


@dataclasses.dataclass(frozen=True)
class GreatestRank:
    """Leaves by the greatest rank that any of several scores gives a row.

    Each score has leaves of equal width in the log-odds of its rank, numbered alike. The leaf of a
    row is the highest that any score puts it into, so their order does not matter.
    """

    columns: tuple[str, ...]  # names of the scores
    edges: tuple[FloatArray, ...]  # of each score, strictly increasing
    # of each score the leaf of every interval between its edges, shape (edges + 1,), in [0, leaves)
    leaf: tuple[IntArray, ...]
    leaves: int

    @classmethod
    def cut(cls, columns: Sequence[str], scores: Sequence[ScoreCounts], leaves: int) -> Self:
        """Return the leaves of a pool."""
        edges, levels = [], []
        for counts in scores:
            bins = counts.bins(LOGIT_RANK.bins(leaves))
            of_score, above = logit_rank_levels(bins.lower_ends, bins.counts, leaves)
            edges.append(of_score)
            levels.append(np.append(0, above))
        found = np.unique(np.concatenate(levels))
        leaf = tuple(np.searchsorted(found, of_score) for of_score in levels)
        return cls(tuple(columns), tuple(edges), leaf, len(found))

    def find(self, scores: Sequence[npt.NDArray[np.floating]]) -> IntArray:
        """Return the leaf of each row, shape (n,), given all its scores, shape (n,) each."""
        found = [
            leaf[np.searchsorted(edges, score, side="right")]
            for edges, leaf, score in zip(self.edges, self.leaf, scores, strict=True)
        ]
        return np.asarray(np.max(found, axis=0))
