"""Text cut at the ends of records, whatever the size of the blocks."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.formats import text as lines
from evalsampling.pool.formats.csv import Csv
from evalsampling.pool.formats.jsonl import JsonLines
from tests.pool.formats.reading import COMPRESS, read_rows


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_of_several_members(
    tmp_path: Path, sizes: int, suffix: str, members: int
) -> None:
    path = tmp_path / f"pool.csv{suffix}"
    text = "\ufeffid,x\r\n" + "".join(f"{i},é\r\n" for i in range(90))
    parts = np.array_split(np.frombuffer(text.encode(), np.uint8), members)
    path.write_bytes(b"".join(COMPRESS[suffix](part.tobytes()) for part in parts))
    rows = [{"id": str(i), "x": "é"} for i in range(90)]
    assert read_rows(Csv(","), path) == rows


def test_a_compressed_file_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv.gz"
    text = b"id\n" + b"".join(b"%d\n" % i for i in np.random.default_rng(0).integers(1e9, size=999))
    path.write_bytes(gzip.compress(text)[:-500])
    with pytest.raises(InputError, match=r"pool.csv.gz: cannot be read: .*[Tt]runcated"):
        read_rows(Csv(","), path)
    path.write_bytes(b"plain text")
    with pytest.raises(InputError, match=r"pool.csv.gz: cannot be read: "):
        read_rows(Csv(","), path)


def test_a_record_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "RECORD_BYTES", 100)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 40)
    path = tmp_path / "pool.csv"
    path.write_text("id,x\n1,a\n2,b\n3,c\n" + 'x,"' + "1,a\n" * 100)
    with pytest.raises(InputError, match=r"pool.csv: row 3 does not end within 100 bytes; is a q"):
        read_rows(Csv(","), path)
    path.write_text("x" * 99999)
    with pytest.raises(InputError, match="the header does not end within 100 bytes"):
        read_rows(Csv(","), path)
    path = tmp_path / "pool.jsonl"
    path.write_text('{"id": 1}\n{"id": "' + "1" * 200 + '"}\n')
    with pytest.raises(InputError, match=r"row 1 does not end within 100 bytes"):
        read_rows(JsonLines(), path)


@pytest.mark.parametrize(
    ("header", "usual", "delimiter"),
    [(b"a,b;c\nd;e", ",", ","), (b"a\n1;2", ",", ","), (b'"a;b"\n', ",", ","), (b"a;b", ",", ";"),
     (b'\n"a,b";c\n', ",", ";"), (b"a\tb", ",", "\t"), (b"a\tb;c", "\t", "\t"), (b"", ",", ","),
     (b"a;b\r1,5;2", ",", ";"), (b'"two\nlines, or";"b"\r\n1,5;2', ",", ";")],
)  # fmt: skip
def test_delimiter_of_a_header(header: bytes, usual: str, delimiter: str) -> None:
    assert lines.delimiter_of(header, usual) == delimiter
