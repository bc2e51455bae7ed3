"""Sets of labels as classes, and what a spec may say of them."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.label_spaces.sets import Sets, labels_of_text, set_text
from evalsampling.spec import EvaluationSpec
from tests.averages import MACRO_F1

KNOWN = ("toxic", "insult", "threat")


def test_code_of_a_set_has_a_bit_for_each_label() -> None:
    classes = Sets(KNOWN).outcomes
    assert len(set(classes)) == 8
    assert classes[0] == "none"
    assert classes[1] == "toxic"
    assert classes[6] == "insult+threat"
    for code, text in enumerate(classes):
        labels = labels_of_text(text)
        assert code == sum(1 << KNOWN.index(one) for one in labels)
        assert set_text(reversed(labels), KNOWN) == text


def spec_of(**changed: Any) -> EvaluationSpec:
    content: dict[str, Any] = {
        "pool": {"path": "pool.parquet", "prediction": "tags",
                 "probability": {one: f"p_{one}" for one in KNOWN}},
        "labels": {"multilabel": list(KNOWN)},
        "measure": MACRO_F1,
    }  # fmt: skip
    for key, part in changed.items():
        content[key] = {**content[key], **part} if isinstance(part, dict) else part
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
