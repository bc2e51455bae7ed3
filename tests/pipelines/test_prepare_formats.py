"""Pools of every format give what the in-memory path gives, to the row and the last digit."""

from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from tests.cases import CASES
from tests.formats import FORMATS, formatted
from tests.jobs import Jobs, Pool, make_pool, make_rich_pool
from tests.reference import assert_same, assert_same_evaluation, reference
from tests.slow import fast


@pytest.mark.slow
@pytest.mark.parametrize("suffix", fast(2, FORMATS))
@pytest.mark.parametrize("rows", fast(1, [10_000, 1_000_000]))
def test_many_rows(job: Jobs, suffix: str, rows: int) -> None:
    """Names with all that a format has to escape among them."""
    pool = make_pool(rows)
    names = pool.table["name"].to_pylist()
    for row, name in enumerate(['"', "a,b", "two\nlines", "Zürich", "  ", '{"a": "b"}', "\\"]):
        names[row] = name
    index = pool.table.schema.get_field_index("name")
    whole = Pool(pool.table.set_column(index, "name", pa.array(names)), pool.truth)
    one = formatted(job, suffix, whole, files=3, budget=30)
    assert one.prepare().json["rows"] == rows
    assert_same(one.workspace, reference(one), budget=30)


WHOLE = [
    (suffix, case, (7, 1, 2)[(row + column) % 3])
    for row, suffix in enumerate(["csv", "jsonl", "avro"])
    for column, case in enumerate(["slices", "curve", "systems", "classes", "kd beside a score"])
]
"""Every format with every case, and each of them with every number of files."""


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "case", "files"), WHOLE)
def test_whole_evaluations(
    job: Jobs, suffix: str, case: str, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of every kind, with nulls, in one, two and seven files of several splits."""
    monkeypatch.setattr("evalsampling.pool.formats.text.BLOCK_BYTES", 5_000)
    monkeypatch.setattr("evalsampling.pool.stored_rows.GROUP_ROWS", 200)
    shape, keys = CASES[case]
    pool = make_rich_pool(**shape)
    if suffix == "avro":  # whose names have no dots
        names = [name.replace(".", "_") for name in pool.table.column_names]
        pool = Pool(pool.table.rename_columns(names), pool.truth)
        keys = yaml.safe_load(yaml.safe_dump(keys).replace("s0.", "s0_").replace("s1.", "s1_"))
        keys = yaml.safe_load(yaml.safe_dump(keys).replace("s2.", "s2_"))
    one = formatted(job, suffix, pool, files, budget=300, **keys)
    assert one.prepare().status == 0
    assert_same_evaluation(one)


def with_notes(pool: Pool, words: int) -> Pool:
    """The pool with names of many lines, as long as the rest of a row many times over."""
    ends = ["\n", "\r\n", ",", ' "so" ', "\n\n", '""\n', "é\n"]
    names = [
        "".join(f"line {line} of {id}{ends[(line + id) % len(ends)]}" for line in range(words))
        for id in pool.table["id"].to_pylist()
    ]
    place = pool.table.column_names.index("name")
    return Pool(pool.table.set_column(place, "name", pa.array(names)), pool.truth)


def within_quotes(path: Path, every: int) -> list[bool]:
    """Whether each place that so many bytes lead to is within quotes, of a file without others."""
    text = path.read_bytes()
    return [text.count(b'"', 0, place) % 2 == 1 for place in range(every, len(text), every)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "files", "block"),
    [("--in-process", 1, 64), ("--in-process", 1, 1000), ("--runner=FnApiRunner", 3, 4096)],
)
def test_line_breaks_within_quotes_where_blocks_end(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, option: str, files: int, block: int
) -> None:
    """Almost everywhere that a block ends there is text of many lines."""
    monkeypatch.setattr("evalsampling.pool.formats.text.BLOCK_BYTES", block)
    one = formatted(job, "csv", with_notes(make_pool(200), words=30), files, budget=60)
    paths = sorted((one.directory / "csv").iterdir())
    cut = [place for path in paths for place in within_quotes(path, block)]
    assert sum(cut) > max(10, 0.8 * len(cut))
    assert one.prepare(option).status == 0
    assert_same(one.workspace, reference(one), budget=60)


@pytest.mark.parametrize(
    ("suffix", "line", "words"),
    [
        ("csv", "7,high,1,x", ["column 'score'", "row 2", "must be a number, got 'high'"]),
        ("csv", "7,0.5,2,x", ["column 'prediction'", "row 2", "'2' is none of [0, 1]"]),
        ("csv", "7,,1,x", ["column 'score'", "row 2", "null"]),
        ("csv", ",0.5,1,x", ["column 'id'", "row 2", "null"]),
        ("csv", "7,0.5,1", ["row 2"]),
        ("csv", "1,0.5,1,x", ["column 'id'", "row 2", "duplicate id '1', also in row 0"]),
        ("jsonl", '{"id": 7, "score": "x", "prediction": 1}', ["column 'score'", "row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "prediction": 3}', ["column 'prediction'", "row 2", "3"]),
        ("jsonl", '{"id": 7, "score": 1, ', ["row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "prediction": 1, "n": 1' + "0" * 5000 + "}", ["row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "\\ud800": 1}', ["row 2", "not Unicode"]),
        ("csv", "7," + "x" * 100_000 + ",1,x", ["column 'score'", "row 2", "'xxx"]),
        ("jsonl", '{"score": 1, "prediction": 1}', ["column 'id'", "row 2", "null"]),
    ],
)
def test_bad_rows_are_named(job: Jobs, suffix: str, line: str, words: list[str]) -> None:
    good = {
        "csv": ["1,0.5,1,a", "2,0.25,0,b", "3,0.125,0,c"],
        "jsonl": [f'{{"id": {n}, "score": 0.5, "prediction": 1, "name": "a"}}' for n in (1, 2, 3)],
    }[suffix]
    head = ["id,score,prediction,name"] if suffix == "csv" else []
    one = job()
    path = one.directory / f"pool.{suffix}"
    path.write_text("\n".join([*head, *good[:2], line, good[2]]) + "\n")
    spec = yaml.safe_load(one.spec.read_text())
    spec["pool"]["path"] = str(path)
    one.spec.write_text(yaml.safe_dump(spec))
    # Of the engines, tests/pipelines/test_prepare_bad_pools.py.
    result = one.prepare("--in-process")
    assert result.status == 1
    assert result.err.count("\n") == 1
    assert len(result.err) < 1000
    for word in (f"{path}: ", *words):
        assert word in result.err
    assert not one.workspace.exists()
