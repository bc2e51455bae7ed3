"""Steps that climb to a mode of the Dirichlet-tree posterior of a deterministic oracle.

The posterior is a function of the joint probabilities phi_yk = theta_y psi_yk alone. With S_yc the
sum of phi_yk over the leaves k under a node c, and theta_y that of the root,

    log posterior = sum_ky (o_ky + B_yk) log phi_yk + sum_k u_k log sum_y phi_yk
                    - sum over inner nodes of kappa_yc log S_yc,

kappa_yc being the pseudo-counts of the children of c minus its own, which is positive.
"""

import dataclasses
import functools

import numpy as np

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.tree import LeafTree

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
        """Return phi after two double steps and an extrapolation, and the longest next stride.

        The extrapolation counts if it climbs higher than the two steps (SQUAREM, scheme S3).
        """
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
