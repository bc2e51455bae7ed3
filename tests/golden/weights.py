"""A proposal of a user's own."""

from typing import Any


def by_leaf(table: Any, history: Any) -> Any:
    """Return a weight of a row of each cell that grows with the score."""
    return 1.0 + table.leaf
