"""What transforms are to know of a workspace, and what is refused in one sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.stats.round_chances import RoundChances
from evalsampling.workspace.pool_facts import (
    PoolFacts,
    cells_and_rejects,
    cells_of,
    design_round,
    drawn_rows,
    read_chances,
    write_chances,
)
from tests.drawn_by_row import cells_of as plain_cells_of
from tests.golden.cases import TAGS
from tests.golden.pools import pool_of
from tests.jobs import Job, Jobs


def prepared(job: Any, **keys: Any) -> Job:
    one: Job = job(**keys)
    assert (made := one.prepare()).status == 0, made.err
    return one


def test_facts_are_those_of_the_rounds_that_stand(job: Any) -> None:
    one = prepared(job, sampler="calibrated")
    facts = PoolFacts.read(one.workspace)
    assert (facts.rounds, facts.begin) == ((), None)
    assert PoolFacts.read(facts) is facts
    assert one.sample("--size", 30).status == 0
    one.answer(1)
    assert one.sample("--size", 20).status == 0
    facts = PoolFacts.read(one.workspace)
    assert [past.begin is None for past in facts.rounds] == [True, False]
    second = facts.rounds[1].begin
    assert np.all(facts.begin >= second)
    assert (facts.begin > second).any()
    code, rounds = facts.pool.table.code, facts.rounds
    np.testing.assert_array_equal(facts.begin_after(rounds[:1], code), second)
    np.testing.assert_array_equal(facts.begin_after(rounds, code), facts.begin)
    np.testing.assert_array_equal(facts.begin_after(rounds, code[::2]), facts.begin[::2])
    assert facts.begin_after(rounds, np.array([10**6])) == [0]
    assert facts.begin_after([*rounds, rounds[0]], code) is None
    assert facts.begin_after([], code) is None
    assert facts.rounds_until([rounds[0], rounds[1]]) == (*rounds, *rounds)
    rows = drawn_rows(one.workspace)
    assert rows["round"].to_pylist() == [1] * 30 + [2] * 20
    assert "payload.name" not in rows.column_names


def test_the_next_round_is_as_large_as_it_is_to_be(job: Any) -> None:
    one = prepared(job, sampler="poisson", budget=60)
    table = PoolFacts.read(one.workspace).pool.table
    for size, wanted in [(None, 20), (35, 35), (500, 60)]:
        chances = design_round(one.workspace, size)
        assert chances.wanted == wanted
        assert table.count @ chances.of_cells(table.code) == pytest.approx(wanted)


KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "tags": ({**TAGS, "rows": "tags", "sampler": "poisson"}, "its rows have any number of many"),
    "stochastic": (
        {"labels": {"oracle": "stochastic"}, "sampler": "poisson"},
        "its oracle is stoc",
    ),
    "labels before": (
        {"labels": {"column": "prediction", "drawn": "random"}},
        "some of its rows h",
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_that_take_the_commands_are_refused(job: Any, name: str) -> None:
    keys, problem = KINDS[name]
    keys = {**keys}
    rows = pool_of(keys.pop("rows")) if "rows" in keys else None
    payload: dict[str, Any] = {"pool": {**keys.pop("pool"), "payload": []}} if rows else {}
    one = prepared(job, rows=rows, **keys, **payload)
    wanted = rf"^{one.workspace}: {problem}.*, which takes the commands, not transforms$"
    for reading in (PoolFacts.read, drawn_rows, design_round):
        with pytest.raises(InputError, match=wanted):
            reading(one.workspace)


@pytest.mark.parametrize("sampler", ["ais", "importance", {"name": "poisson", "online": "include"}])
def test_rounds_that_draw_rows_again_are_not_picked_row_by_row(job: Any, sampler: Any) -> None:
    one = prepared(job, sampler=sampler)
    name = sampler if isinstance(sampler, str) else sampler["name"]
    wanted = rf"^{one.workspace}: sampler {name} does not draw row by row; take calibrated"
    with pytest.raises(InputError, match=wanted):
        PoolFacts.read(one.workspace).rounds_until(1)
    with pytest.raises(InputError, match=wanted):
        design_round(one.workspace)


def test_what_is_not_there_is_refused(job: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        PoolFacts.read(tmp_path / "nowhere")
    one = job()
    with pytest.raises(InputError, match="workspace"):
        PoolFacts.read(one.workspace)
    assert one.prepare().status == 0
    with pytest.raises(InputError, match=f"^{one.workspace}: no round was drawn$"):
        drawn_rows(one.workspace)
    facts = PoolFacts.read(one.workspace)
    for number in (0, 1, -1):
        with pytest.raises(InputError, match=f"round {number} was not drawn, there are 0; give"):
            facts.rounds_until(number)
    with pytest.raises(InputError, match="new rows must be a whole number of at least 1, got 0"):
        design_round(one.workspace, 0)


def test_a_budget_that_is_spent_is_said(job: Any) -> None:
    one = prepared(job, budget=20)
    assert one.sample().status == 0
    one.answer(1)
    with pytest.raises(InputError, match=f"^{one.workspace}: the budget is spent$"):
        design_round(one.workspace, 5)


def test_chances_are_the_same_from_their_file(job: Any, tmp_path: Path) -> None:
    chances = design_round(prepared(job).workspace, 40)
    write_chances(chances, tmp_path / "chances.json")
    again = read_chances(tmp_path / "chances.json")
    assert again.to_mapping() == chances.to_mapping()
    assert isinstance(again, RoundChances)


def test_chances_that_rows_were_drawn_by_are_not_replaced(job: Any, tmp_path: Path) -> None:
    workspace, path = prepared(job).workspace, tmp_path / "chances.json"
    write_chances(design_round(workspace, 40), path)
    write_chances(design_round(workspace, 40), path)  # A job that is run again.
    for there in (path.read_bytes(), b"id,score\n1,.5\n"):
        path.write_bytes(there)
        with pytest.raises(InputError, match=r"chances\.json: is there, and holds other chances"):
            write_chances(design_round(workspace, 41), path)
        assert path.read_bytes() == there


def test_chances_of_another_workspace_are_refused(job: Any, tmp_path: Path) -> None:
    one, other = prepared(job), prepared(job)
    write_chances(design_round(other.workspace, 40), tmp_path / "chances.json")
    with pytest.raises(InputError, match="chances of a round are of another workspace"):
        PoolFacts.read(one.workspace).rounds_until(str(tmp_path / "chances.json"))
    assert PoolFacts.read(other.workspace).rounds_until(str(tmp_path / "chances.json"))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "no chances of a round: JSONDecodeError"),
        ("[1, 2]", "it holds no object"),
        ("{}", "KeyError"),
        ('{"cells": [1], "chance": [2], "elsewhere": 0}', "KeyError"),
        (
            '{"cells": [1], "chance": [2], "elsewhere": 0, "wanted": 1, "posterior": null, '
            '"begin": null}',
            "chance has a number that is not in",
        ),
        ("\udc80", "no chances of a round"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "chances.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=problem) as caught:
        read_chances(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="missing"):
        read_chances(tmp_path / "missing")


# --- rows that cannot be read are rejects, each by itself, and all others have their cells


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


def test_one_bad_row_is_a_reject_and_all_others_count(
    facts: PoolFacts, rows: list[dict[str, Any]]
) -> None:
    good = [row["id"] for row in rows if row["id"] != rows[17]["id"]]
    for changes, id, reason in (
        ({"score": float("nan")}, 17, NAN),
        ({"score": None}, 17, "column 'score': null; leave such rows out"),
        ({"score": "high"}, 17, "column 'score': must be a number, got 'high'"),
        ({"id": None}, None, "column 'id': null; leave such rows out"),
        ({"id": 1.5}, None, "column 'id': ids must be integers or strings, got 1.5; write them"),
        ({"prediction": 7}, 17, "column 'prediction':"),
    ):
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


def test_rows_outside_the_condition_are_left_out(job: Any, rows: list[dict[str, Any]]) -> None:
    made = job(pool={"where": "score > -2 AND name != 'row 3'", "payload": []})
    assert made.prepare().status == 0
    facts = PoolFacts.read(made.workspace)
    bad = {**rows[0], "score": float("nan")}
    wanted = [r["id"] for r in rows if r["score"] > -2 and r["name"] != "row 3"]
    for given in ([bad, *rows], [pa.Table.from_pylist([*rows, bad])]):
        assert found(facts, given) == (wanted, [])


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
