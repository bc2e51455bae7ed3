"""Threads of this process give what one thread would, errors among them."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.preparation.shares import Piece, Rows
from evalsampling.preparation.stages import Keyed, Step, Total
from evalsampling.preparation.threads import MOST_THREADS, by_threads, gather_by_threads

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
