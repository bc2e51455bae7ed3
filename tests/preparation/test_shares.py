"""Shares merged by hand give what the in-memory path gives: all that an engine like Spark adds."""

import itertools
import operator
import threading
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.preparation.reserve import Reserve, sum_reserves
from evalsampling.preparation.shares import (
    MOST_THREADS,
    Piece,
    Rows,
    by_threads,
    deal,
    gather_by_threads,
    groups_of,
)
from evalsampling.preparation.stages import Keyed, Step, Total
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.engines import in_shares, prepare_by
from tests.jobs import Job, make_rich_pool
from tests.reference import assert_same, reference


@pytest.mark.parametrize(("case", "most"), [("slices", 1), ("kd", 100)])
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


PATIENCE = 20
"""Seconds after which a thread has waited for another in vain."""


ENGINE = by_threads(3)


def _numbered(number: int) -> Iterator[tuple[int, int]]:
    yield number % 2, number


def _together(_: int, states: Any) -> list[int]:
    return list(states)


def test_sums_and_their_order() -> None:
    total = Total("Sum", Step("Same", int), "Add")
    listed = Keyed("List", (Step("Number", _numbered),), "Group", Step("Join", _together))
    for items in ([], [5], list(range(1000))):
        assert ENGINE.run(Rows(items), total) == [sum(items) if items else None]
        parts = [[i for i in items if i % 2 == odd] for odd in (0, 1)]
        assert sorted(ENGINE.run(Rows(items), listed)[0]) == sorted(p for p in parts if p)


def test_several_threads_are_at_work() -> None:
    met = threading.Barrier(3)
    waits = Total("Meet", Step("Wait", lambda _: met.wait(PATIENCE) * 0), "Add")
    assert ENGINE.run(Rows(range(3)), waits) == [0]


def test_one_item_needs_no_other_thread() -> None:
    tells = Total("Who", Step("Tell", lambda _: threading.get_ident()), "Add")
    assert ENGINE.run(Rows([0]), tells) == [threading.get_ident()]


def test_the_error_is_that_of_the_first_bad_item() -> None:
    """Though a later one fails before it, and no item is taken after that."""
    later, taken = threading.Event(), []

    def fail(item: int) -> int:
        taken.append(item)
        if item == 3:
            assert later.wait(PATIENCE)
            raise InputError("the first")
        if item == 4:
            later.set()
            raise InputError("a later one")
        return 0

    with pytest.raises(InputError, match="the first"):
        ENGINE.run(Rows(range(1000)), Total("Fail", Step("Fail", fail), "Add"))
    assert {0, 1, 2, 3, 4} <= set(taken)
    assert max(taken) < 900, "the others went on"


def test_whoever_is_interrupted_leaves_no_thread_at_work() -> None:
    """An interrupt reaches the thread that waits; here the first item stands in for it."""
    taken, going = [], threading.Event()

    def work(share: Iterator[int], _: int) -> Iterator[Piece]:
        for item in share:
            taken.append(item)
            if item == 0:
                going.set()
                raise KeyboardInterrupt
            assert going.wait(PATIENCE)
            threading.Event().wait(0.001)
            yield Piece("all", 0, item)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        gather_by_threads(3, Rows(range(100_000)), work, lambda *_: Piece("all", 0, 0), 1)
    assert threading.active_count() == before
    assert len(taken) < 50_000, "the others went on to the end"


@pytest.mark.parametrize(("cores", "threads"), [(None, 1), (2, 2), (64, MOST_THREADS)])
def test_a_thread_for_each_core(
    cores: int | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    met = threading.Barrier(threads)
    waits = Total("Meet", Step("Wait", lambda _: met.wait(PATIENCE) * 0), "Add")
    assert by_threads().run(Rows(range(threads)), waits) == [0]
