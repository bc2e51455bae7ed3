"""A Poisson sample of a DataFrame by PySpark, without Beam: the rows that `PoissonSample` keeps.

See docs/poisson.md.
"""

import dataclasses
import functools
import pickle
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from evalsampling.pipelines.errors import plain_errors
from evalsampling.pipelines.spark_dataframe import check_columns, quoted
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import required_columns
from evalsampling.preparation.poisson import INCLUSION, keep_rows
from evalsampling.preparation.shares import Merge, Piece, Rows, Shares, Work
from evalsampling.spec import EvaluationSpec


def poisson_sample(rows: DataFrame, spec: EvaluationSpec, by_cell: bool = False) -> DataFrame:
    """Return the rows of a Poisson sample, with `INCLUSION` as one more column.

    The pool is gone through twice here, for the strata and for the cells, and once more by whatever
    asks for the sample: cache it if it is dear.

    Args:
        rows: the pool, with the columns that the spec names and any others.
        spec: of the evaluation; its ``pool.path`` is not looked at.
        by_cell: see `preparation.poisson.PoissonFilter`.

    Raises:
        InputError: for a column that is missing, the first bad value of a partition, no rows, or
            anything wrong with the spec.
    """
    check_columns(rows, required_columns(spec, payload=False))
    pool = Rows(rows, _pool_batches, rows.columns)
    kept = dataclasses.replace(keep_rows(Shares(_gather), pool, spec, by_cell), source=None)
    keep = functools.partial(_kept_batches, kept=kept)
    return rows.mapInArrow(keep, StructType([*rows.schema.fields]).add(INCLUSION, "double"))


def _pool_batches(
    batches: Iterable[pa.RecordBatch], _: Sequence[str] | None
) -> Iterator[PoolBatch]:
    return (PoolBatch(batch) for batch in batches if len(batch))


def _kept_batches(batches: Iterable[pa.RecordBatch], kept: Rows) -> Iterator[pa.RecordBatch]:
    for table in kept.over(batches):
        yield from table.combine_chunks().to_batches()


def _gather(rows: Rows, work: Work, merge: Merge, _: int) -> list[Piece]:
    """Return the one piece of a stage over a DataFrame, of which each partition is a share."""

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in work(batches, 0):
            yield pa.record_batch({"piece": pa.array([pickle.dumps(piece)], pa.binary())})

    def merged(total: Piece | None, piece: Piece | None) -> Piece | None:
        if total is None or piece is None:
            return piece if total is None else total
        return merge(piece.kind, piece.part, (total.state, piece.state))

    pieces = (
        rows.source.select(*quoted(rows.columns or ()))
        .mapInArrow(stage, "piece binary")
        .rdd.map(lambda row: pickle.loads(row.piece))
    )
    with plain_errors():
        total = pieces.treeAggregate(None, merged, merged)
    return [] if total is None else [total]
