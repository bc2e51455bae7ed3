"""PySpark tells what is no pool; `tests/commands/test_prepare_plan.py` has the rows it keeps."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.spec import EvaluationSpec
from tests.jobs import make_pool
from tests.spark import SPARK

pytestmark = SPARK


def test_bad_rows_are_one_clear_error(session: Any, tmp_path: Path) -> None:
    from evalsampling.pipelines.spark_poisson import poisson_sample

    path = tmp_path / "pool.parquet"
    pq.write_table(make_pool().table, path)
    content = {"pool": {"path": str(path)}, "strata": {"leaves": 16}, "budget": 200}
    rows, spec = session.read.parquet(str(path)), EvaluationSpec.from_mapping(content, tmp_path)
    with pytest.raises(InputError, match="column 'score' is missing; there are: "):
        poisson_sample(rows.drop("score"), spec)
    with pytest.raises(InputError, match="the pool is empty"):
        poisson_sample(rows.limit(0), spec)
    wrong = rows.withColumn("prediction", rows["prediction"] + 5)
    with pytest.raises(InputError, match="column 'prediction', row 0: 5 is none of"):
        poisson_sample(wrong, spec)
