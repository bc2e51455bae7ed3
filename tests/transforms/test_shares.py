"""Elements of a bundle handed on together, by window and key."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from apache_beam.transforms.window import GlobalWindow, IntervalWindow

from evalsampling.transforms.shares import Gather

DAYS = [IntervalWindow(0, 10), IntervalWindow(10, 20)]


def by_parity(element: Any) -> Iterator[tuple[int, Any]]:
    yield (element if isinstance(element, int) else 0) % 2, element


def together(key: int, parts: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    yield key, list(parts)


def test_parts_of_a_bundle_come_together_by_window_and_key() -> None:
    gather = Gather(by_parity, together)
    for _ in range(2):  # a bundle holds nothing of the one before
        gather.start_bundle()
        for element in range(8):
            assert list(gather.process(element, DAYS[element // 4])) == []
        made = {(one.windows[0], one.value[0]): one for one in gather.finish_bundle()}
        assert {key: one.value[1] for key, one in made.items()} == {
            (DAYS[0], 0): [0, 2],
            (DAYS[0], 1): [1, 3],
            (DAYS[1], 0): [4, 6],
            (DAYS[1], 1): [5, 7],
        }
        assert all(one.timestamp == of.max_timestamp() for (of, _), one in made.items())
        assert list(gather.finish_bundle()) == []


def test_a_bundle_that_failed_leaves_nothing() -> None:
    gather = Gather(by_parity, together)
    gather.start_bundle()
    list(gather.process(3, GlobalWindow()))
    gather.start_bundle()
    list(gather.process(5, GlobalWindow()))
    assert [one.value for one in gather.finish_bundle()] == [(1, [5])]


def test_many_rows_are_handed_on_before_their_bundle_ends() -> None:
    gather, table = Gather(by_parity, together), pa.table({"id": range(4000)})
    gather.start_bundle()
    made = [list(gather.process(table, GlobalWindow())) for _ in range(4)]
    assert [len(one) for one in made] == [0, 0, 1, 0]
    ((_, parts),) = made[2]
    assert len(parts) == 3
    assert [len(one.value[1]) for one in gather.finish_bundle()] == [1]
