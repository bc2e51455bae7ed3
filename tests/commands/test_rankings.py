"""Rankings from files, in every format: what `simulate` says of them, and what has no workspace."""

import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.csv
import pytest

from tests.jobs import call
from tests.queries import CUT, Queries, make_queries
from tests.slow import fast

NAME = f"dcg@{CUT} of new against old"


@pytest.fixture
def queries() -> Queries:
    return make_queries()


def as_format(queries: Queries, path: Path) -> None:
    """Write the pool with its lists as its format has them: arrays, or text with JSON."""
    table = pa.table(queries.columns)
    if path.suffix == ".csv":
        lists = [name for name in table.column_names if pa.types.is_list(table[name].type)]
        text = {name: list(map(json.dumps, table[name].to_pylist())) for name in lists}
        columns = {name: text.get(name, table[name]) for name in table.column_names}
        pyarrow.csv.write_csv(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    else:
        numbers = {"type": "array", "items": ["null", "double"]}
        kinds = {"doc": {"type": "array", "items": "string"}, "new": numbers, "old": numbers,
                 "chances": {"type": "array", "items": numbers}, "cost": "double"}  # fmt: skip
        fields = [{"name": one, "type": kinds.get(one, "string")} for one in table.column_names]
        with path.open("wb") as file:
            fastavro.writer(file, {"type": "record", "name": "query", "fields": fields},
                            table.to_pylist())  # fmt: skip


@pytest.mark.parametrize("suffix", fast(1, ["jsonl", "csv", "avro"]))
def test_pools_of_every_format_are_simulated_alike(
    tmp_path: Path, queries: Queries, suffix: str
) -> None:
    found = []
    for pattern in ("pool/*.parquet", f"pool.{suffix}"):
        folder = tmp_path / pattern.rpartition(".")[2]
        folder.mkdir()
        as_format(queries, folder / f"pool.{suffix}")
        spec = queries.write(folder, pool={"path": pattern})
        told = call("simulate", spec, "--truth", folder / "truth.parquet", "--repeats", "2",
                    "--budgets", "30", "--json").json  # fmt: skip
        truth = queries.mean("new", "dcg") - queries.mean("old", "dcg")
        assert told["truth"][NAME] == pytest.approx(truth)
        assert {one["budget"] for one in told["results"]} == {30}
        found.append([one["rmse"] for one in told["results"]])
    assert found[0] == pytest.approx(found[1])


def test_there_is_no_workspace_and_no_plan(tmp_path: Path, queries: Queries) -> None:
    spec = queries.write(tmp_path)
    for options in ((), ("--in-process",)):
        refused = call("prepare", spec, *options).refused
        assert "pool.lists: rankings have no workspace: draw and grade queries in Py" in refused
    assert not (tmp_path / "work").exists()
    refused = call("plan", spec).refused
    assert "pool.lists: there is no plan for rankings: `simulate` says what to expect" in refused
