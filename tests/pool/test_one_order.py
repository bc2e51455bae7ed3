"""Pairs in both orders as one row: which stays, in files and in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.one_order import orders_of
from evalsampling.preparation.plan import read_items
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
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
    catalog = Catalog.read(EvaluationSpec.from_mapping({"pool": pool}, folder).reading)
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


def _counted(columns: dict[str, Any], rows: int = 0) -> tuple[int, int]:
    batch = PoolBatch(pa.record_batch(columns))
    spec = parse(pool={"path": "x", "id": list(columns)})
    return orders_of(batch, spec.pool, spec.seed, rows).pairs


@pytest.mark.parametrize(
    ("id", "sides"),
    [
        (("unique_id_l", "unique_id_r"), (("unique_id_l",), ("unique_id_r",))),
        (("right_id", "left_id"), (("left_id",), ("right_id",))),
        (("id1", "id2"), (("id1",), ("id2",))),
        (("idA", "idB"), (("idA",), ("idB",))),
        (("ltable_id", "rtable_id"), (("ltable_id",), ("rtable_id",))),
        (("s_l", "id_l", "s_r", "id_r"), (("s_l", "id_l"), ("s_r", "id_r"))),
        (("document", "sentence"), None),
        (("id_l", "id_r", "day"), None),
        ("id", None),
    ],
)
def test_sides_are_known_by_the_names_of_columns(id: Any, sides: Any) -> None:
    assert sides_of(id) == sides


def test_both_orders_of_texts_numbers_and_several_columns() -> None:
    texts = {"unique_id_l": ["a", "b", "c"], "unique_id_r": ["b", "a", "d"]}
    assert _counted(texts) == (1, 2)
    numbers = {name: [ord(text) for text in column] for name, column in texts.items()}
    assert _counted(numbers) == (1, 2)
    sources = {"set_l": ["x", "y", "x"], "set_r": ["y", "x", "x"]}
    assert _counted({**sources, **texts}) == (1, 2)
    swapped = {**sources, "set_r": ["x", "y", "x"]}
    assert _counted({**swapped, **texts}) == (0, 3)


def test_rows_that_are_no_pairs_have_no_orders() -> None:
    assert _counted({"document": [1, 2], "sentence": [2, 1]}) == (0, 0)
    assert _counted({"unique_id_l": ["1", "2"], "unique_id_r": [2, 1]}) == (0, 0)


@pytest.mark.parametrize("kind", [str, int])
def test_both_rows_of_a_pair_are_sampled_or_neither(
    monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    monkeypatch.setattr("evalsampling.pool.one_order.MOST_KEPT", 10)
    rng = np.random.default_rng(1)
    left, right = rng.permutation(200_000)[:3000], rng.permutation(200_000)[:3000] + 200_000
    names = [kind(x) for x in [*left.tolist(), *right.tolist()]]
    columns = {"unique_id_l": names, "unique_id_r": [*names[3000:], *names[:3000]]}
    monkeypatch.setattr("evalsampling.stats.orders.SAMPLED", 600)
    batch = PoolBatch(pa.record_batch(columns))
    spec = parse(pool={"path": "x", "id": ["unique_id_l", "unique_id_r"]})
    counted = orders_of(batch, spec.pool, spec.seed, 6000)
    assert 200 < len(counted.key) < 1200
    twice, every = counted.pairs
    assert twice == every == 3000
