"""The transform keeps the rows that a process by itself keeps, however the pool is divided."""

from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.poisson import INCLUSION, poisson_sample
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import PoissonSample


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
    folder = tmp_path / "kept"
    folder.mkdir()
    batches = [PoolBatch(part) for part in table.combine_chunks().to_batches(max_chunksize=rows)]
    with beam.Pipeline("FnApiRunner") as root:
        kept = root | beam.Create(batches) | PoissonSample(spec, by_cell)
        _ = kept | beam.Map(_write, str(folder))
    assert pairs(pq.read_table(folder)) == wanted
    assert len(wanted) > 20


def pairs(kept: pa.Table) -> dict[str, float]:
    """Inclusion probability of each row, by its id."""
    return dict(zip(kept["id"].to_pylist(), kept[INCLUSION].to_pylist(), strict=True))


def _write(kept: pa.Table, folder: str) -> None:
    if len(kept):
        pq.write_table(kept, Path(folder) / f"{kept['id'][0]}.parquet")
