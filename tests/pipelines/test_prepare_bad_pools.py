"""Bad pools: one clear error each, and nothing left half-written."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bad_pools import BAD, assert_clean_failure
from tests.slow import fast


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_pool(job: Any, name: str) -> None:
    make, words = BAD[name]
    assert_clean_failure(job(make(), files=2), words)


@pytest.mark.parametrize(
    "options",
    fast(
        1,
        [
            ["--runner=FnApiRunner", "--direct_num_workers=1"],
            ["--runner=DirectRunner"],
            ["--runner=BundleBasedDirectRunner"],
        ],
    ),
    ids=lambda options: options[0].removeprefix("--runner="),
)
def test_bad_pool_on_other_runners(job: Any, options: list[str]) -> None:
    make, words = BAD["nan score"]
    assert_clean_failure(job(make(), files=2, group_rows=100), words, *options)


@pytest.mark.parametrize("pages", [*fast(1, [False, True])], ids=["whole", "pages"])
def test_damaged_file(job: Any, pages: bool) -> None:
    one = job(files=2)
    path = one.directory / "pool" / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[4:1000] = bytes(996)
    path.write_bytes(content if pages else b"PAR1 not really PAR1")
    assert_clean_failure(one, ["part-1.parquet", "cannot be read"])


def test_no_such_pool(job: Any) -> None:
    one = job()
    for path in (one.directory / "pool").iterdir():
        path.unlink()
    assert_clean_failure(one, ["*.parquet", "no such file"])


def test_files_that_do_not_agree(job: Any) -> None:
    one = job(files=2)
    path = one.directory / "pool" / "part-1.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "id", table["id"].cast(pa.string())), path)
    assert_clean_failure(one, ["part-1.parquet", "'id'", "string", "int64", "part-0.parquet"])
