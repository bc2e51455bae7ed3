"""The pool as a list ranked by score: groups of rows that share a rank, and strata of ranks."""

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class RankedList:
    """Groups of rows with the same rank, the highest scores first."""

    group: IntArray  # (cells,): group of each cell
    rows: IntArray  # (groups,): rows of each group
    rank: IntArray  # (groups,): rows of the group and of those above it; the last is M
    threshold: FloatArray  # (groups,), descending: least score of each group
    highest: FloatArray  # (groups,): greatest score of each group

    @classmethod
    def of_cells(cls, table: CellTable) -> "RankedList":
        """Return the list of the first system's scores."""
        least = table.kinds.score[table.kinds.first, 0]
        threshold, first, group = np.unique(-least, return_index=True, return_inverse=True)
        if len(threshold) == 1 and len(table.leaves) > 1:
            raise ValueError("rows are ranked by score, so the strata must be cut from it")
        rows = np.bincount(group, table.count, len(threshold)).astype(np.int64)
        highest = table.kinds.highest.score[table.kinds.first, 0][first]
        return cls(group.ravel(), rows, np.cumsum(rows), -threshold, highest)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.rank)

    def at_rank(self, rank: float) -> int:
        """Return the first group that reaches a rank."""
        return min(int(np.searchsorted(self.rank, rank)), len(self) - 1)

    def nearest(self, rank: float, low: int, high: int) -> int:
        """Return the group strictly between two groups whose rank is nearest on the log scale."""
        inner = np.log(self.rank[low + 1 : high])
        return low + 1 + int(np.argmin(np.abs(inner - np.log(rank))))

    def reaching(self, threshold: FloatArray) -> IntArray | None:
        """Return the last group to reach each threshold, or -1; None if one cuts a group."""
        after = np.searchsorted(-self.threshold, -threshold, side="right")
        next_highest = np.append(self.highest, -np.inf)[after]
        return None if np.any(next_highest >= threshold) else after - 1

    def sums(self, cell: IntArray, weight: npt.NDArray[np.generic] | None = None) -> FloatArray:
        """Return the number of questions of each group, or their total weight, shape (groups,)."""
        return np.bincount(self.group[cell], weight, len(self)).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class RankStrata:
    """Strata that are runs of groups of a ranked list, the highest scores first.

    Every round so far drew all rows of a stratum with the same chance, so its labelled rows are a
    random sample of it, and their labels stand for its other rows.
    """

    ranked: RankedList
    stratum: IntArray  # (groups,): stratum of each group
    rows: IntArray  # (strata,): rows of each stratum
    questions: FloatArray  # (strata,): questions asked about these
    answers: FloatArray  # (strata,): questions that have a label
    positives: FloatArray  # (strata,): positive labels
    majorities: FloatArray  # (groups,): rows of each group whose answers are mostly positive
    head: int  # last group of the head, where a row has the class of most of its answers
    stochastic: bool = False  # whether asking about a row again may give another answer

    @classmethod
    def of_history(
        cls,
        ranked: RankedList,
        head: int,
        cuts: IntArray,
        history: History,
        positive: int,
        stochastic: bool = False,
    ) -> "RankStrata":
        """Return strata that end wherever a round's chance changes, and after given groups."""
        groups = len(ranked)
        begins = np.zeros(groups + 1, dtype=np.bool_)
        begins[0] = True
        begins[np.append(cuts, head) + 1] = True
        cell = np.unique(ranked.group, return_index=True)[1]
        for past in history.rounds:
            if past.cell_probability is not None:
                begins[1:groups] |= np.diff(past.cell_probability[cell]) != 0
        stratum = np.cumsum(begins[:groups]) - 1
        labelled = history.labelled
        votes, answered = history.votes(labelled), history.cell[labelled]
        hits = votes.mean((votes.label == positive).astype(np.float64))

        def summed(by_group: npt.NDArray[np.generic]) -> FloatArray:
            return np.bincount(stratum, by_group).astype(np.float64)

        return cls(
            ranked=ranked,
            stratum=stratum,
            rows=summed(ranked.rows).astype(np.int64),
            questions=summed(ranked.sums(history.cell)),
            answers=summed(ranked.sums(answered)),
            positives=summed(ranked.sums(answered, hits)),
            majorities=_majorities(ranked, answered, history.rank[labelled], hits),
            head=head,
            stochastic=stochastic,
        )

    @functools.cached_property
    def last(self) -> IntArray:
        """Last group of each stratum, shape (strata,)."""
        return np.append(np.flatnonzero(np.diff(self.stratum)), len(self.stratum) - 1)

    @functools.cached_property
    def joined(self) -> IntArray | None:
        """The group that each stratum joins so that every group has labels, shape (strata,).

        That of the nearest one with a label, but none behind the head joins the head. None if no
        stratum behind the head has one.
        """
        labelled, of_head = np.flatnonzero(self.answers), int(np.sum(self.last <= self.head))
        behind = int(np.searchsorted(labelled, of_head))
        if of_head < len(self.rows) and behind == len(labelled):
            return None
        ends = (labelled[1:] + labelled[:-1]) / 2
        if 0 < behind < len(labelled):
            ends[behind - 1] = of_head - 0.5
        return np.searchsorted(ends, np.arange(len(self.rows)))

    @functools.cached_property
    def known(self) -> int:
        """Groups of the leading strata all labelled; of answers at random, of the head."""
        complete = self.answers >= self.rows
        if self.stochastic:
            complete &= self.last <= self.head
        strata = int(np.argmin(np.append(complete, False)))
        return int(self.last[strata - 1]) + 1 if strata else 0

    @functools.cached_property
    def hits(self) -> FloatArray:
        """Positives up to each group, (groups,), estimated behind known ones, or NaN."""
        positives = np.bincount(self.stratum, self.majorities).astype(np.float64)
        beyond = self.last >= self.known
        with np.errstate(invalid="ignore"):
            positives[beyond] = (self.rows * (self.positives / self.answers))[beyond]
        hits = np.cumsum(positives)[self.stratum]
        hits[: self.known] = np.cumsum(self.majorities)[: self.known]
        return hits

    @functools.cached_property
    def least_density(self) -> FloatArray:
        """Least answers per row of the strata from behind the head to each group, (groups,)."""
        density = self.answers / self.rows
        if not self.stochastic:
            density[density >= 1] = np.inf
        density[self.last <= self.head] = np.inf
        return np.minimum.accumulate(density)[self.stratum]


def _majorities(ranked: RankedList, cell: IntArray, rank: IntArray, hits: FloatArray) -> FloatArray:
    """Return the number of rows of each group whose answers are mostly positive, (groups,).

    Of each answer cell and rank of its row, and the share of it that is positive.
    """
    stride = int(rank.max(initial=0)) + 1
    rows, row = np.unique(cell * stride + rank, return_inverse=True)
    of_row = np.bincount(row, hits, len(rows))
    answers = np.bincount(row, minlength=len(rows))
    return ranked.sums(rows // stride, 2 * of_row > answers)
