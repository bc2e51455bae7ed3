"""Pools of queries in memory: items out, grades in, and the same numbers as from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.errors import InputError
from tests.queries import CUT, make_queries

QUERIES = make_queries(120, seed=11)


def evaluation() -> Evaluation:
    spec = QUERIES.spec()
    for key in ("workspace", "round_size"):
        del spec[key]
    spec["pool"] = {key: value for key, value in spec["pool"].items() if key != "path"}
    columns = {name: values for name, values in QUERIES.columns.items() if name != "query"}
    spec["pool"]["id"] = "id"
    id = np.array(QUERIES.columns["query"])
    return Evaluation.from_arrays(None, None, id=id, columns=columns, **spec)


def test_queries_in_memory_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of queries cannot be saved"):
        evaluation().save(tmp_path / "work")


def graded(one: Evaluation, ids: np.ndarray) -> list[list[int]]:
    return [[QUERIES.grade_of[f"{id}/{item}"] for item in items]
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
