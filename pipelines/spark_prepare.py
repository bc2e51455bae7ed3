r"""Prepare a pool by PySpark, without Beam: the same workspace as `pipelines.prepare` makes.

On this machine:

    python -m evalsampling.pipelines.spark_prepare --spec=evaluation.yaml

On a cluster:

    spark-submit --py-files evalsampling.zip --archives environment.tar.gz#environment \
        pipelines/spark_prepare.py --spec=evaluation.yaml

See docs/pyspark.md.
"""

import argparse
import contextlib
import itertools
import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession

from evalsampling.commands.options import add_to_job, read_options
from evalsampling.commands.prepare import JOB, Preparation, PrepareOptions, PrepareResult
from evalsampling.commands.prepare_plan import prepare_by_shares
from evalsampling.evaluation.specs import load_spec
from evalsampling.pipelines.errors import plain_errors, run_as_program
from evalsampling.preparation.shares import Merge, Piece, Rows, Shares, Work, deal, groups_of
from evalsampling.spec import EvaluationSpec
from evalsampling.telemetry import logs
from evalsampling.workspace.manifest import ExecutionContext

_COLUMNS = "kind string, part int, state binary"
_SCHEMA = pa.schema([("kind", pa.string()), ("part", pa.int32()), ("state", pa.binary())])
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


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
    context = ExecutionContext(f"PySpark {pyspark.__version__}")
    preparation = Preparation.from_spec(spec, context, check_ids)
    most = partitions or int(session.conf.get(_SHUFFLE_PARTITIONS))

    def gather(rows: Rows, work: Work, merge: Merge, parts: int) -> list[Piece]:
        dealt = deal(rows.source, most)
        tasks = min(len(dealt), max(parts, groups_of(len(dealt))))
        return _collect(_merge(_pass(session, dealt, work), merge, tasks))

    with _one_row_a_batch(session):
        return prepare_by_shares(preparation, Shares(gather))


def _pass(session: SparkSession, dealt: Sequence[Any], work: Work) -> DataFrame:
    """Return the pieces of each share as rows; sums have the number of a group as their part."""
    groups = groups_of(len(dealt))
    encoded = [pickle.dumps(share) for share in dealt]

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield from _batches(work(pickle.loads(encoded[number]), number % groups))

    # A range has its numbers in partitions of equal size: of one share, that is.
    return session.range(0, len(dealt), 1, len(dealt)).mapInArrow(stage, _COLUMNS)


def _merge(pieces: DataFrame, merge: Merge, tasks: int) -> DataFrame:
    """Return the pieces that all pieces of one kind and part are merged to, as rows."""

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for (kind, part), group in itertools.groupby(_pieces(batches), lambda piece: piece[:2]):
            yield from _batches([merge(kind, part, (piece.state for piece in group))])

    grouped = pieces.repartition(tasks, "kind", "part").sortWithinPartitions("kind", "part")
    return grouped.mapInArrow(stage, _COLUMNS)


def _collect(pieces: DataFrame) -> list[Piece]:
    """Return the pieces of rows, for which a job is run.

    Raises:
        InputError: if a worker raised one, with its message alone.
    """
    with plain_errors():
        rows = pieces.collect()
    return [Piece(row.kind, row.part, pickle.loads(row.state)) for row in rows]


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    for batch in batches:
        for kind, part, state in zip(*batch.columns, strict=True):
            yield Piece(kind.as_py(), part.as_py(), pickle.loads(state.as_buffer()))


def _batches(pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    for kind, part, state in pieces:
        encoded = pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL)
        yield pa.RecordBatch.from_arrays(
            [pa.array(column) for column in ([kind], [part], [encoded])], schema=_SCHEMA
        )


@contextlib.contextmanager
def _one_row_a_batch(session: SparkSession) -> Iterator[None]:
    """Let Spark hand one row at a time to Python: a row is a state of up to many megabytes."""
    before = session.conf.get(_BATCH_ROWS)
    session.conf.set(_BATCH_ROWS, "1")
    try:
        yield
    finally:
        session.conf.set(_BATCH_ROWS, before)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Prepare a pool by PySpark.")
    add_to_job(parser, PrepareOptions)
    parser.add_argument(
        "--partitions", type=int, metavar="N", help=f"most shares (default: {_SHUFFLE_PARTITIONS})"
    )
    arguments = parser.parse_args(argv)
    with logs.job(JOB):
        result = _prepare_here(read_options(PrepareOptions, arguments), arguments.partitions)
        logs.tell(rows=result.rows, cells=result.cells)
        json.dump(result.to_json(), sys.stdout)
        sys.stdout.write("\n")


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
