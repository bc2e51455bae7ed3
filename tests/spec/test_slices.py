"""Slices that measures and strata of a spec name."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.spec import EvaluationSpec
from tests.averages import MICRO_F1

POOL = {"path": "pool.parquet"}


def spec_of(**keys: Any) -> EvaluationSpec:
    return EvaluationSpec.from_mapping({"pool": POOL, "budget": 10, **keys}, Path())


def test_all_that_is_named() -> None:
    spec = spec_of(
        measure=[
            {"joint": [{"name": "recall", "where": {"country": "DE", "new": True}}, "f1"]},
            {"difference": {"name": "accuracy", "where": {"year": 2024}}},
            {"least": "precision", "over": {"country": ["FR", "DE"]}},
        ],
        strata={"slices": {"year": [2025, None]}},
    )
    named = {"year": ("2024", "2025", "null"), "country": ("DE", "FR"), "new": ("true",)}
    assert spec.reading.named_slices == named
    assert spec.reading.signature_shape == (2, 4, 3, 2)
    again = EvaluationSpec.from_mapping(spec.to_mapping(), Path())
    assert again.to_mapping() == spec.to_mapping()
    assert again.reading.named_slices == named


def test_nothing_is_named_by_default() -> None:
    spec = spec_of(measure="recall")
    assert (spec.reading.named_slices, spec.reading.signature_shape) == ({}, (2,))
    assert "slices" not in spec.to_mapping()["strata"]
    assert spec.to_mapping()["measure"] == [{"name": "recall"}]


def test_slices_of_rankings_drive_nothing() -> None:
    pool = {**POOL, "lists": {"items": "doc"}, "systems": {"new": {"score": "s"}}}
    keys = {"labels": {"classes": [0, 1, 2]}, "strata": {"slices": {"market": "de"}}}
    with pytest.raises(InputError, match=r"strata.slices: with pool.lists, slices"):
        spec_of(pool=pool, **keys)


def test_of_many_labels_the_key_that_names_a_slice_is_in_the_error() -> None:
    names = [f"t{i}" for i in range(12)]
    keys = {"labels": {"multilabel": names}, "measure": MICRO_F1}
    with pytest.raises(InputError, match=r"measure.over, strata.slices: with more than eight"):
        spec_of(**keys, strata={"slices": {"country": "IS"}})
