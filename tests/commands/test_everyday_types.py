"""Types that everyday tools write, each in the formats that have it, with the right number by hand.

Twelve rows have scores in tenths. Six of them reach 0.7, and five of the seven positives are among
these six. Three rows are at 0.7 itself, which a number that was rounded on the way must not lose.
"""

import datetime
import decimal
import json
import uuid
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.labels.delivery import LabelFile, LabelPath
from evalsampling.labels.register import Register
from evalsampling.labels.vote import Vote
from evalsampling.labels.votes import check_votes
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation.plan import read_items, read_table, stratify_pool
from evalsampling.spec import EvaluationSpec
from tests.slow import fast, slowly

TENTHS = [0, 1, 2, 3, 5, 6, 7, 7, 7, 8, 9, 10]
POSITIVE = [0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1]
ROWS, REACH, ABOVE, RECALL = 12, 6, 3, 5 / 7
PLAIN = [tenth / 10 for tenth in TENTHS]
EXACT = [decimal.Decimal(tenth) / 10 for tenth in TENTHS]
SAYS = [int(tenth >= 7) for tenth in TENTHS]
IDS = list(range(ROWS))
UUIDS = [uuid.UUID(int=2**120 + 7919 * id) for id in IDS]
SPELT = [str(id) for id in UUIDS]

Columns = dict[str, Any]


def parquet(columns: Columns, path: Path) -> None:
    """Row groups of two rows, so that statistics may leave some out."""
    pq.write_table(pa.table(columns), path, row_group_size=2)


def csv(columns: Columns, path: Path) -> None:
    with pa.output_stream(path, compression="detect") as file:
        pa.csv.write_csv(pa.table(columns), file)


def jsonl(columns: Columns, path: Path) -> None:
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def avro(columns: Columns, path: Path) -> None:
    exact = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 9}
    kind = exact if isinstance(columns["score"][0], decimal.Decimal) else "float"
    fields = [{"name": "id", "type": "long"}, {"name": "score", "type": kind}]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
    rows = [{"id": id, "score": s} for id, s in zip(columns["id"], columns["score"], strict=True)]
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows)


WRITERS = {"parquet": parquet, "csv": csv, "jsonl": jsonl, "json": jsonl, "avro": avro}


def write(path: Path, **columns: Any) -> None:
    """Write a file of the format that its name says."""
    next(WRITERS[part] for part in path.name.split(".") if part in WRITERS)(columns, path)


def spec_of(folder: Path, path: str, **pool: Any) -> EvaluationSpec:
    """A spec of files in a folder, whose threshold is 0.7 unless it names predictions."""
    pool = {"prediction": {"threshold": 0.7}, **pool, "path": path}
    content = {"pool": pool, "measure": ["recall"], "budget": ROWS}
    return EvaluationSpec.from_mapping(content, folder)


def predicted(spec: EvaluationSpec) -> tuple[int, int]:
    """Return the rows of a pool, and how many of them are predicted positive."""
    stratification = stratify_pool(spec.reading)
    table = read_table(stratification)
    return table.rows, round(stratification.score_summary(table).predicted)


def floats(kind: str) -> pa.Array:
    return pa.array(np.array(PLAIN, dtype=kind))


def decimals(kind: pa.DataType) -> pa.Array:
    return pa.array(EXACT, kind)


FILES: dict[str, tuple[str, Any, Any]] = {
    "Parquet, float16": ("a.parquet", IDS, floats("f2")),
    "Parquet, float32": ("a.parquet", IDS, floats("f4")),
    "Parquet, float64": ("a.parquet", IDS, floats("f8")),
    "Parquet, decimal128 of BigQuery": ("a.parquet", IDS, decimals(pa.decimal128(38, 9))),
    "Parquet, decimal256 of BigQuery": ("a.parquet", IDS, decimals(pa.decimal256(76, 38))),
    "Parquet, text": ("a.parquet", IDS, list(map(str, PLAIN))),
    "Parquet, UUIDs": ("a.parquet", pa.array(UUIDS), PLAIN),
    "Parquet, dictionary": ("a.parquet", pa.array(SPELT).dictionary_encode(), PLAIN),
    "Parquet, text view": ("a.parquet", pa.array(SPELT).cast(pa.string_view()), PLAIN),
    "Parquet, bytes": ("a.parquet", [text.encode() for text in SPELT], PLAIN),
    "Parquet, whole floats": ("a.parquet", np.arange(ROWS) * 1.0, floats("f4")),
    "Parquet, whole decimals": (
        "a.parquet", pa.array(map(decimal.Decimal, IDS), pa.decimal128(38, 9)), PLAIN
    ),
    "CSV": ("a.csv", IDS, PLAIN),
    "CSV, float32 as printed": ("a.csv", IDS, floats("f4")),
    "CSV, compressed": ("a.csv.gz", IDS, PLAIN),
    "JSON Lines": ("a.jsonl", IDS, PLAIN),
    "JSON Lines, text": ("a.jsonl", list(map(str, IDS)), list(map(str, PLAIN))),
    "JSON Lines, whole floats": ("a.jsonl", [float(id) for id in IDS], PLAIN),
    "JSON Lines of Spark": ("part-0.json", IDS, PLAIN),
    "Avro, float": ("a.avro", IDS, PLAIN),
    "Avro, decimal": ("a.avro", IDS, EXACT),
}  # fmt: skip
"""Files with their ids and their scores."""

KEPT = {
    "score >= 0.7": REACH, "score > 0.7": ABOVE, "NOT score < 0.7": REACH,
    "score IN (0.7, 0.9)": 4, "score BETWEEN 0.1 AND 0.3": 3, "score != 0.7": ROWS - 3,
}  # fmt: skip
"""Rows that satisfy conditions."""


OF_EACH_KIND = (
    "Parquet, float32", "Parquet, decimal128 of BigQuery", "Parquet, text", "Parquet, UUIDs",
    "Parquet, dictionary", "CSV, float32 as printed", "CSV, compressed", "JSON Lines, text",
    "Avro, decimal",
)  # fmt: skip


@pytest.mark.parametrize("name", fast(len(OF_EACH_KIND), {**dict.fromkeys(OF_EACH_KIND), **FILES}))
def test_rows_at_a_threshold_reach_it_and_satisfy_conditions(tmp_path: Path, name: str) -> None:
    path, ids, scores = FILES[name]
    write(tmp_path / path, id=ids, score=scores)
    assert predicted(spec_of(tmp_path, path)) == (ROWS, REACH)
    for where, kept in KEPT.items():
        items = Catalog.read(spec_of(tmp_path, path, where=where).reading).items
        batches = read_items(items, ["id", "score"])
        assert sum(len(batch.ids("id")) for batch in batches) == kept, where


PREDICTIONS: dict[str, tuple[str, Any]] = {
    "whole floats": ("a.parquet", [float(says) for says in SAYS]),
    "truth values": ("a.parquet", [bool(says) for says in SAYS]),
    "decimals": ("a.parquet", pa.array(map(decimal.Decimal, SAYS), pa.decimal128(38, 9))),
    "text": ("a.parquet", list(map(str, SAYS))),
    "categories": ("a.parquet", pa.array(list(map(str, SAYS))).dictionary_encode()),
    "text in JSON": ("a.jsonl", list(map(str, SAYS))),
    "whole floats in JSON": ("a.jsonl", [float(says) for says in SAYS]),
    "whole floats in CSV": ("a.csv", [str(float(says)) for says in SAYS]),
    "Excel's words in CSV": ("a.csv", [str(bool(says)).upper() for says in SAYS]),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_of_any_type(tmp_path: Path, name: str) -> None:
    path, values = PREDICTIONS[name]
    write(tmp_path / path, id=IDS, score=PLAIN, says=values)
    assert predicted(spec_of(tmp_path, path, prediction="says")) == (ROWS, REACH)


@pytest.mark.parametrize("ending", ["snappy.parquet", "csv", "json", "csv.gz"])
@pytest.mark.parametrize("path", ["out", *slowly("out/", "out/*", "out/**")])
def test_a_folder_of_spark(tmp_path: Path, ending: str, path: str) -> None:
    (tmp_path / "out").mkdir()
    for name in ("_SUCCESS", "._SUCCESS.crc", *(["part-2.csv"] if ending == "csv" else [])):
        (tmp_path / "out" / name).touch()
    for number, part in enumerate((slice(0, 6), slice(6, 12))):
        file = tmp_path / "out" / f"part-0000{number}-c000.{ending}"
        write(file, id=IDS[part], score=PLAIN[part])
    assert predicted(spec_of(tmp_path, path)) == (ROWS, REACH)


def labelled(frame: Any, **spec: Any) -> Evaluation:
    """An evaluation of a frame, whose threshold is 0.7, once all its rows have labels."""
    given = {"prediction": {"threshold": 0.7}, "measure": ["recall"], "seed": 1, **spec}
    evaluation = Evaluation.from_frame(frame, **given)
    ids = evaluation.sample(ROWS)
    names = SPELT if isinstance(ids[0], str) else IDS
    evaluation.label(ids, [POSITIVE[names.index(id)] for id in ids])
    return evaluation


NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("values", "slices"),
    [
        (pa.array([NOON] * ROWS, pa.timestamp("us", "UTC")), {"2024-05-01 12:00:00+00:00"}),
        (pa.array([NOON.date()] * ROWS), {"2024-05-01"}),
        (pa.array([UUIDS[0]] * ROWS), {SPELT[0]}),
        (pa.array([decimal.Decimal(3)] * ROWS, pa.decimal128(38, 9)), {"3"}),
        (pa.array([b"a", b"b"] * 6), {"a", "b"}),
        (pa.array([True, False] * 6), {"true", "false"}),
        (pa.nulls(ROWS), {"null"}),
    ],
)
def test_slices_of_any_type(values: pa.Array, slices: set[str]) -> None:
    frame = pa.table({"id": IDS, "score": PLAIN, "part": values})
    evaluation = labelled(frame, slices=["part"])
    named = {estimate.target.slice for estimate in evaluation.estimate()}
    assert {slice.partition("=")[2] for slice in map(str, named) if "=" in slice} == slices


def test_curves_take_float32_as_it_is() -> None:
    """At a listed threshold, and at one that follows from the range of the scores."""
    frame = {"id": IDS, "score": np.array(PLAIN, "f4"), "says": SAYS}
    for thresholds in ([0.7], 11):
        curve = {"name": "pr_curve", "thresholds": thresholds}
        evaluation = labelled(frame, prediction="says", measure=curve)
        found = {
            round(estimate.target.threshold, 6): estimate.value
            for estimate in evaluation.estimate()
            if estimate.target.threshold is not None and "recall" in str(estimate.target)
        }
        assert found[0.7] == pytest.approx(RECALL)


LOG_ODDS = [-np.inf, -4, -3, -2.5, -2, -1, 1, 1, 1.5, 2, 3, np.inf]


@pytest.mark.parametrize("kind", ["f4", *slowly("f8")])
@pytest.mark.parametrize("method", ["csf", "equal_width", "equal_count", "divisive"])
def test_infinite_scores_are_the_lowest_and_the_highest(kind: str, method: str) -> None:
    frame = {"id": IDS, "score": np.array(LOG_ODDS, kind)}
    evaluation = labelled(frame, prediction={"threshold": 1}, strata={"method": method})
    assert evaluation.estimate()[0].value == pytest.approx(RECALL)
    assert evaluation.scores.words.endswith(
        "score: 1 row with -inf, taken as the lowest score of all. "
        "score: 1 row with inf, taken as the highest score of all"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("NaN", "column 'score', row 0: must be a number, got nan; such rows are left out by "
         "pool.where: score > -1e+300"),
        ("null", "column 'score', row 0: null; such rows are left out by pool.where: score IS NOT "
         "NULL"),
        ("true", "column 'score', row 0: must be a number, got type bool; truth values are "
         "predictions"),
    ],
)  # fmt: skip
def test_what_is_no_score_is_refused_with_the_way_out(
    tmp_path: Path, values: str, said: str
) -> None:
    first: Any = {"NaN": np.nan, "null": None, "true": True}[values]
    rest = [True] * (ROWS - 1) if first is True else PLAIN[1:]
    parquet(
        {"id": IDS, "score": pa.array([first, *rest], from_pandas=False)}, tmp_path / "a.parquet"
    )
    with pytest.raises(InputError) as caught:
        predicted(spec_of(tmp_path, "a.parquet"))
    assert str(caught.value) == f"{tmp_path}/a.parquet: {said}"
    where = said.partition("pool.where: ")[2]
    if where:
        assert predicted(spec_of(tmp_path, "a.parquet", where=where)) == (ROWS - 1, REACH)


def test_bytes_that_are_no_text_are_no_ids() -> None:
    with pytest.raises(InputError, match=r"'id', row 0: ids must .*binary; write them as text"):
        Evaluation.from_frame({"id": [b"\xff", b"\xfe"], "score": [0.1, 0.2], "prediction": [0, 1]})


@pytest.mark.parametrize("threshold", [np.float32(0.7), decimal.Decimal("0.7"), np.float64(0.7)])
def test_thresholds_of_any_type(threshold: Any) -> None:
    frame = {"id": IDS, "score": np.array(PLAIN, "f4")}
    evaluation = Evaluation.from_frame(frame, prediction={"threshold": threshold})
    assert evaluation.scores.predicted == pytest.approx(REACH)


@pytest.mark.parametrize(
    ("ids", "delivered", "meant"),
    [
        ([1, 12, -3], "12.0", "12"),
        (["1.0", "12.0"], "12", "12.0"),
        (SPELT, SPELT[3].upper(), SPELT[3]),
        (["1", "a"], "1.0", "1.0"),  # Text, of which 1.0 may be another row.
        (["01", "2"], "1.0", "1.0"),
        ([1, 2], "2.5", "2.5"),
    ],
)
def test_ids_of_deliveries_are_spelt_as_their_column(
    ids: list[Any], delivered: str, meant: str
) -> None:
    spec = EvaluationSpec.from_mapping({"pool": {"path": "x"}, "budget": 5}, Path())
    register = Register.of_questions([f"t{id}" for id in ids], ids, spec.labelling)
    assert register.unescaped(delivered) == meant
    votes = [Vote(1, id=delivered, label="1")]
    taken, rejects = check_votes(votes, register)
    assert len(taken) == (meant in map(str, ids))
    assert len(rejects) == 1 - len(taken)


def test_uuids_in_a_delivery_of_parquet(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"id": pa.array(UUIDS), "label": POSITIVE}), tmp_path / "labels.parquet"
    )
    votes = LabelFile.read(LabelPath(str(tmp_path / "labels.parquet"))).votes
    assert [vote.id for vote in votes] == SPELT
