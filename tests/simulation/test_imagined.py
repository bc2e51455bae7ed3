"""Imagined labels against the probabilities they are drawn from, also where these are tilted."""

import dataclasses

import numpy as np
import pytest
from scipy import special

from evalsampling.measures import Accuracy, FBeta, Measure, Recall, difference
from evalsampling.simulation.imagined import (
    OFF,
    by_ranks,
    imagine,
    is_believed,
    miscalibrated,
    with_value,
)
from evalsampling.spec import EvaluationSpec
from tests.samplers.pools import Pool, make_pool

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
    mixed = dataclasses.replace(
        TABLE,
        kind_cell=np.repeat(np.arange(cells), 3),
        kind_share=np.tile([0.2, 0.5, 0.3], cells),
        outputs=TABLE.outputs.take(np.repeat(TABLE.first_kind, 3)),
    )
    known = imagine(mixed, (None,), (0,))
    assert np.array_equal(known.labels.sum(axis=1), TABLE.count)


def make_systems() -> Pool:
    """A pool whose second system errs on a fifth of the rows, at random."""
    rng = np.random.default_rng(4)
    flipped = np.where(rng.random(len(POOL)) < 0.2, 1 - POOL.prediction, POOL.prediction)
    return dataclasses.replace(POOL, prediction=np.stack([POOL.prediction, flipped], axis=1))


TWO = make_systems()


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        (difference(Accuracy(), Accuracy(system=1)), 0.05),
        (difference(Accuracy(), Accuracy(system=1)), -0.02),
        (difference(FBeta(), FBeta(system=1)), 0.1),
        (Recall(), 0.9),
    ],
)
def test_tilted_probabilities_make_expect_the_value(measure: Measure, wanted: float) -> None:
    """Those of 30 imagined pools together, row by row: within four Monte Carlo errors."""
    tilted = with_value(measure, TWO.table, wanted)
    assert tilted is not None
    assert tilted.prior.sum(axis=1) == pytest.approx(1)
    found = [imagine(tilted, ("a", "b"), (seed,)).value(measure)[0] for seed in range(30)]
    assert np.mean(found) == pytest.approx(wanted, abs=4 * np.std(found) / np.sqrt(30) + 1e-3)


def test_a_tilt_leaves_alone_what_says_nothing_and_is_the_nearest() -> None:
    """Cells without a disagreement keep their probabilities; others move by one factor, e^t."""
    measure = difference(Accuracy(), Accuracy(system=1))
    tilted = with_value(measure, TWO.table, 0.05)
    assert tilted is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.diff(np.log(tilted.prior) - np.log(TWO.table.prior), axis=1)[:, 0]
    # Of accuracy, the label that favours the first adds 1 and the other -1.
    prediction = TWO.table.outputs.prediction[TWO.table.first_kind]
    side = np.where(prediction[:, 0] == 1, 1.0, -1.0) * (prediction[:, 0] != prediction[:, 1])
    factor = moved[side != 0] * side[side != 0]
    assert factor == pytest.approx(np.full(len(factor), factor[0]))
    assert moved[side == 0] == pytest.approx(0, abs=1e-9)


def test_what_no_labels_could_show() -> None:
    """Accuracies cannot differ by more than the rows on which the systems do; nor alike systems."""
    measure = difference(Accuracy(), Accuracy(system=1))
    assert with_value(measure, TWO.table, 0.3) is None
    same = dataclasses.replace(POOL, prediction=np.stack([POOL.prediction] * 2, axis=1))
    assert with_value(measure, same.table, 0.01) is None


@pytest.mark.slow
def test_miscalibrated_probabilities_are_as_far_off_as_told() -> None:
    """Over 400 draws: factor of the expected rows, slope of the log-odds, hidden positives.

    Medians to .15 on the scale of logarithms, some three standard errors of the median.
    """
    pool = make_pool(50_000, 40, seed=2, positive=0.02, strength=3)
    table = pool.table
    rows, slopes = [], []
    for seed in range(400):
        there = miscalibrated(table, np.random.default_rng(seed))
        np.testing.assert_allclose(there.prior.sum(axis=1), 1)
        assert np.all((there.prior >= 0) & (there.prior <= 1))
        order = np.argsort(table.prior[:, 1])
        assert np.all(np.diff(there.prior[order, 1]) >= -1e-12), "their order stays"
        rows.append(table.count @ there.prior[:, 1] / (table.count @ table.prior[:, 1]))
        top = special.logit(there.prior[order[-3:], 1])
        slopes.append((top[-1] - top[0]) / np.diff(special.logit(table.prior[order[[-3, -1]], 1])))
    assert abs(np.median(np.log(rows)) - np.log(1.04)) < 0.2
    assert abs(np.median(np.log(slopes)) - OFF["slope"][0]) < 0.2


@pytest.mark.parametrize("positive", [0, 1])
def test_rates_by_rank_expect_what_is_predicted(positive: int) -> None:
    """Whatever the prior says of their number: here it is far off, and its order is kept."""
    prior = TABLE.prior**0.2
    table = dataclasses.replace(TABLE, prior=prior / prior.sum(axis=1, keepdims=True))
    made = by_ranks(table, positive)
    predicted = TABLE.count @ (TABLE.outputs.prediction[:, 0] == positive)
    assert made.count @ made.prior[:, positive] == pytest.approx(predicted)
    order = np.argsort(table.prior[:, positive], kind="stable")
    assert np.all(np.diff(made.prior[order, positive]) >= 0)
    np.testing.assert_allclose(made.prior.sum(axis=1), 1)


@pytest.mark.parametrize("positive", [0, 1])
def test_the_number_of_positives_is_changed_whichever_class_they_are(positive: int) -> None:
    """By the factor asked for, with no other error."""
    off = {"slope": (0.0, 0.0), "number": (np.log(0.5), 0.0), "hidden": (-50.0, 0.0)}
    made = miscalibrated(TABLE, np.random.default_rng(0), off, positive)
    before, after = (TABLE.count @ table.prior[:, positive] for table in (TABLE, made))
    assert after == pytest.approx(before / 2, rel=1e-6)


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
    predicted = TABLE.count @ (TABLE.outputs.prediction[:, 0] == 1) / TABLE.rows
    rate = np.full(len(TABLE), min(times * predicted, 0.99))
    table = dataclasses.replace(TABLE, prior=np.stack([1 - rate, rate], axis=1))
    assert is_believed(spec, table) == believed
