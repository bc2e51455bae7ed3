"""What a spec says of batches and of votes."""

from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.spec import EvaluationSpec
from tests.averages import MACRO_F1


def load(**keys: Any) -> EvaluationSpec:
    pool = {"path": "x", "payload": ["left_a", "right_a", "id_l", "id_r"]}
    return EvaluationSpec.from_mapping({"pool": pool, **keys}, "/dir")


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"sink": {"format": "vendor", "escape": False, "question": "Same?"}},
        {"sink": {"format": "xlsx", "question": "Same?"}},
        {"sink": {"format": "label-studio", "pairs": {"left": "left_", "right": "right_"},
                  "chunk": 7}},
        {"sink": {"format": "splink", "records": {"left": "id_l", "right": "id_r"}}},
        {"labels": {"meanings": {"1": "the same"}}},
        {"labels": {"votes": 3, "gold": {"path": "/g.csv", "rows": 2}, "repeats": 1}},
    ],
)  # fmt: skip
def test_a_spec_written_and_read_again_is_the_same(keys: Any) -> None:
    spec = load(**keys)
    assert EvaluationSpec.from_mapping(spec.to_mapping(), "/dir") == spec


def test_what_is_not_used_is_not_written() -> None:
    """A prepared workspace is told by its spec."""
    mapping = load().to_mapping()
    assert mapping["sink"] == {"format": "csv"}
    assert set(mapping["labels"]) == {"classes", "oracle"}
    said = load(labels={"positive": 1}).to_mapping()["labels"]
    assert set(said) == {"classes", "positive", "oracle"}
    assert mapping["pool"]["payload"] == ["left_a", "right_a", "id_l", "id_r"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"sink": {"format": "xls"}}, "sink.format: must be one of csv, jsonl, parquet, vendor"),
        ({"sink": {"format": "xlsx", "escape": True}}, "; xlsx is not"),
        (
            {"sink": {"format": "jsonl", "escape": True}},
            "sink.escape: is of csv, vendor, splink, which are CSV; jsonl is not",
        ),
        ({"sink": {"format": "label-studio", "escape": True}}, "label-studio is not"),
        ({"sink": {"escape": "yes"}}, "sink.escape: must be true or false"),
        ({"sink": {"pairs": {"left": "l_"}}}, "sink.pairs.right: missing"),
        (
            {"sink": {"pairs": {"left": "l_", "right": "r_", "rigth": "r_"}}},
            "unknown key sink.pairs.rigth; did you mean sink.pairs.right?",
        ),
        (
            {"sink": {"pairs": {"left": "l_", "right": "right_"}}},
            "sink.pairs: no column of pool.payload begins or ends with 'l_'",
        ),
        ({"sink": {"format": "splink"}}, "sink.records: missing"),
        (
            {"sink": {"records": {"left": "id_l", "right": "nope"}}},
            "sink.records.right: nope is no column of pool.payload",
        ),
        (
            {"sink": {"records": {"left": "id_l", "right": "id_r", "left_source": "left_a"}}},
            "name a source of both records or of none",
        ),
        ({"sink": {"chunk": 0}}, "sink.chunk: must be a whole number of at least 1"),
        ({"labels": {"votes": 0}}, "labels.votes: must be a whole number of at least 1"),
        ({"labels": {"rule": "first"}}, "unknown key labels.rule"),
        ({"labels": {"gold": {"rows": 3}}}, "labels.gold.path: missing"),
        ({"labels": {"gold": {"path": "g.csv", "row": 3}}}, "unknown key labels.gold.row;"),
        ({"labels": {"meanings": {2: "both"}}}, "labels.meanings: '2' is none of: 0, 1"),
        ({"labels": {"meanings": {1: True}}}, "labels.meanings.1: must be text, got True"),
        ({"labels": {"meanings": "same"}}, "labels.meanings: must be a mapping"),
        ({"labels": {"range": [0, 5], "meanings": {1: "a"}}}, "labels.meanings: with labels.range"),
        ({"labels": {"oracle": "stochastic", "repeats": 3}}, "labels.repeats: a stochastic"),
    ],
)
def test_wrong_values(keys: Any, words: str) -> None:
    with pytest.raises(InputError) as told:
        load(**keys)
    assert words in str(told.value)


def test_tables_of_splink_are_about_two_classes() -> None:
    content = {
        "pool": {
            "path": "pool.parquet",
            "prediction": "tags",
            "payload": ["id_l", "id_r"],
            "probability": {"same": "p_same", "near": "p_near"},
        },
        "labels": {"multilabel": ["same", "near"]},
        "measure": MACRO_F1,
        "budget": 10,
        "sink": {"format": "splink", "records": {"left": "id_l", "right": "id_r"}},
    }
    with pytest.raises(InputError, match="says match or no match, labels are of 4 classes here"):
        EvaluationSpec.from_mapping(content, "/dir")


def test_meanings_are_kept_in_the_order_of_the_classes() -> None:
    spec = load(labels={"meanings": {1: "the same ", "0": "another"}})
    assert list(spec.labels.meanings.items()) == [("0", "another"), ("1", "the same")]
