"""Bad pools: one clear error each, and nothing left half-written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bad_pools import BAD, assert_clean_failure
from tests.jobs import Job, Pool, make_pool, make_rich_pool


@pytest.mark.parametrize("name", list(BAD))
def test_bad_pool(job: Any, name: str) -> None:
    make, words = BAD[name]
    assert_clean_failure(job(make(), files=2), words)


@pytest.mark.parametrize(
    "options",
    [
        ["--runner=FnApiRunner", "--direct_num_workers=1"],
        ["--runner=DirectRunner"],
        ["--runner=BundleBasedDirectRunner"],
    ],
    ids=lambda options: options[0].removeprefix("--runner="),
)
def test_bad_pool_on_other_runners(job: Any, options: list[str]) -> None:
    make, words = BAD["nan score"]
    assert_clean_failure(job(make(), files=2, group_rows=100), words, *options)


def test_duplicate_beyond_the_reserve_is_found_on_request(job: Any) -> None:
    pool = make_pool(rows=8000)
    ids = pool.table["id"].to_pylist()
    cell_mates = np.argsort(pool.table["score"].to_numpy())[:2]
    ids[cell_mates[1]] = ids[cell_mates[0]]
    doubled = Pool(pool.table.set_column(0, "id", pa.array(ids)), pool.truth)
    one = job(doubled, files=3, budget=1, strata={"leaves": 1}, round_size=1)
    assert one.prepare().status == 0
    other = job(doubled, files=3, budget=1, strata={"leaves": 1}, round_size=1)
    late = int(max(cell_mates))
    file = int(np.searchsorted([2666, 5333], late, side="right"))
    place = f"part-{file}.parquet: column 'id', row {late - [0, 2666, 5333][file]}: duplicate"
    assert_clean_failure(other, [place], "--check-ids")
    clean = job(pool, files=3)
    assert clean.prepare("--check-ids").status == 0


def test_unreadable_file(job: Any) -> None:
    one = job(files=3)
    (one.directory / "pool" / "part-1.parquet").write_bytes(b"PAR1 not really PAR1")
    assert_clean_failure(one, ["part-1.parquet", "cannot be read"])


def test_damaged_pages(job: Any) -> None:
    one = job(files=2)
    path = one.directory / "pool" / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[4:1000] = bytes(996)
    path.write_bytes(content)
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


def test_probability_outside_the_unit_interval(job: Any) -> None:
    pool = make_pool()
    p = np.full(2000, 0.5)
    p[1999] = 1.5
    table = pool.table.append_column("p", pa.array(p))
    one = job(Pool(table, pool.truth), files=2, pool={"probability": "p"})
    assert_clean_failure(one, ["part-1.parquet", "'p'", "row 999", "1.5"])


SYSTEMS = {
    "old": {"score": "s0.score", "prediction": "s0.prediction"},
    "new": {"score": "s1.chance", "prediction": "s1.prediction", "probability": "s1.p1"},
}


RICH: dict[str, tuple[str, Any, dict[str, Any], list[str]]] = {
    "null score of a system": ("s0.score", None, {}, ["part-1.parquet", "'s0.score'", "row 249"]),
    "nan score of a system": (
        "s1.chance", float("nan"), {}, ["part-1.parquet", "'s1.chance'", "row 249", "nan"]
    ),
    "prediction of a system": (
        "s1.prediction", 7, {}, ["part-1.parquet", "'s1.prediction'", "row 249", "7 is none of"]
    ),
    "probability of a system": (
        "s1.p1", 1.25, {}, ["part-1.parquet", "'s1.p1'", "row 249", "[0, 1]", "1.25"]
    ),
    "null feature": (
        "x", None, {"strata": {"method": "kd", "leaves": 4}}, ["part-1.parquet", "'x'", "row 249"]
    ),
    "infinite feature": (
        "x", float("inf"), {"strata": {"method": "kd"}}, ["part-1.parquet", "'x'", "inf"]
    ),
    "score that is not positive": (
        "s0.score", -3.0, {"strata": {"method": "geometric"}},
        ["strata.method: geometric", "positive scores", "the least is -"],
    ),
}  # fmt: skip


def rich_with(column: str, value: Any) -> Pool:
    """A pool of every kind of column, with the last value of one replaced."""
    pool = make_rich_pool(rows=500)
    field = pool.table.schema.field(column)
    values = pool.table[column].to_pylist()
    values[-1] = value
    place = pool.table.schema.get_field_index(column)
    changed = pool.table.set_column(place, column, pa.array(values, field.type))
    return Pool(changed, pool.truth)


@pytest.mark.parametrize("name", RICH)
def test_bad_columns_of_systems_and_features(job: Any, name: str) -> None:
    column, value, keys, words = RICH[name]
    pool = {"systems": SYSTEMS, "features": ["x", "y"]}
    assert_clean_failure(job(rich_with(column, value), files=2, pool=pool, **keys), words)


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({"slices": ["ctiy"]}, ["part-0.parquet", "'ctiy'", "missing", "city"]),
        ({"slices": ["x"]}, ["part-", "'x'", "whole numbers, booleans or text", "double"]),
        ({"features": ["z"]}, ["part-0.parquet", "'z'", "missing"]),
        ({"features": ["name"]}, ["'name'", "must be a number", "string"]),
        ({"systems": {"a": {"score": "s9.score", "prediction": "s0.prediction"}}},
         ["part-0.parquet", "'s9.score'", "missing"]),
        ({"systems": {"a": {"score": "s0.score", "prediction": "name"}}},
         ["'name'", "string", "holds none of the classes"]),
    ],
)  # fmt: skip
def test_wrong_columns(job: Any, pool: dict[str, Any], words: list[str]) -> None:
    strata = {"method": "kd"} if "features" in pool else {}
    given = {"systems": SYSTEMS, **pool}
    one = job(make_rich_pool(rows=500), files=2, pool=given, strata=strata)
    assert_clean_failure(one, words)


def test_slice_column_of_too_many_values(job: Any) -> None:
    """Too many in one batch, and too many in all of the pool but in no batch."""
    pool = make_rich_pool(rows=1500)
    words = ["pool.slices: column 'name' has", "at most 1000 are possible"]
    keys = {"pool": {"systems": SYSTEMS, "slices": ["new", "name"]}}
    assert_clean_failure(job(pool, **keys), words)
    assert_clean_failure(job(pool, files=3, group_rows=100, **keys), words)
    fewer = job(make_rich_pool(rows=1000), files=3, **keys)
    assert fewer.prepare().status == 0


def test_scorer_errors(job: Any) -> None:
    one = job(files=2, pool={"scorer": "bad_scorer:fail"})
    assert_clean_failure(one, ["bad_scorer:fail", "No module"])
    (one.directory / "bad_scorer.py").write_text(
        "def fail(batch):\n    raise KeyError('surname')\n"
        "def short(batch):\n    return batch.slice(1)\n"
    )
    assert_clean_failure(one, ["part-", "rows 0 to 999", "bad_scorer:fail", "KeyError"])
    two = job(files=2, pool={"scorer": "bad_scorer:short"})
    assert_clean_failure(two, ["part-", "999 rows for 1000"])


def test_column_that_is_there_twice(job: Any) -> None:
    one = job()
    path = one.directory / "pool" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("score", table["score"]), path)
    assert_clean_failure(one, ["part-0.parquet", "'score' is there twice"])


def test_a_scorer_that_changes_a_type_is_named(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(files=2, group_rows=300, pool={"scorer": "fickle:score", "score": "made"})
    (one.directory / "fickle.py").write_text(
        "import pyarrow as pa\n"
        "calls = []\n"
        "def score(batch):\n"
        "    calls.append(1)\n"
        "    made = batch.column('score').cast(pa.float32() if len(calls) > 1 else pa.float64())\n"
        "    return batch.append_column('made', made)\n"
    )
    monkeypatch.setattr("evalsampling.pool.formats.parquet.BATCH_ROWS", 100)
    result = one.prepare()
    assert result.status == 1
    for words in ("part-", "column 'made', row", "scored as float, but as double before"):
        assert words in result.err
    assert not one.workspace.exists()
