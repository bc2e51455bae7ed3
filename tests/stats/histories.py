"""Histories without a sampler behind them."""

import numpy as np

from evalsampling.stats.history import History, Round
from tests.samplers.pools import Pool


def labelled_at_random(pool: Pool, labels: int, seed: int) -> History:
    """The history of one round of rows of a pool drawn alike."""
    rng = np.random.default_rng(seed)
    return labelled_rows(pool, rng.permutation(len(pool))[:labels])


def labelled_rows(pool: Pool, rows: np.ndarray) -> History:
    """The history of one round of given rows, all different."""
    cell = pool.cell[rows]
    rank = np.array([np.sum(cell[:i] == cell[i]) for i in range(len(rows))], dtype=np.int64)
    drawn = Round(np.arange(len(rows)), np.ones(len(rows)), np.ones(len(rows), dtype=bool))
    outputs, slices = pool.outputs.take(rows), pool.slices[rows]
    history = pool.start().with_round(drawn, cell, rank, outputs, slices)
    return history.with_labels(pool.label[rows])
