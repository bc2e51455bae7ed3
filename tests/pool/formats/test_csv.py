import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsampling.errors import InputError
from evalsampling.pool.formats import text as lines
from evalsampling.pool.formats.csv import Csv
from evalsampling.pool.formats.parquet import Parquet
from tests.pool.formats.reading import inspected, parquet_rows, read_rows

COMMA = Csv(",")
TABLE = pa.table(
    {
        "id": [f"{i:04}" for i in range(24)],
        "text": [
            ["plain", 'a "quote"', "two\nlines", "é, 𝄞", "", "\r\n"][i % 6] for i in range(24)
        ],
        "score": [None if i % 7 == 0 else f"{i / 8}" for i in range(24)],
    }
)


@pytest.mark.parametrize(
    ("delimiter", "end", "mark", "last"),
    [(",", "\n", "", True), ("\t", "\r\n", "\ufeff", False), (",", "\r", "", False),
     (";", "\r\n\r\n\n", "\ufeff", True)],
)  # fmt: skip
def test_same_as_parquet(
    tmp_path: Path, sizes: int, delimiter: str, end: str, mark: str, last: bool
) -> None:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter, lineterminator=end)
    writer.writerow(TABLE.column_names)
    for row in TABLE.to_pylist():
        quoted = '"' + row["text"].replace('"', '""') + '"'
        sink.write(delimiter.join([row["id"], quoted, row["score"] or ""]) + end)
    text = mark + sink.getvalue()
    path = tmp_path / "pool.csv"
    path.write_bytes((text if last else text.removesuffix(end)).encode())
    pq.write_table(TABLE, tmp_path / "pool.parquet", row_group_size=7)
    for columns in (None, ["score", "id"], ["text"]):
        expected = parquet_rows(Parquet(), tmp_path / "pool.parquet", columns)
        assert read_rows(Csv(delimiter), path, columns) == expected
        if columns:
            assert [*read_rows(Csv(delimiter), path, columns)[0]] == columns


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_header_shows_the_delimiter(tmp_path: Path, sizes: int, delimiter: str) -> None:
    """Spreadsheets of many countries write semicolons; quotes are those of any file."""
    names = ["id", "text, shown", "score"]
    rows = [[f"{i}", ("a,b", 'say "x"; or', "two\nlines")[i % 3], f"{i / 8}"] for i in range(40)]
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    path = tmp_path / "pool.csv"
    path.write_text("\ufeff" + sink.getvalue(), newline="")
    assert [[*row.values()] for row in read_rows(COMMA, path)] == rows
    assert [*read_rows(COMMA, path)[0]] == names


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.text('a,"\n\ré', max_size=40), size=st.integers(1, 12))
def test_cutting_makes_no_difference(
    tmp_path: Path, body: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any text, however odd its quotes: rows are those of the parser, or the error is the same."""
    path = tmp_path / "pool.csv"
    path.write_bytes(b"x,y\n" + body.encode())

    def outcome(block: int) -> object:
        monkeypatch.setattr(lines, "BLOCK_BYTES", block)
        try:
            return read_rows(COMMA, path)
        except InputError as error:
            return str(error)

    assert outcome(size) == outcome(1 << 20)


@pytest.mark.slow
@given(body=st.lists(st.text('a"\n\ré;', max_size=12), min_size=1, max_size=20))
def test_rows_are_those_of_the_parser(body: list[str]) -> None:
    """Cells of one column: no row is ragged, so that every text can be compared."""
    text = "\n".join(body).encode() + b"\n"
    ends, filled = COMMA._split(text)
    if not len(ends) or ends[-1] < len(text):
        text = text + b'"\n'
        ends, filled = COMMA._split(text)
    if not filled.any() or ends[-1] < len(text):
        return
    table = pa.csv.read_csv(
        pa.py_buffer(text),
        pa.csv.ReadOptions(column_names=["x"]),
        pa.csv.ParseOptions(newlines_in_values=True),
    )
    assert len(table) == filled.sum()


def test_empty_cells_are_null_unless_quoted(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.csv"
    path.write_text('a,b\n,""\n"",\n\n0012,null\n')
    assert read_rows(COMMA, path) == [
        {"a": None, "b": ""},
        {"a": "", "b": None},
        {"a": "0012", "b": "null"},
    ]


def test_stray_quotes_are_text(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.csv"
    path.write_text('a,b\n5" pipe,1\nit "is",2\n"""",4\n "p,5\n')
    rows = [row["a"] for row in read_rows(COMMA, path)]
    assert rows == ['5" pipe', 'it "is"', '"', ' "p']


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('x,1\n"x"y,2\n', 1),
        ('x,1\n2,"hello there\nz,3\nw,"hello again\nz,5\n', 1),
        ('x,1\n"hello there,2\nz,3\n"quoted",4\n', 1),
        ('"a""b"c,1\n', 0),
    ],
)
def test_a_quote_that_opens_a_cell_by_mistake_swallows_no_rows(
    tmp_path: Path, sizes: int, text: str, row: int
) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("a,b\n" + text)
    with pytest.raises(InputError, match=f"pool.csv: row {row}: text follows a closing quote"):
        read_rows(COMMA, path)


def test_a_byte_order_mark_within_a_file_is_text(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("\ufeffa,b\n" + "\ufeffx,1\n" * 9)
    assert read_rows(COMMA, path) == [{"a": "\ufeffx", "b": "1"}] * 9


@pytest.mark.parametrize(("row", "found"), [("7", "1 cell"), ("7,8,9,9", "4 cells")])
@pytest.mark.parametrize("columns", [None, ["a"]])
def test_ragged_rows(
    tmp_path: Path, sizes: int, row: str, found: str, columns: list[str] | None
) -> None:
    path = tmp_path / "pool.csv"
    good = '1,"x\ny",3\n\n'
    path.write_text("a,b,c\n" + good * 17 + row + "\n" + good * 9)
    with pytest.raises(InputError, match=rf"pool.csv: row 17: has {found}, not 3$"):
        read_rows(COMMA, path, columns)


def test_text_that_is_not_utf8(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.csv"
    path.write_bytes(b"a,b\n" + "é,2\n".encode() * 23 + b"x,\xff\n" + b"1,2\n" * 9)
    with pytest.raises(InputError, match=r"pool.csv: row 23: is not UTF-8"):
        read_rows(COMMA, path)
    path.write_bytes(b"a,b\n1,2\n1\nx,\xff\n")
    with pytest.raises(InputError, match=r"pool.csv: row 1: has 1 cell, not 2"):
        read_rows(COMMA, path)
    path.write_bytes(b"a,\xff\n1,2\n")
    with pytest.raises(InputError, match=r"pool.csv: the header: is not UTF-8"):
        read_rows(COMMA, path)


@pytest.mark.parametrize("text", ["", "\n\r\n\n", "\ufeff"])
def test_no_header(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"pool.csv: there is no header"):
        read_rows(COMMA, path)


@pytest.mark.parametrize("text", ['id,"a ""b"""', '\n\nid,"a ""b"""\n', 'id,"a ""b"""\r\n\r\n'])
def test_a_header_alone(tmp_path: Path, sizes: int, text: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text(text)
    assert read_rows(COMMA, path) == []


def test_names(tmp_path: Path) -> None:
    """A column without one is called as pandas, which writes such an index, reads it."""
    path = tmp_path / "pool.csv"
    path.write_text(',1,"a\nb",x,x\n0,1,2,3,4\n')
    assert inspected(COMMA, path).schema.names == ["Unnamed: 0", "1", "a\nb", "x", "x"]
    assert read_rows(COMMA, path, ["Unnamed: 0"]) == [{"Unnamed: 0": "0"}]
    assert read_rows(COMMA, path, ["a\nb", "1"]) == [{"a\nb": "2", "1": "1"}]
    with pytest.raises(InputError, match=r"pool.csv: column 'z' is missing"):
        read_rows(COMMA, path, schema=pa.schema([("z", pa.string())]))


def test_no_line_end_within_quotes_at_the_end(tmp_path: Path, sizes: int) -> None:
    path = tmp_path / "pool.csv"
    path.write_text('a,b\n1,2\n3,"4\n')
    with pytest.raises(InputError, match=r"pool.csv: row 1 does not end; is a quote left open\?"):
        read_rows(COMMA, path)
