"""Measures built from a spec, and what they ask of the cells."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import rankdata

from evalsampling import Evaluation, EvaluationSpec, InputError
from evalsampling.measures import BY_NAME
from evalsampling.measures.build import (
    as_one,
    build_driver,
    build_entry,
    build_joints,
    build_measures,
    choose_measures,
    entry_of,
    needs_ranges,
    thresholds_cut_at,
)
from evalsampling.measures.on_cells import known_exactly
from evalsampling.measures.other_names import MEANT, meant_by
from evalsampling.spec import MeasureSpec
from tests.averages import MACRO_F1
from tests.spec.specs import MINIMAL, parse, systems, write_module


def built_of(levels: tuple[float, ...] | None, **keys: Any) -> list[Any]:
    """Return the measures of a spec of one system whose score has some levels."""
    return build_measures(dataclasses.replace(parse(**keys).reading, levels=(levels,)))


def test_one_measure_for_each_system() -> None:
    spec = parse(pool=systems())
    built = build_measures(spec.reading)
    told = [(measure.name, measure.system) for measure in built]
    assert told == [("f1", 0), ("f1", 1), ("difference(f1)", 0)]
    measure = build_driver(spec.reading)
    assert measure.name == "joint(f1, f1)", "one sample serves both systems"


def test_a_measure_of_one_system_drives_alone() -> None:
    spec = parse(pool=systems(), measure=[{"name": "recall", "system": "new"}, "precision"])
    measure = build_driver(spec.reading)
    assert (measure.name, measure.system) == ("recall", 1)
    built = build_measures(spec.reading)
    told = [(measure.name, measure.system) for measure in built]
    assert told == [
        ("recall", 1), ("precision", 0), ("precision", 1), ("difference(precision)", 0)
    ]  # fmt: skip


def test_joint_measures_drive_together_and_are_told_apart() -> None:
    spec = parse(measure=[{"joint": ["precision", "recall"]}, "accuracy"])
    assert build_driver(spec.reading).name == "joint(precision, recall)"
    names = [measure.name for measure in build_measures(spec.reading)]
    assert names == ["precision", "recall", "accuracy"]
    (joint,) = build_joints(spec.reading)
    assert as_one(joint).name == "joint(precision, recall)"


def test_thresholds() -> None:
    """As listed, or so many of the levels of the score; all unless told."""
    (listed,) = build_measures(parse(measure={"name": "pr_curve", "thresholds": [1, 2.5]}).reading)
    assert listed.thresholds == (1.0, 2.5)
    levels = (-2.0, 0.0, 0.5, 4.0, 90.0)
    (counted,) = built_of(levels, measure={"name": "roc_auc", "thresholds": 3})
    assert counted.thresholds == (-2.0, 0.5, 90.0)
    (default,) = built_of(levels, measure="average_precision")
    assert default.thresholds == levels
    (one_score,) = built_of((0.5,), measure="pr_curve")
    assert one_score.thresholds == (0.5,)
    (before,) = build_measures(parse(measure={"name": "roc_auc", "thresholds": 3}).reading)
    assert before.thresholds == (0.0, 512 / 1023, 1.0), "assumed until the pool is read"
    curve = {"name": "pr_curve", "thresholds": [1, 2]}
    for listed, cut in (100, [1, 2]), ([3, 4.5], [1, 2, 3, 4.5]), ([*range(64)], [1, 2]):
        spec = parse(measure=[curve, {"name": "roc_curve", "thresholds": listed}])
        assert thresholds_cut_at(spec.reading).tolist() == cut


def test_thresholds_may_be_an_array() -> None:
    given = {"name": "pr_curve", "thresholds": np.array([0.25, 0.5])}
    assert entry_of([given]) == [{**given, "thresholds": [0.25, 0.5]}]
    (chosen,) = choose_measures(given, [], parse(measure="f1").reading)
    assert chosen.thresholds == (0.25, 0.5)  # type: ignore[attr-defined]


def test_classes_are_averaged_over_by_name() -> None:
    labels = {"classes": ["no", "yes", "unsure"], "positive": "yes"}
    pool = {"path": "x", "probability": {"no": "a", "yes": "b", "unsure": "c"}}
    changes = {"labels": labels, "pool": pool, "measure": {**MACRO_F1, "over": ["unsure"]}}
    (measure,) = build_measures(parse(**changes).reading)
    assert (measure.classes, measure.over) == (3, (2,))


OWN_MODULE = """
import dataclasses
import numpy as np
from evalsampling.measures import Measure
from tests.averages import MACRO_F1


class Errors(Measure):
    name = "errors"

    def loss(self, outputs, label):
        return (outputs.prediction[:, [self.system]] != label[:, None]).astype(float)

    def value(self, risk):
        return risk


@dataclasses.dataclass(frozen=True)
class Scaled(Errors):
    by: float = 1.0
    system: int = 0
    positive: int = 1

    @property
    def name(self):
        return f"errors by {self.by:g}"

    def value(self, risk):
        return risk * self.by


ready = Scaled(by=3.0)


def by_count(table, history):
    return np.ones(len(table)) / table.count
"""


@pytest.fixture
def own_module(tmp_path: Path) -> str:
    """A module of the user's beside the spec."""
    return write_module(tmp_path, OWN_MODULE)


def test_measure_of_the_users_own(tmp_path: Path, own_module: str) -> None:
    def build(measure: Any, **changes: Any) -> list[Any]:
        content = {**MINIMAL, "measure": measure, **changes}
        spec = EvaluationSpec.from_mapping(content, tmp_path)
        assert EvaluationSpec.from_mapping(spec.to_mapping(), tmp_path) == spec
        return build_measures(spec.reading)

    assert [m.name for m in build([f"{own_module}:Errors", "f1"])] == ["errors", "f1"]
    (scaled,) = build({"name": f"{own_module}:Scaled", "by": 2})
    assert (scaled.by, scaled.positive) == (2, 1)
    (ready,) = build(f"{own_module}:ready")
    assert ready.by == 3
    both = build(f"{own_module}:Scaled", pool=systems())
    assert [m.system for m in both] == [0, 1, 0]
    assert both[2].name == "difference(errors by 1)"
    for measure, message in [
        ({"name": f"{own_module}:Scaled", "bye": 2}, "unknown key measure.bye"),
        ({"name": f"{own_module}:Errors", "by": 2}, "measure: .*Errors has no parameters, got by"),
        ({"name": f"{own_module}:ready", "by": 2}, "measure: .*ready has no parameters, got by"),
        (f"{own_module}:by_count", "measure: .*by_count is not a measure"),
        (f"{own_module}:Absent", "measure: .*Absent"),
        ("no_such_module_at_all:x", "measure: no_such_module_at_all:x: No module"),
        ("a:b:c", "measure: must be module:object, got 'a:b:c'"),
        (f"{own_module}:", "measure: must be module:object"),
    ]:
        with pytest.raises(InputError, match=message):
            build(measure)


WRONG = """
class Flat(Errors):
    loss = lambda self, outputs, label: Errors.loss(self, outputs, label)[:, 0]

class Scalar(Errors):
    value = lambda self, risk: risk[0]

class Slopes(Errors):
    jacobian = lambda self, risk: np.ones(1)

class Nameless(Measure):
    loss, value = Errors.loss, Errors.value

class Thousands(Errors):
    loss = lambda self, outputs, label: 1000 * Errors.loss(self, outputs, label)

@dataclasses.dataclass(frozen=True)
class Weighing(Errors):
    weight: float = 1.0
"""


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("Flat", r"errors: loss of 0 rows must have the shape \(0, 1\), got \(0,\)"),
        ("Scalar", r"errors: value of 0 rows must have the shape \(1,\), got \(\)"),
        ("Slopes", r"errors: jacobian of 0 rows must have the shape \(1, 1\), got \(1,\)"),
        ("Nameless", "Nameless has no attribute name"),
        ({"name": "Weighing", "weight": 7}, "weight is a key of every measure: rename"),
        ({"name": "Scaled", "positive": "b"}, "errors by 1: its name must be an attribute"),
        ({"name": "Flat", "by": 2}, r"has no parameters, got by \(is it a dataclass\?\)"),
    ],
)
def test_what_is_wrong_with_a_measure_of_the_users_own(
    tmp_path: Path, measure: Any, problem: str
) -> None:
    module = write_module(tmp_path, OWN_MODULE + WRONG)
    entry = {"name": measure} if isinstance(measure, str) else measure
    named = {**entry, "name": f"{module}:{entry['name']}"}
    labels = {"classes": ["b", "c"]}
    spec = EvaluationSpec.from_mapping({**MINIMAL, "measure": named, "labels": labels}, tmp_path)
    with pytest.raises(InputError, match=f"^measure: .*{problem}"):
        build_measures(spec.reading)


def test_bounds_that_a_measure_of_the_users_own_exceeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be cut to them, and say 1 for certain."""
    predicted = np.arange(100) % 2
    monkeypatch.syspath_prepend(tmp_path)
    measure = f"{write_module(tmp_path, OWN_MODULE + WRONG)}:Thousands"
    evaluation = Evaluation.from_arrays(predicted / 2, predicted, measure=measure)
    ids = evaluation.sample(50)
    evaluation.label(ids, ids % 3 % 2)
    with pytest.raises(InputError, match="measure: errors: is 1000 of a row by itself"):
        evaluation.estimate()


def test_scores_that_are_not_counted() -> None:
    """Unless their ranks are needed, scores are not looked at."""
    spec = parse(pool={"path": "x", "probability": "p"}, measure=["f1"])
    assert not needs_ranges(spec.reading)
    measure = MeasureSpec.parse("pr_curve")
    with pytest.raises(InputError, match="ranks of the scores, which were not counted: list the"):
        build_entry(measure, dataclasses.replace(spec.reading, levels=(None,)))
    assert needs_ranges(parse(measure=["f1", "pr_curve"]).reading)
    assert needs_ranges(parse(measure=["f1", {"joint": ["recall", "roc_auc"]}]).reading)
    listed = {"name": "pr_curve", "thresholds": [1]}
    pool = {"path": "x", "probability": "p"}
    assert not needs_ranges(parse(pool=pool, measure=["f1", listed]).reading)


def test_differences_and_ratios() -> None:
    """Of two systems by themselves, of three by name; they drive the sampling and come back."""
    entry = {"ratio": {"name": "f_beta", "beta": 2}, "of": "new", "against": "old"}
    spec = parse(pool=systems(), measure=[{"difference": "accuracy"}, entry, "accuracy"])
    built = build_measures(spec.reading)
    assert [(one.name, one.systems) for one in built] == [
        ("difference(accuracy)", (0, 1)),
        ("ratio(f_beta(beta=2))", (1, 0)),
        ("accuracy", (0,)),
        ("accuracy", (1,)),
    ]
    assert build_driver(spec.reading) == built[0]
    assert build_joints(spec.reading) == []
    mapping = spec.to_mapping()["measure"]
    assert mapping[1] == {**entry, "ratio": {"name": "f_beta", "beta": 2}}
    assert [MeasureSpec.parse(one) for one in mapping] == [*spec.measures]


def test_which_of_many_systems_must_be_said() -> None:
    with pytest.raises(InputError, match="needs two systems"):
        build_measures(parse(measure={"difference": "f1"}).reading)
    pool = systems()
    pool["systems"]["third"] = {"prediction": "c"}
    with pytest.raises(InputError, match=r"measure.against: which of old, new, third\?"):
        build_measures(parse(pool=pool, measure={"difference": "f1", "of": "new"}).reading)
    names = [(one.name, *one.systems) for one in build_measures(parse(pool=pool).reading)]
    assert names[3:] == [("difference(f1)", 0, 1), ("difference(f1)", 0, 2)]


def test_a_measure_of_one_class() -> None:
    """``positive`` names the class; the spec's own is for the others."""
    labels = {"classes": ["low", "high", "promo"], "positive": "high"}
    pool = {"path": "x", "probability": {name: name for name in labels["classes"]}}
    entries = [
        "precision",
        {"name": "precision", "positive": "promo"},
        {"name": "f_beta", "beta": 2, "positive": "low"},
    ]
    content = {"pool": pool, "labels": labels, "measure": entries}
    spec = EvaluationSpec.from_mapping(content, "/")
    built = build_measures(spec.reading)
    assert [(one.name, one.positive) for one in built] == [
        ("precision", 1),
        ("precision(positive=promo)", 2),
        ("f_beta(beta=2, positive=low)", 0),
    ]
    bad = {**content, "measure": {"name": "precision", "positive": "none"}}
    with pytest.raises(InputError, match=r"measure.positive: 'none' is none of \['low', 'high'"):
        build_measures(EvaluationSpec.from_mapping(bad, "/").reading)
    for entry in ({"name": "accuracy"}, MACRO_F1):
        bad = {**content, "measure": {**entry, "positive": "low"}}
        with pytest.raises(InputError, match="positive"):
            build_measures(EvaluationSpec.from_mapping(bad, "/").reading)


def test_averages_over_some_labels_are_called_by_their_names() -> None:
    names = [f"tag{number}" for number in range(9)]
    for kind, labels in (("tags", names), ("sets", names[:3])):
        spec = parse(
            labels={"multilabel": labels},
            pool={"path": "p", "probability": {label: f"p_{label}" for label in labels}},
            measure=[{**MACRO_F1, "over": ["tag1", "tag2"]}],
        )
        (measure,) = build_measures(spec.reading)
        assert (measure.name, kind) == ("macro_f1(over=tag1+tag2)", spec.labels.space.kind)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"name": "f1", "average": "micro"}, "micro_f1"),
        ({"name": "f1", "average": "weighted"}, "weighted_f1"),
        ("f1_of_macro_averages", "f1_of_macro_averages"),
        ({"name": "precision", "average": "macro"}, "macro_precision"),
        ({"name": "recall", "average": "each", "over": [1]}, "class_recall(over=1)"),
        ({"name": "f_beta", "average": "macro", "alpha": 0.3}, "macro_f_beta(alpha=0.3)"),
        ({"name": "f_beta", "average": "each", "beta": 2}, "class_f_beta(alpha=0.2)"),
        ({"name": "f_beta", "alpha": 0.3}, "f_beta(alpha=0.3)"),
    ],
)
def test_averages_are_asked_for_by_the_measure_of_a_class(entry: Any, name: str) -> None:
    """What is built, and that a spec of it builds the same."""
    (measure,) = build_measures(parse(measure=entry).reading)
    assert measure.name == name
    (again,) = build_measures(parse(measure=entry_of(measure)).reading)
    assert again == measure


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"difference": "f1", "of": "newer"}, "of: unknown system 'newer'; known: old, new"),
        ({"difference": "f1", "against": "old"}, "measure.against: 'old' is compared with itself"),
        ({"difference": "prevalence"}, "measure.difference: prevalence cannot be compared"),
        ({"ratio": {"name": "f1", "system": "old"}}, "measure.ratio: must be one measure"),
        ({"difference": {"joint": ["f1"]}}, "measure.difference: must be one measure"),
        ({"difference": "f1", "than": "old"}, "unknown key measure.than"),
        ({"least": "f1"}, "^measure: least needs two slices or more in over, got none$"),
        ({"greatest": "f1", "over": {"a": "b"}},
         "^measure: greatest needs two slices or more in over, got a=b$"),
        ({"least": {"name": "pr_curve", "system": "old"}, "over": {"a": [1, 2]}},
         "^measure: least is of a measure of one number, pr_curve is none$"),
        ({"name": "f1", "average": "mean"}, "unknown average 'mean' of f1; known: micro, "),
        ({"name": "recall", "average": "weighted"}, "known: micro, macro, each"),
        ({"name": "accuracy", "average": "macro"}, "unknown key measure.average of accuracy"),
        ({"name": "f1", "average": "macro", "alpha": 1}, "unknown key measure.alpha of f1"),
        ({"name": "f_beta", "alpha": 0.2, "beta": 2}, "it takes beta or alpha, not both"),
        ({"name": "f_beta", "average": "macro", "alpha": 0.2, "beta": 2},
         "beta or alpha, not both"),
        ({"name": "f1", "slice": "x"}, "measure.slice of f1; it has no parameters of its own"),
        ("macro_f1", r"it is {name: f1, average: macro}"),
        ("f_eta", "it is f_beta, with eta as its alpha"),
        ("precision_at_k", "the sampler adastrat with the measure average_precision"),
        ("failure_rate", "prevalence is the share of rows whose label is labels.positive, and"),
        ("sensitivity", "unknown measure 'sensitivity': it is recall"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(entry: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_measures(parse(pool=systems(), measure=entry).reading)


def test_no_name_of_ours_is_among_those_of_other_fields() -> None:
    assert not set(MEANT) & set(BY_NAME)
    assert meant_by("Precision@K", ()) == meant_by("precision_at_k", ())
    assert meant_by("f11", ("f1",)) is None
    assert meant_by("ROC AUC", ("roc_auc",)) == meant_by("auroc", ()) == "it is roc_auc"
    assert meant_by("acc", ("mcc", "accuracy")) == "it is accuracy"


def area_and_precision(score: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """Return ROC AUC by ranks, and average precision by each distinct score."""
    hits, ranks = int(label.sum()), rankdata(score)
    area = (ranks[label].sum() - hits * (hits + 1) / 2) / (hits * (len(label) - hits))
    order = np.argsort(-score, kind="stable")
    last = np.flatnonzero(np.diff(score[order], append=-np.inf))
    found = np.cumsum(label[order])[last]
    return area, float(np.diff(found, prepend=0) @ (found / (last + 1)) / hits)


RESCALED = {
    "log-odds": lambda score: score,
    "probabilities": expit,
    "odds": np.exp,
    "squared odds": lambda score: np.exp(2 * score),
    "-999 where there is none": lambda score: np.where(np.arange(len(score)) % 97, score, -999.0),
    "1e12 where there is none": lambda score: np.where(np.arange(len(score)) % 97, score, 1e12),
}


@pytest.mark.parametrize("scale", RESCALED)
def test_areas_follow_the_ranks_of_the_scores(scale: str) -> None:
    """Even steps over the range gave ROC AUC .54 for .96 of squared odds, with all labels."""
    rng = np.random.default_rng(1)
    label = rng.random(4000) < 0.05
    score = RESCALED[scale](rng.normal(np.where(label, 2.0, -2.0), 1.7))
    measures = ["roc_auc", "average_precision"]
    evaluation = Evaluation.from_arrays(score, score > np.median(score), measure=measures)
    ids = evaluation.sample(len(label))
    evaluation.label(ids, label[ids])
    said = [estimate.value for estimate in evaluation.estimate()]
    np.testing.assert_allclose(said, area_and_precision(score, label), atol=0.004)


@pytest.mark.parametrize("steps", [3, 11, 60])
def test_few_scores_are_all_thresholds(steps: int) -> None:
    """So cells tell which rows reach each, and a number is scikit-learn's."""
    rng = np.random.default_rng(steps)
    label = rng.random(3000) < 0.1
    score = np.round(rng.beta(np.where(label, 4, 2), 3) * steps) / steps
    measures = ["average_precision", "roc_auc"]
    evaluation = Evaluation.from_arrays(score, score > 0.8, measure=measures)
    analysis = evaluation.analysis
    for measure in analysis.measures:
        assert measure.thresholds == tuple(np.unique(score))  # type: ignore[attr-defined]
        assert known_exactly(measure, analysis.table)
    ids = evaluation.sample(len(label))
    evaluation.label(ids, label[ids])
    precision, area = (estimate.value for estimate in evaluation.estimate())
    np.testing.assert_allclose((area, precision), area_and_precision(score, label), rtol=1e-9)
