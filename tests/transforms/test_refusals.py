"""What transforms cannot do is refused in one sentence, most of it while the job is built."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.testing import test_stream

from evalsampling.errors import InputError
from evalsampling.transforms import (
    AssignCells,
    DesignRound,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
    WriteTasks,
)
from evalsampling.workspace.pool_facts import design_round, drawn_rows
from tests.in_pipelines import answers_to, pipeline
from tests.jobs import Job


def test_rounds_that_are_none(one: Job, tmp_path: Path) -> None:
    for make in (
        lambda round: SampleRound(one.workspace, round),
        lambda round: EstimateMeasures(one.workspace, round),
        lambda round: DesignRound(one.workspace, 10, round),
    ):
        with pytest.raises(InputError, match="round 2 was not drawn, there are 1; give the"):
            make(2)
        with pytest.raises(InputError, match=r"missing\.json"):
            make(tmp_path / "missing.json")
        with pytest.raises(InputError, match=r"evaluation\.yaml: no chances of a round"):
            make(one.spec)
    with pytest.raises(InputError, match="new rows must be a whole number of at least 1, got 0"):
        DesignRound(one.workspace, 0)


def test_columns_that_name_no_row(one: Job) -> None:
    with pytest.raises(InputError, match=r"^labels are joined by task or id, not by 'label'$"):
        JoinLabels(one.workspace, by="label")


def test_a_stream_without_an_output_for_its_bad_rows(one: Job) -> None:
    root = beam.Pipeline()
    stream = root | test_stream.TestStream()
    with pytest.raises(InputError, match="cannot be read would end a stream; give AssignCells rej"):
        _ = stream | "ends" >> AssignCells(one.workspace)
    outputs = stream | "goes on" >> AssignCells(one.workspace, rejects=True)
    assert {*outputs} == {"cells", "rejects"}


@pytest.mark.parametrize("name", ["tasks.csv", "tasks/part.html"])
def test_files_that_annotators_may_have_written_into(one: Job, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("task,label\na,1\n")
    with pytest.raises(InputError, match=f"{name}: is there; write tasks to another folder, or"):
        WriteTasks(one.workspace, tmp_path)
    WriteTasks(one.workspace, tmp_path, overwrite=True)
    WriteTasks(one.workspace, tmp_path / "second")


def test_inputs_that_lack_something(one: Job) -> None:
    root = beam.Pipeline()
    some = root | "some" >> beam.Create([])
    with pytest.raises(InputError, match=r"^give labels and rows; there are: labels$"):
        _ = {"labels": some} | "join" >> JoinLabels(one.workspace)
    with pytest.raises(InputError, match=r"^give counts, those of JoinLabels; there are: pool$"):
        _ = {"pool": some} | "estimate" >> EstimateMeasures(one.workspace)
    with pytest.raises(InputError, match=r"^slices are of the rows of a pool: give pool"):
        _ = {"counts": some, "slices": some} | "slices" >> EstimateMeasures(one.workspace)


def message(one: Job, add: Callable[[beam.Pipeline], Any]) -> str:
    """What a pipeline ends with."""
    try:
        with pipeline() as root:
            add(root)
    except Exception as error:
        return str(error)
    return "it does not end"


@pytest.mark.slow
def test_rows_and_sums_of_another_workspace(one: Job, job: Any) -> None:
    other = job(one.pool, sampler="poisson")
    other.in_process = True
    assert other.prepare().status == 0
    rows, answers = drawn_rows(one.workspace), answers_to(one, 1)

    def estimate(root: beam.Pipeline, rows_of: Job) -> Any:
        cells = root | "pool" >> beam.Create([one.pool.table]) | AssignCells(rows_of.workspace)
        return _estimated(one, root, rows, answers, pool=cells | SumCells())

    words = f"{one.workspace}: sums over cells are of another workspace"
    assert words in message(one, lambda root: estimate(root, other))
    assert message(one, lambda root: estimate(root, one)) == "it does not end"

    def pick(root: beam.Pipeline) -> Any:
        cells = root | beam.Create([one.pool.table]) | AssignCells(other.workspace)
        return cells | SampleRound(one.workspace, 1)

    words = f"{one.workspace}: rows with their cells are of another workspace"
    assert words in message(one, pick)


def test_a_row_of_a_cell_that_the_pool_does_not_have(one: Job) -> None:
    """Rows of another workspace, joined by hand."""
    rows, answers = drawn_rows(one.workspace), answers_to(one, 1)
    place = rows.schema.get_field_index("cell")
    other = rows.set_column(place, "cell", pa.array([10**6] * len(rows)))
    words = f"{one.workspace}: the pool has fewer rows of a cell than were drawn"
    assert words in message(one, lambda root: _estimated(one, root, other, answers))


def _estimated(
    one: Job, root: beam.Pipeline, rows: pa.Table, answers: list[Any], **pool: Any
) -> Any:
    given = {"rows": [rows], "labels": answers}
    created = {name: root | name >> beam.Create(parts) for name, parts in given.items()}
    joined = created | JoinLabels(one.workspace)
    return {"counts": joined["counts"], **pool} | EstimateMeasures(one.workspace)


@pytest.mark.slow
@pytest.mark.parametrize("by_transforms", [0, 1])
def test_rounds_of_sample_in_a_table_that_grew(one: Job, by_transforms: int) -> None:
    """New rows had no chance in them, so no estimate is of all rows, nor is a design."""
    first = answers_to(one, 1)

    def add(root: beam.Pipeline, rows: pa.Table, make: Callable[[Any, Any], Any]) -> Any:
        later = [design_round(one.workspace, 20)] * by_transforms
        cells = root | "rows" >> beam.Create([rows]) | AssignCells(one.workspace)
        labels = root | "labels" >> beam.Create(first)
        joined = labels | JoinLabels(one.workspace)
        if later:
            picked = (cells | SampleRound(one.workspace, later))["rows"]
            joined = {"rows": picked, "labels": labels} | "join" >> JoinLabels(one.workspace)
        states = {"counts": joined["counts"], "pool": cells | SumCells()}
        return states | make(one.workspace, later or None)

    rows = one.pool.table
    grown = pa.concat_tables([rows, rows.slice(0, 1)])
    words = (
        f"{one.workspace}: the command sample drew rounds here, from a pool of {len(rows)} rows; "
        f"the rows that are given are others ({len(grown)}), and new ones had no chance"
    )
    for make in (EstimateMeasures, lambda workspace, rounds: DesignRound(workspace, 10, rounds)):
        assert words in message(one, lambda root, make=make: add(root, grown, make))
        same = message(one, lambda root, make=make: add(root, rows, make))
        assert same == "it does not end"
