"""The transform draws the rows that a process by itself draws, however the pool is divided."""

from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.transforms.util import Reshuffle

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.with_replacement import sample_with_replacement
from evalsampling.transforms import ReplacementSample
from tests.preparation.row_pools import make_spec, write_pool


@pytest.mark.parametrize("rows", [37, 600])
def test_draws_are_those_of_one_process(tmp_path: Path, rows: int) -> None:
    """Batches of their own bundles, so that the draws of each are merged with the others'."""
    write_pool(tmp_path)
    spec = make_spec(tmp_path, budget={"cost": 40})
    wanted = sample_with_replacement(spec)
    table = pq.read_table(tmp_path).combine_chunks()
    batches = [PoolBatch(part) for part in table.to_batches(max_chunksize=rows)]
    assert len(batches) == -(-600 // rows)
    out = tmp_path / "drawn"
    out.mkdir()
    with beam.Pipeline("FnApiRunner") as root:
        parts = root | beam.Create(batches) | Reshuffle()
        _ = parts | ReplacementSample(spec) | beam.Map(_write, str(out / "drawn.parquet"))
    assert pq.read_table(out).select(wanted.column_names).equals(wanted)


def _write(drawn: pa.Table, path: str) -> None:
    pq.write_table(drawn, path)
