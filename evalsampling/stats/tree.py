"""Trees over leaves, as level-order arrays, and the mode of a Dirichlet-tree posterior on one.

The posterior of a deterministic oracle is a function of the joint probabilities phi_yk = theta_y
psi_yk alone. With S_yc the sum of phi_yk over the leaves k under a node c, and theta_y that of the
root,

    log posterior = sum_ky (o_ky + B_yk) log phi_yk + sum_k u_k log sum_y phi_yk
                    - sum over inner nodes of kappa_yc log S_yc,

kappa_yc being the pseudo-counts of the children of c minus its own, which is positive.
"""

import dataclasses
import functools
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
    """

    def __init__(self, levels: Sequence[IntArray]) -> None:
        """Build a tree of levels, from the children of the root to the leaves.

        Of each level there is the number of the node above each leaf, shape (leaves,): ascending,
        not always by 1. Nodes lie within nodes of the level before; each leaf is a node of the
        last.
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
        """Return sums of node values over the children of each node and, last, of the root."""
        families = np.add.reduceat(values, self._first_siblings, axis=-1)
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        sums[..., self._parents] = families
        return sums


_SMALLEST = 1e-300
_NEWTON_STEPS = 50
_STRIDE_GROWTH = 4.0

_LARGE = 1000
"""Unlabelled rows for each label and pseudo-count of a leaf above which a pool is large."""


@dataclasses.dataclass(frozen=True)
class TreeMode:
    """A posterior of the Dirichlet tree, with steps that climb it from any point."""

    tree: LeafTree
    root_counts: FloatArray  # A, shape (classes,)
    node_counts: FloatArray  # B, shape (classes, nodes)
    labelled: FloatArray  # o, shape (classes, leaves)
    unlabelled: FloatArray  # u, shape (leaves,)

    def with_leaf_shares(self, posterior: FloatArray) -> FloatArray:
        """Return phi of a posterior, where each leaf has its share of the pool's rows."""
        rows = self.unlabelled + self.labelled.sum(axis=0)
        # An empty leaf needs a positive share; no row depends on it.
        share = np.maximum(rows, 1e-9) / np.maximum(rows, 1e-9).sum()
        return posterior / posterior.sum(axis=0) * share

    def parameters(self, joint: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters of phi: theta, shape (classes,), and b, shape (classes, nodes)."""
        theta = joint.sum(axis=1)
        sums = self.tree.sums(np.maximum(joint, _SMALLEST))
        return theta / theta.sum(), self.tree.branch_probabilities(sums)

    def expect_and_maximize(self, joint: FloatArray) -> FloatArray:
        """Return phi after one iteration of expectation-maximization."""
        counts = self.labelled + self.unlabelled * (joint / joint.sum(axis=0))
        theta = self.root_counts + counts.sum(axis=1)
        branches = self.tree.branch_probabilities(self.node_counts + self.tree.sums(counts))
        return theta[:, None] / theta.sum() * self.tree.leaf_probabilities(branches)

    def minorize_and_maximize(self, joint: FloatArray) -> FloatArray:
        """Return phi after one step that treats the unlabelled rows exactly.

        The term -kappa log S is convex in phi, hence above its tangent; with the tangent in its
        place the log posterior is concave, and its maximum is
        phi_yk = (o_ky + B_yk) / (lambda_k + n_yk), n_yk the sum of kappa / S on the path to k, with
        lambda_k + u_k / sum_y phi_yk = N + sum A for every leaf: an increasing concave equation in
        lambda_k, solved by Newton's method.
        """
        weight = self._kappa / np.maximum(self._sums(joint), _SMALLEST)
        slope = weight[:, -1:] + self.tree.path_sums(weight[:, :-1])
        total = self.unlabelled.sum() + self.labelled.sum() + self.root_counts.sum()
        lowest = -slope.min(axis=0)
        multiplier = total - self.unlabelled / joint.sum(axis=0)
        multiplier = np.maximum(multiplier, lowest * (1 - 1e-6))
        for _ in range(_NEWTON_STEPS):
            distance = multiplier + slope
            share = self._leaf_counts / distance
            leaf = share.sum(axis=0)
            excess = self.unlabelled / leaf + multiplier - total
            growth = 1 + self.unlabelled * (share / distance).sum(axis=0) / leaf**2
            moved = multiplier - excess / growth
            moved = np.where(moved <= lowest, (multiplier + lowest) / 2, moved)
            change = np.abs(moved - multiplier)
            multiplier = moved
            if np.all(change <= 1e-8 * np.abs(moved) + 1e-12 * total):
                break
        joint = self._leaf_counts / (multiplier + slope)
        return joint / joint.sum()

    def extrapolated(self, joint: FloatArray, stride: float) -> tuple[FloatArray, float]:
        """Return phi after two steps, extrapolated if it climbs (SQUAREM, S3), and next stride."""
        joint = np.maximum(joint, _SMALLEST)
        first = self._step(joint)
        second = self._step(first)
        x_0, x_1, x_2 = np.log(joint), np.log(first), np.log(second)
        change, bend = x_1 - x_0, x_2 - 2 * x_1 + x_0
        norm = float(np.sum(bend**2))
        length = np.sqrt(np.sum(change**2) / norm) if norm > 0 else 1.0
        length = min(max(length, 1.0), stride)
        guess = x_0 + 2 * length * change + length**2 * bend
        guess = np.exp(np.maximum(guess - guess.max(), np.log(_SMALLEST)))
        third = self._step(guess / guess.sum())
        if self.value(third) >= self.value(second):
            return third, stride * _STRIDE_GROWTH if length == stride else stride
        return second, max(stride / _STRIDE_GROWTH, 2.0)

    def value(self, joint: FloatArray) -> float:
        """Return the log posterior at phi, up to a constant."""
        return float(
            np.sum(self._leaf_counts * np.log(joint))
            + np.sum(self.unlabelled * np.log(joint.sum(axis=0)))
            - np.sum(self._kappa * np.log(np.maximum(self._sums(joint), _SMALLEST)))
        )

    def _step(self, joint: FloatArray) -> FloatArray:
        moved = self.expect_and_maximize(joint)
        if self._is_large:
            moved = self.minorize_and_maximize(np.maximum(moved, _SMALLEST))
        return np.maximum(moved, _SMALLEST)

    @functools.cached_property
    def _is_large(self) -> bool:
        """Whether expectation-maximization alone would hardly move."""
        return bool(self.unlabelled.sum() > _LARGE * self._leaf_counts.sum())

    def _sums(self, joint: FloatArray) -> FloatArray:
        """Return S of every node and, last, of the root, shape (classes, nodes + 1)."""
        return np.concatenate([self.tree.sums(joint), joint.sum(axis=1)[:, None]], axis=1)

    @functools.cached_property
    def _leaf_counts(self) -> FloatArray:
        """The counts o + B of the leaves, shape (classes, leaves)."""
        return self.labelled + self.node_counts[:, self.tree.leaf_nodes]

    @functools.cached_property
    def _kappa(self) -> FloatArray:
        """The kappa of every node and, last, of the root; 0 for the leaves."""
        own = np.concatenate([self.node_counts, self.root_counts[:, None]], axis=1)
        kappa = self.tree.family_sums(self.node_counts) - own
        kappa[:, self.tree.leaf_nodes] = 0
        return kappa
