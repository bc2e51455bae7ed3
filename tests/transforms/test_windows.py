"""Rows are picked in any windows, one by one; what is gathered is in the one of all time."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, Repeatedly
from apache_beam.transforms.window import FixedWindows, GlobalWindows, TimestampedValue

from evalsampling.errors import InputError
from evalsampling.transforms import (
    AssignCells,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    WriteTasks,
)
from evalsampling.transforms.rounds import write_files
from evalsampling.workspace.pool_facts import PoolFacts
from tests.in_pipelines import keep, kept, pipeline
from tests.jobs import Job

HOUR = 3600


def test_rows_of_a_stream_by_the_hour_are_those_of_the_command(one: Job, tmp_path: Path) -> None:
    rows = [TimestampedValue(row, row["id"] * 60) for row in one.pool.table.to_pylist()]
    with pipeline() as root:
        timed = root | beam.Create(rows) | beam.Map(lambda row: row)
        by_hour = timed | beam.WindowInto(FixedWindows(HOUR))
        picked = by_hour | AssignCells(one.workspace) | SampleRound(one.workspace, 1)
        keep(picked["rows"], tmp_path / "rows")
        keep(picked["tasks"], tmp_path / "tasks")
    assert {row["task"]: row["id"] for row in kept(tmp_path / "rows")} == dict(one.asked(1))
    assert {task["task"] for task in kept(tmp_path / "tasks")} == {*dict(one.asked(1))}


def test_a_stream_goes_on_after_a_row_that_cannot_be_read(one: Job, tmp_path: Path) -> None:
    rows = [{**row, "score": float("nan")} if row["id"] == one.asked(1)[0][1] else row
            for row in one.pool.table.to_pylist()]  # fmt: skip
    with pipeline() as root:
        by_hour = root | beam.Create([TimestampedValue(row, row["id"] * 60) for row in rows])
        by_hour = by_hour | beam.Map(lambda row: row) | beam.WindowInto(FixedWindows(HOUR))
        found = by_hour | AssignCells(one.workspace, rejects=True)
        keep((found["cells"] | SampleRound(one.workspace, 1))["rows"], tmp_path / "rows")
        keep(found["rejects"], tmp_path / "rejects")
    (_, first), *others = one.asked(1)
    assert {row["task"]: row["id"] for row in kept(tmp_path / "rows")} == dict(others)
    (reject,) = kept(tmp_path / "rejects")
    assert reject["id"] == str(first)
    assert reject["reason"].startswith("column 'score': must be a number, got nan")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"windowfn": FixedWindows(HOUR)}, " are in windows, and count together: put them into"),
        (
            {
                "windowfn": GlobalWindows(),
                "trigger": Repeatedly(AfterCount(1)),
                "accumulation_mode": AccumulationMode.DISCARDING,
            },
            ": a trigger must keep what came before: give WindowInto accumulation_mode=",
        ),
    ],
)
def test_what_does_not_come_together_is_refused(one: Job, how: Any, words: str) -> None:
    """While the job is built: nothing runs."""
    root = beam.Pipeline()
    good = root | "good" >> beam.Create([])
    bad = root | "bad" >> beam.Create([]) | beam.WindowInto(**how)
    for name, build in {
        "labels": lambda: bad | "join" >> JoinLabels(one.workspace),
        "rows": lambda: {"labels": good, "rows": bad} | "both" >> JoinLabels(one.workspace),
        "pool": lambda: {"counts": good, "pool": bad} | EstimateMeasures(one.workspace),
        "tasks": lambda: bad | "write" >> WriteTasks(one.workspace, "tasks"),
    }.items():
        with pytest.raises(InputError, match=f"^{name}{words}"):
            build()


def test_a_trigger_that_fires_with_nothing_writes_nothing(one: Job, tmp_path: Path) -> None:
    facts = PoolFacts.read(one.workspace)
    assert [*write_files((None, []), facts, str(tmp_path / "tasks"))] == []
    assert not (tmp_path / "tasks").exists()
