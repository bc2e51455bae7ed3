"""The rows of a pool: files, formats, checked columns."""

import importlib
from typing import Any

_HOMES = {"PoolBatch": "batch", "required_columns": "columns"}
"""The module of each name that is offered here."""


def __getattr__(name: str) -> Any:
    """Return a name, imported when it is first asked for: readers of formats need none."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"evalsampling.pool.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'evalsampling.pool' has no attribute {name!r}")
