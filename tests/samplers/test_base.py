"""What all samplers share."""

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from evalsampling import InputError, samplers
from evalsampling.inference.domains import ReportedDomains
from evalsampling.measures import Accuracy, FBeta, Precision, Recall
from evalsampling.samplers import (
    AdaptiveImportance,
    Given,
    Importance,
    Oasis,
    Passive,
    Poisson,
    ReplacementSampler,
    Sampler,
    Stratified,
)
from evalsampling.samplers.base import no_rounds, weights_under
from evalsampling.spec.values import Count
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW, Proposal
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import ALL, WITH_REPLACEMENT, build_sampler, make_pool
from tests.slow import slowly

OF_GIVEN_SIZE = [kind for kind in ALL if kind is not Poisson]


@pytest.mark.parametrize("kind", ALL)
def test_name_is_that_of_the_spec(kind: type) -> None:
    assert samplers.BY_NAME[build_sampler(kind).name] is kind


@pytest.mark.parametrize("kind", OF_GIVEN_SIZE)
def test_round_meets_the_new_rows_wanted(kind: type) -> None:
    pool = make_pool(1000, 8, seed=1)
    history, _ = pool.run(build_sampler(kind), rounds=3, new_rows=25, seed=1)
    assert [int(r.new.sum()) for r in history.rounds] == [25, 25, 25]
    assert all(r.new[-1] for r in history.rounds)


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_round_has_the_draws_fixed(kind: type) -> None:
    pool = make_pool(100, 4, seed=1, positive=0.3)
    history, _ = pool.run(build_sampler(kind, draws=40), rounds=3, new_rows=40, seed=1)
    assert [len(r.question) for r in history.rounds] == [40, 40, 40]


@pytest.mark.parametrize("kind", ALL)
def test_same_history_and_seed_take_the_same_step(kind: type[Sampler]) -> None:
    """Nothing is remembered but the history."""
    pool = make_pool(400, 8, seed=1, positive=0.2)
    history, _ = pool.run(build_sampler(kind), 2, 30, seed=1)
    one, other = (
        build_sampler(kind).design(pool.table, history, 30, np.random.default_rng(9))
        for _ in range(2)
    )
    assert np.array_equal(one.cell, other.cell)
    assert np.array_equal(one.rank, other.rank)
    assert np.array_equal(one.rounds[-1].probability, other.rounds[-1].probability)


def test_round_gives_up_when_nothing_new_is_met() -> None:
    pool = make_pool(20, 4, seed=1, positive=0.3)
    sampler = Passive(FBeta())
    history, order = pool.run(sampler, rounds=1, new_rows=20, seed=1)
    assert sampler.exhausted(pool.table, history)
    history = pool.answer(sampler.design(pool.table, history, 3, np.random.default_rng(0)), order)
    assert len(history.rounds[-1].question) == 3 * DRAWS_PER_NEW_ROW


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_draws_and_share_of_the_pool_are_checked(kind: type[Sampler]) -> None:
    for draws in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="draws must be"):
            build_sampler(kind, draws=draws)
    for delta in (-0.1, 1.1, float("nan"), float("inf"), True, "0.1", None):
        with pytest.raises(ValueError, match="delta must be"):
            build_sampler(kind, delta=delta)


@pytest.mark.parametrize("kind", [kind for kind in ALL if "stochastic" not in kind.takes])
def test_samplers_that_ask_once_take_no_stochastic_oracle(kind: type[Sampler]) -> None:
    with pytest.raises(ValueError, match="takes a deterministic oracle"):
        build_sampler(kind, Accuracy(), oracle="stochastic")
    assert not issubclass(kind, ReplacementSampler)


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_pool_may_be_mixed_in(kind: type[Sampler]) -> None:
    """(1 - delta) q + delta p of every row, labelled ones that add nothing included."""
    pool = make_pool(120, 4, seed=8, positive=0.3)
    history, order = pool.run(build_sampler(kind), 1, 60, seed=2)
    plain, mixed = (
        pool.row_probability(
            build_sampler(kind, delta=delta).proposal(pool.table, history), history, order
        )
        for delta in (0.0, 0.2)
    )
    np.testing.assert_allclose(mixed, 0.8 * plain + 0.2 / 120, rtol=1e-12)
    sampler = build_sampler(kind, Precision(), delta=0.2)
    assert sampler.covers_pool(pool.table)
    assert sampler.can_estimate(pool.table, Accuracy())
    assert np.all(sampler.support(pool.table))


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_proposals_are_distributions_of_rows(kind: type[Sampler], oracle: str) -> None:
    """In every round; weights are 1 / (M q), and 1 on average under q."""
    pool = make_pool(100, 4, seed=1, positive=0.3)
    for delta in (0.0, 0.3):
        sampler = build_sampler(kind, oracle=oracle, delta=delta)
        for rounds in range(3):
            if oracle == "stochastic":
                history, order = pool.run_stochastic(sampler, pool.probability, rounds, 20, 1)
            else:
                history, order = pool.run(sampler, rounds, 20, seed=1)
            q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
            assert q.sum() == pytest.approx(1, abs=1e-12)
            assert q.min() >= delta / 100


@dataclasses.dataclass(frozen=True)
class Wrong(ReplacementSampler):
    """Returns what it is told to."""

    name = "wrong"
    found: Any = None

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        found: Proposal = self.found
        return found


BY_ROW = np.full(6, 1 / 6)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (BY_ROW, "must return a Proposal, got ndarray"),
        (Proposal(BY_ROW[1:]), r"must return chances of shape \(6,\), got \(5,\)"),
        (Proposal(BY_ROW * np.nan), "must return chances that are finite and at least 0"),
        (Proposal(np.append(BY_ROW[1:] / 50, -1e-3)), "that are finite and at least 0"),
        (Proposal(BY_ROW), r"that sum to 1, and table.count @ chance is 16\.6667$"),
        (Proposal(np.eye(6)[0]), "a cell whose chance was above 0 at first"),
    ],
)
def test_a_sampler_whose_proposal_is_none_is_told_so(found: Any, words: str) -> None:
    """Before it draws; and before it estimates, which takes chances of the next round."""
    table = make_pool(100, 4, seed=1, positive=0.3).table
    if words.startswith("a cell"):
        found = Proposal(found.cell_probability / table.count[0])
    with pytest.raises(InputError, match=f"^sampler wrong: .*{words}"):
        Wrong(FBeta(), found=found).proposal(table, no_rounds(table))


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_latest_weights_are_those_of_the_next_proposal(kind: type[Sampler]) -> None:
    pool = make_pool(100, 4, seed=1, positive=0.3)
    sampler = build_sampler(kind)
    history, order = pool.run(sampler, 2, 30, seed=1)
    q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
    q = q[pool.rows(history, order)]
    expected = np.divide(1, 100 * q, out=np.zeros(len(q)), where=q > 0)
    proposal = sampler.proposal(pool.table, history)
    weights = weights_under(proposal, pool.table, history, len(history))
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    scope = ReportedDomains(methods=("wald-latest-proposal",))
    (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95, scope)
    assert "wald-latest-proposal" in [interval.method for interval in found.intervals]


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_the_round_after_an_estimate_is_that_without_one(kind: type[Sampler]) -> None:
    """A proposal is worked out once; labels that come later, or other parameters, make another."""
    pool = make_pool(200, 4, seed=1, positive=0.3)
    sampler = build_sampler(kind)
    history, _ = pool.run(sampler, 2, 30, seed=1)
    other = dataclasses.replace(history)
    assert sampler.proposal(pool.table, history) is sampler.proposal(pool.table, history)
    sampler.estimate(pool.table, history, [FBeta()], 0.95)
    rounds = [
        sampler.design(pool.table, given, 20, np.random.default_rng(2))
        for given in (history, other)
    ]
    for name in ("cell", "rank", "probability"):
        assert np.array_equal(*(getattr(drawn, name) for drawn in rounds)), name
    mixed = build_sampler(kind, delta=0.5).proposal(pool.table, history).cell_probability
    assert mixed.min() >= 0.5 / 200
    turned = history.with_labels(1 - history.label)
    found = sampler.proposal(pool.table, turned)
    anew = sampler.proposal(pool.table, dataclasses.replace(turned))
    assert np.array_equal(found.cell_probability, anew.cell_probability)


def test_variance_of_the_latest_proposal_follows_the_source() -> None:
    """[MR] section 3, with the losses and Jacobian of accuracy, draw by draw."""
    pool = make_pool(300, 4, seed=1, positive=0.3)
    sampler = AdaptiveImportance(Accuracy())
    history, order = pool.run(sampler, 3, 30, seed=1)
    scope = ReportedDomains(methods=("wald-latest-proposal",))
    (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95, scope)
    rows = pool.rows(history, order)[history.question]
    latest = pool.row_probability(sampler.proposal(pool.table, history), history, order)[rows]
    wrong = pool.prediction[rows] != pool.label[rows]
    weight = 1 / (300 * history.probability)
    terms = [
        (1 / 300) ** 2 / (q_latest * q) if error else 0.0
        for error, q_latest, q in zip(wrong, latest, history.probability, strict=True)
    ]
    sigma = np.mean(terms) - np.mean(weight * wrong) ** 2
    reach = 1.959963984540054 * np.sqrt(sigma / len(rows))
    interval = found.intervals[-1]
    assert interval.high == pytest.approx(min(found.value + reach, 1), rel=1e-9)
    assert interval.low == pytest.approx(found.value - reach, rel=1e-9)


@pytest.mark.parametrize("kind", WITH_REPLACEMENT)
def test_round_of_a_stochastic_oracle_asks_as_often_as_wanted(kind: type[Sampler]) -> None:
    """Each draw a question, at most as many as the budget, and there is always one more."""
    pool = make_pool(15, 3, seed=1, positive=0.4)
    sampler = build_sampler(kind, oracle="stochastic")
    history, _ = pool.run_stochastic(sampler, pool.probability, 3, 25, seed=1)
    assert [len(r.question) for r in history.rounds] == [25, 25, 25]
    assert history.question.tolist() == [*range(75)]
    assert len(set(zip(history.cell.tolist(), history.rank.tolist(), strict=True))) <= 15
    assert not sampler.exhausted(pool.table, history)
    rng = np.random.default_rng(0)
    assert len(sampler.design(pool.table, history, 25, rng, budget=4)) == 79
    (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
    assert "census" not in [i.method for i in found.intervals]


@pytest.mark.parametrize("kind", ALL)
def test_budget_ends_a_round(kind: type[Sampler]) -> None:
    pool = make_pool(200, 4, seed=1, positive=0.3)
    rng = np.random.default_rng(0)
    history = build_sampler(kind).design(pool.table, pool.start(), 50, rng, budget=7)
    assert len(history) == 7
    if kind in WITH_REPLACEMENT:
        sampler = build_sampler(kind, draws=100)
        history = sampler.design(pool.table, pool.start(), 50, rng, budget=7)
        assert len(history) == 7


def test_exhausted_counts_the_rows_within_reach() -> None:
    """Precision is about rows predicted positive; accuracy about all."""
    pool = make_pool(60, 4, seed=2, positive=0.3)
    within = np.flatnonzero(pool.prediction == 1)
    for kind in (Importance, AdaptiveImportance):
        sampler = kind(Precision())
        history, order = pool.run(sampler, rounds=1, new_rows=len(within) - 1, seed=3)
        assert not sampler.exhausted(pool.table, history)
        history = pool.answer(
            sampler.design(pool.table, history, 1, np.random.default_rng(0)), order
        )
        assert sorted(pool.rows(history, order)) == within.tolist()
        assert sampler.exhausted(pool.table, history)
        assert not kind(Accuracy()).exhausted(pool.table, history)
        assert not Passive(Precision()).exhausted(pool.table, history)


def test_evidence_counts_rows_not_draws() -> None:
    """A pool of nine positives: however often they are drawn, F1 keeps its whole range."""
    pool = make_pool(400, 4, seed=5, positive=0.05)
    label = pool.label.copy()
    label[np.flatnonzero(label)[9:]] = 0
    assert label.sum() == 9
    pool = dataclasses.replace(pool, label=label)
    sampler = Passive(FBeta(), draws=1200)
    history, _ = pool.run(sampler, rounds=1, new_rows=1200, seed=1)
    positive = history.label[history.question] == 1
    assert positive.sum() > 15
    (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
    assert (found.intervals[0].low, found.intervals[0].high) == (0, 1)
    assert f"only {int((history.label == 1).sum())} positives" in found.warnings[0]


def test_estimate_before_any_round() -> None:
    pool = make_pool(50, 4, seed=1, positive=0.3)
    for kind in ALL:
        found = build_sampler(kind).estimate(pool.table, pool.start(), [FBeta(), Recall()], 0.95)
        assert [f.reason for f in found] == ["no labels yet"] * 2


def test_unsupported_measure_is_none_beside_supported_ones() -> None:
    pool = make_pool(200, 4, seed=1, positive=0.3)
    sampler = AdaptiveImportance(Precision())
    history, _ = pool.run(sampler, rounds=1, new_rows=30, seed=1)
    precision, recall = sampler.estimate(pool.table, history, [Precision(), Recall()], 0.95)
    assert precision.value is not None
    assert recall.value is None
    assert "recall cannot be estimated from rows drawn for precision" in str(recall.reason)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AdaptiveImportance, *slowly(Importance)])
def test_round_without_any_label_leaves_f1_where_it_is(kind: type) -> None:
    """A silent round of 60, four answered ones, 50 repeats.

    The mean stays within 4 of its standard errors; the ratio's own bias, about 0.005 when all
    rounds have labels, is below one more.
    """
    pool = make_pool(4000, 32, seed=11, positive=0.001, strength=3)
    values = []
    for seed in range(50):
        rng, order = np.random.default_rng([5, seed]), pool.order(seed)
        sampler, history = kind(FBeta()), pool.start()
        for _ in range(5):
            history = pool.answer(sampler.design(pool.table, history, 60, rng), order)
            silent = np.arange(len(history)) < 60
            history = history.with_labels(np.where(silent, NO_LABEL, history.label))
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        values.append(found.value)
    error = np.std(values, ddof=1) / np.sqrt(50)
    assert abs(np.mean(values) - pool.value(FBeta())) < 5 * error


FEW = {
    "f1": FBeta(), "precision": Precision(), "recall": Recall(), "accuracy": Accuracy(),
}  # fmt: skip


@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance])
@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("driven_by", FEW)
def test_reach_is_what_adds_to_the_measure(
    kind: type[Sampler], oracle: str, driven_by: str
) -> None:
    """Row by row; and just these rows are drawn."""
    pool = make_pool(60, 4, seed=2, positive=0.3)
    measure = FEW[driven_by]
    losses = [measure.loss(pool.outputs, np.full(60, y)) for y in range(2)]
    adds = np.any(np.concatenate(losses, axis=1) != 0, axis=1)
    sampler = build_sampler(kind, measure, oracle=oracle)
    np.testing.assert_array_equal(sampler.support(pool.table)[pool.cell], adds)
    q = sampler.proposal(pool.table, pool.start()).cell_probability[pool.cell]
    np.testing.assert_array_equal(q > 0, adds)
    assert sampler.unseen(pool.table, pool.start()) == adds.sum()


@pytest.mark.parametrize("kind", [Passive, Stratified, Oasis, Given])
def test_whole_pool_is_within_reach_of_the_others(kind: type[Sampler]) -> None:
    pool = make_pool(60, 4, seed=2, positive=0.3)
    sampler = build_sampler(kind, Precision())
    assert np.all(sampler.support(pool.table))
    assert all(sampler.can_estimate(pool.table, measure) for measure in FEW.values())
    assert sampler.unseen(pool.table, pool.start()) == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        kind
        if kind in (Passive, Stratified, Poisson)
        else pytest.param(kind, marks=pytest.mark.slow)
        for kind in ALL
    ],
)
def test_default_interval_covers(kind: type[Sampler]) -> None:
    """100 repeats of 250 labels, nominal .95: 100 repeats know a coverage to .022.

    The default is conservative rather than exact, and ratios have tails: at least .91.
    """
    pool = make_pool(2000, 8, seed=5, positive=0.25)
    truth, covered = pool.value(FBeta()), 0
    for seed in range(100):
        sampler = build_sampler(kind)
        history, _ = pool.run(sampler, rounds=5, new_rows=50, seed=seed)
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        covered += found.intervals[0].low <= truth <= found.intervals[0].high
        assert found.intervals[0].high - found.intervals[0].low < 0.5
    assert covered / 100 >= 0.91


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Importance, AdaptiveImportance])
def test_labels_missing_at_random_leave_accuracy_where_it_is(kind: type) -> None:
    """Three rounds of 60 draws, four in ten labels missing, 100 repeats.

    The mean stays within 3.5 of its standard errors (a chance of 1 in 2,000) and 2 % for the
    bias, of relative order 1/60, of dividing by the number of labels that came.
    """
    pool = make_pool(400, 8, seed=3, positive=0.3)
    truth, values = pool.value(Accuracy()), []
    for seed in range(100):
        rng, order = np.random.default_rng([9, seed]), pool.order(seed)
        sampler, history = kind(Accuracy(), draws=60), pool.start()
        for _ in range(3):
            before = len(history)
            silent = history.label == NO_LABEL
            history = pool.answer(sampler.design(pool.table, history, 60, rng), order)
            missing = rng.random(len(history)) < 0.4
            missing[:before] = silent
            history = history.with_labels(np.where(missing, NO_LABEL, history.label))
        (found,) = sampler.estimate(pool.table, history, [Accuracy()], 0.95)
        values.append(found.value)
    error = np.std(values, ddof=1) / 10
    assert error < 0.01
    assert abs(np.mean(values) - truth) < 3.5 * error + 0.02 * (1 - truth)


@dataclasses.dataclass(frozen=True)
class Told(Passive):
    """A sampler with parameters of each kind, some of which say nothing of their values."""

    least: Count | None = None
    strict: bool = False
    how: Literal["one", "other"] = "one"
    words: Annotated[float, "of a note alone"] = 0.5
    name: str = "told"


def test_parameters_of_a_type_that_says_its_values_are_checked() -> None:
    told = Told(Accuracy(), delta=np.float32(0.5), least=np.int64(3), words=2)
    assert (told.delta, told.least, told.words) == (0.5, 3, 2)
    assert [type(each) for each in (told.delta, told.least, told.words)] == [float, int, int]
    assert type(Told(Accuracy(), delta=1).delta) is int, "it stays as it is written"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"least": 0}, "least must be a whole number of at least 1, got 0"),
        ({"strict": 1}, "strict must be true or false, got 1"),
        ({"how": "none"}, "how must be one of one, other, got 'none'"),
        ({"delta": None}, "delta must be a number, got None"),
    ],
)
def test_wrong_parameters_of_each_kind(given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Told(Accuracy(), **given)
