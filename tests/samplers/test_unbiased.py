"""Expectations over everything that can happen, on a pool of five rows.

Each round has a fixed number of draws. All orders of the rows within cells and all outcomes of
the draws are gone through with their exact chances, by way of `draw_rows` itself.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.samplers import AdaptiveImportance, Importance, Passive, ReplacementSampler
from evalsampling.stats.draws import StopRule, draw_rows
from evalsampling.stats.estimation import weighted_risk
from evalsampling.stats.history import History
from tests.samplers.pools import Pool

MEASURES = {m.name: m for m in (FBeta(), Precision(), Recall(), Accuracy())}
SAMPLERS = {s.name: s for s in (Passive, Importance, AdaptiveImportance)}

P1 = np.array([0.1, 0.3, 0.6, 0.7, 0.8])
POOL = Pool(
    leaf=np.array([0, 0, 1, 1, 1]),
    prediction=np.array([0, 0, 0, 1, 1]),
    probability=np.stack([1 - P1, P1], axis=1),
    label=np.array([0, 1, 0, 1, 0]),
)
"""All four outcomes; two cells hold both labels."""


class Uniforms:
    """A generator of given numbers, then of halves."""

    def __init__(self, numbers: list[tuple[float, float]]) -> None:
        self._numbers = numbers

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        filled = np.full(shape, 0.5)
        filled[: len(self._numbers)] = self._numbers
        return filled


def orders() -> Iterator[list[np.ndarray]]:
    """All orders of rows within cells, each as likely."""
    cells = [np.flatnonzero(POOL.cell == c) for c in range(len(POOL.table))]
    for choice in itertools.product(*(itertools.permutations(rows) for rows in cells)):
        yield [np.array(rows) for rows in choice]


def rounds_of(
    sampler: ReplacementSampler,
    order: list[np.ndarray],
    sizes: tuple[int, ...],
    history: History,
    chance: float,
) -> Iterator[tuple[History, float]]:
    """All histories of rounds of given sizes with their chances.

    One uniform in the middle of each interval that leads to one outcome stands for all in it.
    """
    if not sizes:
        yield history, chance
        return
    draws, *rest = sizes
    count = POOL.table.count
    proposal = sampler.proposal(POOL.table, history)
    free = count - np.bincount(history.cell[proposal.atom], minlength=len(count))
    mass = np.concatenate([free * proposal.cell_probability, proposal.atom_probability])
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    outcomes = []
    for pick in np.flatnonzero(mass):
        places = int(free[pick]) if pick < len(count) else 1
        outcomes += [
            ((middle[pick], (place + 0.5) / places), mass[pick] / mass.sum() / places)
            for place in range(places)
        ]
    for sequence in itertools.product(outcomes, repeat=draws):
        uniforms, chances = zip(*sequence, strict=True)
        after = draw_rows(proposal, count, history, StopRule(draws, draws), Uniforms([*uniforms]))
        after = POOL.answer(after, order)
        yield from rounds_of(sampler, order, tuple(rest), after, chance * np.prod(chances))


def histories(
    sampler: ReplacementSampler, sizes: tuple[int, ...]
) -> Iterator[tuple[History, float]]:
    listed = [*orders()]
    for order in listed:
        yield from rounds_of(sampler, order, sizes, History(), 1 / len(listed))


def expected_risk(
    sampler: ReplacementSampler, measure: Measure, sizes: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Expectation of R^ and the sum of all chances."""
    mean, total = np.zeros(len(true_risk(measure))), 0.0
    for history, chance in histories(sampler, sizes):
        row = history.row
        losses = measure.loss(POOL.table.signature[history.cell[row]], history.label[row])
        weights = 1 / (POOL.table.rows * history.probability)
        mean += chance * weighted_risk(weights, losses).mean
        total += chance
    return mean, total


def true_risk(measure: Measure) -> np.ndarray:
    return measure.loss(POOL.prediction[:, None], POOL.label).mean(axis=0)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 2), (3,)], ids=str)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_risk_is_unbiased(sampler: str, measure: str, sizes: tuple[int, ...]) -> None:
    chosen = SAMPLERS[sampler](MEASURES[measure])
    mean, total = expected_risk(chosen, MEASURES[measure], sizes)
    assert total == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mean, true_risk(MEASURES[measure]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("driven_by", MEASURES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_measure_is_supported_if_and_only_if_its_risk_is_unbiased(
    sampler: str, driven_by: str, measure: str
) -> None:
    """Two rounds: a row that is never drawn again once its label is known shows in the second."""
    chosen = SAMPLERS[sampler](MEASURES[driven_by])
    mean, _ = expected_risk(chosen, MEASURES[measure], (2, 1))
    bias = np.abs(mean - true_risk(MEASURES[measure])).max()
    if chosen.supports(POOL.table, MEASURES[measure]):
        assert bias < 1e-12
    else:
        assert bias > 1e-3


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_estimated_accuracy_is_that_of_the_risk_or_exact(sampler: str) -> None:
    """The whole way through `estimate`: 1 - R^ cut to [0, 1], or the truth once all is known."""
    chosen, exact = SAMPLERS[sampler](Accuracy()), 0
    for history, _ in histories(chosen, (3, 3)):
        (found,) = chosen.estimate(POOL.table, history, [Accuracy()], 0.95)
        if len(history.cell) == POOL.table.rows:
            exact += 1
            assert found.value == pytest.approx(POOL.value(Accuracy()), abs=1e-12)
            assert found.intervals[0].low == found.intervals[0].high == found.value
            continue
        row = history.row
        wrong = POOL.table.signature[history.cell[row], 0] != history.label[row]
        risk = np.mean(wrong / (POOL.table.rows * history.probability))
        assert found.value == pytest.approx(np.clip(1 - risk, 0, 1), abs=1e-12)
    assert exact > 0


@pytest.mark.parametrize("sampler", ["passive", "importance"])
def test_variance_of_independent_draws_is_unbiased(sampler: str) -> None:
    """The expectation of the estimated covariance is the covariance of the estimates."""
    chosen, size = SAMPLERS[sampler](FBeta()), (3,)
    truth = true_risk(FBeta())
    estimated, actual = np.zeros((2, 2)), np.zeros((2, 2))
    for history, chance in histories(chosen, size):
        row = history.row
        losses = FBeta().loss(POOL.table.signature[history.cell[row]], history.label[row])
        risk = weighted_risk(1 / (POOL.table.rows * history.probability), losses)
        estimated += chance * risk.covariance
        actual += chance * np.outer(risk.mean - truth, risk.mean - truth)
    np.testing.assert_allclose(estimated, actual, rtol=1e-10)
