"""Pools and histories at the limits: what every sampler then does is decided, and it is this."""

import dataclasses

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.errors import InputError
from evalsampling.inference.domains import ReportedDomains
from evalsampling.measures import (
    Accuracy,
    BalancedAccuracy,
    Comparison,
    Difference,
    FBeta,
    Joint,
    MatthewsCorrelation,
    Measure,
    PerClassF,
    Precision,
    Prevalence,
    Quotient,
    Recall,
)
from evalsampling.measures.comparisons import difference
from evalsampling.samplers import AdaptiveImportance, Given, Importance, ReplacementSampler, Sampler
from evalsampling.samplers.diagnosis import divergence
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import ALL, WITH_REPLACEMENT, Pool, build_sampler, make_pool
from tests.slow import fast, slowly

ORACLES = ["deterministic", "stochastic"]
every_kind = pytest.mark.parametrize("kind", ALL)
every_oracle = pytest.mark.parametrize(
    ("kind", "oracle"),
    [(kind, oracle) for kind in ALL for oracle in ORACLES if kind in WITH_REPLACEMENT]
    + [(samplers.Stratified, "deterministic")],
)


def run(
    pool: Pool, sampler: Sampler, rounds: int, size: int, seed: int = 1
) -> tuple[History, list[np.ndarray]]:
    """Rounds until nothing is left; the oracle always says the true label, asked again or not."""
    if sampler.stochastic:
        return pool.run_stochastic(sampler, np.eye(pool.classes)[pool.label], rounds, size, seed)
    return pool.run(sampler, rounds, size, seed)


def with_labels(pool: Pool, label: int | None = None, prediction: int | None = None) -> Pool:
    """The pool with one label throughout, or one prediction."""
    return Pool(
        pool.leaf,
        pool.prediction if prediction is None else np.full(len(pool), prediction),
        pool.probability,
        pool.label if label is None else np.full(len(pool), label),
        leaves=pool.leaves,
    )


POOL = make_pool(60, 4, seed=3, positive=0.4)


def spread(pool: Pool) -> Pool:
    """The same rows in leaves 1, 2, 4 and 6 of eight."""
    leaf = np.array([1, 2, 4, 6])[pool.leaf]
    return Pool(leaf, pool.prediction, pool.probability, pool.label, leaves=8)


@every_oracle
def test_leaves_without_rows_change_nothing(kind: type[Sampler], oracle: str) -> None:
    """Explicit edges or cuts of equal width leave some; the whole pool is met all the same."""
    pool = spread(POOL)
    sampler = build_sampler(kind, oracle=oracle)
    history, order = run(pool, sampler, 3, 15)
    assert len(history) == 45
    if isinstance(sampler, ReplacementSampler):
        q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
        assert q.sum() == pytest.approx(1, abs=1e-12)
    (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
    assert 0 < found.value <= 1


@every_kind
def test_budget_larger_than_the_pool_ends_with_a_census(kind: type[Sampler]) -> None:
    """Of what the sampler can reach, here everything."""
    sampler = build_sampler(kind, Accuracy()) if kind is not samplers.Oasis else build_sampler(kind)
    history, order = run(POOL, sampler, 300, 50)
    assert sampler.exhausted(POOL.table, history)
    assert sorted(POOL.rows(history, order)) == [*range(60)]
    measures = [FBeta(), Precision(), Recall(), Accuracy()]
    for found in sampler.estimate(POOL.table, history, measures, 0.95):
        (measure,) = (m for m in measures if m.name == found.measure)
        assert found.value == pytest.approx(POOL.value(measure), abs=1e-12)
        assert found.standard_error == 0
        assert [i.method for i in found.intervals] == ["census"]
        assert found.warnings == ()


@every_kind
def test_census_lacks_no_label(kind: type[Sampler]) -> None:
    """All rows drawn but one answer missing: nothing more to ask, and nothing exact."""
    sampler = build_sampler(kind, Accuracy()) if kind is not samplers.Oasis else build_sampler(kind)
    history, _ = run(POOL, sampler, 12, 50)
    assert len(history) == 60
    label = history.label.copy()
    label[7] = NO_LABEL
    history = history.with_labels(label)
    assert sampler.exhausted(POOL.table, history)
    (found,) = sampler.estimate(POOL.table, history, [Accuracy()], 0.95)
    assert "census" not in [i.method for i in found.intervals]


@every_kind
@pytest.mark.parametrize(
    ("label", "prediction"), fast(2, [(0, 1), (1, None), (0, None), (0, 0), (1, 0), (1, 1)])
)
def test_whole_pool_of_one_label(kind: type[Sampler], label: int, prediction: int | None) -> None:
    """Labelled to the last row, each measure is exact, or undefined for what the pool lacks."""
    pool = with_labels(POOL, label, prediction)
    sampler = build_sampler(kind)
    history, _ = run(pool, sampler, 300, 50)
    assert sampler.exhausted(pool.table, history)
    for measure in (FBeta(), Recall(), Accuracy()):
        truth = pool.value(measure)
        (found,) = sampler.estimate(pool.table, history, [measure], 0.95)
        if np.isnan(truth):
            assert found.value is None
            assert found.reason == f"{measure.name} is undefined (0/0): the pool has no positives"
        else:
            assert found.value == pytest.approx(truth, abs=1e-12)
            assert found.intervals[0].method == "census"


@every_kind
def test_system_that_is_always_right(kind: type[Sampler]) -> None:
    """Nothing adds to the error: before the last label no claim, then the exact value."""
    pool = Pool(POOL.leaf, POOL.label, POOL.probability, POOL.label)
    measure = FBeta() if kind is samplers.Oasis else Accuracy()
    sampler = build_sampler(kind, measure)
    history, _ = run(pool, sampler, 1, 30)
    (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
    # Rows without a label count with the rates of the model, where there is one.
    of_model = issubclass(kind, samplers.CalibratedDesign)
    assert found.value == pytest.approx(1, abs=0.01 if of_model else 0)
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)
    history, order = run(pool, sampler, 12, 60)
    assert len(history) == 60
    (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
    assert (found.value, found.intervals[0].method) == (1, "census")
    if isinstance(sampler, ReplacementSampler):
        proposal = sampler.proposal(pool.table, history)
        assert pool.row_probability(proposal, history, order).sum() == pytest.approx(1)
        assert divergence(Accuracy(), pool.table, pool.truth, history, proposal) == 0


@every_oracle
def test_no_positives_labelled_yet(kind: type[Sampler], oracle: str) -> None:
    """Recall is 0/0 and says so; F1 is 0 if something was predicted, with its whole range."""
    pool = with_labels(POOL, label=0)
    sampler = build_sampler(kind, oracle=oracle)
    history, _ = run(pool, sampler, 1, 30)
    f1, recall = sampler.estimate(pool.table, history, [FBeta(), Recall()], 0.95)
    assert recall.value is None
    assert recall.reason == "recall is undefined (0/0): no positives among the labelled rows"
    assert (recall.intervals[0].low, recall.intervals[0].high) == (0, 1)
    assert recall.warnings
    assert f1.value == 0
    assert (f1.intervals[0].low, f1.intervals[0].high) == (0, 1)
    assert "zero" in f1.warnings[0]
    history, _ = run(pool, sampler, 3, 12)
    assert len(history) == 36


@every_oracle
@pytest.mark.parametrize("prediction", [0, *slowly(1)])
def test_one_class_predicted(kind: type[Sampler], oracle: str, prediction: int) -> None:
    pool = with_labels(POOL, prediction=prediction)
    sampler = build_sampler(kind, oracle=oracle)
    history, _ = run(pool, sampler, 2, 20)
    f1, recall = sampler.estimate(pool.table, history, [FBeta(), Recall()], 0.95)
    assert recall.value == prediction
    assert (recall.low, recall.high) == (prediction, prediction), "no label changes it"
    if prediction:
        assert 0 < f1.value < 1
    else:
        assert f1.value == 0


@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance])
@pytest.mark.parametrize("oracle", ORACLES)
def test_nothing_can_be_drawn_for_what_the_pool_has_none_of(
    kind: type[Sampler], oracle: str
) -> None:
    pool = with_labels(POOL, prediction=0)
    sampler = build_sampler(kind, Precision(), oracle=oracle)
    with pytest.raises(InputError, match=r"precision is undefined .* no predicted positives"):
        sampler.design(pool.table, pool.start(), 5, np.random.default_rng(0))
    both = build_sampler(kind, Joint((Precision(), Recall())), oracle=oracle)
    history, _ = run(pool, both, 1, 20)
    precision, recall = both.estimate(pool.table, history, [Precision(), Recall()], 0.95)
    assert precision.value is None
    assert recall.value == 0


@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance, samplers.Passive])
@pytest.mark.parametrize("oracle", ORACLES)
def test_rows_are_drawn_alike_where_none_adds(kind: type[Sampler], oracle: str) -> None:
    """Two systems that say the same of every row have no difference."""
    pool = dataclasses.replace(POOL, prediction=np.stack([POOL.prediction] * 2, axis=1))
    sampler = build_sampler(kind, difference(Accuracy(), Accuracy(system=1)), oracle=oracle)
    drawn = sampler.design(pool.table, pool.start(), 5, np.random.default_rng(0))
    assert len(drawn) == 5
    assert drawn.rounds[0].probability == pytest.approx(1 / len(pool))


@pytest.mark.parametrize("kind", [samplers.Passive, samplers.Oasis, Given, samplers.Stratified])
def test_samplers_that_need_no_gradient_draw_whatever_is_undefined(kind: type[Sampler]) -> None:
    pool = with_labels(POOL, prediction=0)
    sampler = build_sampler(kind, Precision())
    history, _ = run(pool, sampler, 2, 10)
    assert len(history) == 20
    (found,) = sampler.estimate(pool.table, history, [Precision()], 0.95)
    assert found.value is None
    assert "no predicted positives" in str(found.reason)


def heavy(table: CellTable, history: History) -> np.ndarray:
    """Nearly all weight on one cell."""
    weight = np.full(len(table), 1e-9)
    weight[-1] = 1.0
    return weight


def test_weight_on_one_row_is_warned_of() -> None:
    """Cells of one row: one row met at its tiny chance has all of the variance."""
    pool = Pool(np.arange(12), np.ones(12, int), np.full((12, 2), 0.5), np.arange(12) % 2)
    sampler = Given(Prevalence(), weights=heavy, draws=200)
    order = pool.order(0)
    history = pool.answer(
        sampler.design(pool.table, pool.start(), 1, np.random.default_rng(0)), order
    )
    assert len(history) == 1
    (found,) = sampler.estimate(pool.table, history, [Prevalence()], 0.95)
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)
    assert found.effective_size == pytest.approx(1)
    # The rare row is met after all.
    rare = Given(Prevalence(), weights=lambda t, h: heavy(t, h)[::-1], draws=2)
    history = pool.answer(rare.design(pool.table, history, 1, np.random.default_rng(1)), order)
    assert len(history) == 2
    (found,) = sampler.estimate(pool.table, history, [Prevalence()], 0.95)
    assert 0 <= found.largest_share <= 1


@every_kind
def test_pool_of_one_row(kind: type[Sampler]) -> None:
    pool = Pool(np.array([0]), np.array([1]), np.array([[0.4, 0.6]]), np.array([1]))
    sampler = build_sampler(kind)
    history, _ = run(pool, sampler, 1, 5)
    assert len(history) == 1
    assert sampler.exhausted(pool.table, history)
    (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
    assert found.value == 1
    assert found.intervals[0].method == "census"


@every_oracle
def test_one_label_makes_no_claim(kind: type[Sampler], oracle: str) -> None:
    sampler = build_sampler(kind, oracle=oracle)
    for seed in range(3):
        history, _ = run(POOL, sampler, 1, 1, seed)
        assert len(history) == 1
        for found in sampler.estimate(POOL.table, history, [FBeta(), Accuracy()], 0.95):
            if found.measure == "accuracy" and not sampler.can_estimate(POOL.table, Accuracy()):
                assert "cannot be estimated" in str(found.reason)
            assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)


NO_PREDICTIONS = "no predicted positives or no predicted negatives"


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
@pytest.mark.parametrize("measure", [FBeta(), Precision()], ids=["f1", "precision"])
def test_stochastic_oracle_is_never_exhausted(kind: type[Sampler], measure: Measure) -> None:
    sampler = build_sampler(kind, measure, oracle="stochastic")
    pool = make_pool(8, 2, seed=1, positive=0.4)
    history, _ = run(pool, sampler, 4, 60)
    assert len(history) == 240
    assert not sampler.exhausted(pool.table, history)
    (found,) = sampler.estimate(pool.table, history, [measure], 0.95)
    assert "census" not in [i.method for i in found.intervals]


def _endings(words: str) -> tuple[str, str]:
    """Of a number that other labels would define, and of one that none would."""
    lacking = f"is undefined (0/0): {words} among the labelled rows"
    return lacking, f"is undefined (0/0): the pool has {words}"


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (MatthewsCorrelation(), f"no positives, no negatives, {NO_PREDICTIONS}"),
        (BalancedAccuracy(), "no positives, or no negatives"),
        (FBeta(), "no positives"),
        (PerClassF(2, alpha=1.0), "no predictions of a class"),
        (PerClassF(2, alpha=0.0), "no labels of a class"),
        (
            Difference(MatthewsCorrelation(), MatthewsCorrelation(system=1)),
            f"no positives, no negatives, {NO_PREDICTIONS}",
        ),
        (Quotient(Recall(), Recall(system=1)), "no positives, or no recall of the second but 0"),
    ],
    ids=lambda one: one.name if isinstance(one, Measure) else "",
)
def test_reason_names_what_the_measure_lacks(measure: Measure, words: str) -> None:
    """Of labels that are all positive, the correlation was said to lack positives.

    Of a comparison it is what either measure lacks: all rows are positive, and the second system
    finds none.
    """
    label = int(words != "no positives")
    pool = with_labels(POOL, label=label, prediction=label)
    if isinstance(measure, Comparison):
        pool = dataclasses.replace(pool, prediction=np.tile([1, 0], (len(POOL), 1)))
    sampler = samplers.Passive(Accuracy())
    history, _ = pool.run(sampler, 1, 20, seed=1)
    scope = ReportedDomains(systems=pool.known.systems)
    found = sampler.estimate(pool.table, history, [measure], 0.95, scope)
    reasons = [one.reason for one in found if one.value is None]
    assert reasons
    for reason in reasons:
        assert str(reason).endswith(_endings(words))
