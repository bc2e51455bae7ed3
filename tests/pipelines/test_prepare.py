"""Beam gives what the in-memory path gives, however the pool is cut and merged."""

from typing import Any

import pytest

from evalsampling.transforms import SumFn
from tests.cases import CASES
from tests.jobs import make_rich_pool
from tests.reference import assert_same_evaluation

WHOLE = [pytest.param(case, marks=() if case == "slices" else pytest.mark.slow) for case in CASES]


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many accumulators each merge of Beam's was given."""
    sizes: list[int] = []
    merge = SumFn.merge_accumulators

    def counting(self: SumFn, accumulators: Any) -> Any:
        known = list(accumulators)
        sizes.append(len(known))
        return merge(self, iter(known))

    monkeypatch.setattr(SumFn, "merge_accumulators", counting)
    return sizes


@pytest.mark.parametrize("case", WHOLE)
def test_whole_evaluations_equal_memory(job: Any, merged: list[int], case: str) -> None:
    """Cells, reserve, two rounds and their estimates, of many row groups of seven files."""
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files=7, group_rows=50, budget=300, **keys)
    assert one.prepare("--runner=FnApiRunner", "--direct_num_workers=4").status == 0
    assert max(merged) > 1, "no accumulators met: the test would prove nothing"
    assert_same_evaluation(one)
