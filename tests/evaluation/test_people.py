"""How well people agree with each other: closed forms, and pools of which it is known."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from evalsampling import Evaluation
from evalsampling.evaluation.people import PeopleAgreement, people_agree
from tests.commands.votes import deliver, votes
from tests.golden.cases import SURE
from tests.jobs import Jobs, call
from tests.slow import fast

Answers = Mapping[int, Mapping[str | None, int]]


def drawn(classes: int, rows: int, n: int, **keys: Any) -> Evaluation:
    """An evaluation of which n rows are drawn; a row is predicted by its place."""
    pool = {"score": np.arange(rows) / rows, "prediction": np.arange(rows) * classes // rows}
    keys = {"labels": {"classes": [*range(classes)]}, "measure": "accuracy", **keys}
    evaluation = Evaluation.from_frame(pool, **keys)
    evaluation.sample(n)
    return evaluation


def told(evaluation: Evaluation, answers: Answers, votes: int = 1) -> PeopleAgreement:
    found = people_agree(evaluation.analysis, answers, votes)
    assert found is not None
    return found


def test_kappa_of_many_people_is_that_of_the_paper() -> None:
    """Ten subjects, fourteen raters, five classes: .378 and .210, a table of many textbooks."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    answers = {
        row: {str(name): code for name, code in enumerate(np.repeat(range(5), given).tolist())}
        for row, given in enumerate(counts)
    }
    evaluation = drawn(5, 40, 10, sampler="passive", strata={"leaves": 2})
    found = told(evaluation, answers)
    agreement, kappa = found.numbers
    assert (found.rows, found.people, found.weighted) == (10, 14, False)
    assert agreement.value == pytest.approx(0.378, abs=5e-4)
    assert kappa.value == pytest.approx(0.210, abs=5e-4)
    assert found.statement == (
        "People agree with each other on 0.378 of rows; kappa 0.210. This is of 10 rows with two "
        "answers or more, and of no other rows."
    )


def test_kappa_of_two_people_is_cohens_with_the_weights_asked_for() -> None:
    """Answers that name no class, stand alone, or are of tasks that are no rows do not count."""
    first, second = np.random.default_rng(1).integers(0, 3, (2, 30))
    both = {row: {"b": b, "a": a} for row, (a, b) in enumerate(zip(first, second, strict=True))}
    answers = {**both, 30: {"a": 1, "b": -2}, 31: {"a": 1}, 99: {"a": 1, "c": 1}}
    measure = ["accuracy", {"name": "kappa", "weights": "quadratic"}]
    found = told(drawn(3, 60, 32, sampler="stratified", measure=measure), answers)
    values = [number.value for number in found.numbers]
    kappa = metrics.cohen_kappa_score(first, second, weights="quadratic")
    assert values == pytest.approx([np.mean(first == second), kappa], rel=1e-12)
    assert [each.measure for each in found.numbers] == ["agreement", "kappa(weights=quadratic)"]


def test_rows_that_had_no_chance_are_not_spoken_for() -> None:
    everyone = {row: {"a": row % 2, "b": row % 3 % 2} for row in range(20)}
    assert told(drawn(2, 60, 20, sampler="passive"), everyone, 2).weighted
    assert not told(drawn(2, 60, 20, sampler="ais"), everyone, 2).weighted
    coins = {"classes": [0, 1], "oracle": "stochastic"}
    assert not told(drawn(2, 60, 20, sampler="passive", labels=coins), everyone, 2).weighted


def test_nothing_is_said_of_single_answers_and_of_sets() -> None:
    one = {0: {"a": 1}, 1: {"a": 1, "b": 0}}
    assert people_agree(drawn(2, 20, 5).analysis, one, 2) is None
    everyone = {row: {"a": 0, "b": 0} for row in range(5)}
    found = told(drawn(2, 20, 5), everyone, 2)
    assert [number.value for number in found.numbers] == [1.0, None]
    assert "kappa undefined" in found.statement
    assert all(number.low is None for number in found.numbers), "five rows claim nothing"


@pytest.mark.parametrize(("error", "rare"), [(0.1, 0.05), (0.1, 0.0), (0.01, 0.05)])
def test_errors_on_all_rows_beside_a_rare_class_bring_a_warning(error: float, rare: float) -> None:
    """Of three people most are wrong on 3 e^2 - 2 e^3 of rows. Three standard errors."""
    rng = np.random.default_rng(3 if rare else 0)
    answer = (rng.random((900, 1)) < rare) ^ (rng.random((900, 3)) < error)
    answers = {
        row: dict(zip("abc", map(int, codes), strict=True)) for row, codes in enumerate(answer)
    }
    found = told(drawn(2, 2000, 900, sampler="passive"), answers, votes=3)
    assert len(found.warnings) == (error == 0.1)
    for warning in found.warnings:
        wrong, *found_rare = map(float, re.findall(r"0\.\d+", warning))
        assert wrong == pytest.approx(0.028, abs=0.015)
        assert found_rare == ([pytest.approx(rare, abs=0.033)] if rare else [])
        assert ("no row need be of that class" in warning) == (not rare)


@pytest.mark.parametrize("sampler", fast(1, ["poisson", "calibrated", SURE]))
def test_rows_are_weighted_by_the_design(sampler: Any) -> None:
    """People disagree on predicted positives alone, which are drawn too often.

    Of 60 intervals 87 %, three standard errors below 95; of the means three standard errors. Half
    of the rows have no second answer, at random.
    """
    rng = np.random.default_rng(7)
    score = np.sort(rng.normal(-2, 1.5, 3000))
    first, guess = (rng.random((2, 3000)) < 1 / (1 + np.exp(-score))).astype(int)
    second = np.where((guess == 1) & (rng.random(3000) < 0.4), 1 - first, first)
    true = [np.mean(first == second), metrics.cohen_kappa_score(first, second)]
    values, held, plain = [], [], []
    for seed in range(60):
        pool = {"score": score, "prediction": guess}
        evaluation = Evaluation.from_frame(
            pool, measure="f1", sampler=sampler, seed=seed, score_is="log-odds", budget=300,
            strata={"leaves": 8},
        )  # fmt: skip
        ids = evaluation.sample(300)
        evaluation.label(ids, first[ids])
        answers = {
            question: {"a": int(first[row]), "b": int(second[row])}
            for question, row in enumerate(ids.tolist())
            if rng.random() < 0.5
        }
        found = told(evaluation, answers, votes=2)
        assert found.weighted
        values.append([number.value for number in found.numbers])
        ends = [(number.low, number.high) for number in found.numbers]
        held.append([low <= value <= high for (low, high), value in zip(ends, true, strict=True)])
        plain.append([number.value for number in told(evaluation, answers).numbers])
    off = np.abs(np.mean(values, axis=0) - true)
    assert (off <= 3 * np.std(values, axis=0) / np.sqrt(60) + 0.01).all()
    assert np.mean(held, axis=0).min() >= 0.87
    assert np.abs(np.mean(plain, axis=0) - true).min() > 0.03, "unweighted they are far off"


def test_command_report_and_notebook_say_it(job: Jobs, tmp_path: Path) -> None:
    one = job(labels={"votes": 2}, measure=["f1", "kappa"], round_size=60).drawn()
    answers = deliver(one, votes(one, 1, "ab", wrong=0.1, skipped=0), "1.csv")
    people = one.estimate("--labels", answers).json["people"]
    assert (people["rows"], people["people"], people["weighted"]) == (60, 2, True)
    assert [number["measure"] for number in people["numbers"]] == ["agreement", "kappa"]
    low, value, high = (people["numbers"][0][key] for key in ("low", "value", "high"))
    assert 0 < low < value < high <= 1
    for options in ((), ("--detail",)):
        shown = call("estimate", one.workspace, *options)
        assert people["statement"] in " ".join(shown.out.split())
    estimates = Evaluation.open(one.workspace).estimate()
    assert estimates.people.statement == people["statement"]
    assert people["statement"] in " ".join(repr(estimates).split())
    page = Evaluation.open(one.workspace).report(tmp_path / "report.html")
    assert people["statement"] in Path(page).read_text()
