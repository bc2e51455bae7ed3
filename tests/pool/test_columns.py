"""Columns of a pool: what they may hold, and what is made of them."""

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

from evalsampling.errors import InputError
from evalsampling.label_spaces.sets import Sets, probabilities_of_sets
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import LabelColumns, read_outputs, read_predictions, read_slices
from evalsampling.pool.layout import Layout
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation.plan import pool_rows
from evalsampling.spec import EvaluationSpec, SystemSpec
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.averages import MACRO_F1
from tests.bad_pools import assert_clean_failure
from tests.jobs import Pool, make_pool, make_rich_pool
from tests.reference import assert_same, reference


@pytest.mark.parametrize("probability", ["column", "by class", "logits", "score"])
def test_probabilities(job: Any, probability: str) -> None:
    pool = make_pool()
    score = pool.table["score"].to_numpy()
    p = 1 / (1 + np.exp(-score))
    table = pool.table.append_column("p", pa.array(p)).append_column("n", pa.array(1 - p))
    if probability == "logits":  # Of two classes the odds are exp of the difference of logits.
        at_will = np.random.default_rng(3).normal(0, 900, len(p))
        table = table.append_column("of n", pa.array(at_will))
        table = table.append_column("of p", pa.array(at_will + score))
    if probability == "score":
        table = table.set_column(1, "score", pa.array(p))
    given = {"column": {"probability": "p"}, "by class": {"probability": {0: "n", 1: "p"}},
             "logits": {"logits": {1: "of p", 0: "of n"}}}  # fmt: skip
    one = job(Pool(table, pool.truth), files=3, pool=given.get(probability, {}), budget=30)
    assert one.prepare().status == 0
    assert_same(one.workspace, reference(one), budget=30)
    kept = PreparedPool.read(Workspace(one.workspace)).table
    assert kept.prior[:, 1] @ kept.count == pytest.approx(p.sum(), rel=1e-6)
    rules = {"score": "score", "logits": "softmax(logits)"}
    prior = PreparedPool.read(Workspace(one.workspace)).stratification.scores.prior
    assert prior == rules.get(probability, "column")


def test_probability_outside_the_unit_interval(job: Any) -> None:
    pool = make_pool()
    p = np.full(2000, 0.5)
    p[1999] = 1.5
    table = pool.table.append_column("p", pa.array(p))
    one = job(Pool(table, pool.truth), files=2, pool={"probability": "p"})
    assert_clean_failure(one, ["part-1.parquet", "'p'", "row 999", "1.5"])


@pytest.mark.parametrize("wrong", [None, float("inf")])
def test_logit_that_is_no_number(job: Any, wrong: float | None) -> None:
    pool = make_pool()
    logits = [0.5] * 1999 + [wrong]
    table = pool.table.append_column("l", pa.array(logits))
    one = job(Pool(table, pool.truth), files=2, pool={"logits": {0: "score", 1: "l"}})
    assert_clean_failure(one, ["part-1.parquet", "'l'", "row 999"])


SYSTEMS = {
    "old": {"score": "s0.score", "prediction": "s0.prediction"},
    "new": {"score": "s1.chance", "prediction": "s1.prediction", "probability": "s1.p1"},
}


RICH: dict[str, tuple[str, Any, dict[str, Any], list[str]]] = {
    "null score of a system": ("s0.score", None, {}, ["part-1.parquet", "'s0.score'", "row 249"]),
    "nan score of a system": (
        "s1.chance", float("nan"), {}, ["part-1.parquet", "'s1.chance'", "row 249", "nan"]
    ),
    "prediction of a system": (
        "s1.prediction", 7, {}, ["part-1.parquet", "'s1.prediction'", "row 249", "7 is none of"]
    ),
    "probability of a system": (
        "s1.p1", 1.25, {}, ["part-1.parquet", "'s1.p1'", "row 249", "[0, 1]", "1.25"]
    ),
    "null feature": (
        "x", None, {"strata": {"method": "kd", "leaves": 4}}, ["part-1.parquet", "'x'", "row 249"]
    ),
    "infinite feature": (
        "x", float("inf"), {"strata": {"method": "kd"}}, ["part-1.parquet", "'x'", "inf"]
    ),
    "score that is not positive": (
        "s0.score", -3.0, {"strata": {"method": "geometric"}},
        ["strata.method: geometric", "positive scores", "the least is -"],
    ),
}  # fmt: skip


def rich_with(column: str, value: Any) -> Pool:
    """A pool of every kind of column, with the last value of one replaced."""
    pool = make_rich_pool(rows=500)
    field = pool.table.schema.field(column)
    values = pool.table[column].to_pylist()
    values[-1] = value
    place = pool.table.schema.get_field_index(column)
    changed = pool.table.set_column(place, column, pa.array(values, field.type))
    return Pool(changed, pool.truth)


@pytest.mark.parametrize("name", RICH)
def test_bad_columns_of_systems_and_features(job: Any, name: str) -> None:
    column, value, keys, words = RICH[name]
    pool = {"systems": SYSTEMS, "features": ["x", "y"]}
    assert_clean_failure(job(rich_with(column, value), files=2, pool=pool, **keys), words)


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({"slices": ["ctiy"]}, ["part-0.parquet", "'ctiy'", "missing", "city"]),
        ({"slices": ["x"]}, ["part-", "'x'", "whole numbers, booleans, dates or text", "double"]),
        ({"features": ["z"]}, ["part-0.parquet", "'z'", "missing"]),
        ({"features": ["name"]}, ["'name'", "must be a number, got '"]),
        ({"systems": {"a": {"score": "s9.score", "prediction": "s0.prediction"}}},
         ["part-0.parquet", "'s9.score'", "missing"]),
        ({"systems": {"a": {"score": "s0.score", "prediction": "name"}}},
         ["'name'", "string", "holds none of the classes"]),
    ],
)  # fmt: skip
def test_wrong_columns(job: Any, pool: dict[str, Any], words: list[str]) -> None:
    strata = {"method": "kd"} if "features" in pool else {}
    given = {"systems": SYSTEMS, **pool}
    one = job(make_rich_pool(rows=500), files=2, pool=given, strata=strata)
    assert_clean_failure(one, words)


@pytest.mark.parametrize(
    ("classes", "spelled", "codes"),
    [
        (["other", "match"], ["Match", "other ", "MATCH", "match"], [1, 0, 1, 1]),
        ([0, 1], ["1", " true", "0.0", "Yes"], [1, 1, 0, 1]),
        (["no", "yes"], ["Y", "false", " YES", "no"], [1, 0, 1, 0]),
        (["A", "a"], ["a", "A", "A", "a"], [1, 0, 0, 1]),
    ],
)
def test_a_class_in_another_spelling(
    classes: list[Any], spelled: list[str], codes: list[int]
) -> None:
    """As of labels, case and blanks around a word do not matter, unless classes differ in these."""
    labels = {"classes": classes}
    pool = {"path": "x", "prediction": "prediction"}
    plan = EvaluationSpec.from_mapping({"pool": pool, "labels": labels}, Path()).reading
    batch = PoolBatch(pa.record_batch({"prediction": spelled}), "a.csv", 0)
    assert read_predictions(batch, plan)[:, 0].tolist() == codes


@pytest.mark.parametrize(
    ("read", "values", "message"),
    [
        ("prediction", pa.array([0, 1, 2**64 - 1], pa.uint64()),
         "column 'prediction', row 12: 18446744073709551615 is none of [0, 1]"),
        ("prediction", pa.array([0.0, 1.0, 0.5]), "row 12: 0.5 is none of [0, 1]"),
        ("prediction", pa.array([0.0, float("nan"), 0.5]), "row 11: nan is none of [0, 1]"),
        ("prediction", pa.array([0.0, 1e19, 0.5]), "row 11: 1e+19 is none of [0, 1]"),
        ("prediction", pa.array(["a", "b", "c"]), "row 10: type string holds none of"),
        ("slice", pa.array([None, 1.0, 2.5]), "row 12: slices are whole numbers, booleans, "
         "dates or text, got double: 2.5"),
    ],
)  # fmt: skip
def test_the_row_of_the_first_wrong_value_is_told(read: str, values: Any, message: str) -> None:
    batch = PoolBatch(pa.record_batch({"prediction": values, "slice": values}), "a.csv", 10)
    columns = {"path": "x", "prediction": "prediction", "slices": ["slice"]}
    plan = EvaluationSpec.from_mapping({"pool": columns}, Path()).reading
    reading = {"prediction": (read_predictions, plan), "slice": (read_slices, plan.pool)}
    with pytest.raises(InputError) as caught:
        reading[read][0](batch, reading[read][1])
    assert str(caught.value).startswith("a.csv: column ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "classes", "found"),
    [
        (["1", "0.0", "true"], [0, 1], [1, 0, 1]),
        (["2.0", "True", "1"], [1, 2], [1, 0, 0]),
        (["-1.0", "7.00", "-1"], [7, -1], [1, 0, 1]),
        (["1.0", "1", "1.0"], ["1", "1.0"], [1, 0, 1]),
        (["1", "0.5", "x"], [0, 1], "row 11: '0.5' is none of [0, 1]"),
        (["1", "0", "2.0"], [0, 1], "row 12: '2.0' is none of [0, 1]"),
        (["1", "false", "0"], [1, 2], "row 11: 'false' is none of [1, 2]"),
        (["1.0", "0", "1"], ["0", "1"], [1, 0, 1]),  # whichever of them a batch has
        (["1.0", "0", "0.5"], ["0", "1"], "row 10: '1.0' is none of ['0', '1']"),
        (["1.", "0", "1"], [0, 1], "row 10: '1.' is none of [0, 1]"),
    ],
)
def test_texts_of_files_without_types(texts: list[str], classes: Any, found: Any) -> None:
    rows = pa.record_batch({"prediction": texts})
    item = WorkItem("a.csv", None, 3, rows.schema, True, 0, "a.csv", 0, Layout())
    batch = PoolBatch(rows, "a.csv", 10, item)
    spec = EvaluationSpec.from_mapping(
        {"pool": {"path": "x", "prediction": "prediction"}, "labels": {"classes": classes}}, Path()
    )
    if isinstance(found, list):
        assert read_predictions(batch, spec.reading)[:, 0].tolist() == found
        return
    with pytest.raises(InputError) as caught:
        read_predictions(batch, spec.reading)
    assert str(caught.value) == f"a.csv: column 'prediction', {found}"


def test_column_that_is_there_twice(job: Any) -> None:
    one = job()
    path = one.directory / "pool" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("score", table["score"]), path)
    assert_clean_failure(one, ["part-0.parquet", "'score' is there twice"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("score", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("positive", [0, 1])
def test_outputs_are_wide_however_narrow_columns_are(
    kind: pa.DataType, score: pa.DataType, positive: int
) -> None:
    """Class codes as int64, scores and probabilities as the float64 values of what is stored."""
    scores = pa.array([0.1, 0.0, 1.0, 1e-30], score)
    batch = pa.record_batch(
        {"id": [1, 2, 3, 4], "score": scores, "prediction": pa.array([0, 1, 1, 0], kind)}
    )
    content = {
        "pool": {"path": "pool.parquet"},
        "measure": "f1",
        "labels": {"positive": positive},
        "budget": 10,
    }
    spec = EvaluationSpec.from_mapping(content, Path())
    outputs = read_outputs(PoolBatch(batch), spec.reading, ("score",))
    assert outputs.prediction.dtype == np.int64
    codes = [0, 1, 1, 0] if positive else [1, 0, 0, 1]
    assert outputs.prediction.ravel().tolist() == codes
    assert outputs.score.ravel().tolist() == scores.to_pylist()
    assert outputs.probability[:, 0, 1].tolist() == scores.to_pylist()
    assert outputs.probability[:, 0, 0].tolist() == [1 - p for p in scores.to_pylist()]
    assert read_predictions(PoolBatch(batch), spec.reading).ravel().tolist() == codes


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
    item = WorkItem("pool.csv", None, 4, table.schema, True, 0, "pool.csv", 0, Layout())
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
    codes = [
        read_predictions(rows, spec.reading)[:, 0] for rows in pool_rows(spec.reading).batches()
    ]
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
