"""A DataFrame of Spark becomes the workspace that a file with its rows becomes."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.pool import stored_rows
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.jobs import Job, make_pool, make_rich_pool
from tests.reference import assert_same, assert_same_evaluation, reference
from tests.spark import SPARK

pytestmark = SPARK


def rows_of(session: Any, one: Job, partitions: int = 3) -> Any:
    """Return the pool of a job as a DataFrame."""
    return session.read.parquet(str(one.directory / "pool")).repartition(partitions)


def prepare(rows: Any, one: Job, **options: Any) -> Any:
    from evalsampling.pipelines.spark_dataframe import prepare

    return prepare(rows, EvaluationSpec.load(one.spec), **options)


def stored(one: Job) -> list[Path]:
    return sorted((one.workspace / "stored").glob("*.parquet"))


def test_the_same_workspace_and_the_same_evaluation(session: Any, job: Any) -> None:
    one = job(make_pool(), files=3, group_rows=300, budget=300)
    done = prepare(rows_of(session, one), one, partitions=2)
    assert done.rows == 2000
    assert done.runner.startswith("PySpark ")
    assert len(stored(one)) == 3
    assert_same_evaluation(one)
    assert verify(WorkspaceOptions(str(one.workspace))).ok
    assert prepare(rows_of(session, one), one) == done, "prepared again, it does nothing"


def test_all_kinds_of_columns_filtered_and_joined(session: Any, job: Any) -> None:
    shape, keys = CASES["systems"]
    one = job(make_rich_pool(**shape), files=2, budget=300, **keys)
    rows = rows_of(session, one).selectExpr("*", "rand() AS other")
    names = rows.select("id").distinct()
    prepare(rows.filter("other >= 0").join(names, "id"), one)
    assert_same(one.workspace, reference(one), budget=300)


def test_later_commands_read_what_was_stored(session: Any, job: Any) -> None:
    one = job(make_pool(), budget=30)
    prepare(rows_of(session, one), one)
    path = json.loads((one.workspace / "evaluation.json").read_text())["spec"]["pool"]["path"]
    assert path == str(one.workspace / "stored" / "*.parquet")


def test_each_try_of_a_task_has_a_file_and_the_last_counts(
    session: Any, job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is killed after its file is whole: what it wrote is not taken twice."""
    one, mark = job(make_pool(), budget=300), tmp_path / "died"
    write = stored_rows.store_batches

    def dying(batches: Any, directory: str, name: str) -> Any:
        yield from write(batches, directory, name)
        if not mark.exists():
            mark.touch()
            (tmp_path / "left").write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("evalsampling.pipelines.spark_dataframe.store_batches", dying)
    prepare(rows_of(session, one), one)
    assert mark.exists()
    assert (tmp_path / "left").read_text() not in [path.name for path in stored(one)]
    assert_same(one.workspace, reference(one), budget=300)


def test_what_is_no_pool(session: Any, job: Any) -> None:
    one = job(make_pool())
    rows = rows_of(session, one)
    for wrong, message in [
        (rows.drop("score"), "column 'score' is missing; there are: id"),
        (rows.join(rows, "id"), "column 'score' is there twice"),
        (rows.limit(0), "the DataFrame has no rows: the pool is empty"),
        (
            rows.withColumn("score", rows["score"] / 0),
            r"partition \d of the DataFrame: column 'score', row 0: null",
        ),
        (rows.withColumn("prediction", rows["prediction"] + 5), "column 'prediction', row 0: 5"),
    ]:
        with pytest.raises(InputError, match=message):
            prepare(wrong, one)
        assert not one.workspace.exists()
