"""A pool of two files whose rows differ in what their labels cost, for tests."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.spec import EvaluationSpec

ROWS = 600


def write_pool(folder: Path) -> dict[str, np.ndarray]:
    """Two files; costs that have nothing to do with the score."""
    rng = np.random.default_rng(5)
    score = 0.02 + 0.96 * rng.beta(0.4, 1.2, ROWS)
    columns = {
        "id": np.arange(ROWS),
        "score": score,
        "prediction": (score > 0.5) * 1,
        "length": np.exp(rng.normal(0, 1, ROWS)),
        "site": np.where(np.arange(ROWS) % 3, "north", "south"),
    }
    table = pa.table(columns)
    pq.write_table(table[:250], folder / "a.parquet")
    pq.write_table(table[250:], folder / "b.parquet")
    return columns | {"label": (rng.random(ROWS) < score) * 1}


def make_spec(folder: Path, **keys: object) -> EvaluationSpec:
    content = {
        "pool": {"path": str(folder / "*.parquet"), "cost": "length"},
        "measure": "accuracy",
        "strata": {"leaves": 8},
        "budget": 80,
        "sampler": {"name": "optimal_importance", "delta": 0.0},
        "seed": 3,
        **keys,
    }
    return EvaluationSpec.from_mapping(content, folder)
