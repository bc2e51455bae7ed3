"""A relation of DuckDB is a table: it runs once, and its rows are known by their ids alone."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError

duckdb = pytest.importorskip("duckdb")

QUERY = """
SELECT {id} i AS number, (i * 7919 % 1000) / 1000 AS score, i * 7919 % 1000 > 500 AS prediction,
       {{'half': (i * 7919 % 1000) / 2000}} AS result
FROM range(1000) AS rows(i) {order}
"""


def relation(id: str = "i AS id,", order: str = "") -> Any:
    return duckdb.sql(QUERY.format(id=id, order=order))


def test_its_rows_are_known_by_their_ids() -> None:
    table = pa.table(relation(order="ORDER BY i"))
    wanted = Evaluation.from_frame(table, seed=2).sample(30)
    for order in ("", "ORDER BY i DESC", "ORDER BY hash(i)"):
        one = Evaluation.from_frame(relation(order=order), seed=2)
        np.testing.assert_array_equal(one.sample(30), wanted)
    named = Evaluation.from_frame(relation("", "ORDER BY hash(i)"), id="number", seed=2)
    np.testing.assert_array_equal(named.sample(30), wanted)


def test_without_an_id_it_says_what_to_do() -> None:
    words = "^id: name the column of ids: rows of a query .* there are: number, score, prediction"
    with pytest.raises(InputError, match=words):
        Evaluation.from_frame(relation(""))
    with pytest.raises(InputError, match="columns: rows of a query come in no fixed order"):
        Evaluation.from_arrays(np.linspace(0, 1, 1000), None, columns=relation())


def test_a_pair_and_a_field_of_a_query() -> None:
    pairs = "i // 40 AS l, 'r' || i % 40 AS r,"
    one = Evaluation.from_frame(relation(pairs), id=["l", "r"], score="result.half", seed=2)
    ids = one.sample(20)
    assert ids.dtype.names == ("l", "r")
    assert ids["l"].dtype == np.int64
    assert set(ids["r"]) <= {f"r{i}" for i in range(40)}
    drawn = pa.table({"l": ids["l"], "r": ids["r"]})
    one.label(duckdb.sql("SELECT *, l % 2 AS label FROM drawn ORDER BY hash(r)"))
    assert one.history.label.tolist() == (ids["l"] % 2).tolist()
    assert len(drawn) == 20


def test_it_is_read_once() -> None:
    reader = pa.table(relation()).to_reader()  # noqa: F841 - DuckDB finds it by its name
    once = duckdb.sql("SELECT * FROM reader")
    assert len(Evaluation.from_frame(once).sample(10)) == 10
    with pytest.raises(InputError, match=r"the table: cannot be read as a table: .*consumed"):
        Evaluation.from_frame(once)


def test_an_error_of_the_query_is_one_sentence() -> None:
    broken = duckdb.sql("SELECT 1 AS id, error('no such rate') AS score, 1 AS prediction")
    with pytest.raises(InputError, match=r"^the table: cannot be read as a table: .*no such rate$"):
        Evaluation.from_frame(broken)
