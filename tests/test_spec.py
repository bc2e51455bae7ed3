"""The spec file: defaults, round trip, and one clear error for each kind of mistake."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evalsampling import EvaluationSpec, InputError

MINIMAL: dict[str, Any] = {"pool": {"path": "pairs/*.parquet"}}


def parse(**changes: Any) -> EvaluationSpec:
    content = {**MINIMAL, **changes}
    return EvaluationSpec.from_mapping(content, Path("/somewhere"))


def test_defaults() -> None:
    spec = parse()
    assert spec.pool.path == "/somewhere/pairs/*.parquet"
    assert (spec.pool.id, spec.pool.score, spec.pool.prediction) == ("id", "score", "prediction")
    assert spec.labels.classes == (0, 1)
    assert spec.labels.positive == 1
    assert [measure.name for measure in spec.build_measures()] == ["f1"]
    assert spec.sampler.name == "ais"
    assert (spec.strata.leaves, spec.strata.branching) == (256, 2)
    assert (spec.round_size, spec.confidence, spec.sink) == (100, 0.95, "csv")
    assert spec.workspace is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"measure": ["f1", {"name": "f_beta", "beta": 2}, "accuracy"]},
        {"sampler": {"name": "importance", "draws": 100}},
        {"labels": {"classes": ["no", "yes", "unsure"], "positive": "yes"},
         "pool": {"path": "x", "probability": {"no": "a", "yes": "b", "unsure": "c"}}},
        {"pool": {"path": "x", "prediction": {"threshold": 0.5}, "scorer": "m:f",
                  "probability": "p", "payload": ["a", "b"]}},
        {"strata": {"edges": [0.1, 0.5]}, "workspace": "runs/w", "sink": {"format": "jsonl"}},
    ],
)  # fmt: skip
def test_round_trip(changes: dict[str, Any]) -> None:
    spec = parse(**changes)
    again = EvaluationSpec.from_mapping(spec.to_mapping(), Path("/somewhere"))
    assert again.to_mapping() == spec.to_mapping()
    assert again == spec
    yaml.safe_dump(spec.to_mapping())


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
        ({"labels": {"oracle": "random"}}, "labels.oracle: must be deterministic"),
        ({"labels": {"classes": [0, 1, 2]}}, "with 3 classes, name a column for each"),
        ({"pool": {"path": "x", "probability": {0: "a"}}}, "must name a column for each of"),
        ({"pool": {"path": "x", "prediction": {"threshold": "high"}}},
         "pool.prediction.threshold: must be a number, got 'high'"),
        ({"pool": {"path": "x", "payload": ["label"]}}, "label is a column of every batch"),
        ({"pool": {"path": "x", "payload": ["a", "a"]}}, "a is listed twice"),
        ({"pool": {"path": "x", "scorer": "module"}}, "must be module:function, got 'module'"),
        ({"strata": {"method": "magic"}}, "strata.method: must be csf, got 'magic'"),
        ({"strata": {"edges": [1, 1]}}, "strata.edges: must be strictly increasing"),
        ({"strata": {"leaves": 3000}}, "make 6000 cells, at most 4096"),
        ({"sink": {"format": "xlsx"}}, "sink.format: must be one of csv, jsonl, parquet"),
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
