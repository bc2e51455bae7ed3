"""Ranked lists whose precision falls from the head to the end, for tests of queries at ranks."""

import dataclasses

import numpy as np
import pyarrow as pa

from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.cells import CellTable
from evalsampling.stats.outputs import Outputs
from tests.jobs import Pool


def rates(rows: int, first: float = 0.95, last: float = 0.3) -> np.ndarray:
    """Chance of each row to be positive, so that the precision falls evenly with the rank."""
    share = (np.arange(rows) + 0.5) / rows
    return np.clip(first - 2 * (first - last) * share, 0, 1)


def labels(rows: int, seed: int = 0, first: float = 0.95, last: float = 0.3) -> np.ndarray:
    return (np.random.default_rng(seed).random(rows) < rates(rows, first, last)).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Ranked:
    """A list in bins, the highest scores first.

    Attributes:
        rows: shape (bins,).
        hits: shape (bins,): positives among them.
    """

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
            leaves=bins,
            kind_cell=number,
            kind_share=np.ones(bins),
            outputs=Outputs(
                np.zeros((bins, 1), dtype=np.int64),
                number.astype(float)[:, None],
                np.full((bins, 1, 2), 0.5),
            ),
        )
        cell = np.repeat(number, 2)
        return KnownPool(
            table=table,
            cell=cell,
            label=np.tile([0, 1], bins),
            count=np.stack([rows - hits, hits], axis=1).ravel(),
            outputs=table.outputs.take(cell),
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
