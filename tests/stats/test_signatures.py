"""Signatures against counting tuples."""

import collections
import itertools
import math

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from evalsampling.stats.hashing import hash_integers
from evalsampling.stats.signatures import MOST_COUNTED, SignatureCounts, Signatures, signature_codes
from tests.contracts import assert_mergeable

LARGE = (128, 64, 256)
"""More signatures, 2^21, than are looked up in a table."""
SMALL = (3, 2, 4)


def same(a: SignatureCounts, b: SignatureCounts) -> bool:
    arrays = ("code", "count", "sample_hash", "sample_code")
    return (a.limit, a.sampled) == (b.limit, b.sampled) and all(
        getattr(a, name).tolist() == getattr(b, name).tolist() for name in arrays
    )


def count(
    shape: tuple[int, ...], prediction: np.ndarray, limit: int = MOST_COUNTED
) -> SignatureCounts:
    """Count rows numbered from zero."""
    hashes = hash_integers(np.arange(len(prediction)), 7)
    return SignatureCounts.from_codes(signature_codes(shape, prediction), hashes, limit)


def no_rows(limit: int = MOST_COUNTED) -> SignatureCounts:
    nothing = np.zeros(0, dtype=np.int64)
    return SignatureCounts.from_codes(nothing, nothing.astype(np.uint64), limit)


def make_predictions(shape: tuple[int, ...], rows: int, seed: int = 0) -> np.ndarray:
    """Low classes are common, high ones rare."""
    rng = np.random.default_rng(seed)
    return np.stack([np.minimum(rng.geometric(0.4, rows) - 1, c - 1) for c in shape], axis=1)


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small", "large"])
def test_merge_contract(shape: tuple[int, ...]) -> None:
    prediction = make_predictions(shape, 400)
    codes, hashes = signature_codes(shape, prediction), hash_integers(np.arange(400), 7)
    parts = np.split(np.arange(400), [1, 150, 150])
    states = [SignatureCounts.from_codes(codes[part], hashes[part]) for part in parts]
    assert_mergeable(states, no_rows(), same)
    whole = sum(states, start=no_rows())
    assert same(whole, count(shape, prediction))
    assert not whole.sampled
    counted = collections.Counter(map(tuple, prediction.tolist()))
    unravelled = np.stack(np.unravel_index(whole.code, shape), axis=1).tolist()
    assert dict(zip(map(tuple, unravelled), whole.count.tolist(), strict=True)) == counted
    assert np.all(np.diff(whole.code) > 0)


@pytest.mark.parametrize("limit", [1, 5, 18, 19])
def test_merge_contract_of_samples(limit: int) -> None:
    """Parts of few signatures, exact or not, of which there are 18 together."""
    codes = np.repeat([*range(9), *range(1 << 40, (1 << 40) + 9)], 3)
    hashes = np.random.default_rng(0).integers(0, 9, len(codes)).astype(np.uint64)
    parts = np.split(np.arange(len(codes)), [1, 10, 10, 40])
    states = [SignatureCounts.from_codes(codes[part], hashes[part], limit) for part in parts]
    assert_mergeable(states, no_rows(limit), same)
    whole = sum(states, start=no_rows(limit))
    assert whole.sampled == (limit < 18)


@hypothesis.settings(max_examples=200, derandomize=True)
@hypothesis.given(
    rows=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    limit=st.integers(1, 14),
    seed=st.integers(0, 9),
)
def test_state_depends_on_the_rows_alone(
    rows: list[tuple[int, int]], cuts: list[int], limit: int, seed: int
) -> None:
    """Whatever the order and the shards; counts and sample as by sorting and counting."""
    shuffled = np.array(rows, dtype=np.int64).reshape(-1, 2)
    shuffled = np.random.default_rng(seed).permutation(shuffled)
    shards = np.split(shuffled, sorted(min(cut, len(rows)) for cut in cuts))
    parts = [
        SignatureCounts.from_codes(part[:, 0] << 20, part[:, 1].astype(np.uint64), limit)
        for part in shards
    ]
    found = sum(parts, start=no_rows(limit))
    sample = sorted((hash, code << 20) for code, hash in rows)[:limit]
    assert [*zip(found.sample_hash.tolist(), found.sample_code.tolist(), strict=True)] == sample
    all_codes = collections.Counter(code << 20 for code, _ in rows)
    assert found.sampled == (len(all_codes) > limit)
    exact = {} if found.sampled else dict(sorted(all_codes.items()))
    assert dict(zip(found.code.tolist(), found.count.tolist(), strict=True)) == exact
    of = collections.Counter(code for _, code in sample) if found.sampled else all_codes
    code, times = found.counted()
    assert [*zip(code.tolist(), times.tolist(), strict=True)] == sorted(of.items())


def test_state_of_many_signatures_is_bounded() -> None:
    """More than 65,536 distinct ones, by default: 65,536 rows of 16 bytes remain."""
    codes = np.arange(200_000)
    state = SignatureCounts.from_codes(codes << 30, hash_integers(codes, 7))
    assert state.sampled
    for sampled in (state, state + state):
        arrays = sampled.code, sampled.count, sampled.sample_code, sampled.sample_hash
        assert sum(array.nbytes for array in arrays) == 16 * 65_536
    exact = SignatureCounts.from_codes(codes[:65_536], hash_integers(codes[:65_536], 7))
    assert not exact.sampled
    assert exact.count.tolist() == [1] * 65_536


def test_sample_of_one_signature_is_one_shared_slot() -> None:
    """Two signatures, of which one row alone is sampled."""
    counts = SignatureCounts.from_codes(np.array([3, 5]), np.array([9, 4], dtype=np.uint64), 1)
    signatures = Signatures.most_common((8,), counts, 100)
    assert signatures.slots == 1
    assert signatures.slot(np.array([[3], [5], [7]])).tolist() == [0, 0, 0]
    members, share = signatures.predictions(0)
    assert members.tolist() == [[5]]
    assert share.tolist() == [1]


def test_unseen_signature_of_exact_counts_is_an_error() -> None:
    counts = count((8,), np.array([[3], [5]]))
    signatures = Signatures.most_common((8,), counts, 100)
    with pytest.raises(ValueError, match="were not there"):
        signatures.slot(np.array([[4]]))


@pytest.mark.parametrize("limit", [MOST_COUNTED, 10], ids=["counted", "sampled"])
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["by table", "by search"])
@pytest.mark.parametrize("slots", [1, 2, 5, 9, 10**6])
def test_rarest_signatures_share_the_last_slot(
    shape: tuple[int, ...], slots: int, limit: int
) -> None:
    """Of a sample there always is such a slot, for whatever else there is."""
    prediction = make_predictions(shape, 3000)
    counts, sampled = count(shape, prediction, limit), limit == 10
    rows = np.argsort(hash_integers(np.arange(3000), 7))[:10] if sampled else np.arange(3000)
    counted = collections.Counter(map(tuple, prediction[rows].tolist()))
    assert (counts.sampled, len(counted) > 2) == (sampled, True)
    # Ties fall to the lower code, so that no order of rows or shards decides.
    ranked = sorted(counted, key=lambda s: (-counted[s], s))
    signatures = Signatures.most_common(shape, counts, slots)
    enough = len(ranked) <= slots and not sampled
    kept = sorted(ranked if enough else ranked[: min(slots, len(ranked)) - 1])
    assert signatures.slots == min(slots, len(ranked))
    found = signatures.slot(prediction).tolist()
    assert found == [
        kept.index(s) if s in kept else len(kept) for s in map(tuple, prediction.tolist())
    ]
    assert set(found) == set(range(signatures.slots))
    for slot in range(len(kept)):
        members, share = signatures.predictions(slot)
        assert [tuple(row) for row in members.tolist()] == [kept[slot]]
        assert share.tolist() == [1]
    if not enough:
        members, share = signatures.predictions(len(kept))
        pooled = ranked[len(kept) :][:64]
        assert [tuple(row) for row in members.tolist()] == pooled
        total = sum(counted[s] for s in pooled)
        np.testing.assert_allclose(share, [counted[s] / total for s in pooled], rtol=1e-12)
        every = np.array([tuple(c - 1 for c in shape), (0, 0, 0)])
        assert np.all(signatures.slot(every) < signatures.slots)


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
    counts = count(shape, prediction)
    signatures = Signatures.most_common(shape, counts, 2)
    members, share = signatures.predictions(1)
    assert members[:, 0].tolist() == [*range(1, 65)]
    np.testing.assert_allclose(share, np.repeat([2 / 74, 1 / 74], [10, 54]))
    assert signatures.slot(np.array([[99, 0], [64, 0], [0, 0]])).tolist() == [1, 1, 0]


def test_a_rare_slice_keeps_slots_for_its_commonest_signatures() -> None:
    """Of ten rows in a thousand nine are alike: with two slots these have one of their own."""
    prediction = np.array([[0, 0]] * 600 + [[1, 0]] * 390 + [[0, 1]] * 9 + [[1, 1]])
    counts = count((2, 2), prediction)
    by_slice = Signatures.most_common((2, 2), counts, 3, slices=1)
    assert by_slice.kept.tolist() == [0, 1]
    assert by_slice.slot(np.array([[0, 1], [1, 0], [1, 1]])).tolist() == [1, 2, 2]
    assert Signatures.most_common((2, 2), counts, 3).kept.tolist() == [0, 2]


def test_codes_number_all_signatures() -> None:
    rows = np.array([*itertools.product(*map(range, SMALL))])
    assert signature_codes(SMALL, rows).tolist() == [*range(math.prod(SMALL))]
    assert signature_codes((5,), np.array([[4], [0], [2]])).tolist() == [4, 0, 2]
    top = tuple(2**10 for _ in range(6))
    assert signature_codes(top, np.array([[2**10 - 1] * 6])).tolist() == [2**60 - 1]


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["by table", "by search"])
def test_signature_never_counted_is_pooled(shape: tuple[int, ...]) -> None:
    prediction = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 1, 2]])
    counts = count(shape, prediction)
    signatures = Signatures.most_common(shape, counts, 3)
    unseen = np.array([[2, 1, 3], [0, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert signatures.slot(unseen).tolist() == [2, 2, 0, 1]
