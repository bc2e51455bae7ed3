"""Finding files, against Python's own glob."""

import glob
import hashlib
import os
from pathlib import Path

import numpy as np
import pyarrow.fs
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.files import (
    StoredFile,
    find_files,
    fingerprint_of,
    hash_of_blocks,
    what_became_of,
)
from evalsampling.storage.filesystems import open_file

TREE = [
    "a.parquet", "b.parquet", "b.csv", ".hidden.parquet", "_SUCCESS",
    "day=1/a.parquet", "day=1/part-0.parquet", "day=1/deep/er/c.parquet",
    "day=2/a.parquet", "day=2/.tmp/a.parquet", "two words/x-1.parquet", "two words/x-12.parquet",
]  # fmt: skip
PATTERNS = [
    "a.parquet", "*.parquet", "*", "?.parquet", "[ab].*", "[!a].parquet", "**", "**/*.parquet",
    "**/a.parquet", "day=*/*.parquet", "day=1/**", "day=1/**/*.parquet", "*/deep/**/c.parquet",
    "two words/x-?.parquet", "two words/x-*.parquet", ".*.parquet", "day=2/.tmp/*",
    "day=2/*.parquet", "day=1/../a.parquet",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number, name in enumerate(TREE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * number)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_they_mean_to_a_shell(
    tree: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also below the current folder."""
    whole = f"{tree}/{pattern}"
    expected = sorted(
        path for path in glob.glob(whole, recursive=True)
        if os.path.isfile(path) and not os.path.basename(path).startswith("_")
    )  # fmt: skip
    found = find_files(whole)
    assert [file.path for file in found] == expected
    assert [file.size for file in found] == [os.path.getsize(path) for path in expected]
    assert all(file.modified is None for file in found)
    monkeypatch.chdir(tree)
    here = [os.path.abspath(file.path) for file in find_files(pattern)]
    assert here == [*map(os.path.abspath, expected)]


UNFINISHED = (
    "out/_temporary/0/part.parquet", "out/_delta_log/1.parquet", "out/_day=3/part.parquet",
    "out/part.parquet", "_kept/part.parquet",
)  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("out/**/*.parquet", ["_day=3/part.parquet", "part.parquet"]),
        ("out/**", ["_day=3/part.parquet", "part.parquet"]),
        ("out/*/*.parquet", ["_day=3/part.parquet"]),
        ("out/_*/*.parquet", ["_day=3/part.parquet", "_delta_log/1.parquet"]),
        ("out/**/_delta_log/*", ["_delta_log/1.parquet"]),
        ("out/_temporary/**", ["_temporary/0/part.parquet"]),
        ("_kept/*.parquet", ["../_kept/part.parquet"]),
    ],
)
def test_folders_of_what_is_not_done_are_left_out(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    """Of an aborted job of Spark, say; where a pattern names them, they are found."""
    for name in UNFINISHED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = find_files(f"{tmp_path}/{pattern}")
    assert [os.path.relpath(file.path, tmp_path / "out") for file in files] == found


@pytest.mark.parametrize("pattern", ["none.parquet", "no/*.parquet", "no", "*/none-*"])
def test_no_file_is_an_error(tree: Path, pattern: str) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_files(f"{tree}/{pattern}")


@pytest.mark.parametrize("path", ["out", "out/"])
def test_a_folder_of_spark_is_the_files_with_rows(tmp_path: Path, path: str) -> None:
    for name in ("_SUCCESS", "._SUCCESS.crc", "part-0.csv", "part-1.csv", "day=1/part-0.csv"):
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text("" if name in ("_SUCCESS", "part-0.csv") else "a\n1\n")
    found = [os.path.relpath(file.path, tmp_path) for file in find_files(f"{tmp_path}/{path}")]
    assert found == ["out/day=1/part-0.csv", "out/part-1.csv"]


def test_a_file_that_cannot_be_opened_is_named(tree: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.parquet: cannot be read"):
        open_file(f"{tree}/gone.parquet")


def test_linked_files_and_folders_are_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree / "day=1")
    (tmp_path / "one.parquet").symlink_to(tree / "day=2" / "a.parquet")
    assert [Path(file.path).name for file in find_files(f"{tree}/link/*.parquet")] == [
        "a.parquet", "part-0.parquet",
    ]  # fmt: skip
    assert find_files(f"{tree}/one.parquet")[0].size == TREE.index("day=2/a.parquet")
    assert f"{tree}/one.parquet" in [file.path for file in find_files(f"{tree}/*.parquet")]


def test_folders_that_a_pattern_does_not_reach_are_not_listed(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[tuple[str, bool]] = []
    selector = pyarrow.fs.FileSelector

    def recording(base: str, allow_not_found: bool, recursive: bool) -> pyarrow.fs.FileSelector:
        listed.append((os.path.relpath(base, tree), recursive))
        return selector(base, allow_not_found, recursive)

    monkeypatch.setattr(pyarrow.fs, "FileSelector", recording)
    assert len(find_files(f"{tree}/day=*/*.parquet")) == 3
    assert sorted(listed) == [(".", False), ("day=1", False), ("day=2", False)]


def test_blocks_reach_from_begin_to_end(tmp_path: Path) -> None:
    path, block = tmp_path / "large", 1 << 16
    content = bytearray(np.random.default_rng(1).bytes(10 * block))
    path.write_bytes(content)
    places = [0, 3 * block, 6 * block, 9 * block]
    stored = StoredFile(str(path), len(content))
    expected = b"".join(content[place : place + block] for place in places)
    assert hash_of_blocks(stored) == hashlib.sha256(expected).hexdigest()


def test_what_became_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    path.write_bytes(b"id,score\n1,0.5\n")
    stored = StoredFile(str(path), path.stat().st_size)
    there = fingerprint_of(stored, hash_of_blocks(stored))
    assert what_became_of(there) is None
    path.write_bytes(b"id,score\n1,0.6\n")
    assert what_became_of(there) == "has changed"
    path.write_bytes(b"id,score\n")
    assert what_became_of(there) == "has 9 bytes in place of 15"
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        what_became_of(there)
