"""A Poisson sample of a DataFrame by PySpark, without Beam: the rows that `PoissonSample` keeps.

See docs/poisson.md.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from evalsampling.errors import InputError
from evalsampling.pipelines.errors import user_error
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import required_columns
from evalsampling.preparation.local import SecondPass, first_pass
from evalsampling.preparation.poisson import INCLUSION, PoissonFilter, keep_batches
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import check_not_empty, summary_columns
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
    columns = required_columns(spec, payload=False)
    for name in columns:
        if name not in rows.columns:
            raise InputError(f"column {name!r} is missing; there are: {', '.join(rows.columns)}")

    def sums_of(batches: Iterable[PoolBatch]) -> Any:
        work = SecondPass(spec, stratification)
        for _ in work.over(batches):
            pass
        return work.sums

    def keep(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return keep_batches(batches, spec, stratification, chosen)

    given = Stratification.given(spec)
    stratification = given or Stratification.from_spec(
        spec, _total(rows, summary_columns(spec), lambda batches: first_pass(batches, spec))
    )
    sums = _total(rows, columns, sums_of)
    check_not_empty(0 if sums is None else sums.count.sum())
    chosen = PoissonFilter.from_spec(spec, stratification, sums, by_cell)
    return rows.mapInArrow(keep, StructType([*rows.schema.fields]).add(INCLUSION, "double"))


def _total(
    rows: DataFrame, columns: Iterable[str], state_of: Callable[[Iterable[PoolBatch]], Any]
) -> Any:
    """Return the sum of what a function makes of each partition, None if there is nothing.

    Raises:
        InputError: if a worker raised one, with its message alone.
    """

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state = state_of(PoolBatch(batch) for batch in batches if len(batch))
        if state is not None:
            yield pa.record_batch({"state": pa.array([pickle.dumps(state)], pa.binary())})

    quoted = ["`" + name.replace("`", "``") + "`" for name in columns]
    states = rows.select(*quoted).mapInArrow(stage, "state binary").rdd
    try:
        return states.map(lambda row: pickle.loads(row.state)).treeAggregate(None, _added, _added)
    except Exception as error:
        found = user_error(error)
        if found is not None:
            raise found from error
        raise


def _added(total: Any, state: Any) -> Any:
    """Return the sum of two states, either of which may be None."""
    if total is None or state is None:
        return state if total is None else total
    return total + state
