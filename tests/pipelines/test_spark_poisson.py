"""PySpark keeps the rows that Beam and one process keep, with the same probabilities."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.poisson import INCLUSION, poisson_sample
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import PoissonSample
from tests.jobs import make_pool
from tests.spark import SPARK

pytestmark = SPARK


def spec_of(folder: Path, **changed: Any) -> EvaluationSpec:
    content = {
        "pool": {"path": str(folder / "pool.parquet")},
        "strata": {"leaves": 16},
        "budget": 200,
        "seed": 4,
    }
    return EvaluationSpec.from_mapping({**content, **changed}, folder)


def by_spark(rows: Any, spec: EvaluationSpec, by_cell: bool) -> dict[Any, float]:
    from evalsampling.pipelines.spark_poisson import poisson_sample

    kept = poisson_sample(rows, spec, by_cell).collect()
    return {row[spec.pool.id]: row[INCLUSION] for row in kept}


def by_beam(table: pa.Table, spec: EvaluationSpec, by_cell: bool, folder: Path) -> dict[Any, float]:
    folder.mkdir()
    batches = [PoolBatch(part) for part in table.combine_chunks().to_batches(max_chunksize=170)]
    with beam.Pipeline("FnApiRunner") as root:
        kept = root | beam.Create(batches) | PoissonSample(spec, by_cell)
        _ = kept | beam.Map(_write, str(folder))
    return pairs(pq.read_table(folder))


def pairs(kept: pa.Table) -> dict[Any, float]:
    return dict(zip(kept["id"].to_pylist(), kept[INCLUSION].to_pylist(), strict=True))


def _write(kept: pa.Table, folder: str) -> None:
    if len(kept):
        pq.write_table(kept, Path(folder) / f"{kept['id'][0]}.parquet")


@pytest.mark.parametrize("by_cell", [False, True])
def test_rows_are_those_of_beam_and_of_one_process(
    session: Any, tmp_path: Path, by_cell: bool
) -> None:
    table = make_pool().table
    pq.write_table(table, tmp_path / "pool.parquet", row_group_size=300)
    spec = spec_of(tmp_path)
    wanted = pairs(poisson_sample(spec, by_cell))
    assert len(wanted) > 100
    for partitions in (1, 5):
        rows = session.read.parquet(str(tmp_path / "pool.parquet")).repartition(partitions)
        assert by_spark(rows, spec, by_cell) == wanted
    assert by_beam(table, spec, by_cell, tmp_path / "kept") == wanted


def test_strata_that_are_given_take_no_first_pass(session: Any, tmp_path: Path) -> None:
    pq.write_table(make_pool().table, tmp_path / "pool.parquet")
    strata = {"edges": [-1.0, 0.0, 1.0]}
    spec = spec_of(tmp_path, strata=strata, labels={"classes": [0, 1]})
    rows = session.read.parquet(str(tmp_path / "pool.parquet"))
    assert by_spark(rows, spec, False) == pairs(poisson_sample(spec))


def test_bad_rows_are_one_clear_error(session: Any, tmp_path: Path) -> None:
    from evalsampling.pipelines.spark_poisson import poisson_sample

    pq.write_table(make_pool().table, tmp_path / "pool.parquet")
    rows, spec = session.read.parquet(str(tmp_path / "pool.parquet")), spec_of(tmp_path)
    with pytest.raises(InputError, match="column 'score' is missing; there are: "):
        poisson_sample(rows.drop("score"), spec)
    with pytest.raises(InputError, match="the pool is empty"):
        poisson_sample(rows.limit(0), spec)
    wrong = rows.withColumn("prediction", rows["prediction"] + 5)
    with pytest.raises(InputError, match="column 'prediction', row 0: 5 is none of"):
        poisson_sample(wrong, spec)
