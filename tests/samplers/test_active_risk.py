"""Active risk estimation against the published figures, direct sums and simulated errors."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.sample import WeightedSample
from evalsampling.label_spaces.numbers import CHANCES, Numbers
from evalsampling.measures import (
    Accuracy,
    FBeta,
    GeneralizedRisk,
    Joint,
    MeanAbsoluteError,
    MeanSquaredError,
    Measure,
    Precision,
    Recall,
    TableRisk,
)
from evalsampling.samplers import ActiveRisk, Passive
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs
from tests.compared_numbers import by_row, rows_apart
from tests.samplers.pools import Pool, make_pool, one_each, table_of
from tests.slow import slowly


def proposal_of(sampler: ActiveRisk, table: CellTable) -> np.ndarray:
    start = History.start(table.kinds.prediction.shape[1], table.classes)
    return sampler.proposal(table, start).cell_probability


ERRORS = table_of([[0, 0, 0, 0]], [[0.02, 0.3, 0.45, 0.1]])
"""The published figures for the zero-one loss: errors are expected with these chances."""
SCORES = table_of([[1, 1, 0, 0]], [[0.9, 0.6, 0.3, 0.05]])
"""Those for F_eta."""


@pytest.mark.parametrize("measure", [Accuracy(), TableRisk()], ids=lambda one: one.name)
def test_zero_one_loss_by_the_published_figures(measure: Measure) -> None:
    q = proposal_of(ActiveRisk(measure), ERRORS)
    expected = [0.1533126562, 0.2948777067, 0.347768473, 0.2040411641]
    np.testing.assert_allclose(q, expected, rtol=1e-9)
    # (mean g)^2 / mean g^2: labels for the same error, by those of rows drawn alike.
    assert 1 / (4 * np.sum(q**2)) == pytest.approx(0.915639094)


@pytest.mark.parametrize(
    ("eta", "expected"),
    [
        (0.0, [0.188643388, 0.1540266813, 0.4667713322, 0.1905585984]),
        (0.5, [0.2880989533, 0.355608498, 0.2530040697, 0.103288479]),
        (1.0, [0.3956439237, 0.6043560763, 0, 0]),
    ],
)
def test_f_measures_by_the_published_figures(eta: float, expected: list[float]) -> None:
    """Eq. 4.18 to 4.20; eta = 1 is precision and leaves out predicted negatives."""
    names: dict[float, Measure] = {0.0: Recall(), 0.5: FBeta(), 1.0: Precision()}
    for measure in (FBeta(alpha=eta), names[eta]):
        sampler = ActiveRisk(measure)
        np.testing.assert_allclose(proposal_of(sampler, SCORES), expected, rtol=1e-9)
        assert sampler.support(SCORES).tolist() == [x > 0 for x in expected]


def table_of_variances(variance: list[float]) -> CellTable:
    """A pool of numbers, one row a cell, of given predictive variances."""
    rows = np.arange(len(variance))
    chances = np.tile(CHANCES, (len(variance), 1))
    outputs = Outputs(np.zeros((len(rows), 1), int), np.array(variance)[:, None], chances[:, None])
    table = table_of([[0] * len(rows)], [[0.5] * len(rows)])
    return dataclasses.replace(table, prior=chances, kinds=one_each(outputs))


def test_squared_loss_by_the_published_figures() -> None:
    """Eq. 4.23: sqrt((3 tau^2 - 2 R) tau^2 + R^2), R = mean tau^2 = 1.875."""
    q = proposal_of(ActiveRisk(MeanSquaredError(Numbers(0, 9))), table_of_variances([0.5, 1, 2, 4]))
    expected = [0.1279600176, 0.1376306652, 0.2343080763, 0.5001012408]
    np.testing.assert_allclose(q, expected, rtol=1e-9)


def test_absolute_loss_in_closed_form() -> None:
    """tau^2 - 2 R tau sqrt(2 / pi) + R^2, R = sqrt(2 / pi) mean tau."""
    tau = np.array([0.3, 1.0, 1.5, 4.0])
    table = table_of_variances((tau**2).tolist())
    q = proposal_of(ActiveRisk(MeanAbsoluteError(Numbers(0, 9))), table)
    mean = np.sqrt(2 / np.pi)
    risk = mean * tau.mean()
    g = np.sqrt(tau**2 - 2 * risk * tau * mean + risk**2)
    np.testing.assert_allclose(q, g / g.sum(), rtol=1e-9)


def test_squared_loss_where_the_label_s_mean_is_not_the_prediction() -> None:
    """Corollary 4.3, eq. 4.17: the label is of either system with a half (eq. 5.11).

    Of both systems' squared errors the sum of h counts.
    """
    predicted = np.array([[1, 0.5], [2, 2.1], [0, -1], [3, 1]])
    variance = np.array([[0.2, 0.3], [0.4, 0.1], [0.1, 0.2], [1, 0.5]])
    pool = rows_apart(
        predicted.tolist(), variance.tolist(), labels={"range": [-4, 4]}, sampler="active_risk",
        measure="mse",
    )  # fmt: skip
    sampler, h = pool.analysis.sampler, np.zeros(4)
    assert isinstance(sampler, ActiveRisk)
    for system in range(2):
        square = (predicted[:, [system]] - predicted) ** 2
        risk = np.mean(square + variance)
        each = (6 * variance - 2 * risk + square) * square + (3 * variance - 2 * risk) * variance
        h += np.mean(each + risk**2, axis=1)
    q = by_row(pool, sampler.proposal(pool.table, pool.analysis.history).cell_probability)
    np.testing.assert_allclose(q, np.sqrt(h) / np.sqrt(h).sum(), rtol=1e-6)


def test_equal_variances_are_drawn_evenly() -> None:
    q = proposal_of(ActiveRisk(MeanSquaredError(Numbers(0, 9))), table_of_variances([2.0] * 5))
    np.testing.assert_allclose(q, 0.2)


THREE = [
    TableRisk(classes=3),
    TableRisk("squared", 3),
    TableRisk("absolute", 3),
    TableRisk(((0, 1, 9), (2, 0, 1), (5, 4, -1)), 3),
    GeneralizedRisk(
        ((0, 1, 9), (2, 0, 1), (5, 4, 0)), 3, weights=((1, 2, 0), (1, 1, 3), (1, 0, 1))
    ),
    FBeta(positive=2, alpha=0.2),
]


@pytest.mark.parametrize("measure", THREE, ids=lambda one: one.name)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_loss_by_direct_sums(measure: Measure, seed: int) -> None:
    """Theorem 4.1, row by row: h = sum_y pi(y) w^2 (l - G)^2, G = sum w l pi / sum w pi."""
    pool = make_pool(120, 120, seed=seed, classes=3, positive=0.5)
    q = proposal_of(ActiveRisk(measure), pool.table)[pool.cell]
    loss, weight = np.zeros((120, 3)), np.ones((120, 3))
    for y in range(3):
        columns = measure.loss(pool.outputs, np.full(120, y)).T
        if len(columns) == 2:
            weight[:, y] = columns[1]
        loss[:, y] = columns[0] / np.where(weight[:, y] == 0, 1, weight[:, y])
    pi = pool.table.prior[pool.cell]
    value = np.sum(pi * weight * loss) / np.sum(pi * weight)
    g = np.sqrt(np.sum(pi * weight**2 * (loss - value) ** 2, axis=1))
    np.testing.assert_allclose(q, g / g.sum(), rtol=1e-7)


def test_uniform_model_draws_the_zero_one_loss_evenly() -> None:
    pool = make_pool(200, 8, seed=1, classes=3)
    q = proposal_of(ActiveRisk(Accuracy(), model="uniform", classes=3), pool.table)
    np.testing.assert_allclose(q, 1 / 200)


@pytest.mark.parametrize("share", [None, (0.9, 0.1)])
def test_class_prior_sees_the_prediction_alone(share: tuple[float, ...] | None) -> None:
    """Section 4.2.2: for each predicted class c, sqrt(sum_y pi(y) (L(c, y) - R)^2)."""
    pool = make_pool(400, 10, seed=2, positive=0.3)
    losses = np.array([[0, 1], [5, 0]])
    measure = TableRisk(tuple(map(tuple, losses.tolist())))
    sampler = ActiveRisk(measure, model="prior", class_prior=share)
    q = proposal_of(sampler, pool.table)[pool.cell]
    pi = pool.probability.mean(axis=0) if share is None else np.array(share)
    risk = np.mean(losses[pool.prediction] @ pi)
    g = np.sqrt((losses[pool.prediction] - risk) ** 2 @ pi)
    np.testing.assert_allclose(q, g / g.sum(), rtol=1e-6)


def test_the_system_s_own_probabilities_count() -> None:
    """Of system 1 alone its own; of both their mean, as for comparisons (eq. 5.11)."""
    chance = np.array([[0.9, 0.6, 0.3, 0.05], [0.98, 0.7, 0.55, 0.9]])
    table = table_of([[0] * 4, [1] * 4], chance.tolist())
    q = proposal_of(ActiveRisk(Accuracy(system=1)), table)
    error = 1 - chance[1]
    g = np.sqrt((1 - 2 * error.mean()) * error + error.mean() ** 2)
    np.testing.assert_allclose(q, g / g.sum(), rtol=1e-9)
    q = proposal_of(ActiveRisk(Joint((Accuracy(), Accuracy(system=1)))), table)
    p = chance.mean(axis=0)
    square = sum((1 - 2 * e.mean()) * e + e.mean() ** 2 for e in (p, 1 - p))
    np.testing.assert_allclose(q, np.sqrt(square) / np.sqrt(square).sum(), rtol=1e-9)


def test_estimate_by_the_published_figures() -> None:
    """R^ = .2830188679, S^2 = .1947916737, half-width .3868550615, but for n - 1 in place of n."""
    pool = Pool(np.arange(5), np.zeros(5, int), np.full((5, 2), 0.5), np.array([1, 0, 0, 1, 0]))
    start = pool.start().with_round(
        Passive(Accuracy()).design(pool.table, pool.start(), 5, np.random.default_rng(0)).rounds[0],
        np.arange(5),
        np.zeros(5, int),
        pool.outputs,
    )
    weight = np.array([0.5, 2, 1, 1, 0.8])
    sample = WeightedSample.with_replacement(np.arange(5), weight, 5)
    inputs = EstimationInput(
        pool.table, start.with_labels(pool.label), sample, 0.95, True, self_normalised=True
    )
    value, influence = Linearisation(TableRisk(), inputs).estimate()
    assert value[0] == pytest.approx(0.2830188679)
    (variance,) = sample.variance(influence)
    assert variance * 5 * 4 / 5 == pytest.approx(0.1947916737)
    assert 1.959963985 * np.sqrt(variance * 4 / 5) == pytest.approx(0.3868550615)


def variance_of_a_draw(pool: Pool, measure: Measure, q: np.ndarray) -> float:
    """n times the variance with the true labels (lemma 3.4): sum w^2 (l - G)^2 / q / (sum w)^2."""
    loss = measure.loss(pool.outputs, pool.label).T
    hit, w = loss if len(loss) == 2 else (loss[0], np.ones(len(pool)))
    drawn = q > 0
    residual = (hit - hit.sum() / w.sum() * w)[drawn]
    return float(np.sum(residual**2 / q[drawn]) / w.sum() ** 2)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
def test_it_pays(eta: float) -> None:
    pool = make_pool(1500, 30, seed=5, positive=0.1, strength=3)
    q = proposal_of(ActiveRisk(FBeta(alpha=eta)), pool.table)[pool.cell]
    passive = variance_of_a_draw(pool, FBeta(alpha=eta), np.full(len(pool), 1 / len(pool)))
    assert variance_of_a_draw(pool, FBeta(alpha=eta), q) < 0.75 * passive


def test_error_is_the_asymptotic_one() -> None:
    """200 runs of 150 draws know a mean square within 10 %; the tolerance is four times that."""
    pool = make_pool(800, 20, seed=5, positive=0.2, strength=3)
    measure = FBeta(alpha=0.5)
    sampler, n = ActiveRisk(measure, draws=150), 150
    q = proposal_of(sampler, pool.table)[pool.cell]
    error = []
    for seed in range(200):
        history, _ = pool.run(sampler, 1, n, seed)
        error.append(sampler.value(pool.table, history, measure, 0.95)[0] - pool.value(measure))
    expected = variance_of_a_draw(pool, measure, q)
    assert n * np.mean(np.square(error)) == pytest.approx(expected, rel=0.4)


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_intervals_stand_side_by_side(oracle: str) -> None:
    pool = make_pool(1000, 10, seed=1, positive=0.3)
    sampler = ActiveRisk(TableRisk(), oracle)
    history, order = pool.start(), pool.order(3)
    drawn = sampler.design(pool.table, history, 150, np.random.default_rng(3))
    history = pool.answer(drawn, order)
    scope = ReportedDomains(methods=("wald", "student", "wilson"))
    (found,) = sampler.estimate(pool.table, history, [TableRisk()], 0.95, scope)
    methods = {one.method: one for one in found.intervals}
    assert {"wald", "student", "wilson"} <= set(methods)
    wald, student = methods["wald"], methods["student"]
    assert wald.high - wald.low < student.high - student.low < 1.05 * (wald.high - wald.low)
    # Wilson's is not symmetric: it is drawn towards one half.
    wilson = methods["wilson"]
    assert wilson.high - found.value > found.value - wilson.low


@pytest.mark.parametrize("calibration", ["logistic", *slowly("isotonic")])
def test_calibration_mends_scores_that_are_too_sure(calibration: str) -> None:
    """Log-odds four times too large: after 150 labels a draw tells more than before any."""
    pool = make_pool(2000, 20, seed=7, positive=0.15, strength=2)
    p = pool.probability**4
    pool = dataclasses.replace(pool, probability=p / p.sum(axis=1, keepdims=True))
    measure = FBeta()
    sampler = ActiveRisk(measure, calibration=calibration)
    history, _ = pool.run(sampler, 3, 50, seed=1)
    before, after = (
        variance_of_a_draw(
            pool, measure, sampler.proposal(pool.table, now).cell_probability[pool.cell]
        )
        for now in (pool.start(), history)
    )
    assert after < 0.9 * before
    # Rounds of different proposals still make one consistent estimate: of 60 evaluations the
    # mean is the truth within four of its standard errors.
    values = []
    for seed in range(60):
        history, _ = pool.run(sampler, 3, 50, seed)
        values.append(sampler.value(pool.table, history, Accuracy(), 0.95)[0])
    truth = pool.value(Accuracy())
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(60))


def test_undefined_measure_is_refused() -> None:
    pool = make_pool(50, 4, seed=1)
    nobody = dataclasses.replace(pool, prediction=np.zeros(50, int))
    with pytest.raises(InputError, match="precision is undefined on this pool"):
        proposal_of(ActiveRisk(Precision()), nobody.table)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"model": "tree"}, "model must be one of scores, uniform, prior, got 'tree'"),
        (
            {"calibration": "platt"},
            "calibration must be logistic, isotonic or module:object, got 'platt'",
        ),
        ({"model": "uniform", "calibration": "logistic"}, "which model uniform does not look at"),
        ({"class_prior": [0.5, 0.5]}, "class_prior is for model prior, not for scores"),
        ({"model": "prior", "class_prior": [1]}, "a number for each of the 2 classes"),
        ({"model": "prior", "class_prior": ["a", 1]}, "a number for each of the 2 classes"),
        ({"model": "prior", "class_prior": [0.5, 0.4]}, "at least 0 each and 1 in all"),
        ({"model": "prior", "class_prior": [1.5, -0.5]}, "at least 0 each and 1 in all"),
    ],
)
def test_wrong_parameters_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ActiveRisk(FBeta(), **keys)
