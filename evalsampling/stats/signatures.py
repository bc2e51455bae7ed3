"""Signatures: the classes that all systems predict for a row, numbered."""

import dataclasses
import functools
import json
import math

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_TABLE_SIZE = 1 << 20
"""Largest number of possible signatures that are looked up in a table."""

_MOST_MEMBERS = 64
"""Most signatures that speak for the pooled ones."""


@dataclasses.dataclass(frozen=True)
class SignatureCounts:
    """Rows of each signature: a mergeable state.

    Attributes:
        code: shape (n,), ascending: signatures met (see `signature_codes`).
        count: shape (n,), int64: rows of each.
    """

    code: IntArray
    count: IntArray

    @classmethod
    def zero(cls) -> "SignatureCounts":
        """Return the counts of no rows."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    @classmethod
    def from_codes(cls, codes: IntArray) -> "SignatureCounts":
        """Count the signatures of rows, shape (n,)."""
        code, count = np.unique(codes, return_counts=True)
        return cls(code, count.astype(np.int64))

    def __add__(self, other: "SignatureCounts") -> "SignatureCounts":
        """Return the counts over both sets of rows."""
        code = np.union1d(self.code, other.code)
        count = np.zeros(len(code), dtype=np.int64)
        count[np.searchsorted(code, self.code)] += self.count
        count[np.searchsorted(code, other.code)] += other.count
        return SignatureCounts(code, count)

    def to_bytes(self) -> bytes:
        """Serialise without loss."""
        return json.dumps([self.code.tolist(), self.count.tolist()]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "SignatureCounts":
        """Restore what `to_bytes` wrote."""
        code, count = json.loads(data)
        return cls(np.array(code, dtype=np.int64), np.array(count, dtype=np.int64))


def signature_codes(shape: tuple[int, ...], prediction: IntArray) -> IntArray:
    """Number the signatures of rows.

    Args:
        shape: classes of each system; their product is below 2^62.
        prediction: shape (n, systems): class codes.

    Returns:
        Shape (n,): codes in [0, product of shape).
    """
    if len(shape) == 1:
        return prediction[:, 0]
    return np.ravel_multi_index(tuple(prediction.T), shape)


@dataclasses.dataclass(frozen=True)
class Signatures:
    """The slots that cells distinguish: a slot for each signature kept, one for all others.

    Attributes:
        shape: classes of each system.
        kept: shape (kept,), ascending: codes with a slot of their own.
        pooled: shape (members,): codes that share the last slot; the most common ones of them.
        pooled_share: shape (members,): their shares among these, summing to 1.
    """

    shape: tuple[int, ...]
    kept: IntArray
    pooled: IntArray
    pooled_share: FloatArray

    @classmethod
    def every(cls, shape: tuple[int, ...]) -> "Signatures":
        """Return a slot for each signature there can be."""
        return cls(shape, np.arange(math.prod(shape)), np.zeros(0, np.int64), np.zeros(0))

    @classmethod
    def most_common(
        cls, shape: tuple[int, ...], counts: SignatureCounts, slots: int
    ) -> "Signatures":
        """Return at most ``slots`` slots: the rarest signatures of a pool share the last.

        Args:
            shape: classes of each system.
            counts: of the pool.
            slots: at least 1.
        """
        order = np.lexsort((counts.code, -counts.count))
        if len(order) <= slots:
            return cls(shape, counts.code, np.zeros(0, np.int64), np.zeros(0))
        members = order[slots - 1 :][:_MOST_MEMBERS]
        share = counts.count[members] / counts.count[members].sum()
        return cls(shape, np.sort(counts.code[order[: slots - 1]]), counts.code[members], share)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.kept) + bool(len(self.pooled))

    def slot(self, prediction: IntArray) -> IntArray:
        """Return the slot of each row, shape (n,).

        Args:
            prediction: shape (n, systems): class codes. A signature never counted before goes to
                the slot shared by the rare ones.

        Raises:
            ValueError: if there is a signature never counted before, and no such slot.
        """
        slots = self._find(signature_codes(self.shape, prediction))
        complete = len(self.pooled) or len(self.kept) == math.prod(self.shape)
        if not complete and np.any(slots == len(self.kept)):
            raise ValueError("predictions that were not there when they were counted")
        return slots

    def _find(self, codes: IntArray) -> IntArray:
        """Return the slots of codes, the number of those kept for any other."""
        if self._lookup is not None:
            return self._lookup[codes]
        if not len(self.kept):
            return np.zeros(len(codes), dtype=np.int64)
        place = np.minimum(np.searchsorted(self.kept, codes), len(self.kept) - 1)
        return np.where(self.kept[place] == codes, place, len(self.kept))

    @functools.cached_property
    def _lookup(self) -> IntArray | None:
        """Slot of every code, if there are not too many codes."""
        codes = math.prod(self.shape)
        if codes > _TABLE_SIZE:
            return None
        table = np.full(codes, len(self.kept), dtype=np.int64)
        table[self.kept] = np.arange(len(self.kept))
        return table

    def predictions(self, slot: int) -> tuple[IntArray, FloatArray]:
        """Return the signatures behind a slot, shape (n, systems), and their shares, shape (n,)."""
        if slot < len(self.kept):
            codes, share = self.kept[slot : slot + 1], np.ones(1)
        else:
            codes, share = self.pooled, self.pooled_share
        return np.stack(np.unravel_index(codes, self.shape), axis=1).astype(np.int64), share
