"""Hashes against the reference implementation and values written down."""

import tracemalloc

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from evalsampling.stats import hashing
from evalsampling.stats.hashing import bottom_k

SEEDS = (0, 7, 2**64 - 1)

GOLDEN_INTEGERS = {
    0: (0x34C96ACDCADB1BBB, 0x8562A8CA30D1D8C7, 0x60B899029D747159),
    1: (0x9F29CB17A2A49995, 0x44CD4E74E2B14E48, 0x0CF2B890E8D9479F),
    -1: (0x85D136ADB773C6C9, 0x78653E7F1B122749, 0x1A158C94ABF6A8B1),
    123456789: (0xCB7C2941B198004D, 0x41C2181989D52555, 0xA934ACFFB529B206),
    -(2**63): (0x3F425EACF01544E0, 0xB73343D45531EDB1, 0xB0BDB479FE9B7026),
    2**63 - 1: (0xFF70CC60366E770C, 0x09105364F867692B, 0x4F33F2058914EAA9),
}

GOLDEN_STRINGS = {
    "": (0xEF46DB3751D8E999, 0x95F0626F6F0A4409, 0x298F4C84B24F5380),
    "a": (0xD24EC4F1A98C6E5B, 0xDC6349D489E0F965, 0x60C43759873ECE62),
    "abc": (0x44BC2CF5AD770999, 0x9E755206156676D7, 0x28306E589CC02176),
    "row-0000123": (0xE7EE9AA52FEA0EDF, 0x409D758018ED063A, 0xD4A0ADF95255C9B7),
    "naïve 日本語 🙂": (0x95E14AA04AE44833, 0xAA4AE9B64E224C7C, 0xA5E0D9FAD8CCD10E),
    "x" * 31: (0x60DD0D01083B99F0, 0x3781CEA7CB1A961E, 0xA2CF52081F1FDD97),
    "x" * 32: (0xE2DF261FC2EC30EB, 0x3FE32C632942FB04, 0x886574C035EE34A6),
    "0123456789" * 10: (0xF80E7B96315AFFFA, 0xA314A8F85DA8C7D1, 0xACA8BEC8837A9821),
}


def buffers(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Lay strings out as an Arrow column does."""
    offsets = np.cumsum([0, *map(len, strings)])
    return np.frombuffer(b"".join(strings), dtype=np.uint8), offsets


def hash_all(strings: list[bytes], seed: int = 0) -> list[int]:
    return hashing.hash_strings(*buffers(strings), seed).tolist()


@pytest.mark.parametrize(("place", "seed"), [*enumerate(SEEDS)])
def test_integers_hash_to_the_values_written_down(place: int, seed: int) -> None:
    ids = np.array([*GOLDEN_INTEGERS], dtype=np.int64)
    expected = [values[place] for values in GOLDEN_INTEGERS.values()]
    assert hashing.hash_integers(ids, seed).tolist() == expected


@pytest.mark.parametrize(("place", "seed"), [*enumerate(SEEDS)])
def test_strings_hash_to_the_values_written_down(place: int, seed: int) -> None:
    expected = [values[place] for values in GOLDEN_STRINGS.values()]
    assert hash_all([text.encode() for text in GOLDEN_STRINGS], seed) == expected


def test_large_unsigned_integer_hashes_to_the_value_written_down() -> None:
    ids = np.array([2**64 - 2], dtype=np.uint64)
    assert hashing.hash_integers(ids, 0).tolist() == [0xBAB3B83CF164D97F]


@pytest.mark.parametrize("seed", SEEDS)
def test_integers_equal_the_reference(seed: int) -> None:
    """More ids than are hashed at a time, the last part being short."""
    xxhash = pytest.importorskip("xxhash")
    ids = np.random.default_rng(1).integers(-(2**63), 2**63, 2 * 8192 + 17)
    expected = [xxhash.xxh64_intdigest(value.tobytes(), seed) for value in ids.astype("<i8")]
    assert hashing.hash_integers(ids, seed).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_strings_of_every_length_equal_the_reference(seed: int) -> None:
    xxhash = pytest.importorskip("xxhash")
    rng = np.random.default_rng(2)
    strings = [rng.bytes(length) for length in range(201) for _ in range(3)]
    strings = [strings[i] for i in rng.permutation(len(strings))]
    assert hash_all(strings, seed) == [xxhash.xxh64_intdigest(text, seed) for text in strings]


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_equal_integers_hash_equally_whatever_their_type(kind: str) -> None:
    signed = np.dtype(kind).kind == "i"
    values = [0, 1, 77, 127] + ([-1, -128] if signed else [])
    expected = hashing.hash_integers(np.array(values, dtype=np.int64), 7)
    hashes = hashing.hash_integers(np.array(values, dtype=kind), 7)
    np.testing.assert_array_equal(hashes, expected)


def test_slices_hash_as_the_whole() -> None:
    ids = np.random.default_rng(4).integers(0, 2**40, 1000)
    hashes = hashing.hash_integers(ids, 7)
    np.testing.assert_array_equal(hashing.hash_integers(ids[5::3], 7), hashes[5::3])

    data, offsets = buffers([b"%d" % value for value in ids])
    hashes = hashing.hash_strings(data, offsets, 7)
    part = hashing.hash_strings(data, offsets[200:301].astype(np.int32), 7)
    np.testing.assert_array_equal(part, hashes[200:300])


def test_empty_columns_have_no_hashes() -> None:
    assert hashing.hash_integers(np.zeros(0, dtype=np.int64), 7).shape == (0,)
    empty = hashing.hash_strings(np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64), 7)
    assert empty.shape == (0,)


@pytest.mark.parametrize("most", [1, 100, 1000])
def test_blocks_of_any_size_hash_equally(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings longer than a block, and many blocks of one length, side by side or not."""
    xxhash = pytest.importorskip("xxhash")
    monkeypatch.setattr(hashing, "_BYTES_AT_A_TIME", most)
    rng = np.random.default_rng(5)
    lengths = [*rng.choice([0, 3, 40, 333, 1001], 60), *[36] * 50, 70_000]
    strings = [rng.bytes(int(length)) for length in lengths]
    expected = [xxhash.xxh64_intdigest(text, 7) for text in strings]
    assert hash_all(strings, 7) == expected
    assert hash_all(strings[60:110], 7) == expected[60:110]


@pytest.mark.parametrize("length", [0, 1, 3, 4, 7, 8, 20, 31, 32, 36, 100])
def test_strings_of_one_length_in_the_middle_of_a_buffer_equal_the_reference(length: int) -> None:
    """Read where they lie, at any alignment."""
    xxhash = pytest.importorskip("xxhash")
    rng = np.random.default_rng(length)
    for before in range(9):
        data = rng.integers(0, 256, before + 50 * length, dtype=np.uint8)
        offsets = before + np.arange(51) * length
        strings = [data[a : a + length].tobytes() for a in offsets[:-1]]
        expected = [xxhash.xxh64_intdigest(text, 7) for text in strings]
        assert hashing.hash_strings(data, offsets, 7).tolist() == expected


@pytest.mark.slow
def test_memory_is_bounded_for_long_strings() -> None:
    """24 MiB of strings of 1 MiB, of which 4 MiB are worked on at a time."""
    length = 1 << 20
    data = np.random.default_rng(6).integers(0, 256, 24 * length, dtype=np.uint8)
    tracemalloc.start()
    hashes = hashing.hash_strings(data, np.arange(25) * length, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20
    xxhash = pytest.importorskip("xxhash")
    assert hashes[23] == xxhash.xxh64_intdigest(data[23 * length :].tobytes(), 0)


ROWS = st.lists(
    st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 5), st.integers(-2, 2), st.integers(0, 3)),
    max_size=40,
)


@hypothesis.settings(max_examples=100, derandomize=True)
@hypothesis.given(rows=ROWS, capacity=st.integers(1, 45))
def test_rows_are_the_first_in_order(rows: list[tuple[int, int, int]], capacity: int) -> None:
    hashes = np.array([row[0] for row in rows], dtype=np.uint64)
    values = np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, 2)
    places = bottom_k(hashes, values, capacity)
    assert len(set(places.tolist())) == len(places)
    assert [rows[place] for place in places] == sorted(rows)[:capacity]
