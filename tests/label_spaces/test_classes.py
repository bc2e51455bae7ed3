"""Classes with names: what a spec may say of them, their codes and spellings."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.label_spaces.classes import Classes, Grades
from evalsampling.spec.sections import Section


def read(**content: Any) -> Classes:
    return Classes.read(Section("labels", content))


def test_the_last_of_the_classes_is_positive_unless_a_spec_says_so() -> None:
    assert read() == Classes((0, 1), 1)
    assert read(classes=["a", "b", "c"]).positive == 2
    chosen = read(classes=["a", "b", "c"], positive="a")
    assert chosen.positive == 0
    assert read(**chosen.to_mapping()) == chosen
    nobody_chose = read(classes=["bad", "good"])
    assert (nobody_chose.chosen, chosen.chosen) == (False, True)
    assert not read(**nobody_chose.to_mapping()).chosen


def test_of_two_classes_the_second_is_positive_whichever_comes_first() -> None:
    """Models take the second for the positive one: intervals of recall were half as wide else."""
    assert read(classes=["bad", "good"], positive="bad") == Classes(("good", "bad"), 1)
    stored = Section("labels", {"classes": ["bad", "good"], "positive": "bad"}, is_stored=True)
    assert Classes.read(stored) == Classes(("bad", "good"), 0)
    draw = np.random.default_rng(0)
    bad = draw.random(3000) < 0.05
    share = 1 / (1 + np.exp(-draw.normal(np.where(bad, 1, -2), 1)))
    made = []
    for classes in (["good", "bad"], ["bad", "good"]):
        of_each = np.stack([share if name == "bad" else 1 - share for name in classes], axis=1)
        evaluation = Evaluation.from_arrays(
            share,
            np.where(share > 0.5, "bad", "good"),
            probability=of_each,
            labels={"classes": classes, "positive": "bad"},
            measure=["recall", "brier"],
            seed=1,
        )
        ids = evaluation.sample(100)
        evaluation.label(ids, np.where(bad[ids], "bad", "good"))
        made.append(evaluation.estimate())
    assert made[0].to_dict() == made[1].to_dict()


@pytest.mark.parametrize(
    "keys",
    [
        {"measure": {"risk": {"losses": [[0, 1], [5, 0]]}}},
        {"measure": [{"joint": ["f1", {"risk": {"losses": [[0, 1], [5, 0]]}}]}]},
        {"sampler": {"name": "ais", "alpha": [1, 2]}},
        {"sampler": {"name": "active_risk", "model": "prior", "class_prior": [0.9, 0.1]}},
    ],
)
def test_a_list_in_the_order_of_classes_wants_the_positive_one_last(keys: dict[str, Any]) -> None:
    labels = {"classes": [1, 0], "positive": 1}
    words = r"list the positive class last, as \[0, 1\]: losses"
    with pytest.raises(InputError, match=words):
        Evaluation.from_arrays([0.1, 0.9], [0, 1], labels=labels, **keys)
    made = Evaluation.from_arrays([0.1, 0.9], [0, 1], labels=labels)
    made.label(made.sample(2), [0, 1])
    with pytest.raises(InputError, match=words):
        made.estimate({"risk": {"losses": [[0, 1], [5, 0]]}})


@pytest.mark.parametrize(
    ("space", "content", "words"),
    [
        (Classes, {"classes": [1]}, "must list at least two classes"),
        (Classes, {"classes": [0, True]}, "put yes, no, true and false in quotes"),
        (Classes, {"classes": ["a", " "]}, "' ' is blank"),
        (Classes, {"classes": [0, 1 << 63]}, "no whole number of 64 bits"),
        (Classes, {"classes": [1, "1"]}, "two classes are spelt alike"),
        (Classes, {"positive": 2}, "labels.positive: 2 is not one of"),
        (Grades, {"multilabel": ["a", "b"]}, "labels.multilabel: an item of a list has one grade"),
        (Grades, {"range": [0, 1]}, "labels.range: an item of a list has one grade"),
        (Grades, {"classes": [1, 2]}, "with pool.lists these are grades, 0, 1, 2"),
        (Grades, {"oracle": "stochastic"}, "labels.oracle: an item of a list is graded once"),
        (Grades, {"repeats": 3}, "labels.repeats: there are no control tasks"),
    ],
)
def test_what_is_wrong_is_told(space: type[Classes], content: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        space.read(Section("labels", content))


def test_rates_and_columns_are_of_one_of_two_classes() -> None:
    two, three = read(), read(classes=["a", "b", "c"])
    assert two.rates == {"1": [1]}
    assert three.rates == {"a": [0], "b": [1], "c": [2]}
    assert (two.needs_columns, three.needs_columns) == (False, True)


def test_scores_of_three_classes_tell_no_probabilities() -> None:
    """They may stand beside features, from which the strata are cut then."""
    draw = np.random.default_rng(0)
    score, feature, truth = draw.random(300), draw.normal(size=300), draw.integers(0, 3, 300)
    keys: dict[str, Any] = {"columns": {"x": feature}, "labels": {"classes": [0, 1, 2]}, "seed": 1}
    keys |= {"pool": {"features": ["x"], "score": "score"}, "strata": {"method": "kd"}}
    evaluation = Evaluation.from_arrays(score, truth, measure="accuracy", **keys)
    ids = evaluation.sample(30)
    evaluation.label(ids, truth[ids])
    assert evaluation.estimate()[0].value == 1
    with pytest.raises(InputError, match="brier needs a probability"):
        Evaluation.from_arrays(score, truth, measure="brier", **keys)


def test_logits_of_three_classes_are_probabilities_by_softmax() -> None:
    """By hand: with l = log (1, 2, 5) + anything, the classes have .125, .25 and .625."""
    draw = np.random.default_rng(0)
    shift, truth = draw.normal(0, 50, 300), draw.integers(0, 3, 300)
    logits = np.log([1.0, 2.0, 5.0]) + shift[:, None]
    keys: dict[str, Any] = {"labels": {"classes": [0, 1, 2]}, "measure": "brier", "seed": 1}
    of_array = Evaluation.from_arrays(truth / 2, truth, logits=logits, **keys)
    frame = {"prediction": truth, "x": logits[:, 0], "y": logits[:, 1], "z": logits[:, 2]}
    of_frame = Evaluation.from_frame(frame, logits={0: "x", 1: "y", 2: "z"}, measure="brier")
    for evaluation in (of_array, of_frame):
        assert evaluation.analysis.table.prior == pytest.approx(
            np.tile([0.125, 0.25, 0.625], (len(evaluation.analysis.table), 1)), abs=1e-9
        )
        ids = evaluation.sample(300)
        evaluation.label(ids, truth[ids])
        losses = 0.125**2 + 0.25**2 + 0.625**2 + 1 - 2 * np.array([0.125, 0.25, 0.625])[truth]
        assert evaluation.estimate()[0].value == pytest.approx(losses.mean(), rel=1e-9)


def test_a_confidence_of_three_classes_is_that_of_columns_for_each() -> None:
    """Of which the class predicted has it, and the two others half of the rest each."""
    draw = np.random.default_rng(0)
    sure, said = draw.uniform(1 / 3, 1, 400).round(2), draw.choice([*"abc"], 400)
    chances = {name: np.where(said == name, sure, (1 - sure) / 2) for name in "abc"}
    frame = {"score": sure, "prediction": said, **chances}
    keys: dict[str, Any] = {"labels": {"classes": [*"abc"]}, "seed": 1}
    keys |= {"measure": [{"f1": {"average": "macro"}}, "accuracy"]}
    each = Evaluation.from_frame(frame, probability={name: name for name in "abc"}, **keys)
    stated = Evaluation.from_frame(frame, score_is="confidence", **keys)
    for _ in range(2):
        ids = each.sample(60)
        assert ids.tolist() == stated.sample(60).tolist()
        for one in (each, stated):
            one.label(ids, said[(ids * 7) % 400])
    assert each.estimate().to_dict() == stated.estimate().to_dict()
    assert str(stated.scores and stated.scores.words).endswith(
        "confidence in the class predicted, as the spec says. 400 rows. If the probabilities are "
        f"right, {sure.sum():.4g} rows are predicted right"
    )


def test_logits_are_a_matrix_of_all_classes() -> None:
    with pytest.raises(InputError, match="logits: 2 columns for 3 classes"):
        Evaluation.from_arrays(
            [0.1, 0.2], [0, 1], logits=np.zeros((2, 2)), labels={"classes": [0, 1, 2]}
        )


@pytest.mark.parametrize(
    ("values", "positive", "meant"),
    [
        (("legit", "fraud"), 1, {"yes": "fraud", " NO ": "legit", "True": "fraud"}),
        (("fraud", "legit"), 0, {"yes": "fraud", "no": "legit", "false": "legit"}),
        (("m", "f"), 1, {"yes": "f", "n": None, "F ": "f"}),
        (("a", "b", "c"), 1, {"yes": None}),
        ((2, 3), 1, {"yes": None}),
        (("no", "maybe"), 1, {"yes": "maybe", "No": "no"}),
    ],
)
def test_yes_is_the_positive_one_of_two_words(
    values: Any, positive: int, meant: dict[str, str | None]
) -> None:
    found = Classes(values, positive).meant([*meant])
    assert {text: found.get(text) for text in meant} == meant


def test_cells_know_of_a_query_which_lists_differ_from_the_first() -> None:
    space = Grades.read(Section("labels", {"classes": [0, 1, 2]}))
    assert space.signatures(3) == (1, 2, 2)
    assert space.codes == {"0": 0, "1": 1, "2": 2}


def test_no_repeats_may_be_written_out() -> None:
    assert read(repeats=0) == read()
    assert Grades.read(Section("labels", {"repeats": 0, "gold": {}})).values
