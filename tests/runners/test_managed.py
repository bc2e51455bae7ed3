"""A pool in a table of Iceberg, by Beam's managed reads in Java: as of the file of its rows."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.parquetio import ReadFromParquetBatched
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import managed

from evalsampling.transforms import AssignCells, SampleRound
from tests.beam_yaml import FILES, command, variables
from tests.jobs import make_pool
from tests.runners.expansion import option, program
from tests.runners.portable import SHORT_LIVED, Server, by_prism

pytestmark = [
    pytest.mark.connectors,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    by_prism,
]

POOL = make_pool(1500, seed=3)
NAME = "evaluation.pool"


class Row(NamedTuple):
    """A row of the table."""

    id: int
    score: float
    prediction: int
    name: str


beam.coders.registry.register_coder(Row, beam.coders.RowCoder)


@pytest.fixture(scope="module")
def warehouse(server: Server, expansion: str, tmp_path_factory: Any) -> Path:
    """Where the table is, written by Beam's managed write."""
    folder: Path = tmp_path_factory.mktemp("lake")
    rows = [Row(**row) for row in POOL.table.select(Row._fields).to_pylist()]
    with beam.Pipeline(options=PipelineOptions([*server.options, expansion])) as run:
        table = managed.Write(managed.ICEBERG, config=_table(folder / "warehouse"))
        _ = run | beam.Create(rows).with_output_types(Row) | table
    return folder / "warehouse"


def test_cells_and_round_are_those_of_the_file(
    job: Any, server: Server, expansion: str, warehouse: Path, tmp_path: Path
) -> None:
    one = job(POOL, files=2, sampler="poisson", measure=["f1", "recall"])
    one.in_process = True
    assert one.prepare().status == one.sample().status == 0
    with beam.Pipeline(options=PipelineOptions([*server.options, expansion])) as run:
        sources = {
            "table": managed.Read(managed.ICEBERG, config=_table(warehouse)),
            "file": ReadFromParquetBatched(str(one.directory / "pool" / "*.parquet")),
        }
        for name, source in sources.items():
            cells = run | f"Read {name}" >> source | f"Cells {name}" >> AssignCells(one.workspace)
            picked = cells | f"Pick {name}" >> SampleRound(one.workspace, 1)
            parts = {"cells": cells, "rows": picked["rows"], "tasks": picked["tasks"]}
            for part, elements in parts.items():
                kept = str(tmp_path / f"{name}-{part}")
                elements | f"Keep {part} of {name}" >> beam.Map(_keep, kept)
    table, file = (
        {part: _kept(tmp_path / f"{name}-{part}") for part in ("cells", "rows", "tasks")}
        for name in sources
    )
    assert len(table["cells"]) == 1500
    assert table == file
    asked = [[row["task"], row["id"]] for row in table["rows"]]
    assert sorted(asked) == sorted([task, id] for task, id in one.asked(1))
    assert len(asked) > 5


def test_file_of_yaml_reads_the_table(job: Any, server: Server, warehouse: Path) -> None:
    one = job(POOL, sampler="poisson", measure=["f1", "recall"])
    one.in_process = True
    assert one.prepare().status == one.sample().status == 0
    given = {**variables(one, one.directory / "labels.csv"), "pool": NAME, "warehouse": warehouse}
    options = [*server.options, option(program())]
    command(FILES, "iceberg.yaml", given, options, JAVA_TOOL_OPTIONS=" ".join(SHORT_LIVED))
    tasks = (given["tasks"] / "tasks.csv").read_bytes()
    assert tasks == (one.round_directory(1) / "batch.csv").read_bytes()
    kept = pq.read_table(given["kept"].parent)
    pairs = zip(kept["task"].to_pylist(), kept["id"].to_pylist(), strict=True)
    assert sorted(pairs) == sorted((task, str(id)) for task, id in one.asked(1))


def _table(warehouse: Path) -> dict[str, Any]:
    catalog = {"type": "hadoop", "warehouse": str(warehouse)}
    return {"table": NAME, "catalog_name": "lake", "catalog_properties": catalog}


def _keep(element: Any, path: str) -> None:
    """Write down rows, tasks or cells, a line each."""
    if isinstance(element, dict):
        rows = [element]
    elif isinstance(element, pa.Table):
        rows = element.to_pylist()
    else:
        cells = zip(element.ids.to_pylist(), element.cell.tolist(), strict=True)
        rows = [{"id": id, "cell": cell} for id, cell in cells]
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row, sort_keys=True) + "\n" for row in rows)


def _kept(path: Path) -> list[Any]:
    return [json.loads(line) for line in sorted(path.read_text("utf-8").splitlines())]
