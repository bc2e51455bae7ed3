"""Of states of a name the latest counts, whatever comes first and how often."""

import functools
import itertools
import operator

from evalsampling.stats.latest import Latest


def test_the_greatest_version_counts_in_any_order_and_repeatedly() -> None:
    parts = [
        Latest.of(("counts", 1), 3, "old"),
        Latest.of(("counts", 1), 5, "new"),
        Latest.of(("counts", 0), 4, "other"),
        Latest.of(("pool", 0), 0, "rows"),
        Latest.of(("counts", 1), 5, "new"),
    ]
    for order in itertools.permutations(parts):
        left = functools.reduce(operator.add, order)
        right = functools.reduce(lambda last, first: first + last, order[::-1])
        for merged in (left, right, left + right):
            assert merged.named("counts") == ["other", "new"]
            assert merged.named("pool") == ["rows"]
            assert merged.named("chances") == []


def test_a_sum_leaves_its_parts_alone() -> None:
    first, second = Latest.of(("counts", 0), 1, "a"), Latest.of(("counts", 0), 2, "b")
    assert (first + second).named("counts") == ["b"]
    assert (first.named("counts"), second.named("counts")) == (["a"], ["b"])
