"""The spec file: defaults, round trip, and one clear error for each kind of mistake."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from evalsampling import EvaluationSpec, InputError
from evalsampling.measures.build import build_measures
from evalsampling.parts.references import load_object
from evalsampling.spec import RoundSize, SystemSpec
from evalsampling.spec.rounds import StopSpec
from tests.averages import MICRO_F1
from tests.spec.specs import parse, systems, write_module


@pytest.mark.parametrize(
    "keys",
    [
        {"labels": {"oracle": "stochastic"}},
        {
            "labels": {"classes": list(range(11)), "positive": 1},
            "pool": {"path": "x", "probability": {str(c): f"p{c}" for c in range(11)}},
        },
        {
            "pool": {"path": "x", "prediction": "prediction", "features": ["a", "b"]},
            "strata": {"method": "kd"},
        },
    ],
)
def test_sampler_where_there_can_be_no_calibration_curve(keys: dict[str, Any]) -> None:
    assert parse(**keys).sampler.name == "ais"


def test_defaults() -> None:
    spec = parse()
    assert spec.pool.path == "/somewhere/pairs/*.parquet"
    assert (spec.pool.id, spec.pool.score) == ("id", "score")
    assert spec.pool.systems == (SystemSpec(None, "score", "prediction", None, None),)
    assert (spec.pool.probability, spec.pool.scorer) == (None, None)
    assert spec.pool.slices == spec.pool.features == spec.pool.payload == ()
    assert spec.labels.classes == (0, 1)
    assert (spec.labels.positive, spec.labels.oracle) == (1, "deterministic")
    assert [measure.name for measure in build_measures(spec.reading)] == ["f1"]
    assert spec.sampler.name == "calibrated"
    assert (spec.strata.method, spec.strata.edges) == ("logit_rank", None)
    assert (spec.strata.leaves, spec.strata.branching) == (256, 2)
    assert (spec.budget.labels, spec.confidence, spec.sink.format) == (1000, 0.95, "csv")
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
    {"labels": {"classes": ["no", "yes", "unsure"]},
     "pool": {"path": "x", "logits": {"unsure": "c", "no": "a", "yes": "b"}}},
    {"labels": {"classes": ["no", "yes", "unsure"]},
     "pool": systems(systems={"a": {"prediction": "p", "score": "s", "score_is": "confidence"}})},
    {"pool": systems(systems={"a": {"prediction": "p", "score": "s",
                                    "logits": {0: "n", 1: "m"}}})},
    {"strata": {"edges": [0.1, 0.5]}, "workspace": "runs/w", "sink": {"format": "jsonl"}},
    {"pool": systems()},
    {"pool": systems(score="mean", probability="prior", slices=["city", "year"])},
    {"pool": {"path": "x", "systems": {
        "a": {"score": "s", "prediction": "p", "probability": "q"},
        2: {"score": "t", "prediction": {"threshold": 0}, "probability": {0: "n", 1: "m"}}}}},
    {"pool": systems(), "measure": [{"name": "f1", "system": "new"}, "recall"]},
    {"pool": systems(), "measure": [{"joint": ["precision", {"name": "recall", "system": "old"}]}]},
    {"measure": [{"joint": [{"name": "recall"}, {"name": "f_beta", "beta": 0.5}]}, "mcc"]},
    {"measure": [{"f1": {"weight": 2}}, {"recall": {"system": None}}, "mcc"]},
    {"pool": systems(), "measure": [{"difference": "f1", "weight": 0.5}]},
    {"measure": {"name": "pr_curve", "thresholds": [0.2, 0.5, 1]}},
    {"measure": ["average_precision", {"name": "roc_curve", "thresholds": 9}, "roc_auc"]},
    {"measure": ["brier", {"name": "log_loss", "clip": 0.01}]},
    {"measure": {"name": "f1", "average": "macro", "over": [1, "0"]}},
    {"measure": ["f1", MICRO_F1, "f1_of_macro_averages"]},
    {"pool": {"path": "x", "features": ["f", "g"]}, "strata": {"method": "kd", "leaves": 8}},
    {"pool": {"path": "x", "features": ["f"]}, "strata": {"method": "kd", "hierarchy": "own"}},
    {"strata": {"method": "agglomerative", "hierarchy": "own"}},
    {"strata": {"leaves": 9, "columns": ["c"]}},
    {"strata": {"hierarchy": "even", "columns": ["c", "d"]}},
    {"strata": {"hierarchy": "own", "columns": ["c", "d"]}},
    {"pool": systems(systems={"a": {"prediction": "p"}}, features=["f"]),
     "strata": {"method": "kd"}},
    {"labels": {"classes": [0, 1, 2]}, "strata": {"method": "kd"},
     "pool": {"path": "x", "features": ["f"]}},
    {"strata": {"method": "equal_width", "leaves": 10, "branching": 4}},
    {"labels": {"oracle": "stochastic"}},
    {"round_size": {"first": 50, "growth": 1.5}},
    {"sampler": {"name": "oasis", "epsilon": 0.01, "strength": 4, "delta": 0.1, "draws": 9}},
    {"sampler": {"name": "ais", "model": "scores", "delta": 0.25}},
    {"sampler": {"name": "given", "weights": "math:hypot"}},
    {"labels": {"column": "human", "drawn": "random"}},
    {"labels": {"column": "human", "drawn": {"design": "old/rounds/0001/design.json"}}},
    {"pool": {"path": "x", "cluster": "conversation"}},
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
    assert spec.reading.signature_shape == (2, 2)
    own = parse(pool=systems(score="mean", probability="prior"))
    assert (own.pool.score, own.pool.probability) == ("mean", "prior")
    each = {name: {"prediction": name, "probability": f"p_{name}"} for name in ("a", "b")}
    by_probability = parse(pool=systems(systems=each)).pool
    assert [one.score for one in by_probability.systems] == ["p_a", "p_b"], "for want of scores"
    assert by_probability.score == "p_a"


def test_what_a_score_is_said_to_be_is_of_that_score_alone() -> None:
    one = {"score": "s", "score_is": "order", "prediction": {"threshold": 0.5}}
    for score, kind in (("s", "order"), ("other", None)):
        spec = parse(pool={"path": "x", "score": score, "systems": {"old": one}})
        assert spec.pool.score_is == kind


def test_numbers_of_other_types_are_numbers() -> None:
    spec = parse(confidence=np.float64(0.5), stop={"half_width": Decimal("0.25")})
    assert (spec.confidence, spec.stop.half_width) == (0.5, 0.25)
    assert parse(strata={"edges": [np.float32(0.5), 1]}).strata.edges == (0.5, 1.0)


def test_growing_rounds() -> None:
    size = parse(round_size={"first": 10, "growth": 1.5}).round_size
    assert [size.after(rounds) for rounds in range(5)] == [10, 15, 22, 33, 50]
    assert [parse(round_size=7).round_size.after(rounds) for rounds in range(3)] == [7, 7, 7]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgett": 3}, "unknown key budgett; did you mean budget?"),
        ({"slices": ["region"]}, "unknown key slices; it is a key of pool"),
        ({"classes": ["no", "yes"]}, "unknown key classes; it is a key of labels"),
        ({"pool": {"path": "x", "scores": "s"}},
         "unknown key pool.scores; did you mean pool.score?"),
        ({"pool": {"path": "x", "threshold": 0.5}}, "pool.threshold; it is a key of pool.pred"),
        ({"pool": {"path": "x", "format": "csv"}}, "unknown key pool.format; valid keys: path, id"),
        ({"pool": {}}, "pool.path: missing"),
        ({"pool": None}, "pool: missing"),
        ({"pool": "x.parquet"}, "pool: must be a mapping, got 'x.parquet'"),
        ({"pool": {"path": 3}}, "pool.path: must be text, got 3"),
        ({"pool": {"path": "x", "cluster": 3}}, "pool.cluster: must be text, got 3"),
        ({"pool": {"path": "x", "cluster": "c"}, "labels": {"oracle": "stochastic"}},
         "pool.cluster: takes labels.oracle: deterministic, one label a row"),
        ({"pool": {"path": "x", "lists": {"items": "i"}, "cluster": "c",
                   "systems": {"a": {"score": "s"}, "b": {"score": "t"}}}},
         "pool.cluster: with pool.lists, rows are queries"),
        ({"measure": []}, "measure: the list is empty"),
        ({"pool": {"path": "x", "weight": 3}}, "pool.weight: must be text, got 3"),
        ({"measure": {"least": {"f1": {"by": "rows"}}, "over": {"x": [1, 2]}}},
         "measure.by: rows all count the same without pool.weight"),
        ({"budget": 0}, "budget: must be a whole number of at least 1, got 0"),
        ({"round_size": "ten"}, "round_size: must be a whole number"),
        ({"confidence": 95}, "confidence: must be between 0 and 1, got 95"),
        ({"seed": 2**64}, "seed: must be below 2^64"),
        ({"seed": -1}, "seed: must be a whole number of at least 0, got -1"),
        ({"confidence": float("-inf")}, "confidence: must be finite, got -inf"),
        ({"confidence": 10**400}, "confidence: must be a number, got 1000"),
        ({"hidden": {"share": 10**400}}, "hidden.share: must be a number, got 1000"),
        ({"labels": {"oracle": "random"}},
         "labels.oracle: must be one of deterministic, stochastic, got 'random'"),
        ({"sampler": "calibrated",
          "labels": {"classes": list(range(12)), "positive": 1},
          "pool": {"path": "x", "probability": {n: f"p{n}" for n in range(12)}}},
         "sampler: calibrated has a model of at most 10 classes, labels have 12: ais takes them"),
        ({"labels": {"classes": [0, 1, 2]}, "strata": {"method": "csf"}},
         "with 3 classes, name a column for each"),
        ({"strata": {"method": "predictions", "edges": [1]}},
         "strata.edges: are of a score, and strata.method is predictions"),
        ({"strata": {"method": "predictions", "hierarchy": "own"}},
         "strata.hierarchy: strata.method predictions makes no hierarchy of its own"),
        ({"pool": {"path": "x", "probability": {0: "a"}}}, "must name a column for each of"),
        ({"measure": {"f1": {"average": "macro"}, "where": {"a": 1}}},
         "measure: {'f1': {'average': 'macro'}, 'where': {'a': 1}} has no name; it must be"),
        ({"pool": {"path": "x", "logits": {0: "a"}}},
         "pool.logits: must name a column for each of ['0', '1']"),
        ({"pool": {"path": "x", "logits": "a"}},
         "pool.logits: must be a column for each class, got 'a'"),
        ({"pool": {"path": "x", "logits": {0: "a", 1: "b"}, "probability": "p"}},
         "pool.logits: beside pool.probability, which says the same: drop one"),
        ({"labels": {"multilabel": ["a", "b"]},
          "pool": {"path": "x", "logits": {"a": "x", "b": "y"}}},
         "pool.logits: softmax is of classes, of which every row has just one"),
        ({"pool": {"path": "x", "prediction": {"threshold": 0.5, "from": 1}}},
         "unknown key pool.prediction.from"),
        ({"pool": {"path": "x", "prediction": {"threshold": "high"}}},
         "pool.prediction.threshold: must be a number, got 'high'"),
        ({"pool": {"path": "x", "payload": ["label"]}}, "label is a column of every batch"),
        ({"pool": {"path": "x", "payload": ["a", "a"]}}, "a is listed twice"),
        ({"pool": {"path": "x", "payload": ["a", {"a": "hash"}]}},
         "pool.payload: a is listed twice"),
        ({"pool": {"path": "x", "payload": [{"a": "blur"}]}},
         "pool.payload.a: must be redact, hash or {truncate: characters}"),
        ({"pool": {"path": "x", "payload": [{"a": {"truncate": 0}}]}},
         "pool.payload.a.truncate: must be a whole number"),
        ({"pool": {"path": "x", "payload": [{"a": "hash", "x": "hash"}]}},
         "must be a column and how it is shown"),
        ({"pool": {"path": "x", "payload": [{"a": {"cut": 3}}]}},
         "unknown key pool.payload.a.cut"),
        ({"pool": {"path": "x", "scorer": "module"}}, "must be module:function, got 'module'"),
        ({"strata": {"method": "magic"}},
         "strata.method: must be one of kd, predictions, csf, geometric, equal_width, equal_count, "
         "log_rank, logit_rank, agglomerative, divisive, got 'magic'"),
        ({"strata": {"hierarchy": "odd"}},
         "strata.hierarchy: must be one of even, own, got 'odd'"),
        ({"strata": {"hierarchy": "own"}},
         "strata.hierarchy: strata.method csf makes no hierarchy of its own; kd, agglomerative, "
         "divisive do, and so do strata.columns"),
        ({"strata": {"hierarchy": "own", "method": "divisive", "edges": [1]}},
         "strata.hierarchy: strata.edges makes no hierarchy"),
        ({"strata": {"columns": ["c"], "method": "csf"}},
         "strata.method: with strata.columns, these are the strata"),
        ({"strata": {"columns": ["c"], "edges": [1]}},
         "strata.edges: with strata.columns, these are the strata"),
        ({"strata": {"columns": [""]}}, "strata.columns: must be a list of columns, coarse to"),
        ({"strata": {"columns": 3}}, "strata.columns: must be a list of columns, got 3"),
        ({"strata": {"columns": ["a", "a"]}}, "strata.columns: a is listed twice"),
        ({"strata": {"column": ["c"]}}, "did you mean strata.columns?"),
        ({"strata": {"columns": ["c"]}, "labels": {"range": [0, 1]}},
         "strata.method: kd, or strata.columns: with labels.range strata are those of pool.v"),
        ({"strata": {"edges": [1, 1]}}, "strata.edges: must be strictly increasing"),
        ({"strata": {"edges": []}}, "strata.edges: must be a list of numbers, got []"),
        ({"strata": {"edges": [0, "x"]}}, "strata.edges: must be a number, got 'x'"),
        ({"pool": systems(prediction="p")}, "pool.prediction: with systems, each has a"),
        ({"pool": systems(systems={})}, "pool.systems: must name at least one system"),
        ({"pool": systems(systems=["a"])}, "pool.systems: must be a mapping, got ['a']"),
        ({"pool": systems(systems={"a": "p"})}, "pool.systems.a: must be a mapping, got 'p'"),
        ({"pool": systems(systems={"a": {"score": "s"}})},
         "pool.systems.a.prediction: must be a column or a threshold, got None"),
        ({"pool": systems(systems={"a": {"prediction": "p", "scor": "s"}})},
         "unknown key pool.systems.a.scor; did you mean pool.systems.a.score?"),
        ({"pool": systems(systems={"a": {"prediction": "p"}}), "strata": {"method": "csf"}},
         "pool.score: missing, and no system has a score either"),
        ({"pool": systems(score="s", systems={"a": {"prediction": {"threshold": 0.5}}})},
         "pool.systems.a.prediction: a threshold needs a score"),
        ({"pool": systems(systems={"a": {"score": "s", "prediction": "p", "probability": 3}})},
         "pool.systems.a.probability: must be a column, got 3"),
        ({"pool": systems(systems={"a": {"score": "s", "prediction": "p",
                                         "probability": {1: "b"}}})},
         "pool.systems.a.probability: must name a column for each of ['0', '1']"),
        ({"measure": {"name": "f1", "system": 1}}, "measure.system: must be text, got 1"),
        ({"pool": {"path": "x", "systems": {str(n): {"score": "s", "prediction": "p"}
                                            for n in range(62)}}},
         "pool.systems: 62 systems are too many"),
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
        ({"measure": {"f1": {"weight": 0}}}, "measure.weight: must be above 0, got 0"),
        ({"measure": {"name": "f1", "weight": "2"}}, "measure.weight: must be a number, got '2'"),
        ({"measure": {"difference": {"f1": {"weight": 2}}}, "pool": systems()},
         "measure.difference: weight stands beside difference, not within it"),
        ({"measure": {"joint": "f1"}}, "measure.joint: must be a list of measures, got 'f1'"),
        ({"measure": {"joint": ["f1"], "name": "f1"}}, "unknown key measure.name"),
        ({"round_size": 0}, "round_size: must be a whole number of at least 1, got 0"),
        ({"round_size": {"first": 0}}, "round_size.first: must be a whole number of at least 1"),
        ({"round_size": {"growth": 0.5}}, "round_size.growth: must be between 1 and 100, got 0.5"),
        ({"round_size": {"growth": 101}}, "round_size.growth: must be between 1 and 100, got 101"),
        ({"round_size": {"grow": 2}}, "did you mean round_size.growth?"),
        ({"hidden": {"share": 0}}, "hidden.share: must be above 0 and at most 10, got 0"),
        ({"hidden": {"share": 11}}, "hidden.share: must be above 0 and at most 10, got 11"),
        ({"hidden": {"spread": 0}}, "hidden.spread: must be above 0 and at most 5, got 0"),
        ({"hidden": {"spread": 6}}, "hidden.spread: must be above 0 and at most 5, got 6"),
        ({"hidden": {"relative_to": "rows"}},
         "hidden.relative_to: must be one of positives, overlap, got 'rows'"),
        ({"hidden": {"sd": 1}}, "sd"),
        ({"gates": {"atleast": {}}}, "unknown key gates.atleast; did you mean gates.at_least"),
        ({"gates": {"at_least": 0.9}}, "gates.at_least: must be a mapping like {recall: 0.9}"),
        ({"gates": {"at_least": {"recall": "high"}}},
         "gates.at_least.recall: must be a number, got 'high'"),
        ({"gates": {"at_most": {"f1": float("nan")}}},
         "gates.at_most.f1: must be a number, got nan"),
        ({"gates": {"at_least": {3: 0.9}}},
         "gates.at_least: must be a mapping whose keys are text, got 3"),
        ({"measure": {"name": "f1", "where": "DE"}}, "measure.where: must be columns with values"),
        ({"measure": {"name": "f1", "where": {"a": []}}},
         "measure.where.a: the list of values is empty"),
        ({"measure": {"name": "f1", "where": {"a": [1, "1"]}}},
         "measure.where.a: 1 is listed twice"),
        ({"measure": {"name": "f1", "where": {"a": 1.5}}},
         "measure.where.a: slices are whole numbers"),
        ({"measure": {"least": "f1", "over": "country"}},
         "measure.over: list the values of country"),
        ({"measure": {"least": {"joint": ["f1"]}, "over": {"a": [1, 2]}}},
         "measure.least: must be one measure"),
        ({"measure": {"least": "f1", "where": {"a": 1}}}, "unknown key measure.where"),
    ],
)  # fmt: skip
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    for text, message in [
        ("pool: {path: x}\nbudgets: 3", "unknown key budgets"),
        ("pool: [", "not valid YAML"),
        ("- a", "must be a mapping"),
        ("pool: {path: x}\nbudget: 3\nbudget: 4", "line 3: key 'budget' is there twice"),
        (f"pool: {{path: x}}\nbudget: {'9' * 5000}", "not valid YAML: Exceeds the limit"),
        ("pool: {path: x}\nbudget: 2024-13-45", "not valid YAML: month must be in 1..12"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            EvaluationSpec.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        EvaluationSpec.load(tmp_path / "absent.yaml")


def test_keys_of_other_mappings_may_be_the_same(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    path.write_text("pool: &pool {path: x}\nlabels: {votes: 2}\nsink: {}\nstrata: {}\n")
    assert EvaluationSpec.load(path).labels.votes == 2
    path.write_text("pool: {<<: {path: x, id: a}, id: b}\n")
    assert EvaluationSpec.load(path).pool.id == "b"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = (\n", "cannot be imported: SyntaxError: '(' was never closed"),
        ("raise ValueError('no\\nlicence')", "cannot be imported: ValueError: no licence"),
        ("import not_there_at_all", "No module named 'not_there_at_all'"),
        ("", "has no attribute 'score'"),
    ],
)
def test_a_module_that_cannot_be_imported(tmp_path: Path, content: str, message: str) -> None:
    name = write_module(tmp_path, content)
    with pytest.raises(InputError) as caught:
        load_object("pool.scorer", f"{name}:score", str(tmp_path))
    assert str(caught.value).startswith(f"pool.scorer: {name}:score: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_stop_at_significance() -> None:
    spec = parse(stop={"significance": 0.05})
    assert spec.stop == StopSpec(None, 0.05, "anytime")
    fixed = parse(stop={"half_width": 0.1, "significance": 0.01, "test": "fixed"})
    assert fixed.to_mapping()["stop"] == {"half_width": 0.1, "significance": 0.01, "test": "fixed"}
    assert "stop" not in parse(stop={"test": "".join(["any", "time"])}).to_mapping()
    for stop, words in [
        ({"significance": 1}, "stop.significance: must be between 0 and 1, got 1"),
        ({"test": "often"}, "stop.test: must be one of anytime, fixed, got 'often'"),
        ({"p_value": 0.05}, "unknown key stop.p_value"),
    ]:
        with pytest.raises(InputError, match=words):
            parse(stop=stop)


@pytest.mark.parametrize("number", [0.5, 0, -1.5])
def test_a_number_for_a_prediction_is_a_threshold(number: float) -> None:
    pool = {"path": "x", "score": "s"}
    short, long = (
        EvaluationSpec.from_mapping({"pool": {**pool, "prediction": given}}, ".")
        for given in (number, {"threshold": number})
    )
    assert short.pool.systems == long.pool.systems
    with pytest.raises(InputError, match="must be a column or a threshold, got True"):
        EvaluationSpec.from_mapping({"pool": {**pool, "prediction": True}}, ".")


def test_a_folder_is_no_spec(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": is a folder; give the spec, such as evaluation\.yaml"):
        EvaluationSpec.load(tmp_path)
