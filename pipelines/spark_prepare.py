r"""Prepare a pool by PySpark, without Beam: the same workspace as `pipelines.prepare` makes.

On this machine:

    python -m evalsampling.pipelines.spark_prepare --spec=evaluation.yaml

On a cluster:

    spark-submit --py-files evalsampling.zip --archives environment.tar.gz#environment \
        pipelines/spark_prepare.py --spec=evaluation.yaml

See docs/pyspark.md.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from evalsampling.commands.options import add_to_job, read_options
from evalsampling.commands.prepare import JOB, Preparation, PrepareOptions, PrepareResult
from evalsampling.commands.prepare_plan import prepare_by_shares
from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_spec
from evalsampling.pipelines import spark_dataframe
from evalsampling.pipelines.errors import run_as_program
from evalsampling.pipelines.spark_engine import (
    SHUFFLE_PARTITIONS,
    execution_context,
    gather_by_tasks,
)
from evalsampling.pool.tables.spark import KIND
from evalsampling.preparation.shares import Shares
from evalsampling.spec import EvaluationSpec
from evalsampling.telemetry import logs


def prepare(
    spec: EvaluationSpec,
    session: SparkSession,
    check_ids: bool = False,
    partitions: int | None = None,
) -> PrepareResult:
    """Prepare a pool, unless that is done, and return what was prepared.

    Args:
        spec: of the evaluation.
        session: to run in.
        check_ids: whether to check all ids of the pool, not only those of the reserve. A
            workspace that was prepared without is refused then.
        partitions: most shares the pool is read in; ``spark.sql.shuffle.partitions`` if None.

    Raises:
        InputError: for anything wrong with the spec or the pool; the workspace is as it was.
    """
    table = spec.pool.table
    if table is not None and table.kind == KIND:
        rows = _rows_of(table.name, session)
        return spark_dataframe.prepare(rows, spec, check_ids, partitions)
    preparation = Preparation.from_spec(spec, execution_context(), check_ids)
    return prepare_by_shares(preparation, Shares(gather_by_tasks(session, partitions)))


def _rows_of(name: str, session: SparkSession) -> DataFrame:
    """Return a table of a session by its name."""
    try:
        return session.table(name)
    except AnalysisException as error:
        raise InputError(f"pool.table.spark: {str(error).splitlines()[0]}") from error


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Prepare a pool by PySpark.")
    add_to_job(parser, PrepareOptions)
    parser.add_argument(
        "--partitions", type=int, metavar="N", help=f"most shares (default: {SHUFFLE_PARTITIONS})"
    )
    arguments = parser.parse_args(argv)
    with logs.job(JOB):
        result = _prepare_here(read_options(PrepareOptions, arguments), arguments.partitions)
        logs.tell(rows=result.rows, cells=result.cells)
        print(json.dumps(result.to_json()))


def _prepare_here(options: PrepareOptions, partitions: int | None) -> PrepareResult:
    """Prepare in the session that is there, or in one for this alone."""
    spec = load_spec(options.spec)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # not by spark-submit: workers are here
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    is_ours = SparkSession.getActiveSession() is None
    session = SparkSession.builder.appName("evalsampling prepare").getOrCreate()
    if is_ours and session.sparkContext.master.startswith("local"):
        session.sparkContext.setLogLevel("OFF")  # an error would be told twice, at great length
    try:
        return prepare(spec, session, options.check_ids, partitions)
    finally:
        if is_ours:
            session.stop()


if __name__ == "__main__":
    run_as_program(main)
