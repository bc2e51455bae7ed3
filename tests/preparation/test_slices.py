"""Slices of a pool, counted."""

from collections import Counter
from typing import Any

import pytest

from evalsampling import Evaluation, InputError
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.bad_pools import assert_clean_failure
from tests.cases import CASES, SCORED
from tests.jobs import make_rich_pool


def test_slices_counted_by_hand(job: Any) -> None:
    shape, keys = CASES["slices"]
    rows = make_rich_pool(**shape)
    one = job(rows, files=3, budget=300, **keys).prepared()
    found = PreparedPool.read(Workspace(one.workspace)).slices
    for name, values, counts in zip(found.names, found.values, found.counts, strict=True):
        column = rows.table[name].to_pylist()
        texts = ["null" if v is None else str(v).replace("False", "false").replace("True", "true")
                 for v in column]  # fmt: skip
        assert dict(zip(values, counts.sum(axis=1).tolist(), strict=True)) == Counter(texts)


def test_slice_column_of_too_many_values(job: Any) -> None:
    """Too many in one batch, and too many in all of the pool but in no batch."""
    pool = make_rich_pool(rows=1500)
    words = ["pool.slices: column 'name' has", "at most 1000 are possible"]
    keys = {"pool": {**SCORED, "slices": ["new", "name"]}}
    assert_clean_failure(job(pool, **keys), words)
    assert_clean_failure(job(pool, files=3, group_rows=100, **keys), words)
    job(make_rich_pool(rows=1000), files=3, **keys).prepared()


MISSING = "city: no row of the pool has 'Basel' there, and measure.where"


def test_a_named_value_that_no_row_has(job: Any) -> None:
    """By `prepare`, which leaves nothing behind, and in memory."""
    measure = {"name": "recall", "where": {"city": ["Bern", "Basel"]}}
    one = job(make_rich_pool(), files=2, pool=SCORED, measure=measure)
    assert_clean_failure(one, [MISSING])
    with pytest.raises(InputError, match=MISSING):
        Evaluation.from_frame(make_rich_pool().table, id="id", **SCORED, measure=measure)


def test_a_named_column_that_is_missing(job: Any) -> None:
    one = job(make_rich_pool(), pool=SCORED, strata={"slices": {"land": "DE"}})
    assert_clean_failure(one, ["'land' is missing"])
