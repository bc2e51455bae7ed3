"""Pools some of whose rows have labels already, drawn in every way that a spec can state."""

from typing import Any

import numpy as np
import pyarrow as pa

from tests.jobs import Pool, make_pool

WAYS: dict[str, Any] = {
    "random": "random",
    "within": {"within": "region"},
    "chance": {"chance": "odds"},
    "weight": {"weight": "stands_for"},
    "picked": "picked",
    "clusters": "clusters",
}
"""How rows may have been drawn, as a spec says it."""


def labelled_pool(way: str = "random", rows: int = 2000, labels: int = 150, seed: int = 0) -> Pool:
    """Return a pool with columns ``human``, ``region``, ``odds`` and ``stands_for``."""
    pool = make_pool(rows, seed)
    rng = np.random.default_rng([seed, 1])
    table, truth = pool.table, np.array(list(pool.truth.values()))
    region = rng.choice(["north", "south"], rows, p=[0.9, 0.1])
    predicted = table["prediction"].to_numpy() == 1
    odds = np.clip(np.where(predicted, 8.0, 1.0) * rng.uniform(0.5, 1.5, rows), 0, None)
    odds = np.minimum(odds * labels / odds.sum(), 1.0)
    if way in ("chance", "weight"):
        drawn = np.flatnonzero(rng.random(rows) < odds)
    elif way == "within":
        drawn = np.concatenate(
            [rng.choice(np.flatnonzero(region == r), labels // 2, replace=False)
             for r in ("north", "south")]
        )  # fmt: skip
    elif way == "clusters":
        talk = rng.permutation(np.arange(rows) // 15)
        drawn = np.flatnonzero(np.isin(talk, rng.choice(talk.max() + 1, labels // 15, False)))
        table = table.append_column("talk", pa.array([f"talk {number}" for number in talk]))
    elif way == "picked":
        wrong = (truth == 1) != predicted
        drawn = np.argsort(rng.random(rows) / 2 - wrong.astype(float))[:labels]
    else:
        drawn = rng.choice(rows, labels, replace=False)
    has_label = np.isin(np.arange(rows), drawn)
    columns = {
        "human": pa.array(truth, mask=~has_label),
        "region": pa.array(region),
        "odds": pa.array(odds, mask=~has_label),
        "stands_for": pa.array(1 / odds, mask=~has_label),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return Pool(table, pool.truth)


def keys(way: str) -> dict[str, Any]:
    """Return the keys of a spec for such a pool."""
    more = {"sampler": "clusters", "pool": {"cluster": "talk"}} if way == "clusters" else {}
    return {"labels": {"column": "human", "drawn": WAYS[way]}, **more}
