"""Rows that cannot be of the reserve fall before they are shuffled."""

from typing import Any

from evalsampling.preparation.reserve_builder import ReserveBuilder
from tests.jobs import make_pool
from tests.reference import (
    assert_same,
    reference,
)


def test_limits_from_the_first_pass_change_nothing(job: Any, monkeypatch: Any) -> None:
    """Most rows fall at once, and the reserve is what it is without limits."""
    one = job(make_pool(20_000), files=3, group_rows=1000, budget=15)
    taken: list[int] = []
    add = ReserveBuilder.add

    def counting(self: ReserveBuilder, cells: Any) -> int:
        taken.append(add(self, cells))
        return taken[-1]

    monkeypatch.setattr(ReserveBuilder, "add", counting)
    assert one.prepare().status == 0
    with_limits, taken = sum(taken), []
    assert_same(one.workspace, reference(one), budget=15)
    assert with_limits < 0.6 * 20_000
