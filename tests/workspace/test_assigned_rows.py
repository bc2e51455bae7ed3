"""Rows that cannot be read are rejects, each by itself, and all others have their cells."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.workspace.pool_facts import PoolFacts, cells_and_rejects, cells_of
from tests.drawn_by_row import cells_of as plain_cells_of
from tests.jobs import Job, Jobs

NAN = "column 'score': must be a number, got nan; leave such rows out"


@pytest.fixture
def one(job: Jobs) -> Job:
    made = job(sampler="poisson")
    made.in_process = True
    assert made.prepare().status == 0
    return made


@pytest.fixture
def facts(one: Job) -> PoolFacts:
    return PoolFacts.read(one.workspace)


@pytest.fixture
def rows(one: Job) -> list[dict[str, Any]]:
    return one.pool.table.slice(0, 40).to_pylist()


def found(facts: PoolFacts, rows: list[Any]) -> tuple[list[int], list[dict[str, Any]]]:
    """Ids of the rows with cells, and the rejects."""
    batches, rejects = cells_and_rejects(facts, rows)
    return [id for batch in batches for id in batch.ids.to_pylist()], rejects


@pytest.mark.parametrize(
    ("changes", "id", "reason"),
    [
        ({"score": float("nan")}, 17, NAN),
        ({"score": None}, 17, "column 'score': null; leave such rows out"),
        ({"score": "high"}, 17, "column 'score': must be a number, got 'high'"),
        ({"id": None}, None, "column 'id': null; leave such rows out"),
        ({"id": 1.5}, None, "column 'id': ids must be integers or strings, got 1.5; write them"),
        ({"prediction": 7}, 17, "column 'prediction':"),
    ],
)
def test_one_bad_row_is_a_reject_and_all_others_count(
    facts: PoolFacts, rows: list[dict[str, Any]], changes: Any, id: Any, reason: str
) -> None:
    good = [row["id"] for row in rows if row["id"] != rows[17]["id"]]
    bad = [{**row, **changes} if place == 17 else row for place, row in enumerate(rows)]
    ids, (reject,) = found(facts, bad)
    assert ids == good
    assert reject["id"] == (None if id is None else str(rows[17]["id"]))
    assert reject["reason"].startswith(reason)


def test_rows_in_batches_of_columns(facts: PoolFacts, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows)
    score = table["score"].to_numpy().copy()
    score[[0, 21, 39]] = np.nan
    bad = table.set_column(table.schema.get_field_index("score"), "score", pa.array(score))
    for given in (bad, *bad.combine_chunks().to_batches()):
        ids, rejects = found(facts, [given])
        assert len(ids) == 37
        assert rejects == [{"id": str(rows[place]["id"]), "reason": NAN} for place in (0, 21, 39)]


def test_a_row_that_is_none(facts: PoolFacts, rows: list[dict[str, Any]]) -> None:
    lacking = {"id": 5}
    ids, rejects = found(facts, [rows[0], 7, lacking])
    assert ids == [rows[0]["id"]]
    assert rejects[0] == {"id": None, "reason": "a row is a mapping or a named tuple, got int"}
    assert rejects[1]["id"] == "5"
    assert rejects[1]["reason"].startswith("column 'score' is missing; there are: id")


def test_cells_are_of_the_workspace(facts: PoolFacts, rows: list[dict[str, Any]]) -> None:
    ((cells,), _) = cells_and_rejects(facts, rows)
    assert cells.workspace == cells_of(cells.batch, facts).workspace == facts.identity
    before = plain_cells_of(facts, pa.Table.from_pylist(rows))
    assert cells.cell.tolist() == before.cell.tolist()
    assert before.workspace is None
