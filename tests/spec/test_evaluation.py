"""The spec file: defaults, round trip, and one clear error for each kind of mistake."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsampling import EvaluationSpec, InputError
from evalsampling.spec import MeasureSpec, RoundSize, SystemSpec
from evalsampling.spec.measures import driver

MINIMAL: dict[str, Any] = {"pool": {"path": "pairs/*.parquet"}}


def parse(**changes: Any) -> EvaluationSpec:
    content = {**MINIMAL, **changes}
    return EvaluationSpec.from_mapping(content, Path("/somewhere"))


def systems(**columns: Any) -> dict[str, Any]:
    """A pool of two systems, the first with a score, the second without."""
    both = {
        "old": {"score": "s", "prediction": {"threshold": 0.5}},
        "new": {"prediction": "p"},
    }
    return {"path": "x", "systems": both, **columns}


def test_defaults() -> None:
    spec = parse()
    assert spec.pool.path == "/somewhere/pairs/*.parquet"
    assert (spec.pool.id, spec.pool.score) == ("id", "score")
    assert spec.pool.systems == (SystemSpec(None, "score", "prediction", None, None),)
    assert (spec.pool.probability, spec.pool.scorer) == (None, None)
    assert spec.pool.slices == spec.pool.features == spec.pool.payload == ()
    assert spec.labels.classes == (0, 1)
    assert (spec.labels.positive, spec.labels.oracle) == (1, "deterministic")
    assert [measure.name for measure in spec.build_measures([None])] == ["f1"]
    assert spec.sampler.name == "ais"
    assert (spec.strata.method, spec.strata.edges) == ("csf", None)
    assert (spec.strata.leaves, spec.strata.branching) == (256, 2)
    assert (spec.budget, spec.confidence, spec.sink) == (1000, 0.95, "csv")
    assert spec.round_size == RoundSize(100)
    assert spec.workspace is None


EVERYTHING: list[dict[str, Any]] = [
    {},
    {"measure": ["f1", {"name": "f_beta", "beta": 2}, "accuracy"]},
    {"sampler": {"name": "importance", "draws": 100}},
    {"labels": {"classes": ["no", "yes", "unsure"], "positive": "yes"},
     "pool": {"path": "x", "probability": {"no": "a", "yes": "b", "unsure": "c"}}},
    {"pool": {"path": "x", "prediction": {"threshold": 0.5}, "scorer": "m:f",
              "probability": "p", "payload": ["a", "b"]}},
    {"pool": {"path": "x", "prediction": {"threshold": 0}}},
    {"strata": {"edges": [0.1, 0.5]}, "workspace": "runs/w", "sink": {"format": "jsonl"}},
    {"pool": systems()},
    {"pool": systems(score="mean", probability="prior", slices=["city", "year"])},
    {"pool": {"path": "x", "systems": {
        "a": {"score": "s", "prediction": "p", "probability": "q"},
        2: {"score": "t", "prediction": {"threshold": 0}, "probability": {0: "n", 1: "m"}}}}},
    {"pool": systems(), "measure": [{"name": "f1", "system": "new"}, "recall"]},
    {"pool": systems(), "measure": [{"joint": ["precision", {"name": "recall", "system": "old"}]}]},
    {"measure": [{"name": "precision", "calibrate": True}, "precision"]},
    {"measure": [{"joint": [{"name": "recall"}, {"name": "f_beta", "beta": 0.5}]}, "mcc"]},
    {"measure": {"name": "pr_curve", "thresholds": [0.2, 0.5, 1]}},
    {"measure": ["average_precision", {"name": "roc_curve", "thresholds": 9}, "roc_auc"]},
    {"measure": ["brier", {"name": "log_loss", "clip": 0.01}]},
    {"measure": {"name": "macro_f1", "over": [1, "0"]}},
    {"measure": ["f1", "micro_f1", "f1_of_macro_averages"]},
    {"pool": {"path": "x", "features": ["f", "g"]}, "strata": {"method": "kd", "leaves": 8}},
    {"pool": systems(systems={"a": {"prediction": "p"}}, features=["f"]),
     "strata": {"method": "kd"}},
    {"labels": {"classes": [0, 1, 2]}, "strata": {"method": "kd"},
     "pool": {"path": "x", "features": ["f"]}},
    {"strata": {"method": "geometric"}},
    {"strata": {"method": "equal_width", "leaves": 10, "branching": 4}},
    {"strata": {"method": "equal_count"}},
    {"labels": {"oracle": "stochastic"}},
    {"round_size": {"first": 50, "growth": 1.5}},
    {"round_size": {"growth": 2}},
    {"sampler": "stratified"},
    {"sampler": {"name": "oasis", "epsilon": 0.01, "strength": 4, "delta": 0.1, "draws": 9}},
    {"sampler": {"name": "ais", "model": "scores", "delta": 0.25}},
    {"sampler": {"name": "given", "weights": "math:hypot"}},
]  # fmt: skip


@pytest.mark.parametrize("changes", EVERYTHING)
def test_round_trip(changes: dict[str, Any]) -> None:
    spec = parse(**changes)
    again = EvaluationSpec.from_mapping(spec.to_mapping(), Path("/somewhere"))
    assert again.to_mapping() == spec.to_mapping()
    assert again == spec
    yaml.safe_dump(spec.to_mapping())
    # The workspace keeps it as JSON, whose keys are text.
    stored = json.loads(json.dumps(spec.to_mapping()))
    assert EvaluationSpec.from_mapping(stored, Path("/somewhere")) == spec


def test_systems() -> None:
    spec = parse(pool=systems())
    assert spec.pool.score == "s", "the first system's drives the strata"
    assert spec.pool.systems == (
        SystemSpec("old", "s", None, 0.5, None),
        SystemSpec("new", None, "p", None, None),
    )
    assert spec.signature_shape == (2, 2)
    somewhere = [(0.0, 1.0), None]
    built = spec.build_measures(somewhere)
    assert [(measure.name, measure.system) for measure in built] == [("f1", 0), ("f1", 1)]
    measure = spec.build_sampler(somewhere).measure
    assert measure.name == "joint(f1, f1)", "one sample serves both systems"
    own = parse(pool=systems(score="mean", probability="prior"))
    assert (own.pool.score, own.pool.probability) == ("mean", "prior")


def test_a_measure_of_one_system_drives_alone() -> None:
    spec = parse(pool=systems(), measure=[{"name": "recall", "system": "new"}, "precision"])
    somewhere = [(0.0, 1.0), None]
    measure = spec.build_sampler(somewhere).measure
    assert (measure.name, measure.system) == ("recall", 1)
    built = spec.build_measures(somewhere)
    told = [(measure.name, measure.system) for measure in built]
    assert told == [("recall", 1), ("precision", 0), ("precision", 1)]


def test_joint_measures_drive_together_and_are_told_apart() -> None:
    spec = parse(measure=[{"joint": ["precision", "recall"]}, "accuracy"])
    assert spec.build_sampler([None]).measure.name == "joint(precision, recall)"
    names = [measure.name for measure in spec.build_measures([None])]
    assert names == ["precision", "recall", "accuracy"]
    (joint,) = spec.build_joints([None])
    assert driver(joint).name == "joint(precision, recall)"


def test_thresholds() -> None:
    """As listed, or so many from the least score to the greatest; 1,024 unless told."""
    (listed,) = parse(measure={"name": "pr_curve", "thresholds": [1, 2.5]}).build_measures([None])
    assert listed.thresholds == (1.0, 2.5)
    counted = parse(measure={"name": "roc_auc", "thresholds": 3}).build_measures([(-2.0, 4.0)])
    assert counted[0].thresholds == (-2.0, 1.0, 4.0)
    (default,) = parse(measure="average_precision").build_measures([(0.0, 1.0)])
    assert len(default.thresholds) == 1024
    (one_score,) = parse(measure="pr_curve").build_measures([(0.5, 0.5)])
    assert one_score.thresholds == (0.5,)
    spec = parse(measure=[{"name": "pr_curve", "thresholds": [1, 2]}, "roc_curve"])
    assert spec.driving_thresholds([(0.0, 1.0)]).tolist() == [1, 2]


def test_classes_are_averaged_over_by_name() -> None:
    labels = {"classes": ["no", "yes", "unsure"], "positive": "yes"}
    pool = {"path": "x", "probability": {"no": "a", "yes": "b", "unsure": "c"}}
    changes = {"labels": labels, "pool": pool, "measure": {"name": "macro_f1", "over": ["unsure"]}}
    (measure,) = parse(**changes).build_measures([None])
    assert (measure.classes, measure.over) == (3, (2,))


def test_growing_rounds() -> None:
    size = parse(round_size={"first": 10, "growth": 1.5}).round_size
    assert [size.of(rounds) for rounds in range(5)] == [10, 15, 22, 33, 50]
    assert [parse(round_size=7).round_size.of(rounds) for rounds in range(3)] == [7, 7, 7]


def test_sampler_parameters() -> None:
    sampler = parse(sampler={"name": "ais", "delta": 0.5, "model": "scores"}).build_sampler([None])
    assert (sampler.delta, sampler.model, sampler.draws) == (0.5, "scores", None)
    stochastic = parse(labels={"oracle": "stochastic"}).build_sampler([None])
    assert stochastic.stochastic
    flat = parse(strata={"branching": 300}).build_sampler([None])
    assert flat.branching == 300


def test_another_sampler_takes_the_draws_and_nothing_else() -> None:
    spec = parse(sampler={"name": "ais", "draws": 50, "delta": 0.5})
    other = spec.build_sampler([None], "passive")
    assert (other.name, other.draws, other.delta) == ("passive", 50, 0.0)
    assert spec.build_sampler([None], "stratified").name == "stratified"
    same = spec.build_sampler([None], "ais")
    assert (same.draws, same.delta) == (50, 0.5)
    with pytest.raises(InputError, match="given: weights must be a function"):
        spec.build_sampler([None], "given")


OWN_MODULE = """
import dataclasses
import numpy as np
from evalsampling.measures import Measure


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


class Uncallable:
    pass


nothing = Uncallable()
"""


@pytest.fixture
def own_module(tmp_path: Path) -> str:
    """A module of the user's beside the spec; another name each time, modules are cached."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN_MODULE)
    return name


def test_measure_of_the_users_own(tmp_path: Path, own_module: str) -> None:
    def build(measure: Any, **changes: Any) -> list[Any]:
        content = {**MINIMAL, "measure": measure, **changes}
        spec = EvaluationSpec.from_mapping(content, tmp_path)
        assert EvaluationSpec.from_mapping(spec.to_mapping(), tmp_path) == spec
        return spec.build_measures([None] * len(spec.pool.systems))

    assert [m.name for m in build([f"{own_module}:Errors", "f1"])] == ["errors", "f1"]
    (scaled,) = build({"name": f"{own_module}:Scaled", "by": 2})
    assert (scaled.by, scaled.positive) == (2, 1)
    (ready,) = build(f"{own_module}:ready")
    assert ready.by == 3
    both = build(f"{own_module}:Scaled", pool=systems())
    assert [m.system for m in both] == [0, 1]
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


def test_given_weights_of_the_users_own(tmp_path: Path, own_module: str) -> None:
    def build(weights: Any) -> Any:
        content = {**MINIMAL, "sampler": {"name": "given", "weights": weights}}
        spec = EvaluationSpec.from_mapping(content, tmp_path)
        assert EvaluationSpec.from_mapping(spec.to_mapping(), tmp_path) == spec
        return spec.build_sampler([None])

    assert build(f"{own_module}:by_count").weights.__name__ == "by_count"
    for weights, message in [
        (f"{own_module}:absent", "sampler.weights: .*absent"),
        (f"{own_module}:nothing", "sampler: given: weights must be a function"),
        ("by_count", "sampler.weights: must be module:object, got 'by_count'"),
        ("no_such_module_at_all:x", "sampler.weights: no_such_module_at_all:x: No module"),
        (3, "sampler: given: weights must be a function of the cell table, got 3"),
    ]:
        with pytest.raises(InputError, match=message):
            build(weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgett": 3}, "unknown key budgett; did you mean budget?"),
        ({"pool": {"path": "x", "scores": "s"}},
         "unknown key pool.scores; did you mean pool.score?"),
        ({"pool": {}}, "pool.path: missing"),
        ({"pool": None}, "pool: missing"),
        ({"pool": "x.parquet"}, "pool: must be a mapping, got 'x.parquet'"),
        ({"pool": {"path": 3}}, "pool.path: must be text, got 3"),
        ({"measure": "f11"}, "measure: unknown measure 'f11'; did you mean f1?"),
        ({"measure": []}, "measure: the list is empty"),
        ({"measure": ["f1", {"name": "f_beta", "beta": 1}]}, "measure: f1 is listed twice"),
        ({"measure": {"name": "f_beta", "beta": -1}},
         "beta must be between 0.001 and 1000, got -1"),
        ({"measure": {"name": "f_beta", "alpha": 1}}, "unknown key measure.alpha of f_beta"),
        ({"sampler": "aiss"}, "sampler: unknown sampler 'aiss'; did you mean ais?"),
        ({"sampler": {"name": "ais", "draw": 3}}, "did you mean draws?"),
        ({"sampler": {"name": "ais", "draws": 0}}, "draws must be at least 1, got 0"),
        ({"sampler": {"name": "ais", "draws": 1.5}}, "draws must be a whole number, got 1.5"),
        ({"budget": 0}, "budget: must be a whole number of at least 1, got 0"),
        ({"budget": True}, "budget: must be a whole number of at least 1, got True"),
        ({"round_size": "ten"}, "round_size: must be a whole number"),
        ({"confidence": 95}, "confidence: must be between 0 and 1, got 95"),
        ({"seed": 2**64}, "seed: must be below 2^64"),
        ({"seed": -1}, "seed: must be a whole number of at least 0, got -1"),
        ({"labels": {"classes": [1]}}, "labels.classes: must list at least two classes, got [1]"),
        ({"labels": {"classes": [False, True]}}, "put yes, no, true and false in quotes"),
        ({"labels": {"classes": [1, "1"]}}, "two classes are spelt alike"),
        ({"labels": {"positive": 2}}, "labels.positive: 2 is not one of the classes [0, 1]"),
        ({"labels": {"oracle": "random"}},
         "labels.oracle: must be deterministic or stochastic, got 'random'"),
        ({"labels": {"classes": [0, 1, 2]}}, "with 3 classes, name a column for each"),
        ({"pool": {"path": "x", "probability": {0: "a"}}}, "must name a column for each of"),
        ({"pool": {"path": "x", "prediction": {"threshold": "high"}}},
         "pool.prediction.threshold: must be a number, got 'high'"),
        ({"pool": {"path": "x", "payload": ["label"]}}, "label is a column of every batch"),
        ({"pool": {"path": "x", "payload": ["a", "a"]}}, "a is listed twice"),
        ({"pool": {"path": "x", "scorer": "module"}}, "must be module:function, got 'module'"),
        ({"strata": {"method": "magic"}},
         "strata.method: must be one of csf, geometric, equal_width, equal_count, kd, got 'magic'"),
        ({"strata": {"edges": [1, 1]}}, "strata.edges: must be strictly increasing"),
        ({"strata": {"edges": []}}, "strata.edges: must be a list of numbers, got []"),
        ({"strata": {"edges": [0, "x"]}}, "strata.edges: must be a number, got 'x'"),
        ({"strata": {"leaves": 3000}},
         "strata.leaves: 3000 leaves and thresholds, at most 2048 are possible"),
        ({"sink": {"format": "xlsx"}}, "sink.format: must be one of csv, jsonl, parquet"),
        # Several systems.
        ({"pool": systems(prediction="p")}, "pool.prediction: with systems, each has a"),
        ({"pool": systems(systems={})}, "pool.systems: must name at least one system"),
        ({"pool": systems(systems=["a"])}, "pool.systems: must be a mapping, got ['a']"),
        ({"pool": systems(systems={"a": "p"})}, "pool.systems.a: must be a mapping, got 'p'"),
        ({"pool": systems(systems={"a": {"score": "s"}})},
         "pool.systems.a.prediction: must be a column or a threshold, got None"),
        ({"pool": systems(systems={"a": {"prediction": "p", "scor": "s"}})},
         "unknown key pool.systems.a.scor; did you mean pool.systems.a.score?"),
        ({"pool": systems(systems={"a": {"prediction": "p"}})},
         "pool.score: missing, and the first system has no score either"),
        ({"pool": systems(score="s", systems={"a": {"prediction": {"threshold": 0.5}}})},
         "pool.systems.a.prediction: a threshold needs a score"),
        ({"pool": systems(systems={"a": {"score": "s", "prediction": "p", "probability": 3}})},
         "pool.systems.a.probability: must be a column, got 3"),
        ({"pool": systems(systems={"a": {"score": "s", "prediction": "p",
                                         "probability": {1: "b"}}})},
         "pool.systems.a.probability: must name a column for each of ['0', '1']"),
        ({"pool": systems(), "measure": {"name": "f1", "system": "newer"}},
         "measure.system: unknown system 'newer'; known: old, new"),
        ({"measure": {"name": "f1", "system": "old"}}, "measure.system: unknown system 'old'"),
        ({"measure": {"name": "f1", "system": 1}}, "measure.system: must be text, got 1"),
        ({"pool": systems(), "measure": ["f1", {"name": "f1", "system": "new"}]},
         "measure: f1 is listed twice"),
        ({"pool": {"path": "x", "systems": {str(n): {"score": "s", "prediction": "p"}
                                            for n in range(62)}}},
         "pool.systems: 62 systems are too many"),
        # Columns.
        ({"pool": {"path": "x", "slices": "city"}}, "pool.slices: must be a list of columns"),
        ({"pool": {"path": "x", "slices": ["a", "a"]}}, "pool.slices: a is listed twice"),
        ({"pool": {"path": "x", "features": [1]}}, "pool.features: must be a list of columns"),
        ({"strata": {"method": "kd"}},
         "pool.features: missing, strata.method kd is cut from features"),
        ({"pool": {"path": "x", "features": ["f"], "prediction": {"threshold": 0}},
          "strata": {"method": "kd"}}, "pool.prediction: a threshold needs a score"),
        ({"labels": {"classes": [0, 1, 2]},
          "pool": {"path": "x", "prediction": {"threshold": 0},
                   "probability": {0: "a", 1: "b", 2: "c"}}},
         "pool.prediction: a threshold decides between two classes only"),
        # Measures of scores and probabilities.
        ({"measure": {"name": "pr_curve", "system": "new"}, "pool": systems()},
         "measure: pr_curve of system new needs a score"),
        ({"measure": ["f1", "roc_auc"], "pool": systems()},
         "measure: roc_auc of system new needs a score"),
        ({"measure": ["f1", "brier"], "pool": systems()},
         "measure: brier of system new needs a probability"),
        ({"measure": {"name": "pr_curve", "system": "old"}, "pool": systems(score="mean")},
         "measure: pr_curve cannot come first: it needs the score that drives the strata"),
        ({"measure": {"name": "roc_auc", "system": "b"},
          "pool": systems(systems={n: {"score": n, "prediction": "p"} for n in "ab"})},
         "measure: roc_auc cannot come first"),
        ({"measure": {"joint": ["recall", "average_precision"]},
          "pool": systems(systems={n: {"score": n, "prediction": "p"} for n in "ab"})},
         "measure: average_precision cannot come first"),
        ({"pool": {"path": "x", "features": ["f"]}, "strata": {"method": "kd"},
          "measure": ["f1", "log_loss"]}, "measure: log_loss needs a probability"),
        ({"pool": {"path": "x", "features": ["f"]}, "strata": {"method": "kd"},
          "measure": "pr_curve"}, "measure: pr_curve needs a score"),
        ({"measure": "pr_curve", "strata": {"leaves": 1025}},
         "strata.leaves: 2049 leaves and thresholds, at most 2048 are possible"),
        ({"measure": {"name": "pr_curve", "thresholds": 0}},
         "measure.thresholds: must be a list of numbers, or how many there are to be"),
        ({"measure": {"name": "pr_curve", "thresholds": 4097}}, "measure.thresholds: must be"),
        ({"measure": {"name": "pr_curve", "thresholds": True}}, "measure.thresholds: must be"),
        ({"measure": {"name": "pr_curve", "thresholds": [0.1, "x"]}},
         "measure.thresholds: must be numbers, got [0.1, 'x']"),
        ({"measure": {"name": "pr_curve", "thresholds": []}},
         "measure: pr_curve: pr_curve needs at least one threshold"),
        ({"measure": {"name": "pr_curve", "thresholds": [0.5, 0.1]}},
         "thresholds of pr_curve must be finite and strictly increasing"),
        ({"measure": {"name": "f1", "thresholds": 5}}, "unknown key measure.thresholds of f1"),
        ({"measure": {"name": "log_loss", "clip": 0.5}}, "clip must be above 0 and below 0.5"),
        ({"measure": {"name": "macro_f1", "over": 1}},
         "measure.over: must be a list of classes, got 1"),
        ({"measure": {"name": "macro_f1", "over": [2]}}, "measure.over: 2 is none of ['0', '1']"),
        ({"measure": {"name": "macro_f1", "over": [1, 1]}},
         "measure: macro_f1: over must hold distinct class codes"),
        ({"measure": {"name": "f1", "beta": 2}}, "unknown key measure.beta of f1"),
        ({"measure": {"name": "precision", "calibrate": "yes"}},
         "measure.calibrate: must be true or false, got 'yes'"),
        ({"measure": {"name": "f1", "calibrate": True}},
         "measure.calibrate: f1 cannot be calibrated: all of its loss involves the label"),
        ({"measure": {"name": "pr_curve", "calibrate": True}},
         "measure.calibrate: pr_curve cannot be calibrated: 1024 known totals are too many"),
        ({"measure": {"joint": "f1"}}, "measure.joint: must be a list of measures, got 'f1'"),
        ({"measure": {"joint": []}}, "measure.joint: must be a list of measures, got []"),
        ({"measure": {"joint": ["f1"], "name": "f1"}}, "unknown key measure.name"),
        ({"measure": [{"joint": ["f1", "recall"]}, "recall"]},
         "measure: recall is listed twice"),
        ({"measure": {"joint": ["f1", "recal"]}}, "unknown measure 'recal'; did you mean recall?"),
        # Rounds and samplers.
        ({"round_size": 0}, "round_size: must be a whole number of at least 1, got 0"),
        ({"round_size": {"first": 0}}, "round_size.first: must be a whole number of at least 1"),
        ({"round_size": {"growth": 0.5}}, "round_size.growth: must be between 1 and 100, got 0.5"),
        ({"round_size": {"growth": 101}}, "round_size.growth: must be between 1 and 100, got 101"),
        ({"round_size": {"growth": "x"}}, "round_size.growth: must be a number, got 'x'"),
        ({"round_size": {"grow": 2}}, "did you mean round_size.growth?"),
        ({"sampler": {"name": "ais", "delta": 1.5}}, "sampler: ais: delta must be between 0 and 1"),
        ({"sampler": {"name": "ais", "delta": "x"}}, "delta must be a number, got 'x'"),
        ({"sampler": {"name": "ais", "model": "forest"}},
         "sampler: ais: model must be one of tree, scores, got 'forest'"),
        ({"sampler": {"name": "passive", "model": "tree"}},
         "unknown key sampler.model of passive"),
        ({"sampler": {"name": "ais", "branching": 3}}, "unknown key sampler.branching of ais"),
        ({"sampler": {"name": "stratified", "draws": 10}},
         "unknown key sampler.draws of stratified; it has no parameters"),
        ({"sampler": "stratified", "labels": {"oracle": "stochastic"}},
         "sampler: stratified: stratified draws each row once"),
        ({"sampler": "oasis", "measure": "accuracy"},
         "sampler: oasis: it is made for F-measures, precision and recall, not for accuracy"),
        ({"sampler": "oasis", "pool": systems()}, "not for joint(f1, f1)"),
        ({"sampler": {"name": "oasis", "epsilon": 0}},
         "sampler: oasis: epsilon must be above 0 and at most 1, got 0"),
        ({"sampler": {"name": "oasis", "strength": 0}}, "strength must be above 0"),
        ({"sampler": "given"},
         "sampler: given: weights must be a function of the cell table, got none"),
    ],
)  # fmt: skip
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_range_that_is_not_known() -> None:
    """Unless it is needed, the least and the greatest score are not looked for."""
    spec = parse(pool={"path": "x", "probability": "p"}, measure=["f1"])
    assert not spec.needs_ranges
    measure = MeasureSpec.parse("pr_curve")
    with pytest.raises(InputError, match="the range of the scores is not known here, list the"):
        measure.build(spec.setting([None]))
    assert parse(measure=["f1", "pr_curve"]).needs_ranges
    assert parse(measure=["f1", {"joint": ["recall", "roc_auc"]}]).needs_ranges
    listed = {"name": "pr_curve", "thresholds": [1]}
    assert not parse(pool={"path": "x", "probability": "p"}, measure=["f1", listed]).needs_ranges


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    for text, message in [
        ("pool: {path: x}\nbudgets: 3", "unknown key budgets"),
        ("pool: [", "not valid YAML"),
        ("- a", "must be a mapping"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            EvaluationSpec.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        EvaluationSpec.load(tmp_path / "absent.yaml")


def test_yaml_is_loaded_safely(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    path.write_text("pool: !!python/object/apply:os.system ['true']")
    with pytest.raises(InputError, match="not valid YAML"):
        EvaluationSpec.load(path)
