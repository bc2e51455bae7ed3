"""The transform keeps the rows that a process by itself keeps, however the pool is divided."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.preparation.poisson import poisson_sample
from evalsampling.spec import EvaluationSpec
from tests.kept_rows import kept_by_beam, pairs


@pytest.mark.parametrize(("rows", "by_cell"), [(37, False), (400, False), (37, True)])
def test_rows_are_those_of_one_process(tmp_path: Path, rows: int, by_cell: bool) -> None:
    rng = np.random.default_rng(5)
    score = rng.normal(-2, 1.5, 400)
    table = pa.table(
        {"id": [f"r{i}" for i in range(400)], "score": score, "prediction": (score > 0) * 1}
    )
    pq.write_table(table, tmp_path / "pool.parquet")
    content = {
        "pool": {"path": str(tmp_path / "pool.parquet")},
        "measure": "recall",
        "strata": {"leaves": 8},
        "budget": 60,
        "seed": 3,
    }
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    wanted = pairs(poisson_sample(spec, by_cell))
    assert kept_by_beam(table, rows, spec, by_cell, tmp_path / "kept") == wanted
    assert len(wanted) > 20
