"""What there is to read: files that go together, or one clear error."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import InputError
from evalsampling.evaluation import load_spec
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats import parquet
from evalsampling.pool.formats.csv import Csv
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec
from tests.jobs import Job, call, files_below, make_pool


def read(directory: Path, name: str = "*", **pool: Any) -> Catalog:
    content = {"pool": {"path": str(directory / name), **pool}, "budget": 10}
    return Catalog.read(EvaluationSpec.from_mapping(content, directory).reading)


def test_items_cover_every_row_once(tmp_path: Path) -> None:
    make_pool(1000).write(tmp_path, files=3, group_rows=70)
    catalog = read(tmp_path)
    assert catalog.rows == 1000
    ends: dict[str, int] = {}
    for item in catalog.items:
        assert item.first_row == ends.get(item.origin, 0)
        assert item.path == item.origin == catalog.files[item.file].stored.path
        ends[item.origin] = item.first_row + item.rows
    assert sum(ends.values()) == 1000
    assert catalog.schema.names == ["id", "score", "prediction"]


def test_fingerprint_has_path_size_and_hash(tmp_path: Path) -> None:
    make_pool(100).write(tmp_path, files=2)
    expected = [
        # Files are small: of each, four times all of it.
        {"path": str(path), "size": path.stat().st_size, "blocks": digest(4 * path.read_bytes())}
        for path in sorted(tmp_path.iterdir())
    ]
    assert read(tmp_path).fingerprint == expected


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_giant_row_group_is_warned_of(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GIANT_ROWS", 999)
    one = job(files=2)
    prepared = one.prepare().json
    assert len(prepared["warnings"]) == 2
    for words in ("part-0.parquet", "row group of 1,000 rows", "one worker"):
        assert words in prepared["warnings"][0]
    assert one.prepare().json["warnings"] == prepared["warnings"]
    assert job(files=4).prepare().json["warnings"] == []


def test_formats_are_not_mixed(tmp_path: Path) -> None:
    make_pool(10).write(tmp_path)
    (tmp_path / "z.csv").write_text("id,score,prediction,name\n1,0.5,1,x\n")
    with pytest.raises(InputError, match=r"z\.csv: another format than .*part-0\.parquet"):
        read(tmp_path)


@pytest.mark.parametrize("kinds", ["u8 i8", "u8 u4", "u4 i4", "u1 f8"])
def test_ids_of_any_width_have_one_type(tmp_path: Path, kinds: str) -> None:
    for kind in kinds.split():
        columns = {"id": np.arange(3, dtype=kind), "score": [0.5] * 3, "prediction": [1] * 3}
        pq.write_table(pa.table(columns), tmp_path / f"{kind}.parquet")
    batches = [batch for item in read(tmp_path).items for batch in read_batches(item, ["id"])]
    assert pa.chunked_array([batch.ids("id") for batch in batches]).to_pylist() == [0, 1, 2] * 2


def test_files_of_other_types_do_not_go_together(tmp_path: Path) -> None:
    table = make_pool(10).table
    pq.write_table(table, tmp_path / "a.parquet")
    text = table.set_column(0, "id", table["id"].cast(pa.string()))
    pq.write_table(text, tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: column 'id' has type string, but int64 in"):
        read(tmp_path)


JSON_LINES = '{{"id": {id}, "score": {score}, "prediction": 0, "note": {note}}}\n'


@pytest.mark.parametrize(
    ("lines", "types"),
    [
        ([(1, "0", "null"), (2, "0.5", '"a"')], ["int64", "double", "int64", "string"]),
        ([(1, "0", "null"), (2, "1", "null")], ["int64", "double", "int64", "string"]),
        ([(1, "0.5", "3"), (2, "1", "3.5")], ["int64", "double", "int64", "double"]),
        ([('"x"', "0.5", "true"), ('"y"', "1", "null")], ["string", "double", "int64", "bool"]),
    ],
)
def test_inferred_types_hold_for_all_files(
    tmp_path: Path, lines: list[tuple[Any, str, str]], types: list[str]
) -> None:
    """Scores that happen to be whole, columns that happen to be null, in one file of two."""
    for number, (id, score, note) in enumerate(lines):
        line = JSON_LINES.format(id=id, score=score, note=note)
        (tmp_path / f"{number}.jsonl").write_text(line)
    catalog = read(tmp_path, payload=["note"])
    assert [str(kind) for kind in catalog.schema.types] == types


def test_fields_that_a_file_does_not_have_are_null(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text('{"id": 1, "score": 1, "prediction": 0}\n')
    (tmp_path / "1.jsonl").write_text(JSON_LINES.format(id=2, score=0.5, note='"x"'))
    catalog = read(tmp_path, payload=["note"])
    assert catalog.schema.field("note").type == pa.string()
    batches = [batch for item in catalog.items for batch in read_batches(item, ["note"])]
    assert [batch.any_column("note").to_pylist() for batch in batches] == [[None], ["x"]]
    with pytest.raises(InputError, match=r"0\.jsonl: column 'text' is missing"):
        read(tmp_path, payload=["text"])


def test_inferred_types_may_still_contradict(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text(JSON_LINES.format(id=1, score=1, note=1))
    (tmp_path / "1.jsonl").write_text(JSON_LINES.format(id='"x"', score=1, note=1))
    with pytest.raises(InputError, match=r"1\.jsonl: column 'id' has type string, but int64"):
        read(tmp_path)


TEXT = "id,score,prediction,name,other\n1,0.5,1,a,x\n2,0.25,0,b,y\n"


def catalog(path: Path, **pool: Any) -> Catalog:
    content = {"pool": {"path": str(path), **pool}, "budget": 10}
    spec = EvaluationSpec.from_mapping(content, path.parent)
    return Catalog.read(spec.reading, str(path.parent / "stored"))


def copies(folder: Path) -> list[Path]:
    return sorted((folder / "stored").glob("*.parquet"))


def test_the_columns_of_the_spec_are_imported_once(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(TEXT)
    first = catalog(path, payload=["name"])
    (copy,) = copies(tmp_path)
    assert pq.read_table(copy).column_names == ["id", "score", "prediction", "name"]
    (item,) = first.items
    assert (item.path, item.origin, item.rows, item.untyped) == (str(copy), str(path), 2, True)
    assert first.fingerprint[0]["path"] == str(path)
    written = copy.stat().st_mtime_ns
    assert catalog(path, payload=["name"]).fingerprint == first.fingerprint
    assert [one.stat().st_mtime_ns for one in copies(tmp_path)] == [written]


def test_another_file_or_other_columns_are_imported_anew(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    for text, payload in ((TEXT, ["name"]), (TEXT, ["other"]), (TEXT.replace("1,a", "0,a"), [])):
        known = copies(tmp_path) if path.exists() else []
        path.write_text(text)
        (item,) = catalog(path, payload=payload).items
        assert Path(item.path) not in known
        assert pq.read_table(item.path)["prediction"][0].as_py() == text.splitlines()[1][6]
    assert len(copies(tmp_path)) == 3


def test_row_groups_without_a_wanted_row_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsampling.pool.stored_rows.GROUP_ROWS", 1)
    monkeypatch.setattr("evalsampling.pool.formats.text.BLOCK_BYTES", 8)
    path = tmp_path / "pool.csv"
    path.write_text(TEXT)
    found = catalog(path, where="name = 'b'")
    assert [(item.groups, item.first_row) for item in found.items] == [(range(1, 2), 1)]
    assert found.rows == 2


def test_nothing_is_left_of_an_import_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(TEXT + "3,0.5\n")
    with pytest.raises(InputError, match=r"pool\.csv: row 2: has 2 cells, not 5"):
        catalog(path)
    assert files_below(tmp_path / "stored") == {}


def test_a_file_that_changes_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is what is told of, not the row that was misread."""
    path, read = tmp_path / "pool.csv", Csv.read
    path.write_text(TEXT)

    def late(self: Csv, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        path.write_text(TEXT + "3,0.5\n")
        return read(self, file, schema)

    monkeypatch.setattr(Csv, "read", late)
    with pytest.raises(InputError, match=r"pool\.csv: has changed while it was read"):
        catalog(path)


def test_top_up_reads_the_copies_or_makes_them_anew(job: Any) -> None:
    one = job(files=2, budget=30)
    one.pool.with_text_ids().write_as("csv", one.directory / "text", files=2)
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", "text/*.csv"))
    assert one.prepare("--in-process").status == 0
    stored = files_below(one.workspace / "stored")
    assert len(stored) == 2
    for path in copies(one.workspace):
        path.unlink()
    assert one.prepare("--top-up", 300).status == 0
    assert files_below(one.workspace / "stored") == stored
    assert call("status", "--verify", one.workspace).status == 0


ROWS = 200
VERDICTS: dict[str, Any] = {
    "id": list(range(ROWS)),
    "verdict": ["fail" if row % 10 == 3 else "pass" for row in range(ROWS)],
    "text": [f"t{row}" for row in range(ROWS)],
}
SPEC: dict[str, Any] = {
    "pool": {"path": "pool.parquet", "prediction": "verdict", "payload": ["text"]},
    "labels": {"classes": ["pass", "fail"]},
    "budget": 40,
    "round_size": 40,
    "workspace": "work",
}


def _spec(folder: Path, columns: dict[str, Any], **keys: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    path = folder / "spec.yaml"
    pool = {**SPEC["pool"], **keys.pop("pool", {})}
    path.write_text(yaml.safe_dump({**SPEC, "pool": pool, **keys}))
    return path


def test_strata_are_verdicts_where_the_pool_has_no_score(tmp_path: Path) -> None:
    spec = load_spec(_spec(tmp_path, VERDICTS))
    assert spec.strata.by_predictions
    assert spec.pool.score is None
    assert spec.sampler.name == "calibrated"


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"pool": {"score": "score"}},
        {"strata": {"method": "csf"}},
        {"pool": {"prediction": {"threshold": 0.5}}, "labels": {"classes": [0, 1]}},
    ],
)
def test_a_score_that_is_there_or_asked_for_is_kept(tmp_path: Path, keys: Any) -> None:
    columns = VERDICTS if "strata" in keys else {**VERDICTS, "score": [0.5] * ROWS}
    spec = load_spec(_spec(tmp_path, columns, **keys))
    assert spec.strata.by_score
    assert spec.pool.score == "score"


def test_what_cannot_be_found_is_left_to_those_who_read_it(tmp_path: Path) -> None:
    spec = load_spec(_spec(tmp_path, VERDICTS, pool={"path": "elsewhere.parquet"}))
    assert spec.pool.score == "score"


def test_commands_from_check_to_report(tmp_path: Path) -> None:
    spec = _spec(tmp_path, VERDICTS, measure=["precision", "recall", "accuracy"])
    checked = call("prepare", "--check", spec)
    assert checked.status == 0, checked.out
    assert "no scores: what is predicted makes 2 strata of 20 to 180 rows" in checked.out
    prepared = call("prepare", spec)
    assert prepared.status == 0, prepared.err
    assert "no scores" in prepared.out
    planned = call("plan", spec, "--repeats", "2", "--budgets", "40")
    assert planned.status == 0, planned.err
    assert "if 70 % of the verdicts are right and the others are guesses" in planned.out
    assert call("sample", tmp_path / "work").status == 0
    (batch,) = (tmp_path / "work").rglob("batch.parquet")
    rows = pq.read_table(batch)
    texts = rows["payload.text"].to_pylist()
    labels = {"task": rows["task"], "label": [VERDICTS["verdict"][int(t[1:])] for t in texts]}
    pq.write_table(pa.table(labels), tmp_path / "labels.parquet")
    done = call("estimate", tmp_path / "work", "--labels", tmp_path / "labels.parquet", "--detail")
    assert done.status == 0, done.err
    assert "predicted alike" in done.out
    assert "rises with the score" not in done.out
    page = tmp_path / "report.html"
    assert call("report", tmp_path / "work", "--to", page).status == 0
    assert "No score orders the rows" in page.read_text()
    assert "Observed rate against score" not in page.read_text()


def test_a_null_is_refused_with_the_way_out(tmp_path: Path) -> None:
    spec = _spec(tmp_path, {**VERDICTS, "verdict": [*VERDICTS["verdict"][:-1], None]})
    refused = call("prepare", spec)
    assert refused.status == 1
    assert "pool.parquet: column 'verdict', row 199: null: give it one of ['pass', 'fail']" in (
        refused.err
    )
    assert "pool.where: verdict IS NOT NULL" in refused.err
    kept = _spec(
        tmp_path, pq.read_table(tmp_path / "pool.parquet").to_pydict(),
        pool={"where": "verdict IS NOT NULL"},
    )  # fmt: skip
    assert call("prepare", kept).status == 0


def test_a_missing_score_that_is_named_says_what_else_may_be_done(tmp_path: Path) -> None:
    refused = call("prepare", _spec(tmp_path, VERDICTS, pool={"score": "belief"}))
    assert refused.status == 1
    assert "column 'belief' is missing" in refused.err
    assert "strata.method: predictions" in refused.err


def test_a_missing_variance_says_what_it_is(tmp_path: Path) -> None:
    numbers = {"labels": {"range": [0, 9]}, "pool": {"prediction": "id"}}
    refused = call("prepare", _spec(tmp_path, VERDICTS, **numbers))
    assert "'variance' is missing" in refused.err
    assert "pool.variance names the column of predictive variances" in refused.err
