"""Plans: what is predicted against closed forms, under labels drawn from the scores."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import EvaluationSpec
from evalsampling.errors import InputError
from evalsampling.preparation.plan import read_table, stratify_pool
from evalsampling.simulation.plan import WIDER, _needed, _Outcome, _spread, plan, usable_samplers
from evalsampling.spec import AnalysisPlan
from evalsampling.stats.cells import CellTable
from tests.jobs import call


def make_pool(path: Path, rows: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(5)
    probability = 1 / (1 + np.exp(-rng.normal(-1, 1.5, rows)))
    table = {
        "id": np.arange(rows),
        "score": probability,
        "prediction": (probability > 0.5).astype(np.int8),
    }
    pq.write_table(pa.table(table), path)
    return probability


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("plan") / "pool.parquet"
    return path, make_pool(path)


def read(pool: Path, **spec: object) -> tuple[AnalysisPlan, CellTable]:
    content = {"pool": {"path": str(pool)}, "strata": {"leaves": 32}, "seed": 3, **spec}
    checked = EvaluationSpec.from_mapping(content, pool.parent)
    stratification = stratify_pool(checked.reading)
    reading = dataclasses.replace(checked.reading, levels=stratification.scores.levels)
    return dataclasses.replace(checked.analysis, reading=reading), read_table(stratification)


def test_power_is_the_share_of_evaluations_whose_test_decides() -> None:
    square = 0.01
    told = [_Outcome(square, 0.1, p, True, None) for p in (0.01, 0.05, 0.06, 0.9, None)]
    spread = _spread(told, 0.95, 1.0)
    assert spread["power"] == pytest.approx(2 / 5)
    assert spread["standard_error"] == pytest.approx(0.1)
    assert spread["half_width"] == pytest.approx(1.959964 * 0.1), "no narrower than its error"
    assert _spread(told, 0.95, 0.15)["half_width"] == pytest.approx(0.15)


@pytest.mark.slow
def test_passive_error_is_the_binomial_one(pool: tuple[Path, np.ndarray]) -> None:
    """Accuracy of n random rows: sqrt(G (1 - G) / n), less what a finite pool saves (1 %)."""
    asked, table = read(pool[0], measure="accuracy", budget=400)
    (row,) = plan(asked, table, ["passive"], budgets=(400,), repeats=400)
    accuracy = np.maximum(pool[1], 1 - pool[1]).mean()
    expected = math.sqrt(accuracy * (1 - accuracy) / 400)
    # A standard deviation from 400 repeats is known to 3.5 %; 3.5 of these.
    assert row["standard_error"] == pytest.approx(expected, rel=0.13)
    assert row["half_width"] >= 1.959 * row["standard_error"]


def test_where_nothing_is_between_budgets_it_is_the_next_with_its_own_half_width() -> None:
    """The interval of a ratio has no end at first: its logarithm was taken, and then rounded."""
    for unknown in (None, math.inf):
        rows = [
            {"budget": 10, "half_width": unknown, "standard_error": 2.0},
            {"budget": 800, "half_width": 0.3, "standard_error": 0.1},
        ]
        for known in (rows, rows[1:]):
            assert _needed(known, 0.5).items() >= rows[1].items()


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_as_many_repeats_are_done_as_were_expected(
    pool: tuple[Path, np.ndarray], measure: str
) -> None:
    """Also those under curves that differ from the scores, and of budgets that double."""
    asked, table = read(pool[0], measure=measure, budget=20, round_size=20)
    told: dict[str, list[int]] = {"report": [], "expect": []}
    count = {name: counts.append for name, counts in told.items()}
    plan(asked, table, ["passive"], repeats=2, half_width=0.15, workers=1, **count)
    assert told["report"] == [1] * sum(told["expect"])
    assert len(told["report"]) >= 4


@pytest.mark.slow
def test_the_budget_of_a_half_width_is_that_of_the_variance(pool: tuple[Path, np.ndarray]) -> None:
    """Of the binomial one; budgets double until it is enough, and stay as they are if given."""
    path, probability = pool
    asked, table = read(path, measure="accuracy", budget=60, round_size=60)
    *rows, needed = plan(asked, table, ["passive"], repeats=24, half_width=0.05)
    assert [row["budget"] for row in rows] == [60, 120, 240, 480]
    right = np.maximum(probability, 1 - probability).mean()
    # The half-width is the larger of the median one and 1.96 errors of 24 repeats, whose own
    # relative error is 1 / sqrt(48); the budget goes with its square.
    assert needed["budget"] == pytest.approx(right * (1 - right) * (1.96 / 0.05) ** 2, rel=0.6)
    assert rows[-1]["half_width"] <= 0.05 < rows[-2]["half_width"]
    *rows, needed = plan(asked, table, ["passive"], budgets=(60,), repeats=2, half_width=0.05)
    assert [row["budget"] for row in rows] == [60]
    assert needed["budget"] is None


def test_samplers_that_do_not_take_the_spec_are_left_out(pool: tuple[Path, np.ndarray]) -> None:
    asked, _ = read(pool[0], measure="accuracy")
    usable = ["passive", "stratified", "importance", "ais", "calibrated"]
    usable += ["poisson", "active_risk", "active_err", "active_uniD", "optimal_importance"]
    usable += ["strat", "strat_model"]
    assert usable_samplers(asked) == usable
    asked, _ = read(pool[0], labels={"oracle": "stochastic"})
    usable = ["passive", "importance", "oasis", "ais", "poisson", "active_risk"]
    usable += ["active_err", "active_uniD", "optimal_importance"]
    assert usable_samplers(asked) == usable


def test_measures_that_cells_do_not_tell_are_refused(pool: tuple[Path, np.ndarray]) -> None:
    """A curve that does not drive: which rows of a bin reach its thresholds is not known."""
    asked, table = read(pool[0], measure=["accuracy", "pr_curve"])
    with pytest.raises(InputError, match="pr_curve cannot be planned for"):
        plan(asked, table, ["passive"], repeats=1)
    listed = {"name": "pr_curve", "thresholds": [0.25, 0.5]}
    told = plan(*read(pool[0], measure=["accuracy", listed]), ["passive"], (50,), repeats=1)
    assert {row["measure"] for row in told} == {"accuracy", "pr_curve"}


def test_measure_that_is_nearly_always_undefined_is_refused(tmp_path: Path) -> None:
    """No positive is expected among 200 rows of probability 1e-9: nothing to plan for."""
    path = tmp_path / "pool.parquet"
    rows = {"id": np.arange(200), "score": np.full(200, 1e-9), "prediction": np.zeros(200, int)}
    pq.write_table(pa.table(rows), path)
    asked, table = read(path)
    with pytest.raises(InputError, match="always undefined"):
        plan(asked, table, ["passive"], budgets=(20,), repeats=1)


@pytest.mark.slow
def test_pools_without_a_value_are_imagined_anew(tmp_path: Path) -> None:
    """One positive is expected: in a third of the imagined pools there is none."""
    path = tmp_path / "pool.parquet"
    score = np.full(100, 0.01)
    rows = {"id": np.arange(100), "score": score, "prediction": np.zeros(100, int)}
    pq.write_table(pa.table(rows), path)
    asked, table = read(path, measure="recall")
    (row,) = plan(asked, table, ["passive"], budgets=(50,), repeats=20)
    assert row["standard_error"] == 0  # recall is 0 wherever it is defined


def test_the_range_holds_the_half_width_if_scores_are_right(pool: tuple[Path, np.ndarray]) -> None:
    """By `WIDER` at least on either side, up to the whole range of the measure."""
    asked, table = read(pool[0], measure=["f1", "recall"])
    for row in plan(asked, table, ["calibrated"], (60,), repeats=2):
        assert row["half_width_low"] <= row["half_width"] / WIDER
        assert row["half_width_high"] >= min(row["half_width"] * WIDER, 0.5)
        assert row["half_width_high"] <= 0.5


def test_scores_that_are_an_order_promise_nothing(tmp_path: Path) -> None:
    """Only ranks count: the same plan of percent as of their ranks, with a range and no saving."""
    probability = make_pool(tmp_path / "pool.parquet", rows=2000)
    table = pq.read_table(tmp_path / "pool.parquet")
    plans = []
    for name, scores in (("percent", 100 * probability), ("shifted", 100 * probability - 7)):
        scored = table.set_column(1, "score", pa.array(scores))
        pq.write_table(scored, tmp_path / f"{name}.parquet")
        content = {"pool": {"path": f"{name}.parquet"}, "strata": {"leaves": 32}, "seed": 3}
        spec = EvaluationSpec.from_mapping({**content, "measure": "recall"}, tmp_path)
        cut = stratify_pool(spec.reading)
        assert cut.scores.kind == "order"
        decided = dataclasses.replace(spec.analysis, reading=cut.scores.stated(spec.reading))
        rows = plan(decided, read_table(cut), ["passive"], (100,), repeats=6)
        plans.append(rows[0])
    first, other = plans
    assert first["saving"] is None
    assert first["half_width_low"] <= first["half_width_high"]
    assert first["half_width"] == pytest.approx(other["half_width"], rel=0.2)


def test_the_command_says_that_it_does_not_believe_scores(tmp_path: Path) -> None:
    probability = make_pool(tmp_path / "pool.parquet", rows=1000)
    table = pq.read_table(tmp_path / "pool.parquet").set_column(
        1, "score", pa.array(100 * probability)
    )
    pq.write_table(table, tmp_path / "pool.parquet")
    spec = tmp_path / "evaluation.yaml"
    spec.write_text("pool: {path: pool.parquet}\nbudget: 60\nround_size: 60\nmeasure: f1\n")
    said = " ".join(call("plan", spec, "--sampler", "passive", "--repeats", "3").out.split())
    assert said.startswith("'score' is read as an order, of which only ranks count: ")
    assert "were in such ranges; the scores do not tell more." in said
    assert "if the scores' probabilities are right" not in said
    assert "label likelihood" not in said
