"""Sets of few labels as classes, of many as hashes, and what a spec may say of them."""

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.sets import (
    FIRST,
    Sets,
    Tags,
    labels_of_text,
    packed,
    set_text,
    unpacked,
)
from evalsampling.spec import EvaluationSpec
from tests.averages import MICRO_F1

KNOWN = ("toxic", "insult", "threat")
MANY = tuple(f"t{number}" for number in range(500))


def test_code_of_a_set_has_a_bit_for_each_label() -> None:
    classes = Sets(KNOWN).outcomes
    assert len(set(classes)) == 8
    assert [*classes[:2]] == ["none", "toxic"]
    assert classes[6] == "insult+threat"
    for code, text in enumerate(classes):
        labels = labels_of_text(text)
        assert code == sum(1 << KNOWN.index(one) for one in labels)
        assert set_text(reversed(labels), KNOWN) == text


def spec_of(names: Sequence[str] = KNOWN, **changed: Any) -> EvaluationSpec:
    probability = {one: f"p_{one}" for one in names}
    content: dict[str, Any] = {
        "pool": {"path": "pool.parquet", "prediction": "tags", "probability": probability},
        "labels": {"multilabel": list(names)},
    }
    for key, part in changed.items():
        content[key] = {**content.get(key, {}), **part}
    return EvaluationSpec.from_mapping(content, Path("/tmp"))


@pytest.mark.parametrize("prediction", ["tags", {one: f"is_{one}" for one in KNOWN}])
def test_spec_comes_back_as_it_was(prediction: Any) -> None:
    spec = spec_of(pool={"prediction": prediction})
    mapping = spec.to_mapping()
    assert mapping["pool"]["prediction"] == prediction
    assert mapping["labels"] == {"multilabel": list(KNOWN), "oracle": "deterministic"}
    assert EvaluationSpec.from_mapping(mapping, Path("/tmp")) == spec


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": {"multilabel": ["a"]}}, "labels.multilabel: must list at least 2 labels"),
        ({"labels": {"multilabel": ["a", "a"]}}, "labels.multilabel: 'a' is there twice"),
        ({"labels": {"multilabel": ["a", "b+c"]}}, "no label is 'none', has a '\\+' in it"),
        ({"labels": {"multilabel": ["a", "none"]}}, "no label is 'none'"),
        ({"labels": {"multilabel": ["a", 3]}}, "labels are text, got 3"),
        ({"labels": {"classes": [0, 1]}}, "labels.classes: with labels.multilabel"),
        ({"labels": {"positive": "toxic"}}, "labels.positive: with labels.multilabel"),
        ({"pool": {"prediction": {"toxic": "a"}}}, "must name a column for each of"),
        ({"pool": {"probability": {"toxic": "a"}}}, "must name a column for each of"),
        ({"pool": {"probability": "p"}}, "pool.probability: with 3 labels, name a column for each"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        spec_of(**changed)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"oracle": "stochastic"}, "labels.oracle: with more than 8 labels it is deterministic"),
        ({"gold": {"path": "gold.csv"}}, "labels.gold: answers are compared with others"),
        ({"repeats": 3}, "labels.repeats: answers are compared with others"),
        ({"multilabel": [*"abcdefghh"]}, "labels.multilabel: 'h' is there twice"),
        ({"multilabel": [*"abcdefgh", "i+j"]}, "no label is 'none', has a '\\+' in it"),
    ],
)  # fmt: skip
def test_what_is_wrong_of_many_is_told(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        spec_of("abcdefghi", labels={"multilabel": [*"abcdefghi"], **keys})


def test_no_repeats_of_many_may_be_written_out() -> None:
    labels = {"multilabel": [*"abcdefghi"], "repeats": 0}
    assert spec_of("abcdefghi", labels=labels).labels.repeats == 0


def test_codes_of_sets_give_their_labels_back() -> None:
    held = np.random.default_rng(1).random((3000, 500)) < 0.02
    space = Tags(MANY)
    codes = space.encode(held)
    assert len(set(codes.tolist())) == len(np.unique(held, axis=0))
    assert codes.min() >= FIRST
    np.testing.assert_array_equal(space.holds(codes), held)
    np.testing.assert_array_equal(space.hashes(held), codes)
    assert space.holds(codes[:0]).shape == (0, 500)


def test_text_of_a_set_in_any_order_has_one_code() -> None:
    space = Tags(MANY)
    code = space.codes["t499+t7"]
    assert code == space.codes['["t7", "t499", "t7"]'] == space.codes["t7+t499"]
    assert space.text(code) == "t7+t499"
    assert space.text(space.codes["none"]) == "none"
    assert "t7+t500" not in space.codes
    assert space.problem("t7+t500").endswith("500 labels: 't500' is none of them")


def test_a_code_of_another_set_is_no_label() -> None:
    with pytest.raises(KeyError):
        Tags(MANY).holds(np.array([FIRST + 5]))


def test_spaces_of_the_same_labels_know_the_same_sets() -> None:
    """Also in a process that has met none of them, to which a space was sent."""
    space = Tags(("p", "q", "r"))
    code = space.codes["p+r"]
    assert Tags(("p", "q", "r")).text(code) == "p+r"
    script = (
        "import pickle, sys; space, code = pickle.load(sys.stdin.buffer); print(space.text(code))"
    )
    sent = pickle.dumps((space, code))
    told = subprocess.run(
        [sys.executable, "-c", script], input=sent, capture_output=True, check=True
    )
    assert told.stdout.decode().strip() == "p+r"


def test_two_sets_of_one_code_are_an_error() -> None:
    space = Tags((*MANY, "of two"))
    held = np.zeros((1, 501), dtype=np.bool_)
    space.known[int(space.hashes(held)[0])] = b"another"
    with pytest.raises(ArithmeticError, match="two sets of labels have the code"):
        space.encode(held)


def test_nine_labels_are_known_one_by_one() -> None:
    spec, fewer = (spec_of([*names]) for names in ("abcdefghi", "abcdefgh"))
    assert isinstance(spec.labels.space, Tags)
    assert type(fewer.labels.space) is Sets
    assert (spec.sampler.name, spec.measures[0].to_mapping()) == ("poisson", MICRO_F1)
    assert EvaluationSpec.from_mapping(spec.to_mapping(), Path("/tmp")) == spec


@pytest.mark.parametrize("values", [1, 7, 8, 9, 500])
def test_packed_rows_come_back(values: int) -> None:
    rows = np.random.default_rng(1).random((20, values)) < 0.3
    data = packed(rows)
    assert data.shape == (20, -(-values // 8))
    np.testing.assert_array_equal(unpacked(map(bytes, data), values), rows)


def test_the_first_value_is_the_highest_bit() -> None:
    rows = np.array([[True, False, True], [False, True, True]])
    assert packed(rows).ravel().tolist() == [0b10100000, 0b01100000]


def test_no_rows_are_unpacked() -> None:
    assert unpacked([], 12).shape == (0, 12)
