import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.pool.arrow import (
    column_of,
    first_unreadable,
    is_list,
    is_text,
    nested_fields,
    plain,
    there_are,
)
from evalsampling.pool.batch import PoolBatch, batches_of
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.parquet import Parquet
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec
from tests.jobs import Job, Pool, call, make_pool
from tests.pairs import NAMES, nested_pool


def test_long_and_short_text_and_lists_are_alike() -> None:
    assert is_text(pa.string())
    assert is_text(pa.large_string())
    assert not is_text(pa.binary())
    assert is_list(pa.list_(pa.int8()))
    assert is_list(pa.large_list(pa.int8()))
    assert not is_list(pa.string())


def test_dictionaries_are_decoded() -> None:
    column = pa.array(["a", "b", None, "a"])
    assert plain(column.dictionary_encode()) == column
    assert plain(column) is column


@pytest.mark.parametrize("bad", range(5))
def test_first_row_that_cannot_be_read_is_found(bad: int) -> None:
    texts = pa.array(["x" if row in (bad, 4) else "1" for row in range(5)])
    assert first_unreadable(lambda end: texts.slice(0, end).cast(pa.int64()), 5) == bad


def test_other_errors_are_passed_on() -> None:
    with pytest.raises(KeyError):
        first_unreadable(lambda end: {}[end], 3)


def result_of(one: Job) -> Any:
    """What is drawn, and the cells."""
    assert one.prepare().status == 0
    assert one.sample().status == 0
    cells = pq.read_table(one.workspace / "cells.parquet")
    return [id for _, id in one.asked(1)], cells.to_pydict()


def test_a_flat_pool_is_the_same_in_avro(job: Callable[..., Job]) -> None:
    """Of Parquet and JSON: `tests/commands/test_prepare_plan.py`."""
    flat = make_pool()
    one = job(nested_pool(flat), files=2, pool=NAMES)
    write_avro(one.pool.table, one.directory / "pool.avro")
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", "pool.avro"))
    assert result_of(one) == result_of(job(flat, files=2))


def write_avro(table: pa.Table, path: Path) -> None:
    """Write a nested pool, whose objects may be null."""
    import fastavro

    said = {
        "type": "record",
        "name": "said",
        "fields": [{"name": "label", "type": "long"}, {"name": "why", "type": "string"}],
    }
    result = {
        "type": "record",
        "name": "result",
        "fields": [{"name": "score", "type": "double"}, {"name": "said", "type": ["null", said]}],
    }
    schema = {"type": "record", "name": "row", "fields": [
        {"name": "id", "type": "long"}, {"name": "name", "type": "string"},
        {"name": "result", "type": ["null", result]}]}  # fmt: skip
    with path.open("wb") as file:
        fastavro.writer(file, schema, table.to_pylist())


def test_every_role_may_be_a_field(job: Callable[..., Job]) -> None:
    flat = make_pool()
    n = len(flat.table)
    wide = flat.table.append_column("country", pa.array(np.where(np.arange(n) % 2, "DE", "FR")))
    wide = wide.append_column("price", pa.array(1.0 + np.arange(n) % 3))
    wide = wide.append_column("chance", pa.array(1 / (1 + np.exp(-flat.table["score"].to_numpy()))))
    keys = {
        "id": "id", "score": "score", "prediction": "prediction", "probability": "chance",
        "cost": "price", "slices": ["country"], "payload": ["name"],
    }  # fmt: skip
    inner = {k: [f"r.{x}" for x in v] if isinstance(v, list) else f"r.{v}" for k, v in keys.items()}
    arrays = [wide[name].combine_chunks() for name in wide.column_names]
    r = pa.StructArray.from_arrays(arrays, wide.column_names)
    one = job(Pool(pa.table({"r": r}), flat.truth), pool=inner, budget={"cost": 150})
    two = job(Pool(wide, flat.truth), pool=keys, budget={"cost": 150})
    assert result_of(one) == result_of(two)
    head = (one.round_directory(1) / "batch.csv").read_text().splitlines()[0]
    assert head == "task,r.name,label"


def spec_of(path: Path, **keys: Any) -> EvaluationSpec:
    pool = {"path": str(path), "payload": [], **NAMES, **keys}
    return EvaluationSpec.from_mapping({"pool": pool, "budget": 10, "workspace": "w"}, path.parent)


def test_only_the_leaves_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(nested_pool(make_pool()).table, path)
    (item,) = Catalog.read(spec_of(path).reading).items
    columns = ["id", *NAMES.values()]
    (batch,) = read_batches(item, columns)
    assert batch.rows.schema.names == columns
    whole = Parquet().stored_bytes(item, ["id", "result"])
    assert Parquet().stored_bytes(item, columns) < whole / 2, "the long texts are left alone"


def test_a_column_of_that_name_wins_and_nulls_stay_nulls() -> None:
    result = pa.array([{"score": 1.0}, None, {"score": None}])
    rows = pa.record_batch({"result": result, "result.name": ["a", "b", "c"]})
    assert column_of(rows, "result.score").to_pylist() == [1.0, None, None]
    assert column_of(rows, "result.name").to_pylist() == ["a", "b", "c"]
    both = pa.record_batch({"result": result, "result.score": [5, 6, 7]})
    assert column_of(both, "result.score").to_pylist() == [5, 6, 7]
    assert column_of(rows, "result.score.x") is None
    assert nested_fields(pa.schema([("a", pa.struct([("b.c", pa.int8())]))])).names == ["a.b.c"]
    dotted = pa.record_batch({"a.b": pa.array([{"c": 1}]), "a": pa.array([{"b.d": 2}])})
    assert column_of(dotted, "a.b.c").to_pylist() == [1]
    assert column_of(dotted, "a.b.d").to_pylist() == [2]
    with pytest.raises(InputError, match=r"column 'result.score', row 1: null"):
        PoolBatch(rows).numbers("result.score")


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_column_of_that_name_wins_in_files(tmp_path: Path, suffix: str) -> None:
    table = nested_pool(make_pool(50)).table
    table = table.append_column("result.score", pa.array(np.arange(50) / 50))
    path = tmp_path / f"pool.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    (item,) = Catalog.read(spec_of(path).reading).items
    (batch,) = read_batches(item, ["id", *NAMES.values()])
    np.testing.assert_array_equal(batch.numbers("result.score"), np.arange(50) / 50)
    assert batch.any_column("result.said.label").to_pylist() == [
        row["result"]["said"]["label"] for row in table.to_pylist()
    ]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "avro"])
def test_a_field_that_is_missing_is_named_with_what_there_is(tmp_path: Path, suffix: str) -> None:
    table, path = nested_pool(make_pool(20)).table, tmp_path / f"pool.{suffix}"
    if suffix == "parquet":
        pq.write_table(table, path)
    elif suffix == "avro":
        write_avro(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    words = r"column 'result.scor' is missing; there are: result.score, result.said; pool.score"
    with pytest.raises(InputError, match=words):
        Catalog.read(spec_of(path, score="result.scor").reading)
    with pytest.raises(
        InputError, match=r"'res.score' is missing; there are: id, name, result; pool"
    ):
        Catalog.read(spec_of(path, score="res.score").reading)


def test_objects_beside_their_fields(tmp_path: Path) -> None:
    """An object is text where it is shown as a whole, and its fields have types of their own."""
    rows = [
        {"id": 1, "r": {"score": 1, "said": {"label": 1}, "tags": ["x"]}},
        {"id": 2, "r": {"score": 0.5, "said": {"label": 0}}},
        {"id": 3, "r": None},
        {"id": 4},
    ]
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = {"score": "r.score", "prediction": "r.said.label", "payload": ["r", "r.tags", "r.said"]}
    (item,) = Catalog.read(spec_of(path, **names).reading).items
    (batch,) = read_batches(item, ["id", "r.score", "r.said.label", *names["payload"]])
    columns = {name: batch.any_column(name).to_pylist() for name in batch.rows.schema.names}
    assert columns["r.score"] == [1.0, 0.5, None, None]
    assert columns["r.said.label"] == [1, 0, None, None]
    assert [None if text is None else json.loads(text) for text in columns["r"]] == [
        row.get("r") for row in rows
    ]
    assert columns["r.tags"] == ['["x"]', None, None, None]
    assert list(map(json.loads, columns["r.said"][:2])) == [{"label": 1}, {"label": 0}]


def test_a_wrong_value_names_its_field_and_row(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    rows = [{"id": i, "result": {"score": 0.5, "said": {"label": 1}}} for i in range(30)]
    rows[20]["result"] = {"score": "high", "said": {"label": 1}}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"column 'result.score', row 20: must be double.*'high'"):
        Catalog.read(spec_of(path).reading)
    rows[20]["result"] = 7
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"column 'result.score', row 20: must be double, got 7"):
        Catalog.read(spec_of(path).reading)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "mapping"])
def test_in_memory(kind: str) -> None:
    flat, table = make_pool(300).table, nested_pool(make_pool(300)).table
    frames: dict[str, Callable[[], Any]] = {
        "arrow": lambda: table,
        "pandas": lambda: pd.DataFrame(table.to_pylist()),
        "mapping": lambda: {name: table[name].to_pylist() for name in table.column_names},
    }
    one = Evaluation.from_frame(frames[kind](), **NAMES, seed=3)
    assert one.sample(20).tolist() == Evaluation.from_frame(flat, seed=3).sample(20).tolist()
    with pytest.raises(InputError, match=r"'result.scor' is missing; there are: result.score"):
        Evaluation.from_frame(frames[kind](), score="result.scor", prediction="result.said.label")


def test_rows_one_by_one() -> None:
    rows = [{"id": 1, "result": {"score": 0.5}}, {"id": 2, "result": None}]
    (batch,) = batches_of(rows, ["id", "result.score"], "rows")
    assert batch.any_column("result.score").to_pylist() == [0.5, None]
    with pytest.raises(InputError, match=r"column 'other.score' is missing in row 0"):
        list(batches_of(rows, ["other.score"], "rows"))


def test_a_scorer_may_add_fields(job: Callable[..., Job]) -> None:
    flat = make_pool(400)
    one = job(flat, pool={**NAMES, "scorer": "nesting_scorer:score"})
    (one.directory / "nesting_scorer.py").write_text(
        "import pyarrow as pa\n"
        "def score(batch):\n"
        "    said = pa.StructArray.from_arrays([batch['prediction']], ['label'])\n"
        "    result = pa.StructArray.from_arrays([batch['score'], said], ['score', 'said'])\n"
        "    return batch.append_column('result', result)\n"
    )
    assert result_of(one) == result_of(job(flat))
    assert call("status", "--verify", one.workspace).status == 0


def test_what_there_is() -> None:
    assert there_are("x", ["a", "b"], ["a.c"]) == "there are: a, b"
    assert there_are("a.x", ["a", "b"], ["a.c", "a.d.e"]) == "there are: a.c"
