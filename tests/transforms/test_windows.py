"""Windows of a stream: each a pool of its own, with chances by the window before."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark
from apache_beam.transforms.window import FixedWindows, GlobalWindows, TimestampedValue

from evalsampling import Evaluation, InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.preparation.assignment import assign_cells
from evalsampling.stats.permanent import permanent_numbers
from evalsampling.stats.round_chances import RoundChances
from evalsampling.transforms import (
    AssignCells,
    CountSlices,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
    WriteTasks,
)
from evalsampling.transforms.rounds import write_files
from evalsampling.workspace.pool_facts import PoolFacts
from tests.jobs import make_pool
from tests.slow import fast

HOUR = 3600
BUDGET = 60
WINDOWS = {"windowfn": FixedWindows(HOUR)}
LATE = {
    "trigger": AfterWatermark(late=AfterCount(1)),
    "allowed_lateness": HOUR,
    "accumulation_mode": AccumulationMode.DISCARDING,
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> PoolFacts:
    """A workspace of 2,000 rows with a round."""
    path = tmp_path_factory.mktemp("windows") / "workspace"
    evaluation = Evaluation.from_frame(
        make_pool().table, measure=["recall", "f1"], seed=5, pool={"payload": ["name"]}
    )
    evaluation.sample(100)
    evaluation.save(path)
    return PoolFacts.read(path)


def rows_of(seed: int, rows: int, first: int = 0) -> pa.Table:
    table = make_pool(rows, seed).table
    return table.set_column(0, "id", pa.array(np.arange(first, first + rows)))


_FIRST = rows_of(2, 700)
WINDOW_ROWS = {0: _FIRST, 1: _FIRST.slice(300), 3: rows_of(4, 600, 5000)}
"""Rows by hour: 400 of the first are there again in the second, and there are none in the third."""


@pytest.fixture(scope="module")
def seen(facts: PoolFacts, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What a job says of these hours, whose tasks all are answered 0, and a wrong one in each."""
    folder = tmp_path_factory.mktemp("seen")
    with beam.Pipeline(runner="FnApiRunner") as job:
        rows = job | beam.Create([0, 1, 3]) | beam.Map(_hour) | beam.WindowInto(**WINDOWS)
        cells = rows | AssignCells(facts)
        picked = cells | SampleRound(facts, 1, budget=BUDGET)
        wrong = job | "Wrong" >> beam.Create([0, 2]) | "Hours" >> beam.Map(_wrong)
        wrong = wrong | "Windows" >> beam.WindowInto(**WINDOWS)
        answers = picked["tasks"] | "Answer" >> beam.Map(_answered)
        labels = (answers, wrong) | beam.Flatten()
        joined = {"rows": picked["rows"], "labels": labels} | JoinLabels(facts)
        made_of = {
            "counts": joined["counts"],
            "pool": cells | SumCells(),
            "chances": picked["chances"],
        }
        estimates = made_of | EstimateMeasures(facts, 1, budget=BUDGET)
        for name, given in (
            ("rows", picked["rows"] | beam.FlatMap(_plain)),
            ("rejects", joined["rejects"]),
            ("estimates", estimates),
            ("files", picked["tasks"] | WriteTasks(facts, folder / "tasks") | beam.Map(_file)),
        ):
            given | f"Write{name}" >> beam.Map(_write, str(folder / name))
    lines = {path.name: path for path in folder.iterdir() if path.is_file()}
    return {
        name: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for name, path in lines.items()
    }


def _hour(hour: int) -> TimestampedValue:
    return TimestampedValue(WINDOW_ROWS[hour], hour * HOUR + 10)


def _wrong(hour: int) -> TimestampedValue:
    return TimestampedValue({"task": "t_nowhere", "label": "1"}, hour * HOUR)


def _answered(task: dict[str, Any]) -> dict[str, Any]:
    return {"task": task["task"], "label": "0"}


def _plain(rows: pa.Table, of: Any = beam.DoFn.WindowParam) -> Iterator[dict[str, Any]]:
    for row in rows.select(["task", "id", "chance"]).to_pylist():
        yield {**row, "hour": int(of.start) // HOUR}


def _file(path: str) -> dict[str, str]:
    return {"name": Path(path).name, "content": Path(path).read_text("utf-8")}


def _write(element: Any, path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(element) + "\n")


@pytest.mark.parametrize(("hour", "before"), fast(1, [(1, 0), (0, None), (3, None)]))
def test_chances_are_by_the_window_before_or_by_the_workspace(
    facts: PoolFacts, seen: dict[str, list[Any]], hour: int, before: int | None
) -> None:
    """The hour after one without rows begins anew, as the first one does."""
    sums = None if before is None else _cells(facts, before).sums()
    chances = facts.scaled(facts.rounds[0], BUDGET, sums)
    cells = _cells(facts, hour)
    chance = chances.of_cells(cells.cell)
    number = permanent_numbers(hash_ids(cells.ids, facts.pool.spec.seed))
    expected = dict(zip(cells.ids.to_pylist(), chance, strict=True))
    rows = [row for row in seen["rows"] if row["hour"] == hour]
    taken = np.array(cells.ids.to_pylist())[number < chance]
    assert sorted(row["id"] for row in rows) == sorted(taken.tolist())
    assert [row["chance"] for row in rows] == [expected[row["id"]] for row in rows]


def _cells(facts: PoolFacts, hour: int) -> Any:
    (batch,) = WINDOW_ROWS[hour].combine_chunks().to_batches()
    return assign_cells(PoolBatch(batch), facts.pool.spec, facts.pool.stratification)


def test_a_row_that_is_in_two_windows_is_a_task_in_each(seen: dict[str, list[Any]]) -> None:
    """Its permanent number is the same, so it is often drawn in both, under another name."""
    names: dict[int, set[str]] = {}
    for row in seen["rows"]:
        names.setdefault(row["id"], set()).add(row["task"])
    ids = {hour: {row["id"] for row in seen["rows"] if row["hour"] == hour} for hour in (0, 1)}
    both = ids[0] & ids[1]
    assert both
    assert all(len(names[id]) == (2 if id in both else 1) for id in names)
    assert sum(map(len, names.values())) == len(seen["rows"])


def test_a_window_without_rows_says_nothing_but_rejects_its_labels(
    seen: dict[str, list[Any]],
) -> None:
    estimates = sorted(seen["estimates"], key=lambda one: one["window_start"])
    starts = [one["window_start"] for one in estimates]
    assert starts == [f"1970-01-01T0{hour}:00:00Z" for hour in (0, 1, 3)]
    assert [one["rows"] for one in estimates] == [700, 400, 600]
    assert [one["rejects"] for one in estimates] == [1, 0, 0]
    assert [bool(one["changes"]) for one in (estimates[0], estimates[2])] == [False, False]
    assert [reject["task"] for reject in seen["rejects"]] == ["t_nowhere"] * 2
    for one, hour in zip(estimates, (0, 1, 3), strict=True):
        drawn = sum(row["hour"] == hour for row in seen["rows"])
        assert one["drawn"] == one["labels"] == drawn


def test_each_window_has_a_file_of_its_tasks(seen: dict[str, list[Any]]) -> None:
    files = {file["name"]: file["content"] for file in seen["files"]}
    for hour in (0, 1, 3):
        lines = files.pop(f"tasks-1970-01-01T0{hour}0000Z.csv").splitlines()
        assert lines[0] == "task,name,label"
        names = sorted(row["task"] for row in seen["rows"] if row["hour"] == hour)
        assert [line.split(",")[0] for line in lines[1:]] == names
    assert files == {}


@pytest.mark.slow
def test_without_a_budget_rows_are_drawn_by_the_chances_of_the_round(
    facts: PoolFacts, tmp_path: Path
) -> None:
    with beam.Pipeline(runner="FnApiRunner") as job:
        cells = job | beam.Create([0, 1, 3]) | beam.Map(_hour) | beam.WindowInto(**WINDOWS)
        cells = cells | AssignCells(facts)
        picked = cells | SampleRound(facts, 1)
        labels = picked["tasks"] | "Answer" >> beam.Map(_answered)
        joined = {"rows": picked["rows"], "labels": labels} | JoinLabels(facts)
        made_of = {"counts": joined["counts"], "pool": cells | SumCells()}
        made_of | EstimateMeasures(facts, 1) | beam.Map(_write, str(tmp_path / "estimates"))
    lines = (tmp_path / "estimates").read_text("utf-8").splitlines()
    estimates = sorted(map(json.loads, lines), key=lambda one: one["window_start"])
    expected = [_drawn_by(facts.rounds[0], facts, hour) for hour in (0, 1, 3)]
    assert [one["drawn"] for one in estimates] == expected
    assert [one["labels"] for one in estimates] == expected
    assert [one["rows"] for one in estimates] == [700, 400, 600]


@pytest.mark.slow
def test_slices_of_windows_and_their_changes(tmp_path: Path) -> None:
    """In the second hour no row is of the north, so nothing is said of it."""
    rows = {
        hour: rows_of(hour, 500).append_column("region", pa.array(regions * 250))
        for hour, regions in enumerate([["north", "south"], ["south", "south"]])
    }
    evaluation = Evaluation.from_frame(
        rows[0], measure=["accuracy"], seed=5, pool={"slices": ["region"]}, sampler="poisson"
    )
    evaluation.sample(100)
    evaluation.save(tmp_path / "workspace")
    facts = PoolFacts.read(tmp_path / "workspace")
    hours = [TimestampedValue(of_hour, hour * HOUR) for hour, of_hour in rows.items()]
    with beam.Pipeline(runner="FnApiRunner") as job:
        given = job | beam.Create(hours) | beam.Map(lambda timed: timed)
        cells = given | beam.WindowInto(**WINDOWS) | AssignCells(facts)
        picked = cells | SampleRound(facts, 1, budget=BUDGET)
        labels = picked["rows"] | "Answer" >> beam.FlatMap(_guessed)
        joined = {"rows": picked["rows"], "labels": labels} | JoinLabels(facts)
        made_of = {
            "counts": joined["counts"],
            "pool": cells | SumCells(),
            "slices": cells | CountSlices(),
            "chances": picked["chances"],
        }
        estimates = made_of | EstimateMeasures(facts, 1, budget=BUDGET)
        estimates | beam.Map(_write, str(tmp_path / "estimates"))
    lines = (tmp_path / "estimates").read_text("utf-8").splitlines()
    first, second = sorted(map(json.loads, lines), key=lambda one: one["window_start"])
    slices = [[one["slice"] for one in hour["measures"]] for hour in (first, second)]
    assert slices == [[None, "region=north", "region=south"], [None, "region=south"]]
    assert [change["slice"] for change in second["changes"]] == [None, "region=south"]
    whole, south = second["measures"]
    for key in ("value", "standard_error"):
        assert south[key] == whole[key] != first["measures"][2][key], "all rows are of the south"


def _guessed(rows: pa.Table) -> Iterator[dict[str, Any]]:
    """Labels, 1 of every third row."""
    for row in rows.select(["task", "id"]).to_pylist():
        yield {"task": row["task"], "label": str(int(row["id"] % 3 == 0))}


def _drawn_by(chances: RoundChances, facts: PoolFacts, hour: int) -> int:
    cells = _cells(facts, hour)
    number = permanent_numbers(hash_ids(cells.ids, facts.pool.spec.seed))
    return int(np.sum(number < chances.of_cells(cells.cell)))


def built(build: Callable[[Any], Any]) -> None:
    """Build a pipeline that is never run."""
    build(beam.Pipeline(runner="FnApiRunner"))


def windowed(job: Any, name: str, **windows: Any) -> Any:
    return job | name >> beam.Create([]) | f"Window{name}" >> beam.WindowInto(**windows)


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (WINDOWS, {"windowfn": GlobalWindows()}, "rows and labels are in different windows"),
        (WINDOWS, {"windowfn": FixedWindows(60)}, "rows and labels are in different windows"),
        (WINDOWS | LATE, WINDOWS, "rows: windows that wait for what is late must keep"),
        (WINDOWS, WINDOWS | LATE, "labels: windows that wait for what is late must keep"),
    ],
)
def test_rows_and_labels_of_other_windows_are_refused(
    facts: PoolFacts, rows: dict[str, Any], labels: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        built(
            lambda job: (
                {"rows": windowed(job, "rows", **rows), "labels": windowed(job, "labels", **labels)}
                | JoinLabels(facts)
            )
        )


def test_labels_by_window_need_rows_by_window(facts: PoolFacts) -> None:
    with pytest.raises(InputError, match="rows of a workspace and labels are in different windows"):
        built(lambda job: windowed(job, "labels", **WINDOWS) | JoinLabels(facts))


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        ({"windowfn": GlobalWindows()}, "pool and counts are in different windows"),
        (WINDOWS | LATE, "pool: windows that wait for what is late must keep what came before"),
    ],
)
def test_a_pool_of_other_windows_is_refused(
    facts: PoolFacts, pool: dict[str, Any], message: str
) -> None:
    def build(job: Any) -> None:
        counts = windowed(job, "counts", **WINDOWS)
        {"counts": counts, "pool": windowed(job, "pool", **pool)} | EstimateMeasures(facts)

    with pytest.raises(InputError, match=message):
        built(build)


def test_rows_without_a_time_are_refused(facts: PoolFacts) -> None:
    job = beam.Pipeline(runner="FnApiRunner")
    rows = job | beam.Create([WINDOW_ROWS[0]]) | beam.WindowInto(**WINDOWS)
    rows | AssignCells(facts) | SampleRound(facts, 1, budget=BUDGET)
    with pytest.raises(Exception, match="rows in windows need their time"):
        job.run()


def test_a_window_that_fires_with_nothing_writes_nothing(facts: PoolFacts, tmp_path: Path) -> None:
    assert [*write_files((None, []), facts, str(tmp_path / "tasks"))] == []
    assert not (tmp_path / "tasks").exists()
