"""Pairs of a batch: which columns are sides, and what is sampled of a large pool."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation import orders
from evalsampling.preparation.orders import count_orders
from evalsampling.spec.id_columns import sides_of
from tests.spec.specs import parse

SIDES = ["unique_id_l", "unique_id_r"]


def _counted(columns: dict[str, Any], rows: int = 0) -> tuple[int, int]:
    batch = PoolBatch(pa.record_batch(columns))
    spec = parse(pool={"path": "x", "id": list(columns)})
    return count_orders(batch, spec, rows).pairs


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
    monkeypatch.setattr(orders, "MOST_KEPT", 10)
    rng = np.random.default_rng(1)
    left, right = rng.permutation(200_000)[:3000], rng.permutation(200_000)[:3000] + 200_000
    names = [kind(x) for x in [*left.tolist(), *right.tolist()]]
    columns = {"unique_id_l": names, "unique_id_r": [*names[3000:], *names[:3000]]}
    monkeypatch.setattr("evalsampling.stats.orders.SAMPLED", 600)
    batch = PoolBatch(pa.record_batch(columns))
    spec = parse(pool={"path": "x", "id": SIDES})
    counted = count_orders(batch, spec, 6000)
    assert 200 < len(counted.key) < 1200
    twice, every = counted.pairs
    assert twice == every == 3000
