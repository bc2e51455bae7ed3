"""What was estimated after each round."""

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.pictures import convergence
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.predictive import LabelModel

CURVE = {"name": "pr_curve", "thresholds": [0, 1, 2]}


def evaluate(rounds: int, **spec: object) -> tuple[Evaluation, list[object]]:
    """An evaluation, and what it said of the whole pool after each round."""
    rng = np.random.default_rng(5)
    truth = rng.random(3000) < 0.05
    score = rng.normal(size=3000) + 3 * truth
    said = []
    evaluation = Evaluation.from_arrays(
        score, (score > 2).astype(int), strata={"leaves": 16}, seed=2, **spec
    )
    for _ in range(rounds):
        ids = evaluation.sample(20)
        evaluation.label(ids, truth[ids].astype(int))
        whole = evaluation.analysis.estimate(scope=ReportedDomains())
        said.append([one for one in whole if one.target.threshold is None])
    return evaluation, said


@pytest.mark.parametrize("sampler", ["ais", "calibrated"])
def test_it_says_what_was_said_then(sampler: str) -> None:
    evaluation, said = evaluate(3, sampler=sampler, measure=["f1", "precision"])
    found = convergence(evaluation.analysis)
    assert [one.round for one in found] == [1, 2, 3]
    assert [one.labels for one in found] == [20, 40, 60]
    for now, then in zip(found, said, strict=True):
        values = [(one.value, one.intervals[0]) for one in now.estimates]
        assert values == [(one.value, one.intervals[0]) for one in then]  # type: ignore[attr-defined]


def test_of_many_rounds_some_are_kept_the_last_among_them() -> None:
    evaluation, _ = evaluate(5)
    assert [one.round for one in convergence(evaluation.analysis, most=3)] == [1, 3, 5]
    assert [one.round for one in convergence(evaluation.analysis, most=1)] == [5]


def test_curves_are_left_out_and_rounds_without_answers() -> None:
    evaluation, _ = evaluate(2, measure=["f1", CURVE], sampler={"name": "ais", "delta": 0.1})
    evaluation.sample(20)
    label = evaluation.history.label.copy()
    label[:20] = -1
    history = evaluation.history.with_labels(label)
    evaluation.state.analysis = evaluation.analysis.with_history(history)
    found = convergence(evaluation.analysis)
    assert [(one.round, one.labels) for one in found] == [(2, 20), (3, 20)]
    assert {estimate.measure for one in found for estimate in one.estimates} == {"f1"}


def test_there_is_nothing_before_the_first_round_or_of_curves_alone() -> None:
    score = np.linspace(0, 1, 200)
    assert convergence(Evaluation.from_arrays(score, (score > 0.5).astype(int)).analysis) == []
    evaluation, _ = evaluate(1, measure=[CURVE])
    assert convergence(evaluation.analysis) == []


def test_the_model_of_the_last_round_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation, _ = evaluate(2, sampler="calibrated")
    evaluation.estimate()
    fit, fitted = LabelModel.fit, []

    def counted(*arguments: object, **named: object) -> LabelModel:
        fitted.append(arguments)
        return fit(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(LabelModel, "fit", counted)
    convergence(evaluation.analysis)
    assert len(fitted) == 1, "that of the first round"
