"""Whole clusters: chances by enumeration, refusals, and where rows are not known."""

import itertools
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.samplers import Clusters
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen
from evalsampling.stats.permanent import PermanentNumbers

SIZES = np.array([1, 3, 2, 6, 4])
CLUSTER = np.repeat(np.arange(5), SIZES)
LABEL = np.random.default_rng(0).integers(0, 2, len(CLUSTER))


def first_round(order: tuple[int, ...], wanted: int) -> np.ndarray:
    """Return the rows of the first round, given the place of each cluster in the random order."""
    number = (np.argsort(order) / 8)[CLUSTER]
    rows = np.argsort(number, kind="stable")
    count = np.array([len(CLUSTER)])
    numbers = PermanentNumbers(np.zeros(len(CLUSTER), dtype=np.int64), number[rows], count)
    _, rank = numbers.next_clusters(np.zeros(1, dtype=np.int64), wanted, np.random.default_rng(0))
    return rows[rank]


@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_ratio_of_means_over_all_orders_is_that_of_the_pool(wanted: int) -> None:
    """Wald's identity, over clusters drawn with replacement, since the last one is taken whole."""
    labels = rows = 0.0
    for sequence in itertools.product(range(5), repeat=wanted):
        taken = np.cumsum(SIZES[list(sequence)])
        number = int(np.argmax(taken >= wanted)) + 1
        chosen = list(sequence[:number])
        labels += sum(LABEL[each == CLUSTER].sum() for each in chosen)
        rows += taken[number - 1]
    assert labels / rows == pytest.approx(LABEL.mean())


@pytest.mark.parametrize("wanted", [1, 4, 11])
def test_clusters_are_taken_in_order_until_they_are_enough(wanted: int) -> None:
    for order in itertools.permutations(range(5)):
        sizes = SIZES[list(order)]
        number = int(np.argmax(np.cumsum(sizes) >= wanted)) + 1
        found = np.sort(first_round(order, wanted))
        assert found.tolist() == np.flatnonzero(np.isin(CLUSTER, order[:number])).tolist()


def pool(rows: int = 900) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    score = rng.random(rows)
    return {
        "id": np.arange(rows), "score": score, "prediction": (score > 0.6).astype(int),
        "talk": np.array([f"t{number}" for number in rng.permutation(rows) // 9]),
        "label": (rng.random(rows) < score).astype(int),
    }  # fmt: skip


def test_rounds_are_of_whole_clusters_and_none_comes_twice() -> None:
    table = pool()
    evaluation = Evaluation.from_frame(table, cluster="talk", sampler="clusters", budget=500)
    seen: set[str] = set()
    for _ in range(3):
        ids = evaluation.sample(50)
        assert len(ids) == 54
        talks = table["talk"][ids]
        assert len(set(talks)) == 6
        assert np.count_nonzero(talks[1:] != talks[:-1]) == 5, "one after the other"
        assert not seen & set(talks)
        seen |= set(talks)
        evaluation.label(ids, table["label"][ids])
    last = evaluation.history.rounds[-1]
    assert last.together == pytest.approx(9, rel=0.1)
    assert len(set(np.round(last.probability, 12))) == 1, "all rows have the same chance"
    assert all(one.claims for one in evaluation.estimate())


def test_it_needs_clusters_and_draws_single_rows_where_none_are_known() -> None:
    with pytest.raises(InputError, match=r"sampler: clusters: .* pool\.cluster"):
        Evaluation.from_frame(pool(), sampler="clusters", budget=100)
    twice = {**pool(), "id": np.append([0, 0], np.arange(2, 900))}
    with pytest.raises(InputError, match="duplicate id 0, also in row 0"):
        Evaluation.from_frame(twice, cluster="talk", sampler="clusters")
    evaluation = Evaluation.from_frame(pool(), measure="f1", strata={"leaves": 7})
    table, sampler = evaluation.analysis.table, Clusters(evaluation.analysis.measures[0])
    drawn = sampler.design(table, History.start(), 12, np.random.default_rng(4))
    chance = np.full(len(table), 12 / table.rows)
    alone = draw_unseen(table, History.start(), chance, np.random.default_rng(4))
    assert drawn.cell.tolist() == alone.cell.tolist()
