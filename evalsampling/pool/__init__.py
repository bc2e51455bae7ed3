"""The rows of a pool: files, formats, checked columns."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Return `PoolBatch`, imported when it is first asked for: readers of formats need none."""
    if name == "PoolBatch":
        return importlib.import_module("evalsampling.pool.batch").PoolBatch
    raise AttributeError(f"module 'evalsampling.pool' has no attribute {name!r}")
