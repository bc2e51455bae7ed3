"""A DataFrame of Spark becomes the workspace that a file with its rows becomes."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import InputError
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.prepare_plan import prepare_in_process
from evalsampling.commands.verify import verify
from evalsampling.pool import stored_rows
from evalsampling.pool.source import planned_files
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.jobs import Job, Jobs, Pool, make_pool, make_rich_pool
from tests.reference import assert_same, assert_same_evaluation, reference
from tests.spark import SPARK

pytestmark = SPARK


def of_table(job: Job, table: dict[str, Any], where: str | None = None) -> Job:
    """Return a job whose spec names a table in place of files, and a condition."""
    content = yaml.safe_load(job.spec.read_text())
    del content["pool"]["path"]
    content["pool"]["table"] = table
    content["pool"] |= {} if where is None else {"where": where}
    job.spec.write_text(yaml.safe_dump(content))
    return job


@pytest.fixture
def of_rows(job: Jobs) -> Jobs:
    """Makes a job whose pool is a DataFrame called `pool`, with the rows of its files."""

    def make(rows: Pool | None = None, where: str | None = None, **keys: Any) -> Job:
        return of_table(job(rows or make_pool(), **keys), {"spark": "pool"}, where)

    return make


def rows_of(session: Any, one: Job, partitions: int = 3) -> Any:
    """Return the pool of a job as a DataFrame."""
    return session.read.parquet(str(one.directory / "pool")).repartition(partitions)


def prepare(rows: Any, one: Job, **options: Any) -> Any:
    from evalsampling.pipelines.spark_dataframe import prepare

    return prepare(rows, EvaluationSpec.load(one.spec), partitions=2, **options)


def stored(one: Job) -> list[Path]:
    return sorted((one.workspace / "stored").glob("*.parquet"))


def test_the_same_workspace_and_the_same_evaluation(session: Any, of_rows: Any) -> None:
    one = of_rows(files=2, budget=300)
    done = prepare(rows_of(session, one), one)
    assert done.rows == 2000
    assert done.runner.startswith("PySpark ")
    assert len(stored(one)) == 3
    assert_same_evaluation(one)
    assert prepare(rows_of(session, one).limit(5), one) == done, "prepared again, it does nothing"


def test_all_kinds_of_columns_of_rows_that_were_joined(session: Any, of_rows: Any) -> None:
    shape, keys = CASES["systems"]
    one = of_rows(make_rich_pool(**shape), budget=300, **keys)
    rows = rows_of(session, one).selectExpr("*", "rand() AS other")
    prepare(rows.join(rows.select("id").distinct(), "id"), one)
    assert_same(one.workspace, reference(one), budget=300)


def test_a_table_by_its_name_and_the_rows_that_satisfy_a_condition(
    session: Any, of_rows: Any
) -> None:
    from evalsampling.pipelines.spark_prepare import prepare

    where = '"score" > 0 AND name IS NOT NULL'
    one = of_rows(where=where, budget=300)
    rows_of(session, one).createOrReplaceTempView("pool")
    done = prepare(EvaluationSpec.load(one.spec), session, check_ids=True, partitions=2)
    kept = one.pool.table.filter(one.pool.table["score"].to_numpy() > 0)
    assert done.rows == len(kept)
    assert sum(pq.read_metadata(path).num_rows for path in stored(one)) == len(kept)
    of_kept = Job(one.directory, Pool(kept, {}), one.spec, one.workspace)
    assert_same(one.workspace, reference(of_kept), budget=300)
    session.catalog.dropTempView("pool")


def test_fields_of_structs(session: Any, of_rows: Any) -> None:
    one = of_rows(where="out.m.score > -2", pool={"score": "out.m.score"})
    struct = "named_struct('m', named_struct('score', score)) AS out"
    done = prepare(rows_of(session, one).selectExpr("id", "prediction", "name", struct), one)
    assert done.rows == np.count_nonzero(one.pool.table["score"].to_numpy() > -2)


def test_later_commands_read_what_was_stored(session: Any, of_rows: Any) -> None:
    one = of_rows(budget=30)
    prepare(rows_of(session, one), one)
    for path in (one.directory / "pool").iterdir():
        path.unlink()
    options = WorkspaceOptions(str(one.workspace))
    assert verify(options).ok
    assert one.prepare("--top-up").status == 0
    assert verify(options).ok
    damaged = stored(one)[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert damaged.name in str(verify(options).bad)
    assert one.prepare("--top-up").status == 1


def test_each_try_of_a_task_has_a_file_and_the_last_counts(
    session: Any, of_rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed after its file is whole: what it wrote is not taken twice."""
    one, mark = of_rows(budget=300), tmp_path / "died"
    write = stored_rows.store_batches

    def dying(batches: Any, directory: str, name: str) -> Any:
        yield from write(batches, directory, name)
        if not mark.exists():
            mark.write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("evalsampling.pipelines.spark_dataframe.store_batches", dying)
    prepare(rows_of(session, one), one)
    assert mark.read_text() not in [path.name for path in stored(one)]
    assert_same(one.workspace, reference(one), budget=300)


def test_what_is_no_pool(session: Any, of_rows: Any, job: Any) -> None:
    one = of_rows()
    rows = rows_of(session, one)
    for wrong, message in [
        (rows.drop("score"), "column 'score' is missing; there are: id"),
        (rows.join(rows, "id"), "column 'score' is there twice"),
        (rows.limit(0), "^pool: the pool is empty$"),
        (
            rows.selectExpr("id", "prediction", "name", "nullif(score, score) AS score"),
            r"^partition \d of pool: column 'score', row 0: null",
        ),
        (
            rows.withColumn("prediction", rows["prediction"] + 5),
            r"^partition \d of pool: column 'prediction', row 0: 5",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            prepare(wrong, one)
        assert not one.workspace.exists()
    with pytest.raises(
        InputError, match=r"a DataFrame is no file; name it, as `table: \{spark: NAME\}`"
    ):
        prepare(rows, job())


def test_a_table_that_is_not_there(session: Any, of_rows: Any) -> None:
    from evalsampling.pipelines.spark_prepare import prepare

    one = of_rows()
    with pytest.raises(InputError, match=r"^pool\.table\.spark: .*TABLE_OR_VIEW_NOT_FOUND"):
        prepare(EvaluationSpec.load(one.spec), session)
    with pytest.raises(InputError, match=r"^pool\.table\.spark: pool is read by PySpark alone: "):
        prepare_in_process(EvaluationSpec.load(one.spec))
    assert not one.workspace.exists()


def test_only_prepare_reads_such_a_table(of_rows: Any) -> None:
    with pytest.raises(
        InputError,
        match=r"pool.table.spark: only `prepare` reads .* export .* name these by pool.path",
    ):
        planned_files(EvaluationSpec.load(of_rows().spec).pool)


def million_rows() -> Pool:
    """A pool of a million rows, of which a hundredth is positive."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=10**6)
    columns = {
        "id": np.arange(10**6),
        "score": score,
        "prediction": (score > 2).astype(np.int64),
        "name": np.arange(10**6).astype(str),
    }
    truth = (score + rng.normal(size=10**6) > 3.3).astype(int)
    return Pool(pa.table(columns), dict(enumerate(truth.tolist())))


def assert_same_as_files(one: Job, flat: Job) -> None:
    """Check that two workspaces have the same cells, reserve, drawn ids and estimates."""
    for name, keys in (("cells.parquet", ["cell"]), ("reserve", ["cell", "rank"])):
        here, there = (
            pq.read_table(job.workspace / name).sort_by([(key, "ascending") for key in keys])
            for job in (one, flat)
        )
        same = [column for column in here.column_names if column not in ("file", "row")]
        assert here.select(same).equals(there.select(same))
    drawn, estimates = [], []
    for job in (one, flat):
        assert job.sample().status == 0
        drawn.append(sorted(job.batch(1)["id"]))
        estimates.append(job.answer(1).json["measures"])
    assert drawn[0] == drawn[1]
    assert estimates[0] == estimates[1]


@pytest.mark.slow
def test_a_million_rows(session: Any, of_rows: Any, job: Any) -> None:
    pool = million_rows()
    one, flat = of_rows(pool, budget=300), job(pool, budget=300)
    prepare(rows_of(session, one), one)
    prepare_in_process(EvaluationSpec.load(flat.spec))
    assert_same_as_files(one, flat)
