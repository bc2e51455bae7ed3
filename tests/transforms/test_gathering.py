"""Rows are picked in any windows, one by one; what is gathered is in the one of all time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.transforms import window
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, Repeatedly

from evalsampling.errors import InputError
from evalsampling.transforms import (
    AssignCells,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    WriteTasks,
)
from evalsampling.transforms.gathering import Gather
from evalsampling.transforms.rounds import write_files
from evalsampling.workspace.pool_facts import PoolFacts
from tests.in_pipelines import keep, kept, pipeline
from tests.jobs import Job

HOUR = 3600
DAYS = [window.IntervalWindow(0, 10), window.IntervalWindow(10, 20)]


def test_rows_of_a_stream_by_the_hour_are_those_of_the_command(one: Job, tmp_path: Path) -> None:
    rows = [window.TimestampedValue(row, row["id"] * 60) for row in one.pool.table.to_pylist()]
    with pipeline() as root:
        timed = root | beam.Create(rows) | beam.Map(lambda row: row)
        by_hour = timed | beam.WindowInto(window.FixedWindows(HOUR))
        picked = by_hour | AssignCells(one.workspace) | SampleRound(one.workspace, 1)
        keep(picked["rows"], tmp_path / "rows")
        keep(picked["tasks"], tmp_path / "tasks")
    assert {row["task"]: row["id"] for row in kept(tmp_path / "rows")} == dict(one.asked(1))
    assert {task["task"] for task in kept(tmp_path / "tasks")} == {*dict(one.asked(1))}


def test_a_stream_goes_on_after_a_row_that_cannot_be_read(one: Job, tmp_path: Path) -> None:
    (_, first), *others = one.asked(1)
    asked = {first, *dict(others).values()}
    rows = [{**row, "score": float("nan")} if row["id"] == first else row
            for place, row in enumerate(one.pool.table.to_pylist())
            if place % 10 == 0 or row["id"] in asked]  # fmt: skip
    with pipeline() as root:
        by_hour = root | beam.Create([window.TimestampedValue(row, row["id"] * 60) for row in rows])
        by_hour = by_hour | beam.Map(lambda row: row) | beam.WindowInto(window.FixedWindows(HOUR))
        found = by_hour | AssignCells(one.workspace, rejects=True)
        keep((found["cells"] | SampleRound(one.workspace, 1))["rows"], tmp_path / "rows")
        keep(found["rejects"], tmp_path / "rejects")
    assert {row["task"]: row["id"] for row in kept(tmp_path / "rows")} == dict(others)
    (reject,) = kept(tmp_path / "rejects")
    assert reject["id"] == str(first)
    assert reject["reason"].startswith("column 'score': must be a number, got nan")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"windowfn": window.FixedWindows(HOUR)},
            " are in windows, and count together: put them into",
        ),
        (
            {
                "windowfn": window.GlobalWindows(),
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


def by_parity(element: Any) -> Iterator[tuple[int, Any]]:
    yield (element if isinstance(element, int) else 0) % 2, element


def together(key: int, parts: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    yield key, list(parts)


def test_parts_of_a_bundle_come_together_by_window_and_key() -> None:
    gather = Gather(by_parity, together)
    for _ in range(2):  # a bundle holds nothing of the one before
        gather.start_bundle()
        for element in range(8):
            assert list(gather.process(element, DAYS[element // 4])) == []
        made = {(one.windows[0], one.value[0]): one for one in gather.finish_bundle()}
        assert {key: one.value[1] for key, one in made.items()} == {
            (DAYS[0], 0): [0, 2],
            (DAYS[0], 1): [1, 3],
            (DAYS[1], 0): [4, 6],
            (DAYS[1], 1): [5, 7],
        }
        assert all(one.timestamp == of.max_timestamp() for (of, _), one in made.items())
        assert list(gather.finish_bundle()) == []


def test_a_bundle_that_failed_leaves_nothing() -> None:
    gather = Gather(by_parity, together)
    gather.start_bundle()
    list(gather.process(3, window.GlobalWindow()))
    gather.start_bundle()
    list(gather.process(5, window.GlobalWindow()))
    assert [one.value for one in gather.finish_bundle()] == [(1, [5])]


def test_many_rows_are_handed_on_before_their_bundle_ends() -> None:
    gather, table = Gather(by_parity, together), pa.table({"id": range(4000)})
    gather.start_bundle()
    made = [list(gather.process(table, window.GlobalWindow())) for _ in range(4)]
    assert [len(one) for one in made] == [0, 0, 1, 0]
    ((_, parts),) = made[2]
    assert len(parts) == 3
    assert [len(one.value[1]) for one in gather.finish_bundle()] == [1]
