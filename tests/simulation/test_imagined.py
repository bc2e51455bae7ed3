"""Imagined labels against the probabilities they are drawn from."""

import dataclasses

import numpy as np
import pytest
from scipy import special

from evalsampling.simulation.imagined import (
    LEAST_RECALL,
    RECALL_SPREAD,
    Curves,
    _whole_shares,
    imagine,
    is_believed,
)
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import CellTable
from evalsampling.stats.rank_prior import ONE_CLASS
from tests.samplers.pools import make_pool, one_each

POOL = make_pool(4000, 8, seed=3)
TABLE = POOL.table


def test_labels_follow_the_scores() -> None:
    """The mean of 20 pools within four Monte Carlo errors, the same seed the same pool."""
    totals = [imagine(TABLE, (None,), (seed,)).labels.sum(axis=0) for seed in range(20)]
    known = imagine(TABLE, (None,), (1,))
    assert np.array_equal(known.labels.sum(axis=1), TABLE.count)
    assert np.array_equal(imagine(TABLE, (None,), (1,)).labels, known.labels)
    chance = TABLE.prior[:, 1]
    variance = float(TABLE.count @ (chance * (1 - chance)))
    error = 4 * np.sqrt(variance / 20)
    assert np.mean([total[1] for total in totals]) == pytest.approx(TABLE.count @ chance, abs=error)


def test_pooled_kinds_of_a_cell_share_its_rows() -> None:
    """Of a cell of several kinds, each gets its share of the rows, and all add up."""
    cells = len(TABLE)
    kinds = dataclasses.replace(
        one_each(TABLE.kinds.take(np.repeat(TABLE.kinds.first, 3))),
        cell=np.repeat(np.arange(cells), 3), share=np.tile([0.2, 0.5, 0.3], cells),
    )  # fmt: skip
    mixed = dataclasses.replace(TABLE, kinds=kinds)
    known = imagine(mixed, (None,), (0,))
    assert np.array_equal(known.labels.sum(axis=1), TABLE.count)
    rows = _whole_shares(mixed).reshape(cells, 3)
    assert np.array_equal(rows.sum(axis=1), TABLE.count)
    off = rows.cumsum(axis=1) - TABLE.count[:, None] * np.array([0.2, 0.7, 1.0])
    assert np.abs(off).max() <= 0.5, "each end is the nearest whole row"


def shares(table: CellTable, positive: int = 1) -> tuple[float, float]:
    """Precision and recall that the rates of a table make expect."""
    predicted = table.kinds.by_cell((table.kinds.prediction[:, 0] == positive).astype(float))
    rate = table.count * table.prior[:, positive]
    hits = float(predicted @ rate)
    return hits / float(predicted @ table.count), hits / float(rate.sum())


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("chance", [(0.3, 0.7, 0.5), (0.9, 0.4, 0.1), (0.6, 0.8, 0.4)])
def test_curves_of_ranks_have_precision_and_recall(
    positive: int, chance: tuple[float, float, float]
) -> None:
    """Whatever the prior says but for the order, which is kept; no recall is below a blind one."""
    prior = TABLE.prior**0.2
    table = dataclasses.replace(TABLE, prior=prior / prior.sum(axis=1, keepdims=True))
    made = Curves(table, positive, HiddenPrior(), believed=False).at(np.array(chance))
    blind = TABLE.count @ (TABLE.kinds.prediction[:, 0] == positive) / TABLE.rows
    lowest = max(blind, LEAST_RECALL)
    precision, recall = shares(made, positive)
    assert precision == pytest.approx(chance[0], rel=0.02)
    assert recall == pytest.approx(lowest + (1 - lowest) * chance[1], rel=0.02)
    order = np.argsort(table.prior[:, positive], kind="stable")
    assert np.all(np.diff(made.prior[order, positive]) >= -1e-12)
    np.testing.assert_allclose(made.prior.sum(axis=1), 1)


@pytest.mark.parametrize("away", [-1, 0, 1])
def test_believed_probabilities_tell_recall_roughly(away: int) -> None:
    """One standard deviation is `RECALL_SPREAD` on the scale of log-odds."""
    chance = np.array([0.5, special.ndtr(away), 0.3])
    made = Curves(TABLE, 1, HiddenPrior(), believed=True).at(chance)
    expected, found = special.logit(shares(TABLE)[1]), special.logit(shares(made)[1])
    assert found - expected == pytest.approx(away * RECALL_SPREAD, abs=0.1)
    assert shares(made)[0] == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize("over", ["positives", "overlap"])
def test_hidden_positives_lift_the_tail(over: str) -> None:
    curves = Curves(TABLE, 1, HiddenPrior(0.1, 1.0, over), believed=False)
    last = int(np.argmin(TABLE.prior[:, 1]))
    few, many = (curves.at(np.array([0.5, 0.5, c])).prior[last, 1] for c in (0.01, 0.9))
    assert many > 2 * few


def test_curves_of_a_class_that_is_never_predicted() -> None:
    """As many positives as if a tenth of the rows were."""
    silent = dataclasses.replace(POOL, prediction=np.zeros_like(POOL.prediction)).table
    made = Curves(silent, 1, HiddenPrior(), believed=False).at(np.array([0.5, 0.4, 0.5]))
    number = ONE_CLASS * silent.rows * 0.5 / (LEAST_RECALL + (1 - LEAST_RECALL) * 0.4)
    assert silent.count @ made.prior[:, 1] == pytest.approx(number)


def test_curves_are_spread_evenly() -> None:
    """Each twentieth of the precisions has one of 20 curves, and so of the recalls."""
    curves = Curves(TABLE, 1, HiddenPrior(0.01, 0.5), believed=False)
    lowest = max(LEAST_RECALL, float(TABLE.kinds.prediction[:, 0] @ TABLE.count) / TABLE.rows)
    for seed in (0, 1):
        made = [shares(curves.spread(seed, repeat, 20)) for repeat in range(20)]
        precision, recall = np.sort(made, axis=0).T
        even = (np.arange(20) + 0.5) / 20
        assert precision == pytest.approx(even, abs=0.02)
        assert recall == pytest.approx(lowest + (1 - lowest) * even, abs=0.02)
    assert np.array_equal(curves.spread(1, 3, 9).prior, curves.spread(1, 3, 9).prior)


@pytest.mark.parametrize(
    ("keys", "times", "believed"),
    [
        ({}, 1, True),
        ({"score_is": "log-odds"}, 1, True),
        ({"score_is": "order"}, 1, False),
        ({"score_is": "order", "probability": "p"}, 1, True),
        ({"probability": "p"}, 0.2, False),
        ({"probability": "p"}, 5, False),
    ],
)
def test_what_is_believed(keys: dict[str, str], times: float, believed: bool) -> None:
    """Not an order; nor probabilities that expect a fifth, or five times, of what is predicted."""
    spec = EvaluationSpec.from_mapping({"pool": {"path": "x", **keys}}, "/")
    predicted = TABLE.count @ (TABLE.kinds.prediction[:, 0] == 1) / TABLE.rows
    rate = np.full(len(TABLE), min(times * predicted, 0.99))
    table = dataclasses.replace(TABLE, prior=np.stack([1 - rate, rate], axis=1))
    assert is_believed(spec.reading, table) == believed
