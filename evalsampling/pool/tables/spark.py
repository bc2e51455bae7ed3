"""Tables of Spark and DataFrames, which `pipelines.spark_dataframe` stores in the workspace."""

from collections.abc import Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.pool.files import find_files
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.stored_rows import stored_pattern
from evalsampling.spec import ReadingPlan
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition, columns_of
from evalsampling.storage import open_store

KIND = "spark"
"""Key of ``pool.table``."""

FILES = "files"
"""Key of a pinned version: directory or URL of the files that hold its rows."""

_DIGITS = 5
"""Of the number of a partition in the name of its file."""


class SparkTable:
    """A table by its name in Spark, or a DataFrame that was given one, which Spark alone reads."""

    keys: Sequence[str] = ()
    is_path = False

    def check(self, section: Section) -> None:
        """Check the values of the further keys; there are none."""

    def pin(self, _: TableSpec) -> dict[str, Any]:
        """Return the version to read."""
        return {}

    def plan(self, table: TableSpec, _: Condition | None) -> list[PlannedFile]:
        """Return the files that the rows were stored in."""
        if FILES not in table.pinned:
            raise InputError(
                "pool.table.spark: only `prepare` reads such a table; for other commands export "
                "its rows to Parquet files and name these by pool.path"
            )
        directory = table.pinned[FILES]
        if not open_store(directory).names():
            problem = f"pool.table.spark: {table.name} is read by PySpark alone"
            raise InputError(f"{problem}: python -m evalsampling.pipelines.spark_prepare")
        files = find_files(stored_pattern(directory))
        numbers = [int(file.path.rpartition("/")[2][:_DIGITS]) for file in files]
        return [
            PlannedFile(file, called=f"partition {number} of {table.name}")
            for file, number in zip(files, numbers, strict=True)
        ]


SPARK = SparkTable()


def stored_name(number: int, attempt: str) -> str:
    """Return the name of the file with the rows of a partition."""
    return f"{number:0{_DIGITS}d}-{attempt}.parquet"


def is_stored(pool: PoolSpec) -> bool:
    """Tell whether a pool is a table whose rows are stored."""
    return pool.table is not None and pool.table.kind == KIND


def stored_in(pool: PoolSpec, directory: str) -> PoolSpec:
    """Return the pool; a table of Spark as stored in files below a directory or URL."""
    if pool.table is None or not is_stored(pool):
        return pool
    return pool.at_version({**pool.table.pinned, FILES: directory})


def columns_to_store(plan: ReadingPlan) -> list[str] | None:
    """Return the columns of a table that are read; None for all, which a scorer may want."""
    if plan.pool.scorer is not None:
        return None
    return list(dict.fromkeys([*plan.all_columns, *columns_of(plan.pool.condition)]))
