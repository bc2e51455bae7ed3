"""Complete trees over leaves in score order, as level-order arrays."""

import itertools

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import FloatArray


class LeafTree:
    """A tree whose leaves are the strata, numbered from left to right.

    Node j of level d covers the leaves floor(j K / B^d) to floor((j + 1) K / B^d) - 1, so that
    K = B^D leaves make the complete tree, any other number the most even one; nodes that would
    cover no leaf do not exist. The root is not a node: it has no branch probability. All arrays
    list the nodes level by level, so the children of a node stand side by side.

    Products and sums down paths lie in memory leaf by leaf, the classes of each side by side: how
    arrays lie decides the order of later sums, and fits to large pools answer to last digits.

    Attributes:
        leaves: K.
        branching: B, at least 2 and at most K, which is the flat tree.
        depth: shape (nodes,): depth of each node, 1 for the children of the root.
    """

    def __init__(self, leaves: int, branching: int) -> None:
        """Build the tree of ``leaves`` leaves with at most ``branching`` children a node."""
        if leaves < 1 or branching < 2:
            raise ValueError(f"no tree has {leaves=} and {branching=}")
        self.leaves = leaves
        self.branching = branching = min(branching, max(leaves, 2))
        above = np.zeros(leaves, dtype=np.int64)
        starts, children, depths, paths = [], [], [], []
        nodes, width, level = 0, 1, 0
        while width < leaves or not level:
            level, width = level + 1, width * branching
            # The node of this level above each leaf, renumbered without the empty ones.
            node = ((np.arange(leaves) + 1) * width - 1) // leaves
            first = np.flatnonzero(np.diff(node, prepend=-1))
            children.append(nodes + np.flatnonzero(np.diff(above[first], prepend=-1)))
            above = np.repeat(np.arange(len(first)), np.diff(first, append=leaves))
            starts.append(first)
            depths.append(np.full(len(first), level))
            paths.append(nodes + above)
            nodes += len(first)
        self.depth: npt.NDArray[np.int64] = np.concatenate(depths)
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
    def leaf_nodes(self) -> npt.NDArray[np.int64]:
        """The node of each leaf, shape (leaves,)."""
        return self._paths[-1]

    def family_sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of node values over the children of each node and, last, of the root.

        Shape (..., nodes) to (..., nodes + 1); 0 for nodes without children.
        """
        families = np.add.reduceat(values, self._first_siblings, axis=-1)
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        sums[..., self._parents] = families
        return sums
