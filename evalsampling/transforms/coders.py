"""Coders of batches.

Beam encodes some elements of every step to measure their size. A batch has megabytes, so that would
cost more than most steps; these coders take the size from the buffers of a batch. Between steps
that are not fused, batches are pickled.
"""

import pickle
from typing import Any

from apache_beam import coders

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch


def packed(value: Any) -> bytes:
    """Return a value pickled."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


class BatchCoder(coders.Coder):
    """A coder that pickles batches, and takes their size from `nbytes` without pickling."""

    def encode(self, value: Any) -> bytes:
        return packed(value)

    def decode(self, encoded: bytes) -> Any:
        return pickle.loads(encoded)

    def estimate_size(self, value: Any) -> int:
        return int(value.nbytes)

    def is_deterministic(self) -> bool:
        return False


for _batch in (PoolBatch, CellBatch):
    coders.registry.register_coder(_batch, BatchCoder)
