"""Pictures of an evaluation for notebooks."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.pictures import PICTURES, convergence
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.predictive import LabelModel
from tests.averages import MICRO_F1

SYSTEMS = {
    "systems": {name: {"score": name, "prediction": {"threshold": 1}} for name in ("old", "new")},
    "slices": ["region"],
}


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    rng = np.random.default_rng(5)
    truth = rng.random(2000) < 0.1
    columns = {
        "old": rng.normal(size=2000) + 2 * truth,
        "new": rng.normal(size=2000) + 3 * truth,
        "region": np.where(rng.random(2000) < 0.5, "<north>", "south"),
    }
    measures = [{"name": "pr_curve", "system": "old", "thresholds": [-1, 0, 1, 2]}, "f1"]
    one = Evaluation.from_arrays(
        None, None, columns=columns, pool={**SYSTEMS, "score": "old"}, measure=measures, seed=1,
        strata={"leaves": 16}, sampler={"name": "ais", "delta": 0.3},
    )  # fmt: skip
    for _ in range(3):
        one.label(ids := one.sample(40), truth[ids].astype(int))
    return one


def texts(svg: str) -> list[str]:
    """The lines of text in a picture, which is well-formed XML."""
    return ["".join(one.itertext()) for one in ET.fromstring(svg).iter() if one.tag[-4:] == "text"]


@pytest.mark.parametrize("what", PICTURES)
def test_a_notebook_can_show_each(evaluation: Evaluation, what: str) -> None:
    picture = evaluation.plot(what)
    assert picture._repr_svg_() == picture.svg
    root = ET.fromstring(picture.svg)
    assert root.get("role") == "img"
    assert picture.title in (root.get("aria-label") or "")
    assert len(texts(picture.svg)) > 5
    assert "nan" not in picture.svg.lower()


def test_intervals_show_the_estimates(evaluation: Evaluation) -> None:
    shown = texts(evaluation.plot().svg)
    for one in evaluation.estimate():
        whole = one.target.threshold is None and one.target.slice is None
        if whole and one.target.against is None:
            assert f"F1 of {one.target.system}" in shown
            assert one.value is not None
            figures = (f"{one.value:.2f} (", f"{one.value:.3f} (")
            assert any(text.startswith(figures) for text in shown)


def test_slices_are_named(evaluation: Evaluation) -> None:
    assert "F1 of old, region=<north>" in texts(evaluation.plot("slices").svg)


def test_what_cannot_be_drawn_is_told(evaluation: Evaluation) -> None:
    with pytest.raises(InputError, match="must be one of intervals, slices"):
        evaluation.plot("pie")
    with pytest.raises(InputError, match="no curve was estimated of 'new'"):
        evaluation.plot("curve", system="new")
    with pytest.raises(InputError, match="before the first label"):
        Evaluation.from_arrays(np.linspace(0, 1, 50), np.arange(50) // 25).plot()


def test_numbers_have_no_rates_of_classes() -> None:
    numbers = {"prediction": np.arange(50.0), "variance": np.ones(50)}
    one = Evaluation.from_arrays(None, None, columns=numbers, labels={"range": [0, 50]})
    with pytest.raises(InputError, match="not one of the numbers from 0 to 50, as `labels` has"):
        one.label(one.sample(5), [99] * 5)
    one.label(one.sample(5), [9] * 5)
    with pytest.raises(InputError, match="rates of classes, and here labels are numbers"):
        one.plot("calibration")


def test_what_scores_expect_is_shown_where_they_are_probabilities() -> None:
    rng = np.random.default_rng(1)
    score = rng.random(400)
    says = (score > 0.5).astype(int)
    for kind, is_shown in (("probability", True), ("order", False)):
        one = Evaluation.from_arrays(score, says, score_is=kind, seed=1)
        one.label(ids := one.sample(40), says[ids])
        assert ("score says" in texts(one.plot("calibration").svg)) == is_shown


def test_rows_with_any_label_are_the_positives_of_sets() -> None:
    rng = np.random.default_rng(1)
    truth = np.zeros((400, 2), dtype=bool)
    truth[:, 1] = rng.random(400) < 0.5
    chance = rng.random((400, 2))
    one = Evaluation.from_arrays(
        chance[:, 0], truth, probability=chance, labels={"multilabel": ["spam", "rude"]},
        measure=MICRO_F1, seed=1, strata={"leaves": 2},
    )  # fmt: skip
    one.label(ids := one.sample(40), truth[ids])
    shown = texts(one.plot("calibration").svg)
    counts = [text.split(" of ") for text in shown if text[0].isdigit() and " of " in text]
    assert sum(int(met) for met, _ in counts) == truth[ids].any(axis=1).sum() > 0
    assert sum(int(labelled) for _, labelled in counts) == len(ids)


# --- what was estimated after each round


CURVE = {"name": "pr_curve", "thresholds": [0, 1, 2]}


def evaluate(rounds: int, **spec: object) -> tuple[Evaluation, list[object]]:
    """An evaluation, and what it said of the whole pool after each round."""
    rng = np.random.default_rng(5)
    truth = rng.random(3000) < 0.05
    score, said = rng.normal(size=3000) + 3 * truth, []
    evaluation = Evaluation.from_arrays(
        score, (score > 2).astype(int), strata={"leaves": 16}, seed=2, **spec
    )
    for _ in range(rounds):
        evaluation.label(ids := evaluation.sample(20), truth[ids].astype(int))
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


def test_rows_that_count_more_do_so_in_what_was_said_then() -> None:
    """Of systems, which are compared, and of a measure by rows."""
    rng = np.random.default_rng(5)
    truth = rng.random(900) < 0.1
    columns = {"old": rng.normal(size=900) + 2 * truth, "weight": rng.lognormal(0, 1.5, 900)}
    columns["new"] = columns["old"] + rng.normal(size=900)
    pool = {"systems": SYSTEMS["systems"], "weight": "weight"}
    one = Evaluation.from_arrays(
        None, None, columns=columns, pool=pool, measure=["f1", {"f1": {"by": "rows"}}], seed=1
    )
    one.label(ids := one.sample(60), truth[ids].astype(int))
    [found] = convergence(one.analysis)
    said = {estimate.target: estimate.value for estimate in one.estimate()}
    assert {estimate.target: estimate.value for estimate in found.estimates} == said
    assert len(said) == 6


def test_of_many_rounds_some_are_kept_the_last_among_them() -> None:
    evaluation, _ = evaluate(5)
    assert [one.round for one in convergence(evaluation.analysis, most=3)] == [1, 3, 5]
    assert [one.round for one in convergence(evaluation.analysis, most=1)] == [5]


def test_curves_are_left_out_and_rounds_without_answers() -> None:
    evaluation, _ = evaluate(2, measure=["f1", CURVE], sampler={"name": "ais", "delta": 0.1})
    evaluation.sample(20)
    label = np.where(np.arange(60) < 20, -1, evaluation.history.label)
    history = evaluation.history.with_labels(label)
    found = convergence(evaluation.analysis.with_history(history))
    assert [(one.round, one.labels) for one in found] == [(2, 20), (3, 20)]
    assert {estimate.measure for one in found for estimate in one.estimates} == {"f1"}


def test_there_is_nothing_before_the_first_round_or_of_curves_alone() -> None:
    for rounds, measure in ((0, "f1"), (1, CURVE)):
        assert convergence(evaluate(rounds, measure=[measure])[0].analysis) == []


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
