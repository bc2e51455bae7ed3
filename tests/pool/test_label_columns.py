"""Sets of labels in the columns of a pool."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.sets import Sets, probabilities_of_sets
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_predictions
from evalsampling.pool.label_columns import LabelColumns
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.local import pool_rows
from evalsampling.spec import EvaluationSpec, SystemSpec
from tests.averages import MACRO_F1

KNOWN = ("toxic", "insult", "threat")
LISTS = [["toxic"], [], ["threat", "toxic"], ["insult", "insult"]]
CODES = [1, 0, 5, 2]


def batch(**columns: Any) -> PoolBatch:
    return PoolBatch(pa.record_batch(columns), "pool.parquet", first_row=100)


def sets_of(rows: PoolBatch, name: str | None, by_label: dict[str, str] | None = None) -> Any:
    system = SystemSpec(None, None, name, None, None, by_label or {})
    return Sets(KNOWN).predictions(LabelColumns.of(rows), system, None)


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string())])
def test_lists(kind: pa.DataType) -> None:
    rows = batch(tags=pa.array([["insult"], *LISTS], kind).slice(1))
    assert sets_of(rows, "tags").tolist() == CODES


def test_texts() -> None:
    rows = batch(tags=["toxic", "none", '["threat", "toxic"]', "insult"])
    assert sets_of(rows, "tags").tolist() == CODES
    rows = batch(tags=["toxic", "[]", "threat+toxic", "insult"])
    assert sets_of(rows, "tags").tolist() == CODES


@pytest.mark.parametrize("kind", [pa.int8(), pa.bool_(), pa.float64()])
def test_a_column_for_each_label(kind: pa.DataType) -> None:
    flags = [[code >> place & 1 for code in CODES] for place in range(3)]
    names = dict(zip(KNOWN, "abc", strict=True))
    rows = batch(**{
        name: pa.array(column).cast(kind) for name, column in zip("abc", flags, strict=True)
    })  # fmt: skip
    assert sets_of(rows, None, names).tolist() == CODES


def test_a_column_of_text_for_each_label() -> None:
    """As pandas writes truth values and floats to CSV."""
    texts = {
        "a": ["True", "False", "True", "False"],
        "b": ["0.0", "0", "0.0", "1.0"],
        "c": ["false", "false", "true", "false"],
    }
    table = pa.record_batch(texts)
    item = WorkItem("pool.csv", 0, 1, 4, table.schema, True, 0, "pool.csv", 0)
    rows, names = PoolBatch(table, "pool.csv", 0, item), dict(zip(KNOWN, "abc", strict=True))
    assert sets_of(rows, None, names).tolist() == CODES
    bad = dataclasses.replace(rows, rows=pa.record_batch({**texts, "b": ["0", "1.5", "0", "1"]}))
    with pytest.raises(InputError, match="column 'b', row 1: a label is there or not, 1 or 0, got"):
        sets_of(bad, None, names)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "avro"])
@pytest.mark.parametrize("by_label", [False, True])
def test_sets_come_through_every_format(tmp_path: Path, suffix: str, by_label: bool) -> None:
    """CSV has no lists, but their text; JSON Lines and Avro are read as the text of one."""
    chance = [0.1, 0.2, 0.3, 0.4]
    columns: dict[str, Any] = {"id": [5, 6, 7, 8], "score": chance}
    columns |= {f"p_{name}": chance for name in KNOWN}
    named: Any = "tags"
    if by_label:
        named = {name: f"is_{name}" for name in KNOWN}
        columns |= {f"is_{n}": [code >> i & 1 for code in CODES] for i, n in enumerate(KNOWN)}
    else:
        texts = ["toxic", "none", "threat+toxic", "insult"]
        columns["tags"] = texts if suffix == "csv" else LISTS
    path = tmp_path / f"pool.{suffix}"
    if suffix == "avro":
        kind: Any = "long" if by_label else {"type": "array", "items": "string"}
        kinds = {"id": "long"} | {name: "double" for name in columns if columns[name] is chance}
        fields = [{"name": name, "type": kinds.get(name, kind)} for name in columns]
        schema = {"type": "record", "name": "Row", "fields": fields}
        with path.open("wb") as file:
            fastavro.writer(file, schema, pa.table(columns).to_pylist())
    else:
        writers = {"parquet": pq.write_table, "csv": pyarrow.csv.write_csv, "jsonl": _write_lines}
        writers[suffix](pa.table(columns), path)
    content = {
        "pool": {
            "path": str(path),
            "prediction": named,
            "probability": {name: f"p_{name}" for name in KNOWN},
        },
        "labels": {"multilabel": list(KNOWN)},
        "measure": MACRO_F1,
        "budget": 2,
    }
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    codes = [read_predictions(rows, spec)[:, 0] for rows in pool_rows(spec).batches()]
    assert np.concatenate(codes).tolist() == CODES


def _write_lines(table: pa.Table, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def test_lists_that_are_all_empty() -> None:
    rows = batch(tags=pa.array([[], []], pa.list_(pa.null())))
    assert sets_of(rows, "tags").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([["toxic"], ["nice"]], "column 'tags', row 101: 'nice' is none of"),
        ([["toxic"], None], "column 'tags', row 101: null"),
        ([["toxic"], [None]], "row 101: None is none of"),
        ([[1], [2]], "row 100: labels are text, got type int64"),
        ([1, 2], "must be a list of labels, got type int64"),
        (["toxic", "toxic+nice"], "row 101: 'toxic\\+nice' is no set of"),
        (["toxic", "[1]"], r"row 101: '\[1\]' is no set of"),
        (["toxic", "[" * 9999], "row 101: .* is no set of"),
    ],
)
def test_bad_value_is_told_with_its_row(column: list[Any], words: str) -> None:
    with pytest.raises(InputError, match=f"pool.parquet: .*{words}"):
        sets_of(batch(tags=column), "tags")


def test_flag_that_is_none() -> None:
    rows = batch(a=[0, 1], b=[0, 2], c=[0, 0])
    with pytest.raises(InputError, match=r"column 'b', row 101: a label is there or not, .* got 2"):
        sets_of(rows, None, dict(zip(KNOWN, "abc", strict=True)))


def test_probability_of_a_set_is_the_product() -> None:
    single = np.random.default_rng(1).random((5, 3))
    found = probabilities_of_sets(single)
    for row, p in enumerate(single):
        for held in itertools.product((0, 1), repeat=3):
            code = sum(bit << place for place, bit in enumerate(held))
            wanted = np.prod([q if bit else 1 - q for q, bit in zip(p, held, strict=True)])
            assert found[row, code] == pytest.approx(wanted)
