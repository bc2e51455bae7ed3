"""Simulations of a pool whose truth is known."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_info

from evalsampling.errors import InputError
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Accuracy, FBeta, Joint, Measure, PRCurve, Precision, Recall
from evalsampling.samplers import (
    AdaptiveImportance,
    Given,
    Importance,
    Oasis,
    Passive,
    Poisson,
    Sampler,
    Stratified,
)
from evalsampling.samplers.base import Rng
from evalsampling.simulation.simulate import Plan, repeat_all, run_repeat, simulate
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.spec import RoundSize
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Round
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import Pool, best_proposal, build_sampler, make_pool, with_second_system
from tests.slow import slowly

POOL = make_pool(4000, 32, seed=11, positive=0.001, strength=3)
PLAN = Plan(budgets=(60, 150), round_size=RoundSize(30), repeats=16, seed=1, confidence=0.95)


def without_time(result: dict[str, Any]) -> dict[str, Any]:
    kept = [{k: v for k, v in r.items() if k != "seconds"} for r in result["results"]]
    return result | {"results": kept}


def rmse(result: dict[str, Any], sampler: str, measure: str, budget: int) -> float:
    (found,) = (
        r["rmse"]
        for r in result["results"]
        if (r["sampler"], r["measure"], r["budget"]) == (sampler, measure, budget)
    )
    return float(found)


@pytest.mark.slow
def test_result_does_not_depend_on_workers_and_ais_beats_passive() -> None:
    """Of 150 passive draws 3 are expected to be positive; AIS looks where the 90 are."""
    known, tried = POOL.known, [AdaptiveImportance(FBeta()), Passive(FBeta())]
    reported: list[int] = []
    measures = [FBeta(), Recall()]
    one = simulate(known, tried, measures, PLAN, workers=1, report=reported.append)
    assert sum(reported) == 2 * PLAN.repeats
    plan = dataclasses.replace(PLAN, repeats=3)
    few = [without_time(simulate(known, tried[:1], measures, plan, workers)) for workers in (1, 3)]
    assert few[0] == few[1]
    assert one["truth"] == {m.name: pytest.approx(POOL.value(m)) for m in measures}
    assert [(r["sampler"], r["measure"], r["budget"]) for r in one["results"]] == [
        (s, m, b) for s in ("ais", "passive") for m in ("f1", "recall") for b in (60, 150)
    ]
    for measure in ("f1", "recall"):
        assert rmse(one, "ais", measure, 150) < rmse(one, "passive", measure, 150) * 0.8
        assert rmse(one, "ais", measure, 150) < rmse(one, "ais", measure, 60)


def test_seeds_differ_between_repeats_and_plans() -> None:
    known, tried = POOL.known, [Passive(Accuracy())]
    plan = Plan((50,), RoundSize(50), 3, seed=1, confidence=0.95)
    first = simulate(known, tried, [Accuracy()], plan, workers=1)["results"][0]
    other = dataclasses.replace(plan, seed=2)
    second = simulate(known, tried, [Accuracy()], other, workers=1)["results"][0]
    assert first["rmse"] != second["rmse"]
    one = dataclasses.replace(plan, repeats=1)
    alone = simulate(known, tried, [Accuracy()], one, workers=1)["results"][0]
    assert abs(alone["bias"]) == pytest.approx(alone["rmse"])
    assert abs(first["bias"]) < 0.99 * first["rmse"]


def urns_of(labels: np.ndarray, seed: int) -> Urns:
    """Cells of so many rows of each label: shape (cells, classes)."""
    cell, label = np.nonzero(labels)
    table = POOL.table
    outputs = rows_of(cell * 10 + label)
    known = KnownPool(table, cell, label, labels[cell, label], outputs)
    return Urns(known, seed)


def rows_of(prediction: np.ndarray) -> Outputs:
    n = len(prediction)
    return Outputs(prediction[:, None], np.zeros((n, 1)), np.zeros((n, 1, 2)))


def ask(history: History, cells: np.ndarray, ranks: np.ndarray | None = None) -> History:
    """Add a round that asks about the next rows of cells, or about these."""
    known = len(history)
    if ranks is None:
        drawn = history.drawn_by_cell(3)
        before = [np.sum(cells[:i] == c) for i, c in enumerate(cells)]
        ranks = drawn[cells] + np.array(before, dtype=np.int64)
    count = len(cells)
    asked = Round(known + np.arange(count), np.full(count, 0.1), np.full(count, True))
    return history.with_round(asked, cells, ranks, rows_of(np.zeros(count, np.int64)))


def test_urns_hold_the_labels_of_their_cells() -> None:
    """Asked for every row, in any order of cells, they give back all labels; a second urn of the
    same seed gives the same ones. Rows come with the outputs of their kind."""
    labels = np.array([[5, 0, 2], [0, 3, 0], [40, 7, 1]])
    for seed in range(5):
        cells = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], [7, 3, 48]))
        answers = []
        for _ in range(2):
            urns, history = urns_of(labels, seed), History.start()
            for part in np.split(cells, [1, 30]):
                history = urns.answer(ask(history, part))
            found = np.zeros((3, 3), dtype=int)
            np.add.at(found, (cells, history.label), 1)
            assert found.tolist() == labels.tolist()
            expected = cells * 10 + history.label
            np.testing.assert_array_equal(history.outputs.prediction[:, 0], expected)
            answers.append(history.label)
        np.testing.assert_array_equal(*answers)
    assert labels.tolist() == [[5, 0, 2], [0, 3, 0], [40, 7, 1]]


def test_row_asked_about_again_is_the_same_row() -> None:
    """Its kind was drawn once; the others stay in the urn."""
    labels = np.array([[1, 1], [2, 1]])
    for seed in range(10):
        urns = urns_of(labels, seed)
        history = urns.answer(ask(History.start(), np.array([0, 1, 1])))
        again = urns.answer(ask(history, np.array([1, 0, 1]), np.array([1, 0, 0])))
        assert again.label[:3].tolist() == history.label.tolist()
        assert again.label[3:].tolist() == history.label[[2, 0, 1]].tolist()
        rest = urns.answer(ask(again, np.array([0, 1])))
        assert np.bincount(rest.label[[0, 6]], minlength=2).tolist() == [1, 1]
        assert np.bincount(rest.label[[1, 2, 7]], minlength=2).tolist() == [2, 1]


@pytest.mark.parametrize(
    "kind", [Stratified, AdaptiveImportance, *slowly(Importance, Oasis, Given)]
)
def test_census_has_no_error(kind: type[Sampler]) -> None:
    """Every sampler ends with the exact value of what drives it; all intervals hold it."""
    pool = make_pool(40, 4, seed=1, positive=0.3)
    plan = Plan((1000,), RoundSize(30), 3, seed=1, confidence=0.95)
    tried = [build_sampler(kind, FBeta())]
    (found,) = simulate(pool.known, tried, [FBeta()], plan, workers=1)["results"]
    assert found["rmse"] == pytest.approx(0, abs=1e-12)
    assert found["coverage"] == 1
    assert found["median_width"] == found["undefined"] == 0


def test_rounds_may_grow() -> None:
    """10, 20, 40, ... new rows: 70 after three rounds; the budget cuts the last one."""
    pool = make_pool(400, 4, seed=1, positive=0.3)
    plan = Plan((70, 100), RoundSize(10, 2.0), 2, seed=1, confidence=0.95)
    run = run_repeat(pool.known, Stratified(Accuracy()), [Accuracy()], plan, 0)
    assert [points[0].draws for points in run] == [70, 100]


@pytest.mark.slow
def test_several_systems_and_measures_of_several_components() -> None:
    """Errors of a vector add up in squares; intervals count each component."""
    pool = with_second_system(make_pool(200, 4, seed=5, positive=0.4), seed=2)
    both = Joint((FBeta(), Recall(system=1)))
    curve = PRCurve(thresholds=(1.0, 3.0))
    plan = Plan((60,), RoundSize(20), 8, seed=4, confidence=0.9)
    measures = [both, Accuracy(system=1), curve]
    result = simulate(pool.known, [AdaptiveImportance(both, delta=0.1)], measures, plan, workers=1)
    assert result["truth"]["accuracy of b"] == pytest.approx(pool.value(Accuracy(system=1)))
    truth = pool.values(both)
    joint, _, _ = result["results"]
    runs = [
        run_repeat(pool.known, AdaptiveImportance(both, delta=0.1), measures, plan, repeat)[0]
        for repeat in range(8)
    ]
    errors = np.array([run[0].value - truth for run in runs])
    assert joint["rmse"] == pytest.approx(np.sqrt(np.mean(np.sum(errors**2, axis=1))))
    covered = [
        e.intervals[0].low <= t <= e.intervals[0].high
        for run in runs
        for e, t in zip(run[0].estimates, truth, strict=True)
    ]
    assert joint["coverage"] == pytest.approx(np.mean(covered))
    np.testing.assert_allclose(pool.known.value(curve), pool.values(curve), rtol=1e-12)


def test_unsupported_measure_is_undefined_in_every_repeat() -> None:
    plan = Plan((60,), RoundSize(20), 3, seed=4, confidence=0.9)
    many = PRCurve(thresholds=tuple(np.linspace(0.5, 30.5, 40).tolist()))
    measures = [Recall(), many]
    tried = [AdaptiveImportance(Precision())]
    results = simulate(POOL.known, tried, measures, plan, workers=1)["results"]
    assert [r["undefined"] for r in results] == [3, 3]
    assert results[1]["coverage"] is None
    assert results[1]["claims"] is results[1]["coverage_of_claims"] is None


def test_undefined_truth_is_an_input_error() -> None:
    none = dataclasses.replace(POOL, label=np.zeros_like(POOL.label))
    with pytest.raises(InputError, match="recall of this pool is undefined"):
        simulate(none.known, [Passive(Recall())], [Recall()], PLAN, workers=1)


def with_rates(known: KnownPool, wrong: float) -> KnownPool:
    """The pool of an oracle that says the other of two labels with a chance."""
    rate = np.where(np.eye(2)[known.label] == 1, 1 - wrong, wrong)
    return dataclasses.replace(known, rate=rate)


def test_true_value_under_rates_is_that_of_mean_losses() -> None:
    """Accuracy of a pool whose labels are turned round with a chance of 0.2."""
    known = with_rates(POOL.known, 0.2)
    right = POOL.value(Accuracy())
    assert known.value(Accuracy())[0] == pytest.approx(0.8 * right + 0.2 * (1 - right))


@pytest.mark.parametrize("votes", [1, 3])
def test_urns_answer_by_rates(votes: int) -> None:
    """Answers about one row, asked again and again, have its rate; rows keep their kind."""
    labels = np.array([[1, 1], [0, 2]])
    rate = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    pool = dataclasses.replace(urns_of(labels, 0)._pool, rate=rate)
    urns, history = Urns(pool, 5, votes), History.start()
    for _ in range(20):
        history = urns.answer(ask(history, np.zeros(200, np.int64), np.tile([0, 1], 100)))
    seen = history.seen(2, 2)
    assert seen.sum() == len(history) == 4000
    by_row = [history.votes(np.flatnonzero(history.rank == rank)) for rank in (0, 1)]
    positive = [float(one.share[one.label == 1].sum() / 2000) for one in by_row]
    error = 4 * np.sqrt(0.25 / 2000 / votes)
    assert sorted(positive) == pytest.approx([0.1, 0.7], abs=error)
    if votes > 1:
        assert np.all(history.answers == votes)
        assert np.allclose(history.shares.sum(axis=1), 1)


@dataclasses.dataclass(frozen=True)
class Scripted(Sampler):
    """A sampler whose estimate depends on the first label: 0.5, or none."""

    name = "scripted"

    def exhausted(self, table: CellTable, history: History) -> bool:
        return False

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        return ask(history, np.zeros(min(new_rows, budget or new_rows), np.int64))

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        raise NotImplementedError

    def can_estimate(self, table: CellTable, measure: Measure) -> bool:
        return True

    def estimate(
        self, table: CellTable, history: History, measures: Any, confidence: float, *_: Any
    ) -> list[Estimate]:
        wide, narrow = Interval(0.0, 1.0, "", "wide"), Interval(0.4, 0.6, "", "wald")
        target = Target("accuracy")
        if history.label.sum() > 1:  # whatever their order
            return [Estimate(target, 0.5, 0.1, confidence, (narrow, narrow))]
        return [Estimate(target, None, None, confidence, (wide,), "undefined")]


def test_summary_by_hand() -> None:
    """A quarter of the labels are positive, so accuracy is 3/4 for a prediction of 0 only.

    An undefined estimate is an error of its whole size and an interval of width one.
    """
    pool = Pool(np.zeros(400, int), np.zeros(400, int), np.full((400, 2), 0.5), np.arange(400) % 4)
    pool = dataclasses.replace(pool, label=(pool.label == 0).astype(int))
    plan = Plan((3,), RoundSize(3), 60, seed=4, confidence=0.9)
    result = simulate(pool.known, [Scripted(Accuracy())], [Accuracy()], plan, workers=1)
    assert result["truth"] == {"accuracy": 0.75}
    (found,) = result["results"]
    undefined = found["undefined"]
    assert 30 < undefined < 60
    defined = 60 - undefined
    errors = [-0.25] * defined + [-0.75] * undefined
    assert found["bias"] == pytest.approx(np.mean(errors))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert found["coverage"] == pytest.approx(undefined / 60)
    assert found["claims"] == pytest.approx(defined / 60)  # the whole range always covers
    assert (found["coverage_of_claims"], found["median_width"]) == (0, 1)
    score = (undefined * 1 + defined * (0.2 + 20 * 0.15)) / 60
    assert found["interval_score"] == pytest.approx(score)
    assert found["wald"]["interval_score"] == pytest.approx(score)
    assert found["intervals"].keys() == {"wald"}
    assert found["divergence"] is None
    assert found["draws"] == 3
    assert 0 < stats.binom.cdf(undefined, 60, 0.75) < 1


def threads(sampler: Passive, repeat: int) -> list[int]:
    """Return the threads of each library of linear algebra, once it was at work."""
    np.linalg.solve(np.eye(200) + repeat, np.ones(200))
    return [library["num_threads"] for library in threadpool_info()]


def test_each_process_has_one_thread() -> None:
    """Several for each core wait for each other: a plan took three times as long."""
    (found,) = repeat_all(threads, [Passive(Accuracy())], 4, 2, lambda _: None)
    assert len(found) == 4
    assert all(count == 1 for counts in found for count in counts)


def divergence_of(q: np.ndarray) -> float:
    best = best_proposal(POOL, FBeta())
    some = best > 0
    return float(np.sum(best[some] * np.log(best[some] / q[some])))


def rates_by_cell(pool: Pool) -> np.ndarray:
    """The mean prior of each kind's cell: rates that differ little within a cell."""
    return np.asarray(pool.table.prior[pool.known.cell])


@pytest.mark.slow
def test_proposals_that_follow_the_labels_come_nearer_the_best_one() -> None:
    """Divergence of q* from q: least for AIS, and falling with labels; passive's never changes."""
    plan = Plan((30, 300), RoundSize(30), 6, seed=3, confidence=0.95)
    tried = [AdaptiveImportance(FBeta()), Passive(FBeta())]
    results = simulate(POOL.known, tried, [FBeta()], plan)["results"]
    early, late, passive, passive_late = (r["divergence"] for r in results)
    assert late < early < passive
    assert passive == pytest.approx(passive_late)
    row = divergence_of(np.full(len(POOL), 1 / len(POOL)))
    assert passive == pytest.approx(row, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("votes", "tried"), [(3, Poisson), (1, Importance)])
def test_standard_errors_of_a_stochastic_oracle_are_right(votes: int, tried: type[Sampler]) -> None:
    """At a small and at a large share of the pool; 160 runs give an error to 6 %, taken thrice.

    Without the second term that of three votes on 540 of 600 rows is twice too large.
    """
    pool = make_pool(600, 20, seed=3, positive=0.3)
    known = dataclasses.replace(pool.known, rate=rates_by_cell(pool))
    plan = Plan((60, 540), RoundSize(600), 1, seed=3, confidence=0.95, divergence=False,
                votes=votes)  # fmt: skip
    sampler, truth = tried(Accuracy(), "stochastic"), known.value(Accuracy())
    runs = [run_repeat(known, sampler, [Accuracy()], plan, repeat) for repeat in range(160)]
    for budget in range(2):
        found = [run[budget][0].estimates[0] for run in runs]
        error = np.std([one.value for one in found])
        told = np.sqrt(np.mean([one.standard_error**2 for one in found]))
        assert np.mean([one.value for one in found]) == pytest.approx(truth[0], abs=0.02)
        assert told / error == pytest.approx(1.0, abs=0.17)
