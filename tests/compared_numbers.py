"""Pools of several systems that predict numbers."""

from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.evaluation.in_memory import MemoryPool
from tests.jobs import Pool

RANGE = [0, 100]

NAMES = ("new", "old", "rules", "guess")


def systems_of(count: int) -> dict[str, dict[str, str]]:
    """The key ``systems`` of such a pool."""
    return {name: {"prediction": name, "variance": f"{name}.variance"} for name in NAMES[:count]}


def make_compared_numbers(rows: int = 800, systems: int = 2, seed: int = 4) -> Pool:
    """Make a pool; the systems agree on one row in ten, and the later ones are less exact."""
    rng = np.random.default_rng(seed)
    label = rng.uniform(5, 95, rows)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    shared = rng.normal(size=rows)
    agree = rng.random(rows) < 0.1
    for place, name in enumerate(NAMES[:systems]):
        variance = rng.gamma(1.0, 8.0 + 4 * place, rows)
        error = np.where(agree, 3 * shared, np.sqrt(variance) * rng.normal(size=rows))
        columns |= {name: label + error, f"{name}.variance": variance}
    columns |= {
        "cost": 1 + label / 20,
        "low": label < 40,
        "name": [f"row {i}" for i in range(rows)],
    }
    return Pool(pa.table(columns), dict(enumerate(label.tolist())))


def spec_of(systems: int, **keys: Any) -> dict[str, Any]:
    """The spec of such a pool, without a path."""
    pool = {"id": "id", "systems": systems_of(systems), **keys.pop("pool", {})}
    usual = {"labels": {"range": RANGE}, "measure": {"difference": "mse"}, "seed": 5}
    return {**usual, **keys, "pool": pool}


def in_memory(pool: Pool, systems: int, **keys: Any) -> MemoryPool:
    """The pool, prepared in memory."""
    columns = {name: pool.table[name] for name in pool.table.column_names if name != "id"}
    spec = spec_of(systems, **keys)
    return MemoryPool.from_arrays(None, None, pool.table["id"], None, columns, spec)


def rows_apart(
    predicted: list[list[float]], variances: list[list[float]], systems: int = 2, **keys: Any
) -> MemoryPool:
    """A pool of a few rows, each in a cell of its own if they are all different."""
    columns: dict[str, Any] = {"id": np.arange(len(predicted))}
    for place, name in enumerate(NAMES[:systems]):
        columns[name] = np.array(predicted, dtype=float)[:, place]
        columns[f"{name}.variance"] = np.array(variances, dtype=float)[:, place]
    return in_memory(Pool(pa.table(columns), {}), systems, **keys)


def by_row(pool: MemoryPool, of_cells: np.ndarray) -> np.ndarray:
    """What cells have, for each row in the order of the ids."""
    stored = pool.reserve.rows
    cell = np.searchsorted(pool.table.code, stored["cell"].to_numpy())
    return np.asarray(of_cells[cell][np.argsort(stored["id"].to_numpy())])
