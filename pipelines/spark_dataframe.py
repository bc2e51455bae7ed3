"""Prepare a DataFrame of Spark: its rows are stored once below the workspace, and read from there.

    from evalsampling.evaluation import load_spec
    from evalsampling.pipelines.spark_dataframe import prepare

    prepare(spark.table("main.fraud.scored"), load_spec("evaluation.yaml"))

See docs/pyspark.md.
"""

import functools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from evalsampling.commands.prepare import Preparation, PrepareResult
from evalsampling.commands.prepare_plan import prepare_by_shares
from evalsampling.errors import InputError
from evalsampling.pipelines.errors import plain_errors
from evalsampling.pipelines.spark_engine import execution_context, gather_by_tasks
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.source import keeps_nothing, planned_files
from evalsampling.pool.stored_rows import as_row_groups, store_batches
from evalsampling.pool.tables.spark import FILES, KIND, columns_to_store, stored_name
from evalsampling.preparation.shares import Shares
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.where import columns_of, in_spark
from evalsampling.storage import open_store


def prepare(
    rows: DataFrame, spec: EvaluationSpec, check_ids: bool = False, partitions: int | None = None
) -> PrepareResult:
    """Prepare a DataFrame as the pool, unless that is done, and return what was prepared.

    The DataFrame is gone through once. Its columns that the spec names are stored in the workspace,
    all of them if the spec names a scorer. Both passes, and all later commands, read those files.
    A workspace that is prepared is not compared with the DataFrame.

    Args:
        rows: the pool, with the columns that the spec names and any others.
        spec: of the evaluation. Its ``pool.table`` is ``{spark: NAME}``, whose name is shown.
        check_ids: whether to check all ids of the pool, not only those of the reserve. A
            workspace that was prepared without is refused then.
        partitions: most shares the files are read in; ``spark.sql.shuffle.partitions`` if None.

    Raises:
        InputError: for anything wrong with the spec or the rows; the workspace is as it was.
    """
    table = spec.pool.table
    if table is None or table.kind != KIND:
        raise InputError("pool.table: a DataFrame is no file; name it, as `table: {spark: NAME}`")
    preparation = Preparation.from_spec(spec, execution_context(), check_ids)
    gather = gather_by_tasks(rows.sparkSession, partitions)
    store = functools.partial(_store_rows, _wanted(rows, spec))
    return prepare_by_shares(preparation, Shares(gather, store))


def _wanted(rows: DataFrame, spec: EvaluationSpec) -> DataFrame:
    """Return the rows and columns of a DataFrame that are to be stored."""
    names = dict.fromkeys(  # A field comes with its column.
        name if name in rows.columns else name.partition(".")[0]
        for name in columns_to_store(spec.reading) or rows.columns
    )
    _check_columns(rows, names)
    wanted = rows.select(*_quoted(names))
    looked_at = columns_of(spec.pool.condition)
    narrow = {name for name, kind in rows.dtypes if kind == "float"}
    # Spark widens these to compare them with a literal. Rows are left out as they are read.
    if spec.pool.where is None or any(name.partition(".")[0] in narrow for name in looked_at):
        return wanted
    try:
        return wanted.filter(in_spark(spec.pool.where))
    except AnalysisException as error:
        raise InputError(f"pool.where: Spark: {str(error).splitlines()[0]}") from error


def _check_columns(rows: DataFrame, names: Iterable[str]) -> None:
    """Check that a DataFrame has columns.

    Raises:
        InputError: if one is missing, or there twice, as after a join.
    """
    for name in names:
        if name not in rows.columns:
            raise InputError(f"column {name!r} is missing; there are: {', '.join(rows.columns)}")
        if rows.columns.count(name) > 1:
            raise InputError(f"column {name!r} is there twice: drop or rename all but one")


def _quoted(names: Iterable[str]) -> list[str]:
    """Return names of columns as Spark takes them, where a dot would mean a field of a struct."""
    return ["`" + name.replace("`", "``") + "`" for name in names]


def _store_rows(rows: DataFrame, pool: PoolSpec) -> list[PlannedFile]:
    """Store rows, at least one, as the files of a pool, and return these."""
    assert pool.table is not None
    directory, columns = pool.table.pinned[FILES], rows.columns
    store = open_store(directory)
    store.make()
    # `mapInArrow` of Spark 3.5 takes no names with dots.
    numbered = rows.toDF(*(f"c{number}" for number in range(len(columns))))
    with plain_errors():
        stored = numbered.mapInArrow(_keeping(columns, directory), "name string").collect()
    names = {row.name for row in stored}
    if not names:
        raise keeps_nothing(pool)
    # Of a task that was tried again or twice, only what the try wrote counts that Spark counts.
    store.remove([name for name in store.names() if name not in names])
    # A try that Spark has given up may still add one.
    return [file for file in planned_files(pool) if PurePath(file.stored.path).name in names]


def _keeping(
    columns: Sequence[str], directory: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what stores the rows of a partition, with names of columns, and yields its file's.

    Each try has a file of its own: rows of another try may differ.
    """

    def keep(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        name = stored_name(context.partitionId(), uuid.uuid4().hex)
        named = (batch.rename_columns(list(columns)) for batch in batches)
        rows = sum(map(len, store_batches(as_row_groups(named), directory, name)))
        if rows:
            yield pa.record_batch({"name": [name]})

    return keep
