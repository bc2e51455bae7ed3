"""Shares merged by hand give what the in-memory path gives: all that an engine like Spark adds."""

import itertools
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest

from evalsampling.preparation.reserve import Reserve, sum_reserves
from evalsampling.preparation.shares import deal, groups_of
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.engines import in_shares, prepare_by
from tests.jobs import Job, make_rich_pool
from tests.reference import assert_same, reference


@pytest.mark.parametrize(
    ("case", "most"),
    [("slices", 1), ("slices", 100), ("systems", 100), ("hierarchy of columns", 100), ("kd", 100)],
)
def test_however_many_shares(job: Any, case: str, most: int) -> None:
    """All cases, in four shares: tests/commands/test_prepare_plan.py."""
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files=3, group_rows=100, budget=300, **keys)
    merged: list[int] = []
    prepare_by(in_shares(most, merged), EvaluationSpec.load(one.spec))
    assert max(merged) > 1 or most == 1, "no states met: the test would prove nothing"
    assert_same(one.workspace, reference(one), budget=300)


def test_sum_of_reserves(job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether rows wait or not."""
    rows = reference(job()).reserve.rows
    parts = [Reserve.from_rows(5, [rows.slice(begin, 70)]) for begin in range(0, len(rows), 70)]
    parts.insert(2, Reserve(5))
    one_by_one = reduce(operator.add, parts)
    assert one_by_one.rows is not None
    for waiting in (1, 100, 1 << 18):
        monkeypatch.setattr("evalsampling.preparation.reserve.COMPACT_ABOVE", waiting)
        assert sum_reserves(iter(parts)).rows == one_by_one.rows
    assert len(sum_reserves(parts[:1])) == len(parts[0])


def test_groups_are_no_more_than_what_is_in_one() -> None:
    assert [groups_of(n) for n in (0, 1, 2, 4, 5, 9, 10, 10_000)] == [1, 1, 2, 2, 3, 3, 4, 100]
    for items, most in itertools.product(range(1, 12), range(1, 14)):
        dealt = deal(range(items), most)
        assert sorted(itertools.chain(*dealt)) == list(range(items))
        assert len(dealt) == min(items, most)
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
