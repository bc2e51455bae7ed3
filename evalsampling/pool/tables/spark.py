"""Tables of Spark and other DataFrames, whose rows only a session of Spark can read."""

from evalsampling.errors import InputError
from evalsampling.pool.layout import PlannedFile
from evalsampling.pool.tables.stored import StoredTable
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition

KIND = "spark"
"""Key of ``pool.table``."""


class SparkTable(StoredTable):
    """A table by its name in Spark, or a DataFrame that was given one.

    No other engine reads its rows: `pipelines.spark_dataframe` stores them.
    """

    part = "partition"

    def plan(self, table: TableSpec, where: Condition | None) -> list[PlannedFile]:
        """Return the files that the rows were stored in.

        Raises:
            InputError: if nobody has stored them.
        """
        files = super().plan(table, where)
        if not files:
            raise InputError(
                f"pool.table.spark: {table.name} is read by PySpark alone: "
                "python -m evalsampling.pipelines.spark_prepare"
            )
        return files


SPARK = SparkTable()
