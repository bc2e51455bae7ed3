"""What the tests of pipelines share."""

from typing import Any

import pytest

from evalsampling.transforms import SumFn


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
