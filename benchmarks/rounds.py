"""Rounds (model, proposal, draws) and the estimates after them, on a made-up table of cells.

A round reads the cell table and the labels so far, never the pool, so tables of 512 cells are made
up for pools of any size. `bench_ratios.py` times what is here.
"""

import time

import numpy as np
from scipy import special

from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures import FBeta
from evalsampling.samplers import Sampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import CellGrid, CellTable
from evalsampling.stats.history import History
from evalsampling.stats.signatures import Signatures

LEAVES = 256


def measure_rounds(rows: int, sampler: Sampler, rounds: int, draws: int) -> tuple[float, float]:
    """Return the seconds of processor time of the median round, and of the median estimate of F1.

    Args:
        rows: of the pool.
        sampler: for F1.
        rounds: how many.
        draws: of each round.
    """
    table, rate = make_table(rows)
    analysis = Analysis(
        table,
        sampler,
        [FBeta(beta=1.0)],
        seed=1,
        confidence=0.95,
        history=History.start(classes=2),
        hidden=HiddenPrior(),
    )
    rng = np.random.Generator(np.random.PCG64(2))
    of_round, of_estimate = [], []
    for _ in range(rounds):
        started, before = time.process_time(), len(analysis.history)
        analysis = analysis.with_round(draws)
        of_round.append(time.process_time() - started)
        new = np.arange(before, len(analysis.history))
        label = analysis.history.label.copy()
        label[new] = rng.random(len(new)) < rate[analysis.history.cell[new]]
        analysis = analysis.with_history(analysis.history.with_labels(label))
        started = time.process_time()
        analysis.estimate()
        of_estimate.append(time.process_time() - started)
    return float(np.median(of_round)), float(np.median(of_estimate))


def make_table(rows: int) -> tuple[CellTable, np.ndarray]:
    """Make up the cells of a pool in which one row in a thousand is positive.

    Returns:
        The cells, whose prior takes the scores to be half as steep as they are, and the true rate
        of positives in each, shape (cells,).
    """
    score = np.linspace(-12, 4, LEAVES)
    grid = CellGrid(np.arange(LEAVES), score, LEAVES, Signatures.every((2,)))
    # Every leaf holds both predictions, more positive ones the higher the score.
    share = np.maximum(_of_both(special.expit(4 * score)), 1e-3)
    share *= np.exp(-0.8 * (score - score[0]))[:, None]
    count = np.maximum(np.rint(rows * share / share.sum()), 1).astype(np.int64).ravel()
    count[0] += rows - count.sum()
    prior = np.repeat(_of_both(special.expit(score / 2)), 2, axis=0)
    table = grid.table(np.arange(2 * LEAVES), count, prior, 2)
    return table, np.repeat(special.expit(score), 2)


def _of_both(positive: np.ndarray) -> np.ndarray:
    """Return the rates of both classes."""
    return np.stack([1 - positive, positive], axis=1)


def make_known(rows: int) -> KnownPool:
    """Make up a pool of so many rows with its truth."""
    table, rate = make_table(rows)
    positives = np.random.default_rng(0).binomial(table.count, rate)
    count = np.stack([table.count - positives, positives], axis=1).ravel()
    cell = np.repeat(np.arange(len(table)), 2)[count > 0]
    return KnownPool(
        table=table,
        cell=cell,
        label=np.tile([0, 1], len(table))[count > 0],
        count=count[count > 0],
        outputs=table.outputs.take(cell),
    )
