"""Bottom-k samples: the rows of least hash, a simple random sample of a pool.

The bottom k of two samples together is that of both pools, so such samples are mergeable and do
not depend on how the pool was cut.

References:
    E. Cohen and H. Kaplan, *Summarizing data using bottom-k sketches*, PODC 2007.
"""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import IntArray, UInt64Array


def bottom_k(hashes: UInt64Array, values: npt.NDArray[np.generic], capacity: int) -> IntArray:
    """Return the places of the rows of least hash.

    Args:
        hashes: shape (n,), hashes of the rows' ids (`stats.hashing`).
        values: shape (n, columns): rows of equal hash are taken in the order of their values,
            that of the first column first.
        capacity: most rows wanted, at least 1.

    Returns:
        Their places, shape (at most capacity,), in the order of their hashes, then values.

    Raises:
        ValueError: if the capacity is less than 1.
    """
    if capacity < 1:
        raise ValueError(f"capacity must be at least 1, got {capacity}")
    places = np.arange(len(hashes))
    if len(hashes) > capacity:
        places = np.flatnonzero(hashes <= np.partition(hashes, capacity - 1)[capacity - 1])
    kept = hashes[places]
    order = np.argsort(kept)
    if np.any(np.diff(kept[order]) == 0):  # so rare that values need not be compared as a rule
        order = np.lexsort([*values[places].T[::-1], kept])
    return places[order[:capacity]]
