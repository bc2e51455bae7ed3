"""Choices among systems: by hand, and as often wrong as the binomial distribution says."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from scipy import stats

from evalsampling.commands.simulate import SimulateOptions
from evalsampling.commands.simulate import simulate as simulate_command
from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures import (
    Accuracy,
    Brier,
    FalsePositiveRate,
    FBeta,
    LogLoss,
    Measure,
    PRCurve,
    Precision,
    difference,
)
from evalsampling.samplers import Compare, Passive
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.summary import (
    Candidates,
    Outcome,
    Selection,
    candidates_of,
    mean_selection,
    promise_outcome,
    promise_summary,
)
from evalsampling.spec import RoundSize
from evalsampling.spec.promise import Promise
from tests.samplers.pools import make_pool
from tests.slow import fast


def less(measure: Measure, other: int) -> Measure:
    return difference(measure, dataclasses.replace(measure, system=other))


def choose(estimated: list[float], true: list[float], sign: int = 1) -> Selection:
    places = tuple(range(len(true)))
    as_values = [np.array([one]) for one in estimated], [np.array([one]) for one in true]
    return Candidates(places, sign).select(*as_values)


def test_choices_by_hand() -> None:
    """The first system stands at 0, another one where the first is less than it by so much."""
    assert choose([0.2], [0.1]) == Selection(0, 0)
    assert choose([-0.2], [0.1]) == Selection(1, pytest.approx(0.1))
    assert choose([-0.2], [-0.1], sign=-1) == Selection(0, 0), "of a loss the smaller is better"
    assert choose([-0.2], [0.1], sign=-1) == Selection(1, pytest.approx(0.1))
    assert choose([-0.2, -0.3], [-0.25, -0.1]) == Selection(1, pytest.approx(0.15))
    assert choose([0.1, 0.3], [-0.25, -0.1]) == Selection(1, pytest.approx(0.25))


def test_of_systems_that_look_alike_each_is_as_likely_to_be_chosen() -> None:
    assert choose([0.0], [0.3]) == Selection(0.5, pytest.approx(0.15))
    assert choose([-0.2, -0.2], [-0.1, -0.4]) == Selection(0.5, pytest.approx(0.15))
    undefined = choose([float("nan"), -0.9], [0.1, 0.2])
    assert undefined == Selection(pytest.approx(2 / 3), pytest.approx(0.1))


def test_of_systems_that_are_alike_none_is_wrong() -> None:
    assert choose([-0.2], [0.0]) == Selection(0, 0)
    assert choose([-0.2, 0.1], [1e-15, 0.3]) == Selection(0, pytest.approx(0))


def test_differences_of_one_measure_and_first_system_belong_together() -> None:
    of_second = difference(Accuracy(system=1), Accuracy(system=2))
    listed = [
        Accuracy(), less(Accuracy(), 1), less(Accuracy(), 2), less(Brier(), 1), of_second,
        less(PRCurve((0.1, 0.5)), 1), less(FalsePositiveRate(), 1), less(LogLoss(), 1),
        less(FBeta(), 1),
    ]  # fmt: skip
    assert candidates_of(listed) == [
        None, Candidates((1, 2), 1), Candidates((1, 2), 1), Candidates((3,), -1),
        Candidates((4,), 1), None, Candidates((6,), -1), Candidates((7,), -1), Candidates((8,), 1),
    ]  # fmt: skip


def test_means_of_repeats() -> None:
    assert mean_selection([]) == {"selection_error": None, "regret": None}
    found = mean_selection([Selection(1, 0.3), Selection(0, 0), Selection(0.5, 0.1)])
    assert found == {"selection_error": pytest.approx(0.5), "regret": pytest.approx(0.4 / 3)}


@pytest.mark.slow
def test_the_wrong_one_of_two_is_chosen_as_often_as_coins_say() -> None:
    """Rows that differ favour either system: a coin each. 300 repeats of 15 draws.

    A share of 300 has a standard error of .029 at most, of which two are allowed.
    """
    pool = make_pool(6000, 6, seed=3, positive=0.4)
    rng = np.random.default_rng(5)
    first = np.where(rng.random(6000) < 0.57, pool.label, 1 - pool.label)
    second = np.where(rng.random(6000) < 0.6, 1 - first, first)
    pool = dataclasses.replace(pool, prediction=np.stack([first, second], axis=1))
    measure = less(Accuracy(), 1)
    right = pool.outputs.prediction == pool.label[:, None]
    differs = right[:, 0] != right[:, 1]
    assert differs.sum() > 2000, "so that hardly any row is drawn twice"
    better = max(right[differs].mean(axis=0))
    plan = Plan(
        budgets=(15,), round_size=RoundSize(15), repeats=300, seed=2, confidence=0.95,
        divergence=False,
    )  # fmt: skip
    sampler = Compare(measure, variant="active_neq")
    (found,) = simulate(pool.known, [sampler], [measure], plan, workers=1)["results"]
    coins = stats.binom(15, better)
    expected = coins.cdf(7)
    assert 0.1 < expected < 0.45
    assert found["selection_error"] == pytest.approx(expected, abs=0.06)
    lost = abs(right[:, 0].mean() - right[:, 1].mean())
    assert found["regret"] == pytest.approx(lost * found["selection_error"])


POOL = make_pool(3000, 30, seed=3, positive=0.2, strength=6)


def labelled(rows: int) -> Analysis:
    history, _ = POOL.run(Passive(Precision()), 2, rows, seed=1)
    return Analysis(POOL.table, Passive(Precision()), [Precision()], 1, 0.95, history)


def test_outcomes_are_judged_by_the_truth() -> None:
    assert promise_outcome(POOL.known, labelled(5), Promise({"precision": 0.8}), 10) == Outcome(
        False, False, 0.0
    )
    never = Promise({"precision": 0.95, "recall": 0.95})
    assert promise_outcome(POOL.known, labelled(5), never, 10).rows is None
    good = promise_outcome(POOL.known, labelled(900), Promise({"precision": 0.6}), 1800)
    assert good.proved
    assert not good.broken
    assert 0.3 < good.rows <= 1


def test_summaries_are_shares_of_the_repeats() -> None:
    outcomes = [Outcome(True, False, 0.8), Outcome(True, True, 1.2), Outcome(False, False, 0.0)]
    assert promise_summary(outcomes) == {
        "proved": pytest.approx(2 / 3),
        "broken": pytest.approx(1 / 3),
        "rows": pytest.approx(2 / 3),
    }
    assert promise_summary([Outcome(False, False, None)])["rows"] is None


def test_more_labels_prove_more_and_none_is_broken_here() -> None:
    sampler = CertifyingDesign(Precision(), goals={"precision": 0.8}, planned=500)
    plan = Plan((200, 500), RoundSize(100), 3, 1, 0.95, promise=Promise({"precision": 0.8}))
    few, many = simulate(POOL.known, [sampler], [Precision()], plan)["promises"]
    assert (few["budget"], many["budget"]) == (200, 500)
    assert many["proved"] >= few["proved"]
    assert many["rows"] > few["rows"]
    assert few["broken"] == many["broken"] == 0
    assert np.isfinite(many["rows"])


KINDS = (
    {"classes": ["no", "yes"], "column": "human", "drawn": "random"},
    {"classes": ["yes", "no"]},
    {"classes": ["no", "yes"]},
)


@pytest.mark.parametrize("labels", fast(2, KINDS), ids=["at hand", "positive first", "as usual"])
def test_promises_are_of_the_positive_class_and_rounds_of_the_sampler(
    tmp_path: Path, labels: dict[str, Any]
) -> None:
    """Also where a pool has labels that were drawn at random: simulated rounds are not."""
    label = np.where(POOL.label == 1, "yes", "no")
    given = [text if row % 30 == 0 else None for row, text in enumerate(label.tolist())]
    columns = {"id": np.arange(3000), "score": POOL.probability[:, 1], "human": given}
    predicted = np.where(POOL.prediction == 1, "yes", "no")
    pq.write_table(pa.table({**columns, "prediction": predicted}), tmp_path / "pool.parquet")
    pq.write_table(pa.table({"id": columns["id"], "label": label}), tmp_path / "truth.parquet")
    spec = {"pool": {"path": "pool.parquet"}, "measure": [{"certify": {"recall": 0.3}}],
            "budget": 600, "round_size": 200, "seed": 1,
            "labels": {**labels, "positive": "yes"}}  # fmt: skip
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    options = SimulateOptions(
        str(tmp_path / "spec.yaml"), str(tmp_path / "truth.parquet"), repeats=2
    )
    (found,) = simulate_command(options).promises
    assert (found.proved, found.broken) == (1, 0)
    assert found.rows >= 1
