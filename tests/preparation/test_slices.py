"""Slices of a pool, counted."""

from collections import Counter
from typing import Any

from evalsampling.workspace.workspace import Workspace
from tests.cases import CASES
from tests.jobs import make_rich_pool


def test_slices_counted_by_hand(job: Any) -> None:
    shape, keys = CASES["slices"]
    rows = make_rich_pool(**shape)
    one = job(rows, files=3, budget=300, **keys)
    one.prepare()
    found = Workspace(one.workspace).slices
    for name, values, counts in zip(found.names, found.values, found.counts, strict=True):
        column = rows.table[name].to_pylist()
        texts = ["null" if v is None else str(v).replace("False", "false").replace("True", "true")
                 for v in column]  # fmt: skip
        assert dict(zip(values, counts.sum(axis=1).tolist(), strict=True)) == Counter(texts)
