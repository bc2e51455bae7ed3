"""Trees over leaves, as level-order arrays."""

import itertools
from collections.abc import Sequence
from typing import Self

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray

MOST_LEVELS = 32
"""Most levels of a tree that clusters make: one that splits off a leaf at a time has as many levels
as leaves, and each step of the model goes through all levels of all leaves."""


def even_levels(leaves: int, branching: int) -> list[IntArray]:
    """Return the levels of the most even tree: see `LeafTree`.

    Node j of level d covers the leaves floor(j K / B^d) to floor((j + 1) K / B^d) - 1, if any, so
    that K = B^D leaves make the complete tree; a branching B of K or more makes the flat one.
    """
    if leaves < 1 or branching < 2:
        raise ValueError(f"no tree has {leaves=} and {branching=}")
    levels: list[IntArray] = []
    width, branching = 1, min(branching, max(leaves, 2))
    while width < leaves or not levels:
        width *= branching
        levels.append(((np.arange(leaves) + 1) * width - 1) // leaves)
    return levels


def parting_of_cuts(order: IntArray) -> IntArray:
    """Return at which level each two neighbouring leaves part, in the binary tree of cuts.

    The tree cuts a row of leaves at one place after the other. Cut j parts the leaves up to j from
    those above j. The order has each cut once, coarsest first; the first cut has level 1.
    """
    turn, parting = np.argsort(order), np.zeros(len(order), dtype=np.int64)
    waiting = [(0, len(order), 1)]
    while waiting:
        first, end, level = waiting.pop()
        if first < end:
            cut = first + int(np.argmin(turn[first:end]))
            parting[cut] = level
            waiting += [(first, cut, level + 1), (cut + 1, end, level + 1)]
    return parting


class LeafTree:
    """A tree whose leaves are the strata, numbered from left to right.

    The root is not a node: it has no branch probability. All arrays list the nodes level by level,
    so the children of a node stand side by side. A leaf above the last level has itself as its only
    child on every level below, whose branch probability is 1.

    Products and sums down paths lie in memory leaf by leaf, the classes of each side by side: how
    arrays lie decides the order of later sums, and fits to large pools answer to last digits.

    Attributes:
        leaves: K.
        depth: shape (nodes,): depth of each node, 1 for the children of the root.
    """

    def __init__(self, levels: Sequence[IntArray]) -> None:
        """Build a tree.

        Args:
            levels: for each level, from the children of the root to the leaves, the number of the
                node above each leaf, shape (leaves,): ascending, not always by 1. Nodes lie within
                nodes of the level before; each leaf is a node of the last.
        """
        self.leaves = leaves = len(levels[0])
        above = np.zeros(leaves, dtype=np.int64)
        starts, children, depths, paths = [], [], [], []
        nodes = 0
        for level, node in enumerate(levels, 1):
            # Renumbered without empty nodes.
            first = np.flatnonzero(np.diff(node, prepend=-1))
            children.append(nodes + np.flatnonzero(np.diff(above[first], prepend=-1)))
            above = np.repeat(np.arange(len(first)), np.diff(first, append=leaves))
            starts.append(first)
            depths.append(np.full(len(first), level))
            paths.append(nodes + above)
            nodes += len(first)
        if len(starts[-1]) < leaves:
            raise ValueError("leaves share a node of the last level")
        self.depth: IntArray = np.concatenate(depths)
        # Of all levels, in as many copies of the leaves one after the other.
        self._first_leaves = np.concatenate([leaves * d + first for d, first in enumerate(starts)])
        self._first_siblings = np.concatenate(children)
        self._family = np.repeat(
            np.arange(len(self._first_siblings)), np.diff(self._first_siblings, append=nodes)
        )
        self._paths = np.stack(paths)
        # The parent of each family; the root comes last.
        self._parents = np.full(len(self._first_siblings), nodes)
        for above, path in itertools.pairwise(self._paths):
            self._parents[self._family[path]] = above

    @classmethod
    def even(cls, leaves: int, branching: int) -> Self:
        """Return the most even tree: see `even_levels`."""
        return cls(even_levels(leaves, branching))

    @classmethod
    def parted(cls, parting: IntArray) -> Self:
        """Return the tree in which neighbouring leaves part at levels up to `MOST_LEVELS`."""
        deepest = int(min(parting.max(initial=1), MOST_LEVELS))
        parting = np.minimum(parting, deepest)
        return cls([np.append(0, np.cumsum(parting <= d)) for d in range(1, deepest + 1)])

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of leaf values, (..., leaves), over the leaves of nodes: (..., nodes)."""
        copies = np.concatenate([values] * len(self._paths), axis=-1)
        return np.add.reduceat(copies, self._first_leaves, axis=-1)

    def branch_probabilities(self, weights: FloatArray) -> FloatArray:
        """Return positive node weights, shape (..., nodes), divided by the sums over siblings."""
        families = np.add.reduceat(weights, self._first_siblings, axis=-1)
        return weights / families.T.take(self._family, axis=0).T

    def leaf_probabilities(self, branches: FloatArray) -> FloatArray:
        """Return the products of branch probabilities, (..., nodes), down paths: (..., leaves)."""
        return np.multiply.reduce(branches.T.take(self._paths, axis=0), axis=0).T

    def path_sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of node values, (..., nodes), down each path: (..., leaves)."""
        return np.add.reduce(values.T.take(self._paths, axis=0), axis=0).T

    @property
    def leaf_nodes(self) -> IntArray:
        """The node of each leaf, shape (leaves,)."""
        return self._paths[-1]

    def family_sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of node values over the children of each node and, last, of the root.

        Shape (..., nodes) to (..., nodes + 1).
        """
        families = np.add.reduceat(values, self._first_siblings, axis=-1)
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        sums[..., self._parents] = families
        return sums
