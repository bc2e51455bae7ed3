"""The first pass: summaries of parts of a pool merge."""

import itertools
from typing import Any

import pytest

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted, summarize
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.contracts import assert_mergeable, same_state
from tests.jobs import make_rich_pool


@pytest.mark.parametrize("case", CASES)
def test_summaries_merge(job: Any, case: str) -> None:
    """Whatever the first pass looks for, its parts add up in any order and grouping."""
    shape, keys = CASES[case]
    rows = make_rich_pool(**shape)
    spec = EvaluationSpec.load(job(rows, budget=300, **keys).spec)
    wants = Wanted.of(spec.reading)
    if not wants.anything:
        assert case in ("edges", "verdicts")
        assert Stratification.from_summary(None, spec.reading).min_rows is None
        return
    batch = rows.table.combine_chunks().to_batches()[0]
    cuts = [0, 1, 1, 500, 503, 1200, 1500]
    parts = [
        summarize(PoolBatch(batch.slice(begin, end - begin)), spec.reading, wants)
        for begin, end in itertools.pairwise(cuts)
    ]
    zero = summarize(PoolBatch(batch.slice(0, 0)), spec.reading, wants)
    assert_mergeable(parts, zero, same_state)
    whole = summarize(PoolBatch(batch), spec.reading, wants)
    assert same_state(sum(parts, start=zero), whole)
    assert whole.rows == 1500
    for kind, wanted in [(whole.signatures, wants.signatures), (whole.features, wants.features)]:
        assert (kind is not None) == wanted
    counts = whole.counts(spec.pool.score)
    assert bool(counts) == (wants.histogram_bins > 0)
    assert all(each.rows == whole.rows for each in counts.values())
