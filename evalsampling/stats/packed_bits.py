"""Truth values by rows, packed into bytes: a bit for each, the first of a byte highest."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray


def packed(rows: BoolArray) -> npt.NDArray[np.uint8]:
    """Return the bytes of rows of truth values, shape (n, bytes)."""
    return np.packbits(rows, axis=1)


def unpacked(rows: Iterable[bytes], values: int) -> BoolArray:
    """Return the rows that `packed` made bytes of, shape (n, values)."""
    data = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, (values + 7) // 8)
    return np.unpackbits(data, axis=1, count=values).astype(np.bool_)
