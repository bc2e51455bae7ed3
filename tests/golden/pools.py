"""Pools of the golden evaluations: small, seeded, and what is true of each row."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tests.compared_numbers import make_compared_numbers
from tests.jobs import LABEL_SET, Pool, make_label_set_pool, make_rich_pool
from tests.many_labels import make_many_labels_pool
from tests.queries import make_queries
from tests.ranked_lists import ranked_pool


def make_numbers_pool(rows: int = 800, seed: int = 4) -> Pool:
    """Make a pool of predicted numbers with their variances; labels are from 0 to 100."""
    rng = np.random.default_rng(seed)
    variance = rng.gamma(1.0, 8.0, rows)
    predicted = rng.uniform(20, 80, rows)
    label = np.clip(predicted + 0.5 + np.sqrt(variance) * rng.normal(size=rows), 0, 100)
    columns: dict[str, Any] = {
        "id": np.arange(rows),
        "prediction": predicted,
        "variance": variance,
        "cost": 1 + predicted / 40,
        "low": predicted < 40,
    }
    return Pool(pa.table(columns), dict(enumerate(label.tolist())))


def make_sets_pool() -> Pool:
    """Make a pool whose rows have several labels; what is true of a row is a list of them."""
    pool = make_label_set_pool(700)
    held = {id: [one for one in LABEL_SET if one in text] for id, text in pool.truth.items()}
    return Pool(pool.table, held)


def make_query_pool() -> Pool:
    """Make a pool of queries; what is true of a query is a grade for each item."""
    queries = make_queries(120)
    ids, items = queries.columns["query"], queries.columns["doc"]
    grades = [dict(zip(*one, strict=True)) for one in zip(items, queries.grade, strict=True)]
    return Pool(pa.table(queries.columns), dict(zip(ids, grades, strict=True)))


def make_differing_pool() -> Pool:
    """Make a pool of three systems, of which the second finds more positives, at a price."""
    pool = make_rich_pool(900, seed=6, systems=3)
    eager = (pool.table["s1.chance"].to_numpy() > 0.05).astype(np.int8)
    place = pool.table.schema.get_field_index("s1.prediction")
    table = pool.table.set_column(place, "s1.prediction", pa.array(eager))
    return dataclasses.replace(pool, table=table)


def make_grouped_pool() -> Pool:
    """Make a pool whose rows are in groups of ten."""
    pool = make_rich_pool(1200, seed=2, systems=3)
    group = pa.array([f"group {id // 70}" for id in pool.table["id"].to_pylist()])
    return dataclasses.replace(pool, table=pool.table.append_column("group", group))


_MAKERS: dict[str, Callable[[], Pool]] = {
    "pairs": functools.partial(make_rich_pool, 1200, seed=2, systems=3),
    "grouped": make_grouped_pool,
    "few": functools.partial(make_rich_pool, 60, seed=1),
    "four": functools.partial(make_rich_pool, 1000, seed=3, classes=4),
    "differing": make_differing_pool,
    "numbers": make_numbers_pool,
    "compared numbers": functools.partial(make_compared_numbers, 600, 3),
    "ranked": functools.partial(ranked_pool, 2000),
    "sets": make_sets_pool,
    "tags": make_many_labels_pool,
    "queries": make_query_pool,
}


@functools.cache
def pool_of(name: str) -> Pool:
    """Return the pool of a name."""
    return _MAKERS[name]()
