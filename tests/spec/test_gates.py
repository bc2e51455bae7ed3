"""The section `gates` of a spec, and gates as options."""

from typing import Any

import pytest

from evalsampling.errors import InputError, UsageError
from evalsampling.evaluation.specs import check_buildable
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.gates import Gate, GatesSpec

POOL = {"path": "pool.parquet", "systems": {"old": {"score": "a", "prediction": "b"}}}


def spec(gates: Any = None, **pool: Any) -> EvaluationSpec:
    content = {"pool": POOL | pool, "measure": ["recall", "f1"]}
    return EvaluationSpec.from_mapping(content | ({} if gates is None else {"gates": gates}), "/")


def test_a_spec_without_gates_says_nothing_of_them() -> None:
    assert "gates" not in spec().to_mapping()
    assert not spec().gates


def test_gates_come_back() -> None:
    gates = {"at_least": {"recall": 0.9}, "at_most": {"f1": 1}}
    read = spec(gates)
    assert list(read.gates) == [Gate("recall", 0.9, True), Gate("f1", 1.0, False)]
    assert read.to_mapping()["gates"] == gates
    assert EvaluationSpec.from_mapping(read.to_mapping(), "/") == read


def test_a_spec_is_checked_to_estimate_what_its_gates_are_about() -> None:
    check_buildable(spec({"at_least": {"recall": 0.9, "f1 of old": 0.5}}))
    with pytest.raises(InputError, match=r"gates.at_least: no estimate 'precision'; there are:"):
        check_buildable(spec({"at_least": {"precision": 0.9}}))
    with pytest.raises(InputError, match=r"gates.at_most.f1: it lies between 0 and 1, so 7 "):
        check_buildable(spec({"at_most": {"f1": 7}}))


def test_slices_of_gates_are_columns_of_the_pool_with_any_values() -> None:
    slices = {"slices": ["city", "age where known"]}
    for number in (
        "recall of old where city=Bern",
        "recall of old where city=a where city=b",
        "f1 of old where age where known=7",
    ):
        check_buildable(spec({"at_least": {number: 0.9}}, **slices))
    for number, problem in (
        (
            "recall of old where town=Bern",
            "there are: 'recall of old', 'recall of old where city=...', ",
        ),
        ("precision where city=Bern", "no estimate 'precision where city=Bern'"),
        ("recall of new where city=Bern", "no estimate 'recall of new where city=Bern'"),
        ("recall of old where city", "'recall of old where city=...'"),
    ):
        with pytest.raises(InputError) as caught:
            check_buildable(spec({"at_least": {number: 0.9}}, **slices))
        assert str(caught.value).startswith("gates.at_least: no estimate ")
        assert problem in str(caught.value)
    with pytest.raises(InputError, match=r"it lies between 0 and 1, so 90 decides nothing"):
        check_buildable(spec({"at_least": {"recall of old where city=Bern": 90}}, **slices))
    with pytest.raises(InputError, match=r"no estimate 'recall of old where city=Bern'"):
        check_buildable(spec({"at_least": {"recall of old where city=Bern": 0.9}}))


def test_options_have_the_target_behind_the_last_equals_sign() -> None:
    gates = GatesSpec.parse(["recall=0.9", "f1 where city=Bern = .5"], ["mse=1e-2"])
    assert gates.at_least == {"recall": 0.9, "f1 where city=Bern": 0.5}
    assert gates.at_most == {"mse": 0.01}
    assert GatesSpec.parse(["recall>=0.9"], ["mse <= .1"]) == GatesSpec(
        {"recall": 0.9}, {"mse": 0.1}
    )


@pytest.mark.parametrize(
    "text",
    ["recall", "recall=", "=0.9", "recall=high", "recall=nan", "f1=1_0e-1", "f1=\u0660.\u0669"],
)
def test_options_that_are_no_gates(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--at-least: must be like recall=0\.9, got "):
        GatesSpec.parse([text], [])


def test_two_targets_of_one_number_are_not_taken_for_the_last() -> None:
    with pytest.raises(UsageError, match=r"--at-least: recall is there twice, with 0.9 and 0.1"):
        GatesSpec.parse(["recall=0.9", "recall =0.1"], [])
    assert GatesSpec.parse(["recall=0.9", "recall=0.90"], []).at_least == {"recall": 0.9}


@pytest.mark.parametrize(
    ("claims", "at_least", "at_most"),
    [
        (["recall >= 0.7"], {"recall": 0.7}, {}),
        (["precision>=.95 and recall>=8e-1"], {"precision": 0.95, "recall": 0.8}, {}),
        (["recall of new where a=b and c <= .5"], {}, {"recall of new where a=b and c": 0.5}),
        (["f1 >= 0.5", "mse <= 2", "f1 >= .5"], {"f1": 0.5}, {"mse": 2.0}),
    ],
)
def test_claims(claims: list[str], at_least: Any, at_most: Any) -> None:
    assert GatesSpec.claimed(claims) == GatesSpec(at_least, at_most)


@pytest.mark.parametrize(
    "claim", ["recall > 0.7", "recall", "recall >= x", "recall >= 1_0", ">= 3", "", "a >= 1 or b"]
)
def test_what_is_no_claim(claim: str) -> None:
    with pytest.raises(InputError, match=r"^claims: must be like 'recall >= 0\.7', got "):
        GatesSpec.claimed([claim])
    with pytest.raises(InputError, match="f1 >= is there twice"):
        GatesSpec.claimed(["f1 >= 0.5 and f1 >= 0.6"])
    with pytest.raises(InputError, match="claims: must be texts like"):
        GatesSpec.claimed([{"recall": 0.7}])  # type: ignore[list-item]
