"""Where the files of a table are."""

import pytest

from evalsampling import InputError
from evalsampling.pool.tables.base import location


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/lake/a.parquet", "/lake/a.parquet"),
        ("/lake/a:b/c.parquet", "/lake/a:b/c.parquet"),
        ("file:/lake/a.parquet", "/lake/a.parquet"),
        ("file:///lake/a%20b.parquet", "/lake/a%20b.parquet"),
        ("s3a://lake/a.parquet", "s3://lake/a.parquet"),
        ("s3n://lake/a.parquet", "s3://lake/a.parquet"),
        ("gs://lake/a.parquet", "gs://lake/a.parquet"),
        ("hdfs://name/a.parquet", "hdfs://name/a.parquet"),
    ],
)
def test_paths_are_those_of_our_own_storage(path: str, expected: str) -> None:
    assert location(path, "db.t") == expected


def test_other_stores_are_named() -> None:
    with pytest.raises(InputError, match=r"^db\.t: has files of abfss:, which are not read; "):
        location("abfss://lake@account/a.parquet", "db.t")
