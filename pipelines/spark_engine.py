"""PySpark as an engine of shares: a share is one row of a small DataFrame, so one task.

See docs/pyspark.md.
"""

import contextlib
import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession

from evalsampling.pipelines.errors import plain_errors
from evalsampling.preparation.shares import Gather, Merge, Piece, Rows, Work, deal, groups_of
from evalsampling.workspace.manifest import ExecutionContext

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
"""Option of Spark: how many partitions there are after a shuffle."""

_COLUMNS = "kind string, part int, state binary"
_SCHEMA = pa.schema([("kind", pa.string()), ("part", pa.int32()), ("state", pa.binary())])
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def execution_context() -> ExecutionContext:
    """Return what a workspace records of PySpark."""
    return ExecutionContext(f"PySpark {pyspark.__version__}")


def gather_by_tasks(session: SparkSession, partitions: int | None = None) -> Gather:
    """Return what goes over rows by tasks of Spark.

    Args:
        session: to run in.
        partitions: most shares of a pass; ``spark.sql.shuffle.partitions`` if None.
    """
    most = partitions or int(session.conf.get(SHUFFLE_PARTITIONS))

    def gather(rows: Rows, work: Work, merge: Merge, parts: int) -> list[Piece]:
        dealt = deal(rows.source, most)
        tasks = min(len(dealt), max(parts, groups_of(len(dealt))))
        with _one_row_a_batch(session):
            return _collect(_merge(_pass(session, dealt, work), merge, tasks))

    return gather


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
    """Return the pieces of rows, for which a job is run."""
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
