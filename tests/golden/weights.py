"""A proposal and a model of a user's own."""

from typing import Any


def by_leaf(table: Any, history: Any) -> Any:
    """Return a weight of a row of each cell that grows with the score."""
    return 1.0 + table.leaf


def by_cell(cells: Any, labels: Any) -> Any:
    """Return P(label | cell): the prior, which counts as five labels, with those of the cell."""
    shares = 5 * cells.prior + labels
    return shares / shares.sum(axis=1, keepdims=True)
