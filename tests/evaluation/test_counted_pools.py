"""Rounds picked by number from pools that grew, or after rounds of a fixed size, by seeds."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.counted import CountedPool, analysis_of, next_chances
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.inference.results import Estimate
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.permanent import permanent_numbers
from evalsampling.stats.round_chances import RoundChances, taken_by_last


def made(rows: int, seed: int, rate: float, shift: float, first: int) -> tuple[pa.Table, Any]:
    """Rows with their labels."""
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < rate
    score = rng.normal(size=rows) + 2.5 * truth - 2 + shift
    table = {"id": first + np.arange(rows), "score": score, "prediction": (score > 0).astype(int)}
    return pa.table(table), truth.astype(int)


OLD, OLD_TRUTH = made(1500, 1, 0.06, 0.0, 0)
ADDED, ADDED_TRUTH = made(900, 2, 0.15, -0.5, 10_000)
GROWN, TRUTH = pa.concat_tables([OLD, ADDED]), np.concatenate([OLD_TRUTH, ADDED_TRUTH])


@dataclasses.dataclass(frozen=True)
class Drawn:
    """An evaluation of the old pool, and all rows with their cells and numbers."""

    evaluation: Evaluation
    cells: CellBatch
    number: np.ndarray

    @classmethod
    def of_seed(cls, sampler: str, seed: int, table: pa.Table) -> "Drawn":
        evaluation = Evaluation.from_frame(
            OLD, sampler=sampler, measure=["recall", "precision"], seed=seed, strata={"leaves": 8}
        )
        (batch,) = table.combine_chunks().to_batches()
        pool: Any = evaluation.state.pool
        assert isinstance(pool, MemoryPool)
        cells = assign_cells(PoolBatch(batch), pool.stratification)
        return cls(evaluation, cells, permanent_numbers(hash_ids(cells.ids, seed)))

    def taken(self, rounds: list[RoundChances]) -> np.ndarray:
        """Places of the rows that the last of some rounds takes."""
        return np.flatnonzero(taken_by_last(rounds, self.cells.cell, self.number)[0])

    def counts(self, rows: np.ndarray, truth: np.ndarray) -> LabelledCounts:
        """Labels of rows of the first round."""
        return LabelledCounts.of_rows(
            np.zeros(len(rows), int),
            self.cells.cell[rows],
            truth[rows],
            self.cells.outputs.take(rows),
            np.zeros((len(rows), 0), int),
            np.zeros((len(rows), 0)),
        )

    def of_grown_pool(self) -> Analysis:
        """The analysis of all rows, before any round."""
        spec, pool = self.evaluation.spec, self.evaluation.state.pool
        counted = CountedPool(pool.stratification, pool.table)
        return Analysis.of_pool(counted.of_rows(self.cells.sums()), spec.analysis)


@functools.cache
def shares() -> tuple[float, float]:
    """True recall and precision of the grown pool."""
    predicted = GROWN["prediction"].to_numpy()
    both = predicted @ TRUTH
    return both / TRUTH.sum(), both / predicted.sum()


def in_grown_pool(sampler: str, seed: int) -> tuple[list[Estimate], int, float]:
    """Estimates of the grown pool, the rows drawn, and the rows expected."""
    drawn = Drawn.of_seed(sampler, seed, GROWN)
    chances = next_chances(drawn.evaluation.analysis, 150)
    rows = drawn.taken([chances])
    counts = drawn.counts(rows, TRUTH)
    analysis = analysis_of(drawn.of_grown_pool(), counts, [chances])
    return [*analysis.estimate()], len(rows), float(chances.of_cells(drawn.cells.cell).sum())


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["calibrated", "poisson", "stratified"])
def test_estimates_of_a_pool_that_grew(sampler: str) -> None:
    """Means within three standard errors of the truth, bias of a ratio aside; 95 % within four."""
    seeds = 150
    estimates, sizes, expected = zip(
        *(in_grown_pool(sampler, seed) for seed in range(seeds)), strict=True
    )
    assert np.mean(sizes) == pytest.approx(np.mean(expected), abs=3 * np.std(sizes) / seeds**0.5)
    assert min(expected) > 150, "rows that came later have a chance too"
    for place, truth in enumerate(shares()):
        ones = [each[place] for each in estimates]
        values = np.array([one.value for one in ones], dtype=float)
        error = 3 * values.std() / seeds**0.5
        assert values.mean() == pytest.approx(truth, abs=error + 0.01)
        held = np.mean([one.low - 1e-9 <= truth <= one.high + 1e-9 for one in ones])
        assert held >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / seeds)


def second_round(seed: int) -> tuple[Drawn, np.ndarray, np.ndarray, RoundChances]:
    """Rows of a first round of a fixed size, then of a second by number, and its chances."""
    drawn = Drawn.of_seed("calibrated", seed, OLD)
    evaluation = drawn.evaluation
    ids = evaluation.sample(60)
    evaluation.label(ids, OLD_TRUTH[ids])
    analysis = evaluation.analysis
    begin = analysis.numbers().after(analysis.history.drawn_by_cell(len(analysis.table)))
    chances = next_chances(analysis, 60, None, begin)
    return drawn, ids, drawn.taken([chances]), chances


@pytest.mark.slow
def test_a_second_round_has_no_row_of_the_first_and_is_unbiased() -> None:
    """The total of positives by the rows of both, over 40 seeds; tolerance four errors."""
    totals, sizes, expected = [], [], []
    for seed in range(40):
        drawn, first, second, chances = second_round(seed)
        assert not set(first.tolist()) & set(second.tolist())
        chance = chances.of_cells(drawn.cells.cell)
        left = np.setdiff1d(np.arange(len(OLD)), first)
        totals.append(OLD_TRUTH[first].sum() + (OLD_TRUTH[second] / chance[second]).sum())
        sizes.append(len(second))
        expected.append(chance[left].sum())
    assert np.mean(expected) == pytest.approx(60, abs=1e-6)
    assert np.mean(sizes) == pytest.approx(60, abs=4 * np.std(sizes) / 40**0.5)
    error = 4 * np.std(totals) / 40**0.5
    assert np.mean(totals) == pytest.approx(OLD_TRUTH.sum(), abs=error)
