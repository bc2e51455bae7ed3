"""Trees against trees of objects."""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from evalsampling.stats.tree import MOST_LEVELS, LeafTree, even_levels, parting_of_cuts
from tests.stats.row_model import Node, build_tree

SIZES = [
    (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (7, 2), (8, 2), (13, 2), (256, 2), (100, 2),
    (3, 3), (9, 3), (10, 3), (26, 3), (27, 3), (28, 3), (64, 4), (63, 4), (65, 4),
    (5, 5), (6, 10), (12, 12), (12, 100), (250, 7),
]  # fmt: skip


def level_order(root: Node) -> list[Node]:
    nodes, level = [], root.children
    while level:
        nodes += level
        level = [child for node in level for child in node.children]
    return nodes


@pytest.mark.parametrize(("leaves", "branching"), SIZES)
def test_nodes_cover_the_leaves_of_the_object_tree(leaves: int, branching: int) -> None:
    tree, nodes = LeafTree.even(leaves, branching), level_order(build_tree(leaves, branching))
    assert tree.depth.tolist() == [node.depth for node in nodes]
    covered = tree.sums(np.eye(leaves)).T
    assert [np.flatnonzero(row).tolist() for row in covered] == [node.leaves for node in nodes]
    assert set(np.unique(covered)) <= {0, 1}


@pytest.mark.parametrize(("leaves", "branching", "depth"), [(256, 2, 8), (27, 3, 3), (64, 4, 3)])
def test_powers_make_the_complete_tree(leaves: int, branching: int, depth: int) -> None:
    tree = LeafTree.even(leaves, branching)
    sizes = tree.sums(np.ones(leaves))
    for level in range(1, depth + 1):
        at = tree.depth == level
        assert at.sum() == branching**level
        assert np.all(sizes[at] == branching ** (depth - level))
    assert tree.depth.max() == depth


@pytest.mark.parametrize("branching", [12, 13, 1000, 10**9])
def test_many_children_make_the_flat_tree(branching: int) -> None:
    tree = LeafTree.even(12, branching)
    assert tree.depth.tolist() == [1] * 12
    np.testing.assert_array_equal(tree.sums(np.arange(12.0)), np.arange(12.0))


@pytest.mark.parametrize(("leaves", "branching"), SIZES)
def test_probabilities_equal_those_of_the_object_tree(leaves: int, branching: int) -> None:
    tree, root = LeafTree.even(leaves, branching), build_tree(leaves, branching)
    nodes = level_order(root)
    weights = np.random.default_rng(leaves).uniform(0.1, 5, (2, len(nodes)))
    branches = tree.branch_probabilities(weights)
    place = {id(node): i for i, node in enumerate(nodes)}
    for y in range(2):
        paths = np.full(leaves, math.nan)
        stack = [(root, 1.0)]
        while stack:
            node, path = stack.pop()
            if not node.children:
                (paths[node.leaves[0]],) = (path,)
            family = sum(weights[y, place[id(child)]] for child in node.children)
            for child in node.children:
                share = weights[y, place[id(child)]] / family
                assert branches[y, place[id(child)]] == pytest.approx(share, rel=1e-14)
                stack.append((child, path * share))
        products = tree.leaf_probabilities(branches)[y]
        np.testing.assert_allclose(products, paths, rtol=1e-12)
        assert products.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("leaves", "branching"), SIZES)
def test_sums_equal_those_of_the_object_tree(leaves: int, branching: int) -> None:
    values = np.random.default_rng(7).integers(0, 1000, (3, leaves))
    tree, nodes = LeafTree.even(leaves, branching), level_order(build_tree(leaves, branching))
    expected = [[sum(row[k] for k in node.leaves) for node in nodes] for row in values.tolist()]
    assert tree.sums(values.astype(np.float64)).tolist() == expected


@pytest.mark.parametrize(("leaves", "branching"), [(0, 2), (4, 1), (-1, 3)])
def test_impossible_trees_are_refused(leaves: int, branching: int) -> None:
    with pytest.raises(ValueError, match="no tree has"):
        LeafTree.even(leaves, branching)


@pytest.mark.parametrize(("leaves", "branching"), SIZES)
@pytest.mark.parametrize("lie", [np.ascontiguousarray, np.asfortranarray])
def test_digits_and_order_in_memory_are_those_of_level_by_level(
    leaves: int, branching: int, lie: Callable[[np.ndarray], np.ndarray]
) -> None:
    """To the last digit, since fits to large pools stop by it."""
    tree, rng = LeafTree.even(leaves, branching), np.random.default_rng(leaves)
    values = lie(rng.random((3, leaves)))
    nodes = lie(rng.random((3, len(tree.depth))))
    levels = np.split(tree._first_leaves, np.flatnonzero(np.diff(tree.depth)) + 1)
    by_level = [
        np.add.reduceat(values, first - leaves * level, axis=-1)
        for level, first in enumerate(levels)
    ]
    gathered = [nodes[..., path] for path in tree._paths]
    for found, wanted in (
        (tree.sums(values), np.concatenate(by_level, axis=-1)),
        (tree.leaf_probabilities(nodes), functools.reduce(np.multiply, gathered)),
        (tree.path_sums(nodes), functools.reduce(np.add, gathered)),
    ):
        assert np.array_equal(found, wanted)
        if leaves > 1:
            assert found.strides == wanted.strides


def test_cuts_one_after_the_other_make_a_binary_tree() -> None:
    """Cut 2 parts leaves 0 to 2 from 3 to 5; then 0 from 1 and 2, and 3 and 4 from 5."""
    parting = parting_of_cuts(np.array([2, 0, 4, 3, 1]))
    assert parting.tolist() == [2, 3, 1, 3, 2]
    tree = LeafTree.parted(parting)
    covered = [np.flatnonzero(row).tolist() for row in tree.sums(np.eye(6)).T]
    halves, quarters = [[0, 1, 2], [3, 4, 5]], [[0], [1, 2], [3, 4], [5]]
    assert covered == halves + quarters + [[k] for k in range(6)]
    assert parting_of_cuts(np.zeros(0, dtype=np.int64)).tolist() == []
    assert LeafTree.parted(np.zeros(0, dtype=np.int64)).depth.tolist() == [1]


@pytest.mark.parametrize("leaves", [2, 5, 16, 31])
def test_the_even_tree_is_one_of_partings(leaves: int) -> None:
    levels = np.stack(even_levels(leaves, 2))
    parting = np.argmax(np.diff(levels, axis=1) > 0, axis=0) + 1
    parted, even = LeafTree.parted(parting), LeafTree.even(leaves, 2)
    assert parted.depth.tolist() == even.depth.tolist()
    np.testing.assert_array_equal(parted.sums(np.eye(leaves)), even.sums(np.eye(leaves)))


def test_a_tree_that_splits_off_a_leaf_at_a_time_has_few_levels() -> None:
    tree = LeafTree.parted(np.arange(1, 1000))
    assert tree.depth.max() == MOST_LEVELS
    assert np.sum(tree.depth == MOST_LEVELS) == 1000
    sizes = tree.sums(np.ones(1000))[tree.depth == MOST_LEVELS - 1]
    assert sizes.tolist() == [1] * (MOST_LEVELS - 1) + [1000 - MOST_LEVELS + 1]
