"""Keyed 64-bit hash of row ids: the permanent random order of the rows of a pool.

The hash is XXH64 with the seed as its key, of the UTF-8 bytes of a string id and of the
eight little-endian bytes of an integer id. XXH64 has a published specification, so the same
rows are drawn on every machine and by every version; it is written here for whole columns
at a time (no value ever becomes a Python object).

The rows of least hash are a simple random sample of a pool. Those of two samples together are that
of both pools, so such samples are mergeable and do not depend on how the pool was cut.

References:
    E. Cohen and H. Kaplan, *Summarizing data using bottom-k sketches*, PODC 2007.
    Y. Collet, *xxHash fast digest algorithm*, specification version 0.1.1, section "XXH64".
"""

import functools
import itertools

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import IntArray, UInt64Array

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)

_INTEGERS_AT_A_TIME = 1 << 14
"""Integers hashed at a time: the intermediate arrays stay in the processor's cache."""

_STRINGS_AT_A_TIME = 1 << 14
"""Most strings hashed at a time, for the same reason."""

_BYTES_AT_A_TIME = 1 << 22
"""Most bytes of strings hashed at a time, unless a single one is longer."""


def hash_integers(ids: npt.NDArray[np.integer], seed: int) -> UInt64Array:
    """Return keyed XXH64 of integer ids as eight little-endian bytes, of any type: (n,)."""
    hashes = np.empty(len(ids), dtype=np.uint64)
    with np.errstate(over="ignore"):
        start = np.uint64(seed) + _P5 + np.uint64(8)
        for begin in range(0, len(ids), _INTEGERS_AT_A_TIME):
            part = slice(begin, begin + _INTEGERS_AT_A_TIME)
            hashes[part] = start
            lanes = ids[part].astype(np.uint64)
            _scramble(lanes)
            _mix_lane(hashes[part], lanes)
            _avalanche(hashes[part])
    return hashes


def hash_strings(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.integer], seed: int
) -> UInt64Array:
    """Return keyed XXH64 of strings, ``data[offsets[i]:offsets[i + 1]]`` as in an Arrow column."""
    starts = offsets[:-1].astype(np.int64)
    lengths = offsets[1:].astype(np.int64) - starts
    hashes = np.empty(len(starts), dtype=np.uint64)
    # Of integers of one or two bytes, the sort is in linear time.
    narrow = lengths.astype(np.min_scalar_type(lengths.max(initial=0)))
    order = np.argsort(narrow, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[order], prepend=-1, append=-1))
    for first, last in itertools.pairwise(bounds.tolist()):
        length = int(lengths[order[first]])
        step = min(max(_BYTES_AT_A_TIME // max(length, 1), 1), _STRINGS_AT_A_TIME)
        for begin in range(first, last, step):
            rows = order[begin : min(begin + step, last)]
            hashes[rows] = _hash_equal_lengths(data, starts[rows], length, seed)
    return hashes


def _hash_equal_lengths(
    data: npt.NDArray[np.uint8], starts: IntArray, length: int, seed: int
) -> UInt64Array:
    """Return XXH64 of strings of one length, given where they start."""
    rows, key = len(starts), np.uint64(seed)
    in_stripes, in_words, in_halves = (length // width * width for width in (32, 8, 4))
    read = functools.partial(_read, data, starts, length)
    with np.errstate(over="ignore"):
        state = np.full(rows, key + _P5)
        if in_stripes:
            begin = np.array([key + _P1 + _P2, key + _P2, key, key - _P1])
            accumulators = np.repeat(begin[:, None], rows, axis=1)
            lanes = read(0, in_stripes, "<u8")
            lanes *= _P2
            for stripe in lanes.reshape(-1, 4, rows):
                accumulators += stripe
                _rotate(accumulators, 31)
                accumulators *= _P1
            state[:] = 0
            for accumulator, bits in zip(accumulators, (1, 7, 12, 18), strict=True):
                rotated = accumulator.copy()
                _rotate(rotated, bits)
                state += rotated
            _scramble(accumulators)
            for accumulator in accumulators:
                state ^= accumulator
                state *= _P1
                state += _P4
        state += np.uint64(length)
        lanes = read(in_stripes, in_words, "<u8")
        _scramble(lanes)
        for lane in lanes:
            _mix_lane(state, lane)
        for half in read(in_words, in_halves, "<u4"):
            state ^= half * _P1
            _rotate(state, 23)
            state *= _P2
            state += _P3
        for byte in read(in_halves, length, "u1"):
            state ^= byte * _P5
            _rotate(state, 11)
            state *= _P1
        _avalanche(state)
    return state


def _read(
    data: npt.NDArray[np.uint8], starts: IntArray, length: int, first: int, last: int, kind: str
) -> UInt64Array:
    """Return the integers in bytes first to last of each string, shape (integers, strings)."""
    width = np.dtype(kind).itemsize
    places = np.arange(first, last, width)
    if len(places) and np.all(np.diff(starts) == length):  # the strings are next to each other
        shape, strides = (len(places), len(starts)), (width, length)
        return np.ndarray(shape, kind, data, starts[0] + first, strides).astype(np.uint64)
    # One integer starts at every byte; numpy reads those that are not aligned.
    every = np.ndarray(max(len(data) - width + 1, 0), kind, data, strides=(1,))
    return every[places[:, None] + starts].astype(np.uint64, copy=False)


# The functions below work in place, which saves a sixth of the time.


def _rotate(values: UInt64Array, bits: int) -> None:
    high = values << bits
    values >>= 64 - bits
    values |= high


def _scramble(lanes: UInt64Array) -> None:
    """Apply a round of XXH64 that starts from zero, in place."""
    lanes *= _P2
    _rotate(lanes, 31)
    lanes *= _P1


def _mix_lane(state: UInt64Array, scrambled: UInt64Array) -> None:
    state ^= scrambled
    _rotate(state, 27)
    state *= _P1
    state += _P4


def _avalanche(state: UInt64Array) -> None:
    state ^= state >> 33
    state *= _P2
    state ^= state >> 29
    state *= _P3
    state ^= state >> 32


def bottom_k(hashes: UInt64Array, values: npt.NDArray[np.generic], capacity: int) -> IntArray:
    """Return the places of the rows of least hash, by hash; of equal hashes by value."""
    places = np.arange(len(hashes))
    if len(hashes) > capacity:
        places = np.flatnonzero(hashes <= np.partition(hashes, capacity - 1)[capacity - 1])
    kept = hashes[places]
    order = np.argsort(kept)
    if np.any(np.diff(kept[order]) == 0):  # so rare that values need not be compared as a rule
        order = np.lexsort([*values[places].T[::-1], kept])
    return places[order[:capacity]]
