"""The rows that a Poisson sample keeps, by Beam, for the tests of several files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.options.pipeline_options import PipelineOptions

from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.poisson import INCLUSION
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import PoissonSample


def pairs(kept: pa.Table) -> dict[Any, float]:
    """Inclusion probability of each row, by its id."""
    return dict(zip(kept["id"].to_pylist(), kept[INCLUSION].to_pylist(), strict=True))


def kept_by_beam(
    table: pa.Table,
    rows: int,
    spec: EvaluationSpec,
    by_cell: bool,
    folder: Path,
    options: Sequence[str] = ("--runner=FnApiRunner",),
) -> dict[Any, float]:
    """What a pipeline keeps of a table in batches of so many rows; a folder for its files."""
    folder.mkdir()
    batches = [PoolBatch(part) for part in table.combine_chunks().to_batches(max_chunksize=rows)]
    with beam.Pipeline(options=PipelineOptions([*options])) as root:
        kept = root | beam.Create(batches) | PoissonSample(spec, by_cell)
        _ = kept | beam.Map(_write, str(folder))
    return pairs(pq.read_table(folder))


def _write(kept: pa.Table, folder: str) -> None:
    if len(kept):
        pq.write_table(kept, Path(folder) / f"{kept['id'][0]}.parquet")
