"""Coders of batches.

Beam encodes some elements of every step to tell their size. A batch has megabytes, so that would
cost more than most steps; these coders tell the size of a batch from its buffers. Between steps
that are not fused batches are pickled.
"""

import pickle
from typing import Any

from apache_beam import coders

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch


class BatchCoder(coders.Coder):
    """Pickles batches of a class with `nbytes`, and tells their size without doing so."""

    def encode(self, value: Any) -> bytes:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def decode(self, encoded: bytes) -> Any:
        return pickle.loads(encoded)

    def estimate_size(self, value: Any) -> int:
        return int(value.nbytes)

    def is_deterministic(self) -> bool:
        return False


for _batch in (PoolBatch, CellBatch):
    coders.registry.register_coder(_batch, BatchCoder)
