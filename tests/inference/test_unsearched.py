"""How many positives labels leave room for: by all outcomes of tiny designs, and closed forms."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from evalsampling.inference.class_curves import below_all_met
from evalsampling.inference.unsearched import chances_of_labels, most_positives
from evalsampling.measures import FBeta
from evalsampling.notebook.evaluation import Evaluation
from evalsampling.samplers import Stratified
from evalsampling.stats.history import History
from tests.inference.designs import Path, tiny_pool, with_replacement, without_replacement
from tests.samplers.pools import Pool

POOLS = [tiny_pool((1, 1), (3, 3)), tiny_pool((0, 2), (2, 4)), tiny_pool((2, 0, 1), (2, 2, 2))]


def chase(pool: Pool):  # type: ignore[no-untyped-def]
    """Cells where hits were met are drawn from more, those of misses less: as greedy as can be."""

    def chances(history: History) -> np.ndarray:
        hits = np.bincount(history.cell[history.label == 1], minlength=len(pool.table))
        misses = np.bincount(history.cell[history.label == 0], minlength=len(pool.table))
        return np.asarray((1 + 4.0 * hits) / (1 + 2.0 * misses))

    return chances


def mean_of_products(pool: Pool, paths: Iterable[Path], replacement: bool) -> float:
    """Mean of exp(sum of chances of all positives) where none of them was found, else 0."""
    total, mass = 0.0, 0.0
    for path in paths:
        mass += path.chance
        chance = chances_of_labels(pool.table, path.history, replacement)
        if not np.any(path.history.label == 1):
            total += path.chance * math.exp(chance @ pool.truth[:, 1])
    assert mass == pytest.approx(1, abs=1e-9)
    return total


@pytest.mark.parametrize("respond", [1.0, pytest.param(0.6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("pool", POOLS[:2], ids=["even", "uneven"])
def test_sets_of_positives_are_overlooked_no_more_often_than_their_chances_let(
    pool: Pool, respond: float
) -> None:
    """P(none found) is at most exp(-sum of chances), however the design answers to labels."""
    paths = with_replacement(pool, chase(pool), (2, 1), respond)
    assert 0.4 < mean_of_products(pool, paths, replacement=True) <= 1


@pytest.mark.parametrize(("sizes", "respond"), [((2, 1), 1.0), ((1, 1, 1), 1.0), ((3, 2), 0.6)])
@pytest.mark.parametrize("pool", POOLS, ids=["even", "uneven", "three"])
def test_nor_are_they_without_replacement(
    pool: Pool, sizes: tuple[int, ...], respond: float
) -> None:
    paths = without_replacement(pool, Stratified(FBeta()), sizes, respond)
    assert 0.1 < mean_of_products(pool, paths, replacement=False) <= 1


def test_of_evenly_drawn_rows_it_is_the_rule_of_three() -> None:
    even = most_positives(np.full(3, 100 / 10**5), np.array([10**4, 2 * 10**4, 7 * 10**4]), 0.05)
    assert even.sum() == pytest.approx(math.log(20) * 10**5 / 100)


def test_rows_of_least_chance_come_first() -> None:
    chance, rows = np.array([0.5, 0.0, 0.01, 1.0]), np.array([100, 40, 50, 7])
    most = most_positives(chance, rows, math.exp(-2.0))
    assert most.tolist() == [3.0, 40.0, 50.0, 0.0], "2 = 0 x 40 + .01 x 50 + .5 x 3"
    assert most_positives(np.zeros(4), rows, 0.05).tolist() == rows.tolist()


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """A pool of 20,000 rows, with 60 positives among the 300 of the highest scores."""
    label = np.zeros(20_000, dtype=int)
    label[:300:5] = 1
    evaluation = Evaluation.from_arrays(
        np.linspace(1, 0, 20_000),
        np.arange(20_000) < 200,
        measure=["f1", "recall", "precision"],
        sampler="ais",
        seed=2,
    )
    ids = evaluation.sample(400)
    evaluation.label(ids, label[ids])
    return evaluation


def test_rows_below_all_positives_are_those_of_lower_scores(evaluation: Evaluation) -> None:
    table, history = evaluation.analysis.table, evaluation.history
    assert below_all_met(table, History.start()).all(), "as no positive has a label"
    below = below_all_met(table, history)
    lowest = table.prior[history.cell[history.label == 1], 1].min()
    assert below.any()
    assert table.prior[below, 1].max() < lowest <= table.prior[~below, 1].min()


def test_a_measure_with_all_positives_that_labels_allow(evaluation: Evaluation) -> None:
    """Recall is TP / (TP + FN + K), with the design's own TP and FN, K not rounded."""
    f1, recall, precision = evaluation.estimate()
    analysis, history = evaluation.analysis, evaluation.history
    sample = analysis.sampler.weigh(analysis.table, history)
    positive = history.label[sample.question] == 1
    found = positive & (history.outputs.prediction[sample.question, 0] == 1)
    positives, hits = (20_000 * float(sample.weight[which].sum()) for which in (positive, found))
    part = recall.unsearched
    assert part.value == pytest.approx(hits / (positives + part.positives), rel=1e-3)
    assert part.value < recall.low
    assert part.met == positive.sum()
    assert "By the labels alone it may be" in recall.statement
    assert precision.unsearched.value == pytest.approx(precision.value)
    assert f1.unsearched.positives == part.positives


def test_nothing_is_left_open_where_all_rows_have_labels() -> None:
    small = Evaluation.from_arrays(np.arange(20) / 20, np.arange(20) > 9, seed=1)
    ids = small.sample(20)
    small.label(ids, (ids > 12).astype(int))
    assert [one.unsearched for one in small.estimate()] == [None]
