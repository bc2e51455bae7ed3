"""Samples against a sort of the whole pool; trees against rules and a walk row by row."""

import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis.extra import numpy as arrays

from evalsampling.parts.records import as_plain, read_record
from evalsampling.stats.kdtree import FeatureSample, KdTree
from tests.contracts import assert_mergeable, same_state

CAPACITY = 8


def _rows(seed: int, rows: int, hashes: int) -> tuple[np.ndarray, np.ndarray]:
    """Hashes with ties if few are allowed; features with ties and zeros of both signs."""
    rng = np.random.default_rng(seed)
    features = rng.choice([-1.5, -0.0, 0.0, 2.0, 7.25], (rows, 3))
    return rng.integers(0, hashes, rows, dtype=np.uint64, endpoint=True), features


def no_rows(capacity: int, features: int) -> FeatureSample:
    return FeatureSample(capacity, np.zeros(0, dtype=np.uint64), np.zeros((0, features)))


@pytest.mark.parametrize("hashes", [0, 5, 2**64 - 1])
@pytest.mark.parametrize("rows", [3, 8, 9, 200])
def test_merge_contract(rows: int, hashes: int) -> None:
    hash_, features = _rows(rows, rows, hashes)
    shards = np.array_split(np.arange(rows), 3)
    states = [FeatureSample.from_rows(hash_[i], features[i], CAPACITY) for i in shards]
    assert_mergeable(states, no_rows(CAPACITY, 3), same_state)


@hypothesis.settings(max_examples=150, derandomize=True)
@hypothesis.given(
    seed=st.integers(0, 1000),
    rows=st.integers(0, 40),
    hashes=st.sampled_from([0, 3, 30, 2**64 - 1]),
    capacity=st.integers(1, 45),
    cuts=st.lists(st.integers(0, 40), max_size=4),
)
def test_least_rows_are_kept_however_the_pool_is_cut(
    seed: int, rows: int, hashes: int, capacity: int, cuts: list[int]
) -> None:
    hash_, features = _rows(seed, rows, hashes)
    least = sorted(zip(hash_.tolist(), features.tolist(), strict=True))[:capacity]
    order = np.random.default_rng(seed).permutation(rows)
    shards = np.split(order, sorted(min(cut, rows) for cut in cuts))
    parts = [FeatureSample.from_rows(hash_[i], features[i], capacity) for i in shards]
    sample = sum(parts, start=no_rows(capacity, 3))
    assert sample.hashes.tolist() == [row[0] for row in least]
    assert sample.features.tolist() == [row[1] for row in least]
    assert not np.signbit(sample.features[sample.features == 0]).any()
    assert same_state(sample, FeatureSample.from_rows(hash_, features, capacity))


def slow_find(tree: KdTree, features: np.ndarray) -> list[int]:
    """Each row's leaf by descent, leaves counted from left to right."""
    splits = [j for j, feature in enumerate(tree.feature.tolist()) if feature >= 0]
    left = {j: 2 * rank + 1 for rank, j in enumerate(splits)}

    def walk(node: int) -> list[int]:
        return walk(left[node]) + walk(left[node] + 1) if node in left else [node]

    def descend(row: np.ndarray, node: int) -> int:
        if node not in left:
            return node
        is_right = bool(row[tree.feature[node]] >= tree.threshold[node])
        return descend(row, left[node] + is_right)

    numbers = {node: number for number, node in enumerate(walk(0))}
    return [numbers[descend(row, 0)] for row in features]


TABLES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 40), st.integers(1, 5)),
    elements=st.integers(-3, 3).map(float) | st.floats(-1.7e308, 1.7e308),
)


@pytest.mark.slow
@hypothesis.settings(max_examples=100, derandomize=True)
@hypothesis.given(table=TABLES, leaves=st.integers(1, 50), seed=st.integers(0, 9))
def test_any_tree_finds_what_a_descent_finds(table: np.ndarray, leaves: int, seed: int) -> None:
    """Every leaf holds rows; they are as many as wanted or as there are distinct rows."""
    tree = KdTree.fit(table, leaves)
    rng = np.random.default_rng(seed)
    others = rng.permuted(np.concatenate([table, rng.normal(size=table.shape)]), axis=0)
    found = tree.find(table)
    assert found.dtype == np.int64
    assert found.tolist() == slow_find(tree, table)
    assert tree.find(others).tolist() == slow_find(tree, others)
    assert tree.leaves == min(leaves, len(np.unique(table + 0.0, axis=0)))
    assert np.all(np.bincount(found, minlength=tree.leaves) > 0)
    assert tree.find(table[:0]).tolist() == []


@pytest.mark.slow
@hypothesis.settings(max_examples=100, derandomize=True)
@hypothesis.given(table=TABLES, leaves=st.integers(1, 50), seed=st.integers(0, 9))
def test_tree_depends_on_the_set_of_rows_and_goes_through_json(
    table: np.ndarray, leaves: int, seed: int
) -> None:
    tree = KdTree.fit(table, leaves)
    shuffled = KdTree.fit(np.random.default_rng(seed).permutation(table), leaves)
    restored = read_record(KdTree, json.loads(json.dumps(as_plain(tree), allow_nan=False)))
    for other in (shuffled, restored):
        assert as_plain(other) == as_plain(tree)
        assert other.feature.dtype == np.int64
        assert other.threshold.dtype == np.float64


@pytest.mark.parametrize("features", [1, 4])
@pytest.mark.parametrize("leaves", [1, 2, 3, 8, 100, 256])
def test_leaves_are_balanced(features: int, leaves: int) -> None:
    """Halving the largest: no leaf is twice as large as another, but for odd halves."""
    table = np.random.default_rng(features).normal(size=(10_000, features))
    table[:, 0] = np.exp(4 * table[:, 0])
    tree = KdTree.fit(table, leaves)
    rows = np.bincount(tree.find(table))
    assert len(rows) == tree.leaves == leaves
    assert rows.max() <= 2 * rows.min() + 2
    if leaves & (leaves - 1) == 0:
        assert np.ptp(rows) <= 1


def test_one_feature_is_cut_at_quantiles_in_order() -> None:
    table = np.arange(64.0)[::-1, None]
    tree = KdTree.fit(table, 4)
    assert tree.feature.tolist() == [0, 0, 0, -1, -1, -1, -1]
    assert tree.threshold.tolist() == [31.5, 15.5, 47.5, 0, 0, 0, 0]
    assert tree.find(table[::-1]).tolist() == np.repeat(np.arange(4), 16).tolist()


def test_strata_are_those_of_any_increasing_transformation() -> None:
    table = np.random.default_rng(0).normal(size=(500, 3))
    bent = np.stack([np.exp(5 * table[:, 0]), table[:, 1] ** 3, 1e9 + table[:, 2]], axis=1)
    expected = KdTree.fit(table, 30).find(table)
    np.testing.assert_array_equal(KdTree.fit(bent, 30).find(bent), expected)


def test_split_is_the_nearest_to_the_median_the_lower_of_two() -> None:
    assert KdTree.fit(np.array([[0.0]] * 5 + [[1.0]] * 2 + [[2.0]] * 3), 2).threshold[0] == 0.5
    assert KdTree.fit(np.array([[0.0]] * 3 + [[1.0]] * 4 + [[2.0]] * 3), 2).threshold[0] == 0.5
    assert KdTree.fit(np.array([[0.0]] * 2 + [[1.0]] * 4 + [[2.0]] * 4), 2).threshold[0] == 1.5


@pytest.mark.parametrize("low", [0.7, 0.0, 5e-324, -5e-324, -1e308, 1e300])
def test_adjacent_numbers_are_told_apart(low: float) -> None:
    table = np.array([[low], [np.nextafter(low, np.inf)]])
    assert KdTree.fit(table, 2).find(table).tolist() == [0, 1]


@pytest.mark.parametrize("table", [np.ones((7, 2)), np.ones((1, 3)), np.ones((0, 2))])
def test_nothing_to_tell_apart_is_one_leaf(table: np.ndarray) -> None:
    tree = KdTree.fit(table, 16)
    assert (tree.leaves, tree.feature.tolist()) == (1, [-1])
    assert tree.find(np.array([[5.0, -5.0, 0.0], [0.0, 1.0, 2.0]])).tolist() == [0, 0]


def test_many_rows_are_found_in_parts() -> None:
    table = np.random.default_rng(6).normal(size=(40_000, 2))
    tree = KdTree.fit(table[:1000], 37)
    expected = [tree.find(table[i : i + 100]) for i in range(0, len(table), 100)]
    np.testing.assert_array_equal(tree.find(table), np.concatenate(expected))


@pytest.mark.parametrize("seed", range(3))
def test_its_own_hierarchy_has_the_rows_of_every_node_together(seed: int) -> None:
    """Leaves that part at a level are those that the descents of their rows part at."""
    table = np.random.default_rng(seed).integers(0, 9, (200, 3)).astype(float)
    tree = KdTree.fit(table, 20)
    paths: dict[int, list[bool]] = {}
    left = np.cumsum(tree.feature >= 0) * 2 - 1
    for row, leaf in zip(table, tree.find(table), strict=True):
        node, path = 0, []
        while tree.feature[node] >= 0:
            path.append(bool(row[tree.feature[node]] >= tree.threshold[node]))
            node = left[node] + path[-1]
        assert paths.setdefault(int(leaf), path) == path
    expected = [
        next(i for i, (a, b) in enumerate(zip(paths[k], paths[k + 1], strict=False), 1) if a != b)
        for k in range(tree.leaves - 1)
    ]
    assert tree.parting.tolist() == expected
    assert KdTree.fit(table[:1], 9).parting.tolist() == []


def test_two_features_make_a_grid() -> None:
    """The first of equally spread features, then the other, in every half."""
    grid = np.stack(np.meshgrid(np.arange(8.0), 1e6 * np.arange(8.0)), axis=-1).reshape(-1, 2)
    tree = KdTree.fit(grid, 4)
    assert tree.feature.tolist() == [0, 1, 1, -1, -1, -1, -1]
    assert tree.threshold.tolist() == [3.5, 3.5e6, 3.5e6, 0, 0, 0, 0]
    expected = 2 * (grid[:, 0] >= 4) + (grid[:, 1] >= 4e6)
    assert tree.find(grid).tolist() == expected.astype(int).tolist()


def test_float32_features_are_placed_at_their_float64_values() -> None:
    tree = KdTree(np.array([0, -1, -1]), np.array([0.1, 0, 0]))
    rows = np.array([[0.1], [np.nextafter(np.float32(0.1), np.float32(0))]], dtype=np.float32)
    assert tree.find(rows).tolist() == [1, 0]
    assert KdTree.fit(rows, 2).find(rows).tolist() == [1, 0]
