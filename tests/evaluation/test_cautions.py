"""What is said before estimates are trusted, and reasons to stop."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.cautions import cautions
from evalsampling.labels.tally import Awaited
from evalsampling.measures import MacroF, Precision


def test_missing_labels() -> None:
    score = np.random.default_rng(3).normal(size=3000)
    evaluation = Evaluation.from_arrays(score, score > 0, seed=1)
    ids = evaluation.sample(50)
    evaluation.label(ids[:30], score[ids[:30]] > 0.3)
    analysis = evaluation.analysis
    estimates = analysis.estimate()
    of_missing = "; others of their round stand for them, as if missing at random"
    drawn = "20 of 50 rows drawn have no label"
    waiting = Awaited(unanswered=7)
    assert cautions(analysis, estimates)[-1] == drawn + of_missing
    assert cautions(analysis, estimates, waiting)[-1] == f"{drawn} (7 open){of_missing}"
    about = cautions(analysis, estimates, waiting, ["annotators err"])
    assert about == [*cautions(analysis, estimates, waiting), "annotators err"]


def test_warnings_of_each_estimate_come_first() -> None:
    score = np.linspace(-3, 3, 400)
    few = Evaluation.from_arrays(score, score > 0, seed=1, sampler="passive")
    ids = few.sample(8)
    few.label(ids[:6], score[ids[:6]] > 0.3)
    estimates = few.analysis.estimate()
    own = [warning for one in estimates for warning in one.warnings]
    assert len(own) == 1
    assert cautions(few.analysis, estimates)[: len(own)] == own


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (["accuracy", "f1"], ["F1 is about c, the positive one of 3 classes"]),
        (["f1", "recall"], ["F1, Recall are about c, the positive one of 3 classes"]),
        (["accuracy", {"f1": {"average": "macro"}}, {"name": "f1", "positive": "b"}], []),
        ([{"joint": ["recall"]}], ["Recall is about c, the positive one of 3 classes"]),
        (["f1", "roc_auc"], ["F1, ROC AUC are about c, the positive one of 3 classes"]),
    ],
)
def test_of_several_classes_it_says_which_one_a_number_is_about(
    measure: list[Any], said: list[str]
) -> None:
    spec: Any = {"labels": {"classes": ["a", "b", "c"]}, "measure": measure}
    spec |= {"probability": np.full((60, 3), 1 / 3)}
    evaluation = Evaluation.from_arrays(np.arange(60), ["a", "b", "c"] * 20, **spec)
    ids = evaluation.sample(9)
    evaluation.label(ids, ["c"] * 9)
    analysis = evaluation.analysis
    warnings = cautions(analysis, analysis.estimate())
    assert ("ROC AUC ranks rows by 'score': is a higher one a likelier c?" in str(warnings)) == (
        "roc_auc" in measure
    )
    told = [one for one in warnings if " about c" in one]
    assert told == [f"{one}; {{f1: {{average: macro}}}} is about all" for one in said]


def test_a_measure_that_is_asked_for_is_not_taken_for_the_evaluations_own() -> None:
    """`Precision()` is of the class at place 1, which of three is not the positive one."""
    classes, macro = ["a", "b", "c"], "{f1: {average: macro}} is about all"
    evaluation = Evaluation.from_arrays(
        np.arange(60), classes * 20, labels={"classes": classes}, measure="f1"
    )
    ids = evaluation.sample(60)
    evaluation.label(ids, np.array(classes)[[0, 1, 1] * 20][ids])
    (estimate,) = asked = evaluation.estimate([Precision()])
    assert estimate.value == 1
    assert asked.warnings == (f"Precision is about b, one of 3 classes; {macro}",)
    assert evaluation.estimate("accuracy").warnings == ()
    for measure, words in (
        (MacroF(classes=2), "macro_f1: is of 2 classes, there are 3"),
        (Precision(3), "precision: positive is a place in labels.classes, of 3 from 0, got 3"),
    ):
        with pytest.raises(InputError, match=words):
            evaluation.estimate([measure])


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"classes": ["bad", "good"]}, ["good", "bad"]),
        ({"classes": ["yes", "no"]}, ["no", "yes"]),
        ({"classes": [1, 2]}, ["2", "1"]),
        ({"classes": ["bad", "good"], "positive": "good"}, []),
        ({"classes": ["bad", "good"], "positive": "bad"}, []),
        ({"classes": ["No", "Yes"]}, []),
        ({"classes": [-1, 1]}, []),
        ({}, []),
    ],
)
def test_of_two_classes_it_says_which_one_is_positive_if_the_spec_does_not(
    labels: dict[str, Any], said: list[str], tmp_path: Path
) -> None:
    """Classes in the order of the alphabet made F1 that of the good ones, and nothing said so."""
    classes = labels.get("classes", [0, 1])
    evaluation = Evaluation.from_arrays(None, classes * 30, labels=labels, measure=["f1", "mcc"])
    ids = evaluation.sample(20)
    evaluation.label(ids, classes * 10)
    about = "F1, MCC are about {}, the last of labels.classes; labels.positive: {} asks about"
    wanted = [f"{about.format(*said)} the other"] if said else []
    evaluation.save(tmp_path / "saved")
    for each in (evaluation, Evaluation.open(tmp_path / "saved")):
        assert [one for one in each.estimate().warnings if " about " in one] == wanted


@pytest.mark.parametrize(
    ("sampler", "stop", "rounds", "warns"),
    [
        ("ais", {"half_width": 0.4}, 2, True),
        ("poisson", {"half_width": 0.4}, 2, True),
        ("ais", {"half_width": 0.4}, 1, False),
        ("ais", {"half_width": 0.001}, 2, False),
        ("ais", {}, 2, False),
        ("calibrated", {"half_width": 0.4}, 2, False),
    ],
)
def test_a_width_that_ends_an_evaluation_is_said_to_cost_coverage(
    sampler: str, stop: dict[str, Any], rounds: int, warns: bool
) -> None:
    """By `calibrated` it costs next to nothing, as does the first look, which nothing chose."""
    rng = np.random.default_rng(4)
    score = rng.random(1000)
    label = (rng.random(1000) < score**2).astype(int)
    evaluation = Evaluation.from_arrays(
        score,
        (score > 0.6).astype(int),
        probability=score**2,
        measure="f1",
        sampler=sampler,
        seed=1,
        **({"stop": stop} if stop else {}),
    )
    for _ in range(rounds):
        ids = evaluation.sample(150)
        evaluation.label(ids, label[ids])
    said = [one for one in evaluation.estimate().warnings if one.startswith("stop.half_width")]
    assert bool(said) == warns
    assert all(f"in {rounds} rounds" in one for one in said)


@pytest.mark.parametrize(
    ("classes", "measure", "told"),
    [
        (["high", "low", "medium"], {"kappa": {"weights": "quadratic"}}, True),
        (["low", "medium", "high"], {"kappa": {"weights": "quadratic"}}, False),
        ([1, 2, 3], {"kappa": {"weights": "quadratic"}}, False),
        (["high", "low", "medium"], "kappa", False),
        (["high", "low", "medium"], {"kappa": {"weights": "linear", "where": {"g": "a"}}}, True),
    ],
)
def test_grades_in_the_order_of_the_alphabet_are_doubted(
    classes: list[Any], measure: Any, told: bool
) -> None:
    """``unique`` of a column gives that order, by which high and medium are furthest apart."""
    evaluation = Evaluation.from_arrays(
        None, classes * 20, columns={"g": ["a"] * 60}, labels={"classes": classes}, measure=measure
    )
    evaluation.label(evaluation.sample(9), classes * 3)
    said = [one for one in evaluation.estimate().warnings if "alphabet" in one]
    assert len(said) == told
    assert not told or "go from high to medium, in the order of the alphabet" in said[0]
