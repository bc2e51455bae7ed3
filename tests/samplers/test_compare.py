"""Active comparison against the published figures."""

import dataclasses

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate
from evalsampling.measures import Accuracy, Brier, FBeta, Joint, Measure, Quotient, difference
from evalsampling.samplers import Compare, Passive, Sampler
from evalsampling.samplers.compare import mean_proposal
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from tests.samplers.pools import Pool, make_pool, table_of, with_second_system

ACCURACIES = difference(Accuracy(), Accuracy(system=1))
BRIERS = difference(Brier(), Brier(system=1))
F1S = difference(FBeta(), FBeta(system=1))
BOTH = Joint((Accuracy(), Accuracy(system=1)))
TWO = ReportedDomains(systems=("a", "b"))


def proposal_of(sampler: Compare, table: CellTable) -> np.ndarray:
    start = History.start(table.kinds.prediction.shape[1])
    return sampler.proposal(table, start).cell_probability


FIVE = table_of([[1, 1, 0, 0], [1, 0, 1, 0]], [[0.9, 0.6, 0.4, 0.2], [0.7, 0.3, 0.6, 0.1]])
"""The pool of the published figures for the zero-one loss; they make expect Delta = .025."""


def test_active_is_the_published_optimum() -> None:
    """Theorem 5.1, corollary 5.1: g = .025, .9978101022, 1.0003124512, .025."""
    size = np.array([0.025, 0.9978101022, 1.0003124512, 0.025])
    for measure in (ACCURACIES, BOTH):
        q = proposal_of(Compare(measure, variant="active", floor=0), FIVE)
        np.testing.assert_allclose(q, size / size.sum(), rtol=1e-8)
    floored = proposal_of(Compare(BOTH, variant="active"), FIVE)
    size[[0, 3]] = 0.1 * size.mean()
    np.testing.assert_allclose(floored, size / size.sum(), rtol=1e-8)


@pytest.mark.parametrize("variant", ["rescaled", "active_neq"])
def test_two_classes_are_drawn_evenly_where_predictions_differ(variant: str) -> None:
    q = proposal_of(Compare(ACCURACIES, variant=variant), FIVE)
    np.testing.assert_allclose(q, [0, 0.5, 0.5, 0], rtol=1e-12)


def test_more_classes_by_the_chance_that_either_is_right() -> None:
    """sqrt(pi(f1) + pi(f2)): the thesis's multi-class loss with Delta = 0."""
    pool = with_second_system(make_pool(300, 6, seed=4, classes=3), seed=1)
    q = proposal_of(Compare(ACCURACIES, floor=0), pool.table)
    pi, f = pool.table.kinds.probability.mean(axis=1), pool.table.kinds.prediction
    rows = np.arange(len(pi))
    size = np.sqrt(pi[rows, f[:, 0]] + pi[rows, f[:, 1]]) * (f[:, 0] != f[:, 1])
    np.testing.assert_allclose(q, size / (pool.table.count @ size), rtol=1e-12)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("active_0", [0.1984126984, 0.0079365079, 0.7936507937]),
        ("active_inf", [0.3125, 0.0625, 0.625]),
    ],
)
def test_squared_loss_by_the_distance(variant: str, expected: list[float]) -> None:
    """Differences of .5, .1 and 1 as in the published figures."""
    table = table_of([[0, 0, 1], [0, 0, 0]], [[0.6, 0.5, 1.0], [0.1, 0.4, 0.0]])
    q = proposal_of(Compare(BRIERS, variant=variant, floor=0), table)
    np.testing.assert_allclose(q, expected, rtol=1e-8)


def test_squared_loss_in_closed_form() -> None:
    """Corollary 5.2 with mu = mu^2 + s^2 = p for labels 0 and 1; the Brier score is twice it."""
    table = table_of([[1, 0, 1, 0]] * 2, [[0.9, 0.3, 0.6, 0.2], [0.7, 0.4, 0.9, 0.25]])
    q = proposal_of(Compare(BRIERS, variant="active", floor=0), table)
    p = table.kinds.probability[:, :, 1]
    one, two = p[:, 0] - p[:, 1], p[:, 0] ** 2 - p[:, 1] ** 2
    mu = p.mean(axis=1)
    delta = np.mean(two - 2 * one * mu)
    h = 4 * one**2 * mu - 4 * one * (two - delta) * mu + (two - delta) ** 2
    np.testing.assert_allclose(q, np.sqrt(h) / np.sqrt(h).sum(), rtol=1e-9)


def mixture_form(f: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """sqrt(F^2 (F^2 + 2 (tau1^2 + tau2^2))) (eq. 5.13 to 5.15), F = f1 - f2."""
    square = (f[:, 0] - f[:, 1]) ** 2
    return np.asarray(np.sqrt(square * (square + 2 * variance.sum(axis=1))))


def test_squared_loss_is_drawn_by_the_published_mixture_form() -> None:
    """With the mixture of both systems the difference expected is 0, so both variants agree.

    The formula at the published figures, whose labels are no classes; then with the variances
    f (1 - f) of labels 0 and 1.
    """
    published = mixture_form(
        np.array([[1, 0.5], [2, 2.1], [0, -1]]), np.array([[0.2, 0.3], [0.4, 0.1], [0.1, 0.2]])
    )
    np.testing.assert_allclose(published, [0.5590169944, 0.1004987562, 1.2649110641], rtol=1e-9)
    table = table_of([[1, 0, 1, 0]] * 2, [[0.9, 0.3, 0.6, 0.2], [0.7, 0.4, 0.9, 0.25]])
    f = table.kinds.probability[:, :, 1]
    size = mixture_form(f, f * (1 - f))
    for variant in ("rescaled", "active"):
        q = proposal_of(Compare(BRIERS, variant=variant, floor=0), table)
        np.testing.assert_allclose(q, size / size.sum(), rtol=1e-9)


def test_the_mixture_of_pairs_is_the_published_one() -> None:
    sizes = [np.array([1, 0.2, 0.2, 0.2]), np.array([0.2, 1, 0.2, 0.2]), np.array([1, 1, 0.2, 0.2])]
    found = mean_proposal([*sizes, np.zeros(4)], np.ones(4, dtype=np.int64))
    np.testing.assert_allclose(found, [0.3888888889] * 2 + [0.1111111111] * 2, rtol=1e-9)


def test_active_risk_is_the_mean_of_both_systems_optima() -> None:
    """sqrt((1 - 2 R) e + R^2) of each system, normalised (corollary 4.2)."""
    q = proposal_of(Compare(BOTH, variant="active_risk", floor=0), FIVE)
    f, p = FIVE.kinds.prediction, FIVE.kinds.probability
    sizes = []
    for system in range(2):
        error = 1 - p[np.arange(4), system, f[:, system]]
        sizes.append(np.sqrt((1 - 2 * error.mean()) * error + error.mean() ** 2))
    expected = np.mean([size / size.sum() for size in sizes], axis=0)
    np.testing.assert_allclose(q, expected, rtol=1e-9)


def test_active_risk_draws_evenly_where_labels_are_certain() -> None:
    """Then no label is expected to move either value: it divided nothing by nothing."""
    sure = table_of([[1, 1, 0, 0], [1, 1, 0, 0]], [[1.0, 1.0, 0.0, 0.0]] * 2)
    differing = dataclasses.replace(
        sure, kinds=dataclasses.replace(sure.kinds, prediction=FIVE.kinds.prediction)
    )
    for table in (sure, differing):
        q = proposal_of(Compare(BOTH, variant="active_risk", floor=0), table)
        assert np.all(np.isfinite(q))
    np.testing.assert_allclose(proposal_of(Compare(BOTH, variant="active_risk"), sure), 1 / 4)


def test_many_systems_are_the_mean_of_their_pairs() -> None:
    """Eq. 5.16: every pair normalised first; a committee counts the pairs that differ instead."""
    table = table_of([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]], [[0.5] * 4] * 3)
    three = Joint(tuple(Accuracy(system=one) for one in range(3)))
    pairs = np.array([[0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_allclose(proposal_of(Compare(three), table), pairs.mean(axis=0), rtol=1e-12)
    counted = np.array([0, 2, 2, 0]) / 4
    np.testing.assert_allclose(
        proposal_of(Compare(three, variant="committee"), table), counted, rtol=1e-12
    )


def test_a_pair_that_never_differs_takes_no_part() -> None:
    table = table_of([[1, 1, 0], [1, 1, 0], [1, 0, 0]], [[0.5] * 3] * 3)
    three = Joint(tuple(Accuracy(system=one) for one in range(3)))
    np.testing.assert_allclose(proposal_of(Compare(three), table), [0, 1, 0])
    with pytest.raises(InputError, match="the systems differ on no row"):
        proposal_of(Compare(ACCURACIES), table)


def test_systems_that_agree_everywhere_are_known_to_be_alike() -> None:
    table = table_of([[1, 0], [1, 0]], [[0.5] * 2] * 2)
    for measure in (ACCURACIES, F1S):
        (found,) = Passive(BOTH).estimate(table, History.start(2), [measure], 0.95, TWO)
        assert (found.value, found.intervals[0].low, found.intervals[0].high) == (0, 0, 0)
        assert found.significance.p_value == 1


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"measure": FBeta()}, "list {difference: ...} first, or a measure of .* more, not f1"),
        ({"measure": Quotient(FBeta(), FBeta(system=1))}, r"list {difference.*, not ratio\(f1\)"),
        ({"variant": "best"}, "variant must be one of rescaled"),
        ({"variant": "active_0"}, "for the squared loss, brier"),
        ({"measure": F1S, "variant": "active_neq"}, "for mean losses"),
        ({"floor": 2}, "floor must be between 0 and 1"),
        ({"floor": "much"}, "floor must be a number"),
    ],
)
def test_wrong_parameters(keys: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Compare(**{"measure": ACCURACIES, **keys})


def run(pool: Pool, sampler: Sampler, measure: Measure, seed: int, draws: int) -> Estimate:
    history, _ = pool.run(sampler, 1, draws, seed)
    return sampler.estimate(pool.table, history, [measure], 0.95, TWO)[0]


def two_systems(rows: int, seed: int, disagree: float) -> Pool:
    """A pool of five leaves whose systems differ on a share of the rows."""
    pool = make_pool(rows, 5, seed=seed, positive=0.3)
    rng = np.random.default_rng(seed)
    flipped = rng.random(rows) < disagree
    other = np.where(flipped, 1 - pool.prediction, pool.prediction)
    return dataclasses.replace(pool, prediction=np.stack([pool.prediction, other], axis=1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "measure"),
    [("rescaled", ACCURACIES), ("active", ACCURACIES), ("active_risk", BOTH), ("rescaled", F1S)],
)
def test_estimates_are_right_on_average(variant: str, measure: Measure) -> None:
    """Mean of 60 estimates within four standard errors of the true difference.

    The self-normalised and the nonlinear ones are biased by about 1 / n of their variance.
    """
    pool = two_systems(1500, 5, 0.2)
    compared = ACCURACIES if measure is BOTH else measure
    sampler = Compare(measure, variant=variant, draws=200)
    values = [run(pool, sampler, compared, seed, 200).value for seed in range(60)]
    found = np.array(values, dtype=float)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - pool.value(compared)) < 4 * error + 0.1 * found.std() / np.sqrt(200)


def test_evidence_rules_hold_for_a_difference() -> None:
    """Few rows that favour either system allow no claim, however many labels there are."""
    pool = two_systems(4000, 9, 0.01)
    found = run(pool, Passive(BOTH, draws=300), ACCURACIES, 1, 300)
    assert not found.claims
    assert found.significance.p_value is None
    assert "rows that favour one system seen, fewer than 10" in found.warnings[0]
    aimed = run(pool, Compare(ACCURACIES, draws=60), ACCURACIES, 1, 60)
    assert aimed.claims or "favour" not in aimed.warnings[0]


def test_a_clear_winner_has_an_anytime_p_value_where_no_variance_is_seen() -> None:
    """Forty rows of forty for one system: nothing contradicts it, so only the bet says how sure."""
    pool = two_systems(2000, 10, 0.1)
    right = dataclasses.replace(pool, label=pool.prediction[:, 0])
    found = run(right, Compare(ACCURACIES, draws=40), ACCURACIES, 1, 40)
    assert found.significance.p_value is None
    assert found.significance.anytime_p_value < 1e-4


def test_once_all_disagreements_have_labels_the_difference_is_exact() -> None:
    pool = two_systems(600, 11, 0.05)
    history, _ = pool.run(Compare(ACCURACIES), 3, 60, 1)
    (found,) = Compare(ACCURACIES).estimate(pool.table, history, [ACCURACIES], 0.95, TWO)
    assert found.intervals[0].method == "census"
    assert found.value == pytest.approx(pool.value(ACCURACIES), abs=1e-12)


def test_values_of_the_systems_themselves_take_all_rows() -> None:
    pool = two_systems(600, 12, 0.2)
    assert not Compare(BOTH).can_estimate(pool.table, Accuracy())
    assert Compare(BOTH).can_estimate(pool.table, ACCURACIES)
    for sampler in (Compare(BOTH, variant="active_risk"), Compare(BOTH, delta=0.2)):
        assert sampler.can_estimate(pool.table, Accuracy())
        assert sampler.aims_at(Accuracy()) == (sampler.variant == "active_risk")
        assert sampler.aims_at(ACCURACIES)


def null_pool(rows: int, disagree: float, seed: int) -> Pool:
    """A pool whose systems are right equally often: each on half of the rows they differ on."""
    pool = two_systems(rows, seed, disagree)
    label = pool.label.copy()
    differ = np.flatnonzero(pool.prediction[:, 0] != pool.prediction[:, 1])
    differ = differ[: len(differ) // 2 * 2]
    side = np.random.default_rng(seed).permutation(np.arange(len(differ)) % 2)
    label[differ] = pool.prediction[differ, side]
    return dataclasses.replace(pool, label=label)


@pytest.mark.slow
@pytest.mark.parametrize("disagree", [0.01, 0.3])
def test_error_rate_on_null_pools(disagree: float) -> None:
    """Of 400 tests of alike systems 5 % are significant, to three Monte Carlo errors.

    On the pool whose systems differ on 1 %, rows are drawn anew within the disagreements, whose
    losses are ties otherwise.
    """
    pool = null_pool(4000, disagree, 6)
    assert pool.value(ACCURACIES) == pytest.approx(0, abs=1.01 / len(pool))
    sampler = Compare(ACCURACIES, draws=60, oracle="stochastic")
    rng = np.random.default_rng(7)
    rejected = 0
    for seed in range(400):
        history = sampler.design(pool.table, pool.start(), 60, np.random.default_rng([8, seed]))
        rows = rng.integers(0, 2, len(history))
        history = history.with_labels(rows)  # either system is right with the chance 1/2
        (found,) = sampler.estimate(pool.table, history, [ACCURACIES], 0.95, TWO)
        rejected += found.significance.p_value <= 0.05
    assert rejected / 400 == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 400))
