"""Every sampler and every measure says what it said when the golden files were written."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalsampling import measures, samplers
from evalsampling.measures import comparisons, gains
from evalsampling.measures.averages import BY_AVERAGE
from tests.golden import kept
from tests.golden.cases import CASES, measure_names
from tests.golden.compare import assert_same, differences
from tests.golden.evaluations import told_by


@pytest.mark.parametrize("name", CASES)
def test_an_evaluation_says_what_it_said(name: str) -> None:
    before = kept.read(kept.file_of(name))
    assert_same(before, told_by(CASES[name]), f"sampler {before['sampler']}")


def golden() -> Iterator[Any]:
    """Yield what each golden file holds."""
    for path in sorted(kept.ESTIMATES.glob("*.json")):
        yield kept.read(path)


def test_every_sampler_is_golden() -> None:
    missing = {*samplers.BY_NAME} - {one["sampler"] for one in golden()}
    assert not missing, f"no golden file is of the samplers {missing}: add cases"


def test_every_measure_is_golden() -> None:
    listed = {name for one in golden() for name in measure_names(one["spec"]["measure"])}
    missing = {*measures.BY_NAME, *gains.BY_NAME} - listed
    assert not missing, f"no golden file is of the measures {missing}: add them to a case"
    averages = {entry.get("average") for one in golden() for entry in one["spec"]["measure"]
                if isinstance(entry, dict)}  # fmt: skip
    assert averages >= {*BY_AVERAGE}


def test_every_comparison_is_golden() -> None:
    entries = [entry for one in golden() for entry in one["spec"]["measure"]]
    kinds = {key for entry in entries if isinstance(entry, dict) for key in entry}
    assert {*comparisons.BY_KIND, "joint"} <= kinds


def test_every_file_is_of_a_case_and_has_values() -> None:
    assert {*kept.ESTIMATES.glob("*.json")} == {kept.file_of(name) for name in CASES}
    for name in CASES:
        estimates = kept.read(kept.file_of(name))["estimates"]
        assert any(one["value"] is not None for one in estimates.values()), name


def test_golden_files_are_small() -> None:
    files = [path for path in kept.HERE.rglob("*") if path.is_file() and ".py" not in path.suffix]
    assert sum(path.stat().st_size for path in files) < 2_000_000


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-7}, []),
        ({"a": 1.0}, {"a": 1.00001}, ["a: 1.00001, kept was 1.0"]),
        ({"a": 0.0}, {"a": 1e-13}, []),
        ({"a": 1}, {"a": 1.0}, ["a: 1.0, kept was 1"]),
        ({"a": 1}, {"a": True}, ["a: True, kept was 1"]),
        ({"a": None}, {"a": 0.5}, ["a: 0.5, kept was None"]),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, ["a: missing", "c: new, not kept"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ["all: another order of a, b"]),
        (
            {"f1": {"intervals": [{"method": "wald", "low": 0.1}]}},
            {"f1": {"intervals": [{"method": "wald", "low": 0.2}, {}]}},
            [
                "f1, intervals: 2 entries, 1 were kept",
                "f1, intervals[0 wald], low: 0.2, kept was 0.1",
            ],
        ),
    ],
)
def test_differences_name_the_field(before: Any, now: Any, told: list[str]) -> None:
    assert [*differences(before, now)] == told
