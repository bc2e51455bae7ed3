"""Signatures against counting tuples."""

import collections
import itertools
import math

import numpy as np
import pytest

from evalsampling.stats.signatures import SignatureCounts, Signatures, signature_codes
from tests.contracts import assert_mergeable

LARGE = (128, 64, 256)
"""More signatures, 2^21, than are looked up in a table."""
SMALL = (3, 2, 4)


def same(a: SignatureCounts, b: SignatureCounts) -> bool:
    return a.code.tolist() == b.code.tolist() and a.count.tolist() == b.count.tolist()


def make_predictions(shape: tuple[int, ...], rows: int, seed: int = 0) -> np.ndarray:
    """Low classes are common, high ones rare."""
    rng = np.random.default_rng(seed)
    return np.stack([np.minimum(rng.geometric(0.4, rows) - 1, c - 1) for c in shape], axis=1)


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small", "large"])
def test_merge_contract(shape: tuple[int, ...]) -> None:
    prediction = make_predictions(shape, 400)
    codes = signature_codes(shape, prediction)
    parts = [codes[:1], codes[1:150], codes[:0], codes[150:]]
    states = [SignatureCounts.from_codes(part) for part in parts]
    assert_mergeable(states, SignatureCounts.zero(), same)
    whole = sum(states, start=SignatureCounts.zero())
    assert same(whole, SignatureCounts.from_codes(codes))
    counted = collections.Counter(map(tuple, prediction.tolist()))
    unravelled = np.stack(np.unravel_index(whole.code, shape), axis=1).tolist()
    assert dict(zip(map(tuple, unravelled), whole.count.tolist(), strict=True)) == counted
    assert np.all(np.diff(whole.code) > 0)


def test_codes_number_all_signatures() -> None:
    rows = np.array([*itertools.product(*map(range, SMALL))])
    assert signature_codes(SMALL, rows).tolist() == [*range(math.prod(SMALL))]
    assert signature_codes((5,), np.array([[4], [0], [2]])).tolist() == [4, 0, 2]
    top = tuple(2**10 for _ in range(6))
    assert signature_codes(top, np.array([[2**10 - 1] * 6])).tolist() == [2**60 - 1]


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["by table", "by search"])
@pytest.mark.parametrize("slots", [1, 2, 5, 9, 10**6])
def test_rarest_signatures_share_the_last_slot(shape: tuple[int, ...], slots: int) -> None:
    prediction = make_predictions(shape, 3000)
    tuples = [*map(tuple, prediction.tolist())]
    counted = collections.Counter(tuples)
    # Ties fall to the lower code, so that no order of rows or shards decides.
    ranked = sorted(counted, key=lambda s: (-counted[s], s))
    counts = SignatureCounts.from_codes(signature_codes(shape, prediction))
    signatures = Signatures.most_common(shape, counts, slots)
    enough = len(ranked) <= slots
    kept = sorted(ranked if enough else ranked[: slots - 1])
    assert signatures.slots == (len(ranked) if enough else slots)
    found = signatures.slot(prediction)
    expected = [kept.index(s) if s in kept else len(kept) for s in tuples]
    assert found.tolist() == expected
    assert set(found.tolist()) == set(range(signatures.slots))

    for slot in range(len(kept)):
        members, share = signatures.predictions(slot)
        assert [tuple(row) for row in members.tolist()] == [kept[slot]]
        assert share.tolist() == [1]
    if not enough:
        members, share = signatures.predictions(len(kept))
        pooled = ranked[slots - 1 :][:64]
        assert [tuple(row) for row in members.tolist()] == pooled
        total = sum(counted[s] for s in pooled)
        np.testing.assert_allclose(share, [counted[s] / total for s in pooled], rtol=1e-12)
        assert share.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["by table", "by search"])
def test_signature_never_counted_is_pooled(shape: tuple[int, ...]) -> None:
    prediction = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 2]])
    counts = SignatureCounts.from_codes(signature_codes(shape, prediction))
    signatures = Signatures.most_common(shape, counts, 3)
    unseen = np.array([[2, 1, 3], [0, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert signatures.slot(unseen).tolist() == [2, 2, 0, 1]


def test_every_signature_has_a_slot() -> None:
    signatures = Signatures.every(SMALL)
    rows = np.array([*itertools.product(*map(range, SMALL))])
    assert signatures.slots == math.prod(SMALL)
    assert signatures.slot(rows).tolist() == [*range(signatures.slots)]
    for slot, row in enumerate(rows.tolist()):
        members, share = signatures.predictions(slot)
        assert members.tolist() == [row]
        assert share.tolist() == [1]


def test_pooled_signatures_are_described_by_the_most_common() -> None:
    """At most 64 of them: 100 signatures, the first 10 twice, in two slots."""
    shape = (100, 1)
    prediction = np.column_stack([[0, 0, 0, *range(1, 11), *range(1, 100)], np.zeros(112, int)])
    counts = SignatureCounts.from_codes(signature_codes(shape, prediction))
    signatures = Signatures.most_common(shape, counts, 2)
    members, share = signatures.predictions(1)
    assert members[:, 0].tolist() == [*range(1, 65)]
    np.testing.assert_allclose(share, np.repeat([2 / 74, 1 / 74], [10, 54]))
    assert signatures.slot(np.array([[99, 0], [64, 0], [0, 0]])).tolist() == [1, 1, 0]
