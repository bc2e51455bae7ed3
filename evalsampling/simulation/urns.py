"""Labels of a simulated oracle, drawn from urns.

Rows of a cell are exchangeable, so instead of ordering them at random, each question draws a kind
of row from the urn of its cell. A stochastic oracle then draws its answers by the kind's rates.
"""

import dataclasses

import numpy as np

from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.history import History


class Urns:
    """An oracle for a known pool: an urn of the rows of each cell, drawn as questions come.

    Attributes:
        votes: answers to each question of a stochastic oracle, at least 1.
    """

    def __init__(self, pool: KnownPool, seed: int, votes: int = 1) -> None:
        self._pool = pool
        self._left = pool.count.copy()
        self._first = np.searchsorted(pool.cell, np.arange(len(pool.table) + 1))
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._kind: dict[tuple[int, int], int] = {}
        self._kinds: list[int] = []
        self._shares = np.zeros((0, pool.table.classes))
        self.votes = votes

    def answer(self, history: History) -> History:
        """Return the history with the rows and labels of all its questions."""
        answered = len(self._kinds)
        cells, ranks = history.cell[answered:].tolist(), history.rank[answered:].tolist()
        uniforms = self._rng.random(len(cells)).tolist()
        for place, uniform in zip(zip(cells, ranks, strict=True), uniforms, strict=True):
            kind = self._kind.get(place)
            if kind is None:
                begin, end = self._first[place[0]], self._first[place[0] + 1]
                cumulated = np.cumsum(self._left[begin:end])
                at = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
                kind = int(begin + at)
                self._left[kind] -= 1
                self._kind[place] = kind
            self._kinds.append(kind)
        kinds = np.array(self._kinds, dtype=np.int64)
        history = history.with_rows(self._pool.outputs.take(kinds), history.slice)
        if self._pool.rate is None:
            return history.with_labels(self._pool.label[kinds])
        said = self._rng.multinomial(self.votes, self._pool.rate[kinds[answered:]]) / self.votes
        shares = self._shares = np.concatenate([self._shares, said])
        history = history.with_labels(shares.argmax(axis=1))
        if self.votes == 1:
            return history
        answers = np.full(len(shares), self.votes)
        return dataclasses.replace(history, shares=shares, answers=answers)
