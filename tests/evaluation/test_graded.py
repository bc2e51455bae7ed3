"""Pools of queries in memory: items out, grades in, and the numbers that follow from both."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.evaluation.graded import graded_outputs, item_ids
from evalsampling.stats.history import NO_LABEL
from tests.queries import CUT, Queries, make_queries

QUERIES = make_queries(120, seed=11)


def evaluation(queries: Queries = QUERIES, **keys: Any) -> Evaluation:
    spec = queries.spec(**keys)
    for key in ("workspace", "round_size"):
        del spec[key]
    spec["pool"] = {key: value for key, value in spec["pool"].items() if key != "path"}
    columns = {name: values for name, values in queries.columns.items() if name != "query"}
    spec["pool"]["id"] = "id"
    id = np.array(queries.columns["query"])
    return Evaluation.from_arrays(None, None, id=id, columns=columns, **spec)


def test_queries_in_memory_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of queries cannot be saved"):
        evaluation().save(tmp_path / "work")


def graded(one: Evaluation, ids: Any, queries: Queries = QUERIES) -> list[list[int]]:
    return [[queries.grade_of[f"{id}/{item}"] for item in items]
            for id, items in zip(ids.tolist(), one.items(ids), strict=True)]  # fmt: skip


def test_gains_from_grades_of_two_rounds() -> None:
    one, total = evaluation(), []
    for _ in range(2):
        ids = one.sample(15)
        one.label(ids, graded(one, ids))
        chances, questions = one.history.probability, one.history.question
        drawn = one.state.pool.ids(one.history.cell, one.history.rank)
        total = [
            (QUERIES.gain(q, "new", "dcg") - QUERIES.gain(q, "old", "dcg")) / (120 * chance)
            for chance, question in zip(chances, questions, strict=True)
            for q in [QUERIES.columns["query"].index(drawn[question])]
        ]
        found = one.estimate()[0]
        assert found.target.title == f"dcg@{CUT} of new against old"
        assert found.value == pytest.approx(np.mean(total))
    assert len(one.history.labelled) == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ids, grades: (["q0x"], [[1]]), "id 'q0x' was not drawn"),
        (lambda ids, grades: (ids[:1], [grades[0][1:]]), "grades for the [0-9]+ items of id"),
        (lambda ids, grades: (ids[:1], [[9, *grades[0][1:]]]), "grade 9 of id .* is not one of"),
        (lambda ids, grades: (ids, grades[1:]), "14 labels for 15 ids"),
        (lambda ids, grades: (ids, [None] * 15), "are a list, one for each .* got NoneType"),
        (
            lambda ids, grades: (ids, [dict(enumerate(one)) for one in grades]),
            "a list, .* got dict",
        ),
    ],
)
def test_what_is_wrong_with_grades(change: Any, message: str) -> None:
    one = evaluation()
    ids = one.sample(15)
    with pytest.raises(InputError, match=message):
        one.label(*change(ids, graded(one, ids)))
    assert not len(one.history.labelled)


def test_items_are_those_of_drawn_queries() -> None:
    one = evaluation()
    one.sample(5)
    with pytest.raises(InputError, match="id 'q0x' was not drawn"):
        one.items(np.array(["q0x"]))
    plain = Evaluation.from_arrays(np.linspace(0, 1, 50), np.arange(50) % 2)
    with pytest.raises(InputError, match="have no items"):
        plain.items(plain.sample(3))


def test_values_of_each_ranker_come_with_their_difference() -> None:
    """All 40 queries of a pool are drawn in the end: then the values are the pool's own."""
    queries = make_queries(40, seed=9)
    measure = [{"name": "dcg", "cut": CUT}, {"name": "err", "cut": 2}]
    one = evaluation(queries, measure=measure)
    ids = one.sample(40)
    one.label(ids, graded(one, ids, queries))
    found = {estimate.target.title: estimate.value for estimate in one.estimate()}
    for name, cut in [("dcg", CUT), ("err", 2)]:
        values = {ranker: queries.mean(ranker, name, cut) for ranker in ("new", "old")}
        for ranker, value in values.items():
            assert found[f"{name}@{cut} of {ranker}"] == pytest.approx(value)
        difference = values["new"] - values["old"]
        assert found[f"{name}@{cut} of new against old"] == pytest.approx(difference)


def test_queries_drawn_by_their_costs_alone() -> None:
    """The baseline active_lambda: both rankers and their difference, over the sum of weights."""
    one = evaluation(sampler="active_lambda")
    ids = one.sample(20)
    one.label(ids, graded(one, ids))
    drawn = np.array(one.state.pool.ids(one.history.cell, one.history.rank))
    place = [QUERIES.columns["query"].index(id) for id in drawn[one.history.question]]
    chance, cost = one.history.probability, np.array(QUERIES.columns["cost"])[place]
    assert np.corrcoef(np.log(chance), np.log(cost))[0, 1] < -0.95
    found = {estimate.target.title: estimate.value for estimate in one.estimate()}
    for system in ("new", "old"):
        gain = np.array([QUERIES.gain(query, system, "err") for query in place])
        wanted = np.sum(gain / chance) / np.sum(1 / chance)
        assert found[f"err@{CUT} of {system}"] == pytest.approx(wanted)


def test_money_pays_for_queries_by_what_they_cost() -> None:
    """Rounds go on until the next query is expected to cost more than is left."""
    one = evaluation(budget={"cost": 200.0})
    while len(ids := one.sample(15)):
        one.label(ids, graded(one, ids))
    assert len(one.history.rounds) > 2
    left = 200 - float(one.history.outputs.cost.sum())
    assert 0 <= left < max(QUERIES.columns["cost"])


ROWS = pa.table(
    {
        "id": ["a", "b", "c"],
        "prediction.0": [0, 0, 0],
        "prediction.1": [1, 0, 0],
        "list.items": pa.array([["x", "z"], ["x"], []], pa.list_(pa.string())),
        "list.ranks.0": pa.array([[2, 1], [1], []], pa.list_(pa.int32())),
        "list.ranks.1": pa.array([[1, 0], [1], []], pa.list_(pa.int32())),
    }
)


def test_each_item_has_a_name() -> None:
    assert item_ids(ROWS) == ["a/x", "a/z", "b/x"]


def test_grades_stand_by_rank() -> None:
    label = np.array([2, NO_LABEL, 1])
    outputs = graded_outputs(ROWS, label, systems=2, moments=5, depth=3)
    assert outputs.prediction.tolist() == [[0, 1], [0, 0], [0, 0]]
    assert outputs.grades[0].tolist() == [[-1, 2, -1], [2, -1, -1]]
    assert outputs.grades[1].tolist() == [[1, -1, -1], [1, -1, -1]]
    assert outputs.grades[2].tolist() == [[-1] * 3] * 2
