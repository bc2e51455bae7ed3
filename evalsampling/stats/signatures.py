"""Signatures, numbered: the classes that all systems predict for a row, then its slices."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray, IntArray, UInt64Array
from evalsampling.stats.hashing import bottom_k

_FEW_CODES = 1 << 16
"""Codes below this are counted in a table, which stays in the cache; others are sorted."""

MOST_COUNTED = 1 << 16
"""Most signatures of a pool that are counted exactly, and rows sampled where there are more."""

_MOST_MEMBERS = 64
"""Most signatures that stand for the pooled ones."""


@dataclasses.dataclass(frozen=True)
class SignatureCounts:
    """Counts of rows by signature, exact for few signatures, else of a sample: a mergeable state.

    Of a pool of more than ``limit`` signatures only the rows of a simple random sample are counted,
    the ``limit`` rows of least hash. So any sharding of a pool gives the same state.
    """

    limit: int  # most signatures counted exactly and most rows sampled, at least 1
    sampled: bool  # whether there were more signatures, so that rows of the sample are counted
    code: IntArray  # (n,), ascending: the signatures (see `signature_codes`); empty if sampled
    count: IntArray  # (n,), int64: rows of each
    sample_hash: UInt64Array  # (rows,), uint64, ascending: hashes of the sample's rows
    sample_code: IntArray  # (rows,): their signatures

    @classmethod
    def from_codes(
        cls, codes: IntArray, hashes: UInt64Array, limit: int = MOST_COUNTED
    ) -> "SignatureCounts":
        """Return the counts of the signatures of rows."""
        return cls._of(limit, False, *_counted(codes), hashes, codes)

    @classmethod
    def _of(
        cls,
        limit: int,
        sampled: bool,
        code: IntArray,
        count: IntArray,
        hashes: UInt64Array,
        codes: IntArray,
    ) -> "SignatureCounts":
        """Return the state of given counts, and of rows from which the sample is taken."""
        if sampled or len(code) > limit:
            sampled, code, count = True, code[:0], count[:0]
        rows = bottom_k(hashes, codes[:, None], limit)
        return cls(limit, sampled, code, count, hashes[rows], codes[rows])

    def __add__(self, other: "SignatureCounts") -> "SignatureCounts":
        """Return the counts over both sets of rows."""
        codes = np.concatenate([self.code, other.code])
        order = np.argsort(codes, kind="stable")  # in linear time, both parts being sorted
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        counts = np.concatenate([self.count, other.count])[order]
        return self._of(
            self.limit,
            self.sampled or other.sampled,
            codes[order[first]],
            np.add.reduceat(counts, first),
            np.concatenate([self.sample_hash, other.sample_hash]),
            np.concatenate([self.sample_code, other.sample_code]),
        )

    def counted(self) -> tuple[IntArray, IntArray]:
        """Return the signatures, ascending, and how many of the rows counted have each."""
        return _counted(self.sample_code) if self.sampled else (self.code, self.count)


def _counted(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, ascending, and how often each occurs."""
    if codes.max(initial=0) < _FEW_CODES:
        count = np.bincount(codes)
        code = np.flatnonzero(count)
        return code, count[code]
    return np.unique(codes, return_counts=True)


def signature_codes(
    shape: tuple[int, ...], prediction: npt.NDArray[np.integer], order: Sequence[int] = ()
) -> npt.NDArray[np.integer]:
    """Return the number of each row's signature, below the product of ``shape``: (n,).

    `shape`: classes of each system; their product is below 2^62.
    `order`: permutation of the columns, of equal classes; as they are by default.
    """
    if len(shape) == 1:
        return prediction[:, 0]
    columns = prediction.T
    return np.ravel_multi_index(tuple(columns[list(order)] if order else columns), shape)


@dataclasses.dataclass(frozen=True)
class Signatures:
    """The slots of signatures in cells: one for each signature kept, one for all others."""

    shape: tuple[int, ...]  # classes of each system, then codes of each column of slices
    kept: IntArray  # (kept,), ascending: codes with a slot of their own
    pooled: IntArray  # (members,): the most common codes of those that share the last slot
    pooled_share: FloatArray  # (members,): shares of rows of these codes, summing to 1
    # in which systems and slices make a code, so that it does not depend on the order in which
    # systems are named; empty for theirs
    order: tuple[int, ...] = ()

    @classmethod
    def every(cls, shape: tuple[int, ...], order: tuple[int, ...] = ()) -> "Signatures":
        """Return slots for all possible signatures, one for each."""
        codes = np.arange(math.prod(shape))
        return cls(shape, codes, np.zeros(0, np.int64), np.zeros(0), order)

    @classmethod
    def most_common(
        cls,
        shape: tuple[int, ...],
        counts: SignatureCounts,
        slots: int,
        slices: int = 0,
        order: tuple[int, ...] = (),
    ) -> "Signatures":
        """Return at most ``slots`` slots: the rarest signatures of a pool share the last.

        Of equally common ones lower codes are kept. If a sample was counted, the last slot is
        always shared. Rare is what is a small share of its slice, else a rare slice would have no
        slot.
        """
        code, count = counts.counted()
        if len(code) <= slots and not counts.sampled:
            return cls(shape, code, np.zeros(0, np.int64), np.zeros(0), order)
        slice = code % math.prod(shape[len(shape) - slices :])
        rarest_last = np.lexsort((code, -count / np.bincount(slice, count)[slice]))
        kept = min(slots, len(rarest_last)) - 1
        members = rarest_last[kept:][:_MOST_MEMBERS]
        share = count[members] / count[members].sum()
        return cls(shape, np.sort(code[rarest_last[:kept]]), code[members], share, order)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.kept) + bool(len(self.pooled))

    def slot(self, prediction: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
        """Return the slot of each row, given codes of classes, then slices: shape (n,)."""
        codes = signature_codes(self.shape, prediction, self.order)
        if len(self.kept) == math.prod(self.shape):
            return codes
        slots = np.zeros(len(codes), dtype=np.int64)
        if len(self.kept):
            place = np.minimum(np.searchsorted(self.kept, codes), len(self.kept) - 1)
            slots = np.where(self.kept[place] == codes, place, len(self.kept))
        if not len(self.pooled) and np.any(slots == len(self.kept)):
            raise ValueError("predictions that were not there when they were counted")
        return slots

    def predictions(self, slot: int) -> tuple[IntArray, FloatArray]:
        """Return the signatures behind a slot, shape (n, systems), and their shares, shape (n,)."""
        if slot < len(self.kept):
            codes, share = self.kept[slot : slot + 1], np.ones(1)
        else:
            codes, share = self.pooled, self.pooled_share
        columns = np.unravel_index(codes, self.shape)
        if self.order:
            columns = tuple(columns[place] for place in np.argsort(self.order))
        return np.stack(columns, axis=1).astype(np.int64), share
