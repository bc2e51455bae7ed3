"""Footers of Parquet files: as Arrow reads them, and damaged."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import EvaluationSpec, InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.parquet_footer import arrow_metadata, read_footer, row_groups
from evalsampling.pool.formats.registry import read_batches
from evalsampling.storage.filesystems import open_file
from tests.jobs import make_rich_pool

ROWS = 300
COLUMNS = ["id", "score", "name", "city", "nested"]


def table() -> pa.Table:
    rich = make_rich_pool(ROWS).table.rename_columns(
        [name if name != "s0.score" else "score" for name in make_rich_pool(1).table.column_names]
    )
    nested = pa.array([{"a": [n, None], "b": f"text {n % 3}"} for n in range(ROWS)])
    return rich.append_column("nested", nested)


@pytest.mark.parametrize("rows", [ROWS, 70])
@pytest.mark.parametrize("compression", ["none", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False, ["city"]])
def test_it_says_what_arrow_says(
    tmp_path: Path, rows: int, compression: str, dictionary: Any
) -> None:
    path = tmp_path / "pool.parquet"
    options = {"compression": compression, "use_dictionary": dictionary}
    # So many columns that the footer is more than is read at once.
    wide = table()
    for number in range(100):
        wide = wide.append_column(f"more {number} é", pa.array(np.arange(ROWS) % 7))
    pq.write_table(wide, path, row_group_size=rows, **options)
    with open_file(str(path)) as source:
        footer = read_footer(source)
    found, metadata = row_groups(footer), pq.read_metadata(path)
    assert pq.read_metadata(arrow_metadata(footer)).equals(metadata)
    assert len(found) == metadata.num_row_groups
    for number, group in enumerate(found):
        told = metadata.row_group(number)
        assert (group.rows, group.plain) == (told.num_rows, told.total_byte_size)
        assert len(group.chunks) == told.num_columns
        for place, chunk in enumerate(group.chunks):
            column = told.column(place)
            assert chunk.path == column.path_in_schema
            assert chunk.is_text == (column.physical_type == "BYTE_ARRAY")
            assert chunk.has_dictionary == column.has_dictionary_page
            assert chunk.values == column.num_values
            assert chunk.stored == column.total_compressed_size
            assert chunk.plain == column.total_uncompressed_size


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\xffPAR1", b"PAR1\0\0\0\0PAR1", b"x" * 99],
)
def test_what_is_no_parquet_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pool.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"pool\.parquet: cannot be read") as error:
        read_all(path)
    assert "\n" not in str(error.value)


def read_all(path: Path) -> int:
    """Read a pool as `prepare` does; return its rows."""
    content = {"pool": {"path": str(path), "payload": ["name", "nested"], "slices": ["city"]}}
    content["pool"]["prediction"] = "s0.prediction"
    catalog = Catalog.read(EvaluationSpec.from_mapping({**content, "budget": 9}, str(path.parent)))
    rows = 0
    for item in catalog.items:
        for batch in read_batches(item, COLUMNS):
            rows += len(batch)
            every = np.arange(len(batch))
            batch.ids("id")
            assert {len(batch.payload(name, every)) for name in ("name", "nested", "city")} == {
                len(batch)
            }
    return rows


def test_a_column_of_a_row_group_that_the_schema_has_not(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(table(), path)
    content = path.read_bytes()
    before, after = b"nested\x01b", b"nested\x01f"
    assert content.count(before) == 1
    path.write_bytes(content.replace(before, after))
    with pytest.raises(InputError, match=r"pool\.parquet: cannot be read: .*nested\.f.* no schema"):
        read_all(path)


def damaged(content: bytes, begin: int, end: int, count: int) -> Iterator[bytes]:
    """Yield contents of which a bit is flipped, or some bytes are changed, lost or put in."""
    draw = random.Random(3)
    for _ in range(count):
        changed, place = bytearray(content), draw.randrange(begin, end)
        how = draw.random()
        if how < 0.6:
            changed[place] ^= 1 << draw.randrange(8)
        elif how < 0.8:
            changed[place] = draw.choice([0, 1, 127, 128, 255])
        elif how < 0.9:
            del changed[place]
        else:
            changed.insert(place, draw.randrange(256))
        yield bytes(changed)


def check(path: Path, part: str, count: int) -> None:
    pq.write_table(table(), path, row_group_size=100, write_page_checksum=True)
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    bounds = (begin, len(content)) if part == "footer" else (4, begin)
    told = []
    for changed in damaged(content, *bounds, count):
        path.write_bytes(changed)
        try:
            assert 0 <= read_all(path) <= ROWS
        except InputError as error:
            told.append(str(error))
    assert len(told) > count // 5
    assert not [line for line in told if "pool.parquet" not in line or "\n" in line]


@pytest.mark.parametrize("part", ["footer", "pages"])
def test_a_damaged_file_is_told_of_in_one_line(tmp_path: Path, part: str) -> None:
    """Neither a traceback nor the end of the process."""
    check(tmp_path / "pool.parquet", part, 150)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["footer", "pages"])
def test_a_much_damaged_file_is_told_of_in_one_line(tmp_path: Path, part: str) -> None:
    check(tmp_path / "pool.parquet", part, 2000)
