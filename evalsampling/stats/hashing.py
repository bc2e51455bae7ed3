"""Keyed 64-bit hash of row ids: the permanent random order of the rows of a pool.

The hash is XXH64 with the seed as its key, of the UTF-8 bytes of a string id and of the
eight little-endian bytes of an integer id. XXH64 has a published specification, so the same
rows are drawn on every machine and by every version; it is written here for whole columns
at a time (no value ever becomes a Python object).

References:
    Y. Collet, *xxHash fast digest algorithm*, specification version 0.1.1, section "XXH64".
"""

import numpy as np
import numpy.typing as npt

UInt64Array = npt.NDArray[np.uint64]

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_ZERO = np.uint64(0)

_INTEGERS_AT_A_TIME = 1 << 13
"""Integers hashed at a time: the intermediate arrays stay in the processor's cache."""

_STRINGS_AT_A_TIME = 1 << 16
"""Strings gathered into one byte matrix at a time: bounds the working memory."""


def hash_integers(ids: npt.NDArray[np.integer], seed: int) -> UInt64Array:
    """Hash integer ids.

    Args:
        ids: shape (n,), any integer type; equal integers hash equally whatever their type.
        seed: the key, in [0, 2^64).

    Returns:
        Shape (n,), uint64: XXH64 of the ids as eight little-endian bytes.
    """
    lanes = (
        ids.astype(np.uint64, copy=False)
        if ids.dtype.kind == "u"
        else (ids.astype(np.int64, copy=False).view(np.uint64))
    )
    hashes = np.empty(len(lanes), dtype=np.uint64)
    with np.errstate(over="ignore"):
        start = np.uint64(seed) + _P5 + np.uint64(8)
        for begin in range(0, len(lanes), _INTEGERS_AT_A_TIME):
            part = slice(begin, begin + _INTEGERS_AT_A_TIME)
            hashes[part] = _avalanche(_mix_lane(start, lanes[part]))
    return hashes


def hash_strings(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.integer], seed: int
) -> UInt64Array:
    """Hash string ids given as one buffer of bytes, the layout of an Arrow string column.

    Args:
        data: all strings' UTF-8 bytes, one after the other.
        offsets: shape (n + 1,); string i is ``data[offsets[i]:offsets[i + 1]]``.
        seed: the key, in [0, 2^64).

    Returns:
        Shape (n,), uint64: XXH64 of each string's bytes.
    """
    starts = offsets[:-1].astype(np.int64)
    lengths = offsets[1:].astype(np.int64) - starts
    hashes = np.empty(len(starts), dtype=np.uint64)
    if not len(starts):
        return hashes
    order = np.argsort(lengths, kind="stable")
    sizes, firsts = np.unique(lengths[order], return_index=True)
    for size, first, last in zip(sizes, firsts, [*firsts[1:], len(order)], strict=True):
        for begin in range(first, last, _STRINGS_AT_A_TIME):
            rows = order[begin : min(begin + _STRINGS_AT_A_TIME, last)]
            block = data[starts[rows, None] + np.arange(size)]
            hashes[rows] = _hash_equal_lengths(np.ascontiguousarray(block), seed)
    return hashes


def _hash_equal_lengths(block: npt.NDArray[np.uint8], seed: int) -> UInt64Array:
    """XXH64 of every row of a byte matrix of shape (n, length)."""
    rows, length = block.shape
    key = np.uint64(seed)
    words = length // 8
    lanes = np.ascontiguousarray(block[:, : 8 * words]).view("<u8").astype(np.uint64, copy=False)
    with np.errstate(over="ignore"):
        lane = 0
        if length >= 32:
            lane = 4 * (length // 32)
            accumulators = [
                np.full(rows, start) for start in (key + _P1 + _P2, key + _P2, key, key - _P1)
            ]
            for stripe in range(0, lane, 4):
                for i in range(4):
                    accumulators[i] = _round(accumulators[i], lanes[:, stripe + i])
            state = np.zeros(rows, dtype=np.uint64)
            for accumulator, bits in zip(accumulators, (1, 7, 12, 18), strict=True):
                state = state + _rotate(accumulator, bits)
            for accumulator in accumulators:
                state = (state ^ _round(_ZERO, accumulator)) * _P1 + _P4
        else:
            state = np.full(rows, key + _P5)
        state = state + np.uint64(length)
        for word in range(lane, words):
            state = _mix_lane(state, lanes[:, word])
        position = 8 * words
        if length - position >= 4:
            half = np.ascontiguousarray(block[:, position : position + 4]).view("<u4")[:, 0]
            state = _rotate(state ^ (half.astype(np.uint64) * _P1), 23) * _P2 + _P3
            position += 4
        for byte in range(position, length):
            state = _rotate(state ^ (block[:, byte].astype(np.uint64) * _P5), 11) * _P1
        return _avalanche(state)


def _rotate(values: UInt64Array, bits: int) -> UInt64Array:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _round(accumulator: UInt64Array | np.uint64, lanes: UInt64Array) -> UInt64Array:
    return _rotate(accumulator + lanes * _P2, 31) * _P1


def _mix_lane(state: UInt64Array | np.uint64, lanes: UInt64Array) -> UInt64Array:
    return _rotate(state ^ _round(_ZERO, lanes), 27) * _P1 + _P4


def _avalanche(state: UInt64Array) -> UInt64Array:
    state = (state ^ (state >> np.uint64(33))) * _P2
    state = (state ^ (state >> np.uint64(29))) * _P3
    return state ^ (state >> np.uint64(32))
