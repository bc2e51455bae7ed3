"""PySpark keeps the rows that Beam and one process keep, with the same probabilities."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.preparation.poisson import INCLUSION, poisson_sample
from evalsampling.spec import EvaluationSpec
from tests.jobs import make_pool
from tests.kept_rows import kept_by_beam, pairs
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
    assert kept_by_beam(table, 170, spec, by_cell, tmp_path / "kept") == wanted


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
