"""The Dirichlet-tree model of an oracle, slowly: a tree of objects, row by row, draw by draw.

Written from the formulas alone, for tests: [MR] appendix F with the effective pseudo-counts for
a deterministic oracle, the evidence of the model of appendix H for a stochastic one.
"""

import dataclasses
import math

import numpy as np
from scipy import special

from evalsampling.stats.oracle import PUBLISHED
from evalsampling.stats.tree import LeafTree


@dataclasses.dataclass
class Node:
    """A node over some leaves; ``branch`` holds b_y of each class."""

    depth: int
    leaves: list[int]
    children: list["Node"] = dataclasses.field(default_factory=list)
    branch: list[float] = dataclasses.field(default_factory=list)
    pseudo: list[float] = dataclasses.field(default_factory=list)

    def descendants(self) -> list["Node"]:
        """List all nodes below, this one left out."""
        return [n for child in self.children for n in (child, *child.descendants())]


def build_tree(leaves: int, branching: int) -> Node:
    """Build the tree: node j of level d covers leaves floor(jK/B^d) to floor((j+1)K/B^d) - 1."""
    depth = 1
    while branching**depth < leaves:
        depth += 1

    def build(level: int, j: int) -> Node | None:
        width = branching**level
        node = Node(level, [*range(j * leaves // width, (j + 1) * leaves // width)])
        if level < depth and node.leaves:
            below = (build(level + 1, j * branching + i) for i in range(branching))
            node.children = [child for child in below if child]
        return node if node.leaves else None

    root = build(0, 0)
    assert root is not None
    return root


class RowModel:
    """Expectation-maximization over individual rows.

    Attributes:
        leaf: leaf of each row.
        label: label of each row, -1 for none.
        prior: s(y|k), shape (leaves, classes).
        theta: probability of each class.
        root: the tree with its branch probabilities.
        row: posterior of each row.
    """

    def __init__(
        self,
        branching: int,
        prior: np.ndarray,
        leaf: list[int],
        label: list[int],
        start: np.ndarray | None = None,
    ) -> None:
        leaves, self.classes = prior.shape
        self.leaf, self.label, self.prior = leaf, label, prior.tolist()
        self.root = build_tree(leaves, branching)
        self.theta = [math.nan] * self.classes
        self.pseudo = [sum(s[y] for s in self.prior) for y in range(self.classes)]
        for node in self.root.descendants():
            node.pseudo = [
                node.depth**2 + sum(self.prior[k][y] for k in node.leaves)
                for y in range(self.classes)
            ]
        begin = self.prior if start is None else start.tolist()
        self.row = [self._point(i) or [*begin[k]] for i, k in enumerate(leaf)]

    def _point(self, i: int) -> list[float]:
        if self.label[i] < 0:
            return []
        return [float(y == self.label[i]) for y in range(self.classes)]

    def maximise(self) -> None:
        """M: parameters from the posteriors of the rows."""
        weights = [self.pseudo[y] + sum(pi[y] for pi in self.row) for y in range(self.classes)]
        self.theta = [w / sum(weights) for w in weights]
        for parent in (self.root, *self.root.descendants()):
            for child in parent.children:
                child.branch = [
                    child.pseudo[y]
                    + sum(
                        pi[y]
                        for k, pi in zip(self.leaf, self.row, strict=True)
                        if k in child.leaves
                    )
                    for y in range(self.classes)
                ]
            for y in range(self.classes):
                family = sum(child.branch[y] for child in parent.children)
                for child in parent.children:
                    child.branch[y] /= family

    def joint(self, k: int) -> list[float]:
        """theta_y psi_yk of every class."""
        values, node = [*self.theta], self.root
        while node.children:
            node = next(child for child in node.children if k in child.leaves)
            values = [v * b for v, b in zip(values, node.branch, strict=True)]
        return values

    def expect(self) -> None:
        """E: posteriors of the rows from the parameters."""
        for i, k in enumerate(self.leaf):
            values = self.joint(k)
            self.row[i] = self._point(i) or [v / sum(values) for v in values]

    def iterate(self, times: int) -> None:
        """Do some iterations."""
        for _ in range(times):
            self.maximise()
            self.expect()

    def settle(self, tolerance: float, times: int) -> None:
        """Iterate until the expected rows of each class change by at most a share of them."""
        for _ in range(times):
            before = self._unlabelled_by_leaf()
            self.iterate(1)
            after = self._unlabelled_by_leaf()
            change = np.abs(after - before).sum(axis=0)
            if np.all(change <= tolerance * np.sum(self.row, axis=0)):
                return

    def _unlabelled_by_leaf(self) -> np.ndarray:
        sums = np.zeros((len(self.prior), self.classes))
        for i, k in enumerate(self.leaf):
            if self.label[i] < 0:
                sums[k] += self.row[i]
        return sums

    def posterior(self) -> np.ndarray:
        """Posterior of an unlabelled row of each leaf, from the parameters."""
        joint = np.array([self.joint(k) for k in range(len(self.prior))])
        return joint / joint.sum(axis=1, keepdims=True)

    def log_posterior(self) -> float:
        """Log density of the parameters given the data, up to a constant, by pseudo-counts."""
        total = sum(a * math.log(t) for a, t in zip(self.pseudo, self.theta, strict=True))
        for node in self.root.descendants():
            total += sum(a * math.log(b) for a, b in zip(node.pseudo, node.branch, strict=True))
        for k, y in zip(self.leaf, self.label, strict=True):
            values = self.joint(k)
            total += math.log(values[y] if y >= 0 else sum(values))
        return total


Draw = tuple[int, int, float]
"""Leaf, label and weight of one draw of a stochastic oracle."""


def log_evidence(branching: int, prior: np.ndarray, draws: list[Draw]) -> float:
    """Log probability of weighted draws, theta and all branches integrated out.

    A draw of weight w counts as w draws. Each Dirichlet integral is a ratio of gamma functions.
    """
    leaves, classes = prior.shape

    def integral(pseudo: list[float], counts: list[float]) -> float:
        total = math.lgamma(sum(pseudo)) - math.lgamma(sum(pseudo) + sum(counts))
        return total + sum(
            math.lgamma(a + n) - math.lgamma(a) for a, n in zip(pseudo, counts, strict=True)
        )

    def drawn(node: Node, y: int) -> float:
        return math.fsum(w for k, label, w in draws if label == y and k in node.leaves)

    root = build_tree(leaves, branching)
    labels = range(classes)
    total = integral([1 + prior[:, y].sum() for y in labels], [drawn(root, y) for y in labels])
    for parent in (root, *root.descendants()):
        for y in labels if parent.children else ():
            pseudo = [c.depth**2 + prior[c.leaves, y].sum() for c in parent.children]
            total += integral(pseudo, [drawn(c, y) for c in parent.children])
    return total


def predict_draws(branching: int, prior: np.ndarray, draws: list[Draw]) -> np.ndarray:
    """Predictive p(y|k), shape (leaves, classes): how probable one more draw (k, y) is."""
    leaves, classes = prior.shape
    joint = np.array(
        [
            [log_evidence(branching, prior, [*draws, (k, y, 1.0)]) for y in range(classes)]
            for k in range(leaves)
        ]
    )
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return joint / joint.sum(axis=1, keepdims=True)


def log_posterior(
    tree: LeafTree,
    prior: np.ndarray,
    labelled: np.ndarray,
    unlabelled: np.ndarray,
    theta: np.ndarray,
    branches: np.ndarray,
) -> float:
    """What `fit_dirichlet_tree` climbs, by leaves: see there."""
    root_counts, node_counts = PUBLISHED.effective_counts(tree, prior)
    joint = theta[:, None] * tree.leaf_probabilities(branches)
    parts = ((root_counts, theta), (node_counts, branches), (labelled.T, joint),
             (unlabelled, joint.sum(axis=0)))  # fmt: skip
    return float(sum(special.xlogy(*part).sum() for part in parts))
