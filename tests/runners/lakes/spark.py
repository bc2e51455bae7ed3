"""Run by a Python with PySpark: `spark.py JARS LAKE STATEMENTS QUESTIONS ANSWERS`.

Runs statements, then answers questions: of each table all rows, and the ids of those that satisfy
some conditions. What comes back is a pickle of plain Python values.
"""

import itertools
import json
import pickle
import sys
from pathlib import Path
from typing import Any

BY_VALUE = "DELETE BY VALUE "
"""Begin of a statement of our own: table, column and number follow."""


def started(jars: Path, lake: Path) -> Any:
    """A session that knows both kinds of tables, those of Iceberg by a catalog in a file."""
    from pyspark.sql import SparkSession

    catalog = "spark.sql.catalog.lake"
    settings = {
        "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
        # What runs for a minute is not worth the better of Java's two compilers.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
        "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{lake}/catalog.db",
        f"{catalog}.warehouse": str(lake),
        f"{catalog}.jdbc.schema-version": "V1",
        "spark.sql.warehouse.dir": str(lake / "spark"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Of the folders that VACUUM looks into: 10,000 tasks else.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def delete_by_value(session: Any, table: str, column: str, value: int) -> None:
    """Delete rows of an Iceberg table by a file that has a value of theirs: Spark writes none."""
    java = session._jvm
    iceberg = java.org.apache.iceberg
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, table)
    names = session.sparkContext._gateway.new_array(java.java.lang.String, 1)
    numbers = session.sparkContext._gateway.new_array(java.int, 1)
    names[0], numbers[0] = column, loaded.schema().findField(column).fieldId()
    schema = loaded.schema().select(names)
    factory = iceberg.data.GenericAppenderFactory(
        loaded.schema(), loaded.spec(), numbers, schema, None
    )
    path = loaded.io().newOutputFile(f"{loaded.location()}/data/deletes.parquet")
    file = iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(path)
    writer = factory.newEqDeleteWriter(file, iceberg.FileFormat.PARQUET, None)
    writer.write(iceberg.data.GenericRecord.create(schema).copy(column, value))
    writer.close()
    loaded.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    session.sql(f"REFRESH TABLE {table}")


def answers(session: Any, question: dict[str, Any]) -> dict[str, Any]:
    """All rows of a table, and the ids of those that satisfy conditions."""
    conditions = question["conditions"]
    asked = (f"({condition}) AS _{number}" for number, condition in enumerate(conditions))
    chosen = session.sql(f"SELECT * FROM {question['table']}").selectExpr("*", *asked).collect()
    rows = [row.asDict(recursive=True) for row in chosen]
    outcomes = [[row.pop(f"_{number}") for row in rows] for number in range(len(conditions))]
    ids = [row["id"] for row in rows]
    return {"rows": rows, "ids": [sorted(itertools.compress(ids, each)) for each in outcomes]}


def main(jars: str, lake: str, statements: str, questions: str, to: str) -> None:
    session = started(Path(jars), Path(lake))
    for statement in json.loads(Path(statements).read_text()):
        if statement.startswith(BY_VALUE):
            table, column, value = statement.removeprefix(BY_VALUE).split()
            delete_by_value(session, table, column, int(value))
        else:
            session.sql(statement).collect()
    asked = json.loads(Path(questions).read_text())
    told = {name: answers(session, question) for name, question in asked.items()}
    Path(to).write_bytes(pickle.dumps(told))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
