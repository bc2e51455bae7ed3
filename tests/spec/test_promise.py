"""Promises as people write them."""

import pytest

from evalsampling.errors import InputError
from evalsampling.spec.measures import MeasureSpec
from evalsampling.spec.promise import Promise


@pytest.mark.parametrize(
    ("text", "goals", "each", "by_model"),
    [
        ("precision >= 0.95", {"precision": 0.95}, None, False),
        ("precision>=.9 and recall >= 0.8", {"precision": 0.9, "recall": 0.8}, None, False),
        ("f1 >= 0.7 in each shop by model", {"f1": 0.7}, "shop", True),
        ("F1 >= 0.7 and Precision>=0.8 in each Shop", {"f1": 0.7, "precision": 0.8}, "Shop", False),
    ],
)
def test_reads(text: str, goals: dict[str, float], each: str | None, by_model: bool) -> None:
    promise = Promise.read(text)
    assert promise == Promise(goals, each, by_model)
    assert Promise.read(str(promise)) == promise


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("precision", "certify: must be like 'recall >= 0.7', got 'precision'"),
        ("precison >= 0.9", "certify: 'precison' is none of precision, recall, f1, accuracy"),
        (
            "precision >= 95",
            "certify: precision >= 95: must be between 0 and 1; for 95 % give 0.95",
        ),
        ("recall >= 1", "certify: recall >= 1: must be between 0 and 1"),
        ("recall <= 0.5", "certify: recall <=: a promise is a least value, as recall >= 0.9"),
        ("precision >= 0.9 by model", "certify: by model: is about recall and f1 alone"),
        ("precision > 0.9", "certify: precision > 0.9: write >= in place of >"),
        (
            "precision >= 0.9 and Precision >= 0.8",
            "certify: a measure is there twice: precision, Precision",
        ),
        (0.9, "certify: must be a text like 'precision >= 0.95', got 0.9"),
    ],
)
def test_refuses(text: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        Promise.read(text)
    assert str(error.value) == problem


@pytest.mark.parametrize(
    "entry",
    [
        {"certify": {"precision": 0.95}},
        {"certify": {"precision": 0.9, "recall": 0.8}, "each": "shop", "by": "model"},
    ],
)
def test_an_entry_of_a_spec_says_the_same(entry: dict[str, object]) -> None:
    read = MeasureSpec.parse(entry)
    assert read.to_mapping() == entry
    assert [part.name for part in read.parts] == [*entry["certify"]]  # type: ignore[misc]
    assert MeasureSpec.parse(read.to_mapping()) == read


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"certify": {}}, "certify: names no measure"),
        ({"certify": "precision"}, "measure.certify: must be"),
        ({"certify": {"precision": 0.9}, "by": "hope"}, "measure.by: must be"),
        ({"certify": {"precision": 0.9}, "eech": "shop"}, "unknown key measure.eech"),
    ],
)
def test_an_entry_is_checked(entry: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        MeasureSpec.parse(entry)
