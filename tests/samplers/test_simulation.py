"""Simulations of a pool whose truth is known."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.samplers import AdaptiveImportance, Passive
from evalsampling.simulation import KnownPool, Plan, _Urns, simulate
from evalsampling.stats.cells import CellTable
from evalsampling.stats.estimation import Estimate
from evalsampling.stats.history import History, Round
from evalsampling.stats.intervals import Interval
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(4000, 32, seed=11, positive=0.001, strength=3)
PLAN = Plan(budgets=(60, 150), round_size=30, repeats=24, seed=1, confidence=0.95)


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


def test_result_does_not_depend_on_workers_and_ais_beats_passive() -> None:
    """Of 150 passive draws 3 are expected to be positive; AIS looks where the 90 are."""
    known, tried = POOL.known, [AdaptiveImportance(FBeta()), Passive(FBeta())]
    reported: list[int] = []
    measures = [FBeta(), Recall()]
    one = simulate(known, tried, measures, PLAN, workers=1, report=reported.append)
    assert sum(reported) == 2 * PLAN.repeats
    plan = dataclasses.replace(PLAN, repeats=6)
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
    plan = Plan((50,), 50, 8, seed=1, confidence=0.95)
    first = simulate(known, tried, [Accuracy()], plan, workers=1)["results"][0]
    other = dataclasses.replace(plan, seed=2)
    second = simulate(known, tried, [Accuracy()], other, workers=1)["results"][0]
    assert first["rmse"] != second["rmse"]
    one = dataclasses.replace(plan, repeats=1)
    alone = simulate(known, tried, [Accuracy()], one, workers=1)["results"][0]
    assert abs(alone["bias"]) == pytest.approx(alone["rmse"])
    assert abs(first["bias"]) < 0.99 * first["rmse"]


def test_true_values_are_those_of_the_rows() -> None:
    for measure in (FBeta(), FBeta(beta=2.0), Precision(), Recall(), Accuracy()):
        assert POOL.known.value(measure) == pytest.approx(POOL.value(measure), rel=1e-12)


def test_urns_hold_the_labels_of_their_cells() -> None:
    """Asked for every row, in any order of cells, they give back all labels; a second urn of the
    same seed gives the same ones."""
    labels = np.array([[5, 0, 2], [0, 3, 0], [40, 7, 1]])
    for seed in range(5):
        cells = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2], [7, 3, 48]))
        urns = _Urns(labels, seed)
        parts = np.split(cells, [1, 30])
        answers = np.concatenate([urns.ask(part) for part in parts])
        found = np.zeros((3, 3), dtype=int)
        np.add.at(found, (cells, answers), 1)
        assert found.tolist() == labels.tolist()
        again = _Urns(labels, seed)
        repeated = np.concatenate([again.ask(part) for part in parts])
        np.testing.assert_array_equal(repeated, answers)
    assert labels.tolist() == [[5, 0, 2], [0, 3, 0], [40, 7, 1]]


def test_urns_give_every_order_of_labels_the_same_chance() -> None:
    """Chi-square of 3,000 seeds over the ten orders of two and three; fails 1 time in 10,000."""
    orders: dict[tuple, int] = {}
    for seed in range(3000):
        order = tuple(_Urns(np.array([[3, 2]]), seed).ask(np.zeros(5, dtype=np.int64)).tolist())
        orders[order] = orders.get(order, 0) + 1
    assert len(orders) == 10
    assert stats.chisquare([*orders.values()]).pvalue > 1e-4


def test_pool_can_be_labelled_as_a_whole() -> None:
    """Budgets beyond what there is end with the last row; passive estimates come near the truth."""
    pool = make_pool(40, 4, seed=1, positive=0.3)
    plan = Plan((40, 1000), 10, 4, seed=1, confidence=0.95)
    result = simulate(pool.known, [Passive(Accuracy())], [Accuracy()], plan, workers=1)
    first, second = result["results"]
    assert first["rmse"] == second["rmse"] < 0.15
    assert first["draws"] == second["draws"] > 40


def test_undefined_truth_is_an_input_error() -> None:
    table = POOL.known.table
    labels = np.zeros((len(table), 2), dtype=np.int64)
    labels[:, 0] = table.count
    with pytest.raises(InputError, match="recall of this pool is undefined"):
        simulate(KnownPool(table, labels), [Passive(Recall())], [Recall()], PLAN, workers=1)


@dataclasses.dataclass(frozen=True)
class Scripted:
    """A sampler whose estimate depends on the first label: 0.5, or none."""

    name = "scripted"

    def exhausted(self, table: CellTable, history: History) -> bool:
        return False

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        known = len(history.cell)
        new_rows = min(new_rows, budget or new_rows)
        row = np.arange(known, known + new_rows)
        drawn = Round(row, np.full(new_rows, 0.1), np.full(new_rows, True))
        return history.with_round(drawn, np.zeros(new_rows, np.int64), row)

    def estimate(
        self, table: CellTable, history: History, measures: Sequence[Measure], confidence: float
    ) -> list[Estimate]:
        wide, narrow = Interval(0.0, 1.0, "", ""), Interval(0.4, 0.6, "", "")
        if history.label[0]:
            return [Estimate("accuracy", 0.5, 0.1, confidence, (narrow, narrow))]
        return [Estimate("accuracy", None, None, confidence, (wide,), "undefined")]


def test_summary_by_hand() -> None:
    """Half the labels are positive, so accuracy is 1/2 for a prediction of 0 only.

    An undefined estimate is an error of its whole size and an interval of width one.
    """
    pool = Pool(np.zeros(400, int), np.zeros(400, int), np.full((400, 2), 0.5), np.arange(400) % 4)
    pool = dataclasses.replace(pool, label=(pool.label == 0).astype(int))
    plan = Plan((3,), 3, 60, seed=4, confidence=0.9)
    result = simulate(pool.known, [Scripted()], [Accuracy()], plan, workers=1)
    assert result["truth"] == {"accuracy": 0.75}
    (found,) = result["results"]
    undefined = found["undefined"]
    assert 30 < undefined < 60
    defined = 60 - undefined
    errors = [-0.25] * defined + [-0.75] * undefined
    assert found["bias"] == pytest.approx(np.mean(errors))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert found["coverage"] == pytest.approx(undefined / 60)
    assert found["median_width"] == 1
    score = (undefined * 1 + defined * (0.2 + 20 * 0.15)) / 60
    assert found["interval_score"] == pytest.approx(score)
    assert found["draws"] == 3
    assert 0 < stats.binom.cdf(undefined, 60, 0.75) < 1
