import bz2
import gzip
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats import text as lines
from evalsampling.pool.formats.csv import Csv
from evalsampling.pool.formats.jsonl import JsonLines
from evalsampling.pool.splits import WorkItem

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def work_items(kind: Any, path: Path | str, schema: pa.Schema | None = None) -> Iterator[WorkItem]:
    """Give the splits of a file, with other types than it has itself if told so."""
    contents = kind.inspect(StoredFile(str(path), Path(path).stat().st_size))
    first_row = 0
    for split in contents.splits:
        yield WorkItem(
            path=str(path),
            begin=split.begin,
            end=split.end,
            rows=split.rows,
            schema=schema or contents.schema,
            untyped=kind.untyped,
            file=0,
            origin=str(path),
            first_row=first_row,
        )
        first_row += split.rows


def read_rows(
    kind: Any, path: Path | str, columns: list[str] | None = None, schema: pa.Schema | None = None
) -> list[dict[str, Any]]:
    """Read a file as the package does, split by split, and check the counts of rows."""
    rows: list[dict[str, Any]] = []
    for item in work_items(kind, path, schema):
        batches = list(kind.read(item, columns))
        assert sum(map(len, batches)) == item.rows
        rows += pa.Table.from_batches(batches).to_pylist()
    return rows


@pytest.fixture(params=[3, 50, 1 << 22])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let blocks and splits be so small."""
    size: int = request.param
    monkeypatch.setattr(lines, "BLOCK_BYTES", size)
    monkeypatch.setattr(lines, "SPLIT_BYTES", 2 * size)
    return size


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_is_one_split(
    tmp_path: Path, sizes: int, suffix: str, members: int
) -> None:
    path = tmp_path / f"pool.csv{suffix}"
    text = "\ufeffid,x\r\n" + "".join(f"{i},é\r\n" for i in range(90))
    parts = np.array_split(np.frombuffer(text.encode(), np.uint8), members)
    path.write_bytes(b"".join(COMPRESS[suffix](part.tobytes()) for part in parts))
    rows = [{"id": str(i), "x": "é"} for i in range(90)]
    assert read_rows(Csv(","), path) == rows
    assert len(list(work_items(Csv(","), path))) == 1


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


@pytest.mark.parametrize("text", ["1,a\n2,b\n", "1,a\n\n\n\n\n2,b\n3,c\n"])
def test_a_file_that_changes_meanwhile(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pool.csv"
    path.write_text("id,x\n1,a\n2,b\n3,c\n")
    (item,) = work_items(Csv(","), path)
    path.write_text("id,x\n" + text)
    with pytest.raises(InputError, match=r"pool.csv: has 2 rows from row 0 where it had 3; was it"):
        list(Csv(",").read(item, None))


def test_splits_are_of_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(lines, "SPLIT_BYTES", 4000)
    path = tmp_path / "pool.csv"
    path.write_text("id\n" + "".join(f"{i:09}\n" for i in range(10_000)))
    items = list(work_items(Csv(","), path))
    assert items[0].begin == 3
    assert items[-1].end == 100_003
    assert all(one.end == other.begin for one, other in itertools.pairwise(items))
    assert all(10 * item.rows == item.end - item.begin for item in items)
    assert all(4000 <= item.end - item.begin <= 5000 for item in items[:-1])
