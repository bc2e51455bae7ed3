"""Pairs in both orders as one row: which stays, in files and in memory."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation.local import read_items
from evalsampling.spec import EvaluationSpec
from tests.spec.specs import parse

IDS = ["unique_id_l", "unique_id_r"]


def _kept(folder: Path, parts: list[list[tuple[Any, Any]]], **keys: Any) -> list[tuple[Any, Any]]:
    """Return the pairs that are read of files, each of two row groups."""
    for number, pairs in enumerate(parts):
        left, right = zip(*pairs, strict=True)
        columns = {IDS[0]: left, IDS[1]: right, "score": [0.5] * len(pairs)}
        table = pa.table({**columns, "prediction": [1] * len(pairs)})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=2)
    pool = {"path": "*.parquet", "id": IDS, "pairs": "unordered", **keys}
    catalog = Catalog.read(EvaluationSpec.from_mapping({"pool": pool}, folder))
    return [
        pair
        for batch in read_items(catalog.items, IDS)
        for pair in zip(*(batch.rows[name].to_pylist() for name in IDS), strict=True)
    ]


def test_the_lesser_id_is_left_and_single_rows_stay(tmp_path: Path) -> None:
    parts = [[("b", "a"), ("c", "a"), ("x", "y")], [("a", "b"), ("d", "d"), ("a", "c"), ("z", "a")]]
    assert _kept(tmp_path, parts) == [("x", "y"), ("a", "b"), ("d", "d"), ("a", "c"), ("z", "a")]


def test_numbers_are_compared_as_such(tmp_path: Path) -> None:
    assert _kept(tmp_path, [[(10, 9), (9, 10), (3, 20)]]) == [(9, 10), (3, 20)]


def test_rows_that_do_not_count_leave_their_partner(tmp_path: Path) -> None:
    parts = [[("b", "a"), ("a", "b")], [("c", "a"), ("a", "c")]]
    where = "unique_id_l <> 'a' OR unique_id_r = 'c'"
    assert _kept(tmp_path, parts, where=where) == [("b", "a"), ("a", "c")]


def test_records_of_two_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unordered pairs have one type, got large_string and int"):
        _kept(tmp_path, [[("a", 1), ("b", 2)]])


def test_a_pool_in_memory(tmp_path: Path) -> None:
    left, right = ["b", "a", "c"], ["a", "b", "d"]
    columns = {IDS[0]: left, IDS[1]: right, "score": [0.1, 0.2, 0.9], "prediction": [0, 0, 1]}
    evaluation = Evaluation.from_frame(pa.table(columns), id=IDS, pairs="unordered")
    assert sorted(map(tuple, evaluation.sample(3))) == [("a", "b"), ("c", "d")]


def test_the_key_is_of_pairs_alone() -> None:
    with pytest.raises(InputError, match=r"pool.pairs: unordered needs an id of both records"):
        parse(pool={"path": "x", "id": ["document", "sentence"], "pairs": "unordered"})
    with pytest.raises(InputError, match=r"pool.pairs: must be one of unordered, got 'any'"):
        parse(pool={"path": "x", "id": IDS, "pairs": "any"})
    spec = parse(pool={"path": "x", "id": IDS, "pairs": "unordered"})
    assert spec.to_mapping()["pool"]["pairs"] == "unordered"
    assert EvaluationSpec.from_mapping(spec.to_mapping(), Path("/somewhere")) == spec
