"""Poisson samples drawn in rounds: chances of a round, sizes, a hard cap, weights of many rounds.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    section 3 and appendix E.
    N. Duffield, C. Lund and M. Thorup, *Priority sampling for estimation of arbitrary subset
    sums*, Journal of the ACM 54, 2007 (a threshold that is the next row's own value leaves totals
    unbiased: the hard cap).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.permanent import FreshNumbers, RowNumbers, share_beyond


@dataclasses.dataclass(frozen=True)
class PoissonRound:
    """One round of a Poisson sample."""

    begin: int  # number of questions before the round
    question: IntArray  # (n,): the questions it drew, asked then or earlier
    fresh: IntArray  # (cells,): rows of each cell that no earlier round had drawn
    chance: FloatArray  # (cells,): b of each of these rows
    wanted: float  # number of new rows asked for

    @property
    def expected(self) -> float:
        """Expected number of rows that are drawn for the first time."""
        return float(self.fresh @ self.chance)


@dataclasses.dataclass(frozen=True)
class PoissonSize:
    """The expected and the realised size of a Poisson sample."""

    expected: float  # number of rows expected, sum b
    deviation: float  # standard deviation of that number ([Y] section 3.1)
    realised: int
    certain: int  # rows that were certain to be drawn
    saturated: bool  # whether a row is certain, or becomes so with one more row wanted ([Y] eq. 88)

    @property
    def words(self) -> str:
        """The sizes as one line of text."""
        return (
            f"Poisson sample: {self.realised:,} rows drawn, {self.expected:,.0f} expected "
            f"(standard deviation {self.deviation:,.0f}), {self.certain:,} of them certain"
        )


def poisson_rounds(table: CellTable, history: History) -> Iterator[PoissonRound]:
    """Yield the rounds of a history of Poisson samples, in order."""
    fresh, begin = table.count, 0
    for past in history.rounds:
        assert past.cell_probability is not None  # `design` keeps it
        chance = past.cell_probability
        wanted = float(fresh @ chance) if past.wanted is None else past.wanted
        yield PoissonRound(begin, past.question, fresh, chance, wanted)
        begin += int(past.new.sum())
        drawn = np.zeros(len(table), dtype=np.int64)
        np.maximum.at(drawn, history.cell[:begin], history.rank[:begin] + 1)
        fresh = table.count - drawn


def inclusion_so_far(table: CellTable, history: History) -> FloatArray:
    """Return the chance that any round so far draws a row, shape (cells,): 1 - prod (1 - b)."""
    missed = np.ones(len(table))
    for past in history.rounds:
        assert past.cell_probability is not None  # `design` keeps it
        missed *= 1 - past.cell_probability
    return 1 - missed


def conditional(until: FloatArray, before: FloatArray) -> FloatArray:
    """Return the chance that takes an inclusion probability from ``before`` to ``until``."""
    return np.minimum(share_beyond(until, before), 1.0)


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A Poisson round: rows whose permanent number is from ``before`` to min(1, kappa size)."""

    size: FloatArray  # (cells,), at least 0: measure of size of each row of a cell
    before: FloatArray  # (cells,): inclusion probability before the round
    until: FloatArray  # (cells,): inclusion probability after the round, at least `before`
    kappa: float = np.inf  # the value that a cap lowered it to; infinite without

    @property
    def chance(self) -> FloatArray:
        """Chance of a row that no earlier round has drawn, shape (cells,)."""
        return conditional(self.until, self.before)

    def draw(
        self,
        left: IntArray,
        rng: np.random.Generator,
        cap: int | None = None,
        fresh: FreshNumbers | None = None,
        again: RowNumbers | None = None,
    ) -> tuple["Threshold", IntArray]:
        """Return the round, capped where it must be, and how many fresh rows of each cell it draws.

        It draws the rows whose numbers are below its chance; where these are not known, a binomial
        number of rows of each cell. If they exceed the cap, kappa is lowered to where the first row
        beyond the cap would enter: rows enter in the order of their permanent random number over
        their size, and totals weighted with the lowered probabilities are unbiased (Duffield, Lund
        and Thorup, section 4). Rows to ask about ``again`` count towards the cap.
        """
        if again is None:
            again = RowNumbers(np.zeros(0, dtype=np.int64), np.zeros(0))
        repeated = int(self.takes(again).sum())
        if fresh is None:
            sizes = rng.binomial(left, self.chance)
            if cap is None or sizes.sum() + repeated <= cap:
                return self, sizes
            cell = np.repeat(np.arange(len(sizes)), sizes)
            drawn = RowNumbers(cell, self.chance[cell] * rng.random(len(cell)))
            capped = self._capped(cap, drawn, again)
            return capped, np.bincount(cell[self.takes(drawn, capped.kappa)], minlength=len(sizes))
        kept = self.takes(fresh)
        if cap is None or kept.sum() + repeated <= cap:
            return self, fresh.sizes(kept, self.chance)
        capped = self._capped(cap, fresh, again)
        return capped, fresh.sizes(self.takes(fresh, capped.kappa), capped.chance)

    def takes(self, rows: RowNumbers, kappa: float = np.inf) -> BoolArray:
        """Return which rows the round draws, shape (n,), if kappa is lowered to ``kappa``."""
        below = rows.share < self.chance[rows.cell]
        return np.asarray(below & (self._entry(rows) < kappa))

    def _capped(self, cap: int, *candidates: RowNumbers) -> "Threshold":
        """Return the round with kappa lowered to where the first row beyond the cap would enter."""
        entries = [self._entry(rows)[self.takes(rows)] for rows in candidates]
        kappa = float(np.partition(np.concatenate(entries), cap)[cap])
        until = np.clip(kappa * self.size, self.before, self.until)
        return dataclasses.replace(self, until=until, kappa=kappa)

    def _entry(self, rows: RowNumbers) -> FloatArray:
        """Return the kappa at which each row enters, shape (n,); infinite if its size is 0."""
        low, size = self.before[rows.cell], self.size[rows.cell]
        reached = low + (1 - low) * rows.share
        return np.divide(reached, size, out=np.full(len(size), np.inf), where=size > 0)
