"""What is read of a workspace: an evaluation from its files alone, and files that are damaged."""

import json
import shutil
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.storage.checksums import sealed
from evalsampling.workspace.workspace import Workspace
from tests.commands.rounds import labelled, rich_job
from tests.jobs import Job, call

DAMAGED: list[tuple[str, Any, list[str]]] = [
    ("evaluation.json", "[]", ["evaluation.json", "damaged"]),
    ("evaluation.json", '{"version": 5}', ["evaluation.json: damaged, its SHA-256 is not"]),
    ("evaluation.json", {"version": 5}, ["evaluation.json", "damaged", "'attempt'"]),
    ("evaluation.json", {"version": 4}, ["evaluation.json: version 4 of this kind of file"]),
    ("rounds/0001/design.json", {}, ["design.json", "damaged", "'version'"]),
    ("rounds/0001/design.json", {"version": 1}, ["design.json", "damaged", "'exported'"]),
    ("rounds/0001/draws.parquet", "PAR1", ["draws.parquet", "damaged"]),
    ("cells.parquet", "PAR1", ["cells.parquet", "damaged"]),
    ("estimates", "", ["estimates"]),
]
"""Files with what is written into them, and words of the refusal."""


def test_damaged_workspace(drawn: Job) -> None:
    for name, content, words in DAMAGED:
        path = drawn.workspace / name
        before = path.read_bytes() if path.exists() else b""
        path.write_text(content if isinstance(content, str) else json.dumps(sealed(content)))
        result = drawn.estimate()
        assert result.status == 1, name
        assert len(result.err.splitlines()) == 1, result.err
        assert all(word in result.err for word in words), result.err
        path.write_bytes(before)


def test_what_others_leave_beside_the_markers_of_deliveries_is_passed_over(drawn: Job) -> None:
    before = drawn.answer(1).json
    for name in ("0001.json~", "notes.txt", "copy of 0001.json", "0001.txt"):
        (drawn.workspace / "taken" / name).write_text("{")
        assert drawn.estimate().json == before
        told = call("status", "--verify", drawn.workspace)  # which knows no JSON of others
        assert told.status == int(name.endswith(".json")), name
        (drawn.workspace / "taken" / name).unlink()


def test_what_killed_commands_left_does_not_count_and_is_removed(drawn: Job) -> None:
    store, name = Workspace(drawn.workspace).store, "rounds/0002/draws.parquet"
    left = drawn.workspace / ".unfinished"
    (left / "x").mkdir()
    (left / "x" / "draws.parquet").write_text("PAR1")
    note = {"marker": "rounds/0002/design.json", "files": [name, "rounds/0002/none"]}
    store.write_json(".unfinished/y.json", note)
    store.create(name, b"PAR1")
    assert call("status", drawn.workspace, "--json").json["rounds"] == 1
    drawn.estimate()
    assert (list(left.iterdir()), store.exists(name)) == ([], False)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rounds/0002/batch.parquet", "rounds/0002/design.json: cannot be read: No such file"),
        ("labels/other.parquet", "labels/other.parquet: no file of taken/ names it"),
    ],
)
def test_a_file_that_nobody_names_and_nobody_writes(drawn: Job, name: str, told: str) -> None:
    """What named it has gone: nothing is estimated without it."""
    Workspace(drawn.workspace).store.create(name, b"PAR1")
    for command in (("status",), ("estimate",), ("status", "--verify")):
        result = call(command[0], drawn.workspace, *command[1:])
        assert result.status == 1
        assert told in result.err or command[1:], result.err


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_reserve_may_be_deleted_after_sampling(job: Any, oracle: str) -> None:
    """Outputs and slices of the rows drawn are with the draws, for every kind of measure."""
    curve = {"name": "pr_curve", "thresholds": 6, "system": "old"}
    one = rich_job(job, measure=["f1", "brier", curve], labels={"oracle": oracle})
    expected = labelled(one, 2)
    one.sample()
    shutil.rmtree(one.workspace / "reserve")
    shutil.rmtree(one.directory / "pool")
    for number in (1, 2, 3):
        path = one.round_directory(number) / "batch.parquet"
        pq.write_table(pq.read_table(path).drop_columns(["payload.name"]), path)
        (one.round_directory(number) / "batch.csv").unlink()
    assert one.estimate().json["measures"] == expected["measures"]
    more = one.answer(3, "3.csv").json
    assert more["labels"] > expected["labels"]
    assert more["measures"] != expected["measures"]
    assert "reserve: cannot be read" in one.sample().err
