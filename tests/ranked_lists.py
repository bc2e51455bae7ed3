"""Ranked lists whose precision falls from the head to the end, for tests of queries at ranks."""

import dataclasses

import numpy as np
import pyarrow as pa

from evalsampling.samplers import Sampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.cells import CellTable, Kinds, Leaves
from evalsampling.stats.history import History
from tests.jobs import Pool


def rates(rows: int, first: float = 0.95, last: float = 0.3) -> np.ndarray:
    """Chance of each row to be positive: precision falls from ``first`` at the head to ``last``."""
    share = (np.arange(rows) + 0.5) / rows
    return first * (1 - share) ** (first / last - 1)


def labels(rows: int, seed: int = 0, first: float = 0.95, last: float = 0.3) -> np.ndarray:
    return (np.random.default_rng(seed).random(rows) < rates(rows, first, last)).astype(np.int64)


def weakly_monotone(hits: np.ndarray, first: int, m: int) -> np.ndarray:
    """Which lists, given by their hits up to each rank, are (first, m)-weakly monotone."""
    precision = hits / np.arange(1, hits.shape[1] + 1)
    least_so_far = np.minimum.accumulate(precision[:, first - 1 : -m], axis=1)
    return np.all(precision[:, first + m - 1 :] <= least_so_far + 1e-12, axis=1)


def random_list(rng: np.random.Generator, rows: int, m: int) -> np.ndarray:
    """Hits of a random (1, m)-weakly monotone list: at its own pace, where a hit keeps it so."""
    ranks = np.arange(1, rows + 1)
    pace = rng.choice([0.2, 0.5, 0.9, 1.0], size=rows // 50 + 1)
    hits = np.ones(rows)
    for r in range(2, rows + 1):
        before = ranks[: r - 1]
        most = np.min(hits[: r - 1] / before * np.maximum(r, before + m))
        can = hits[r - 2] + 1 <= most + 1e-9
        hits[r - 1] = hits[r - 2] + (can and rng.random() < pace[r // 50])
    return hits


@dataclasses.dataclass(frozen=True)
class Ranked:
    """A list in bins, the highest scores first: rows of each, and positives among them."""

    rows: np.ndarray
    hits: np.ndarray

    @classmethod
    def of_labels(cls, label: np.ndarray, bins: int, first: int = 1) -> "Ranked":
        """Cut at ranks that grow geometrically."""
        ends = np.unique(np.round(np.geomspace(first, len(label), bins)).astype(int))
        below = np.concatenate([[0], np.cumsum(label)])[ends]
        return cls(np.diff(ends, prepend=0), np.diff(below, prepend=0))

    @property
    def rank(self) -> np.ndarray:
        return np.cumsum(self.rows)

    @property
    def precision(self) -> np.ndarray:
        """True precision at the rank of each bin."""
        return np.cumsum(self.hits) / self.rank

    @property
    def known(self) -> KnownPool:
        """The pool as simulations see it; the scores of bins are 0, 1, ... from the last up."""
        rows, hits, bins = self.rows[::-1], self.hits[::-1], len(self.rows)
        number = np.arange(bins)
        table = CellTable(
            code=number,
            leaf=number,
            count=rows,
            prior=np.full((bins, 2), 0.5),
            leaves=Leaves(bins),
            kinds=Kinds(
                np.zeros((bins, 1), dtype=np.int64),
                number.astype(float)[:, None],
                np.full((bins, 1, 2), 0.5),
                cell=number,
                share=np.ones(bins),
            ),
        )
        cell = np.repeat(number, 2)
        return KnownPool(
            table=table,
            cell=cell,
            label=np.tile([0, 1], bins),
            count=np.stack([rows - hits, hits], axis=1).ravel(),
            outputs=table.kinds.take(cell),
        )


def ranked_pool(rows: int = 3000, seed: int = 0) -> Pool:
    """A pool of files whose score is a decreasing function of the rank."""
    truth = labels(rows, seed)
    ids = np.random.default_rng(seed).permutation(rows) * 3 + 1
    table = pa.table(
        {
            "id": ids,
            "score": 1 - (np.arange(rows) + 0.5) / rows,
            "prediction": pa.array((np.arange(rows) < rows // 3).astype(np.int8)),
            "name": [f"row {id}" for id in ids],
        }
    )
    order = np.random.default_rng(seed + 1).permutation(rows)
    return Pool(table.take(pa.array(order)), dict(zip(ids.tolist(), truth.tolist(), strict=True)))


def next_round(
    sampler: Sampler,
    known: KnownPool,
    history: History,
    seed: int = 0,
    eta: float = 0.0,
    budget: int | None = None,
) -> History:
    """The history with one round more, row j of a cell answered alike, but for eta wrong."""
    rng = np.random.default_rng([seed, len(history.rounds)])
    before = len(history)
    history = sampler.design(known.table, history, 1, rng, budget)
    truth = np.zeros(len(history) - before, dtype=np.int64)
    for cell in np.unique(history.cell[before:]).tolist():
        order = np.random.default_rng([seed, 1, cell]).permutation(
            np.repeat([0, 1], known.labels[cell])
        )
        mine = history.cell[before:] == cell
        truth[mine] = order[history.rank[before:][mine]]
    label = history.label.copy()
    label[before:] = truth ^ (rng.random(len(truth)) < eta)
    return history.with_labels(label)


def finish(sampler: Sampler, known: KnownPool, seed: int = 0, eta: float = 0.0) -> History:
    """The history when nothing more is to be asked."""
    history = History.start()
    while not sampler.exhausted(known.table, history):
        history = next_round(sampler, known, history, seed, eta)
    return history
