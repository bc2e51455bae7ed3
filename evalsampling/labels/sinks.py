"""Files of tasks for the annotators, in the formats that they take."""

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.labels import ground_truth, label_studio, splink, vendor, workbook
from evalsampling.pool.json_text import json_text
from evalsampling.spec import EvaluationSpec

TASK_FILES = {
    "csv": "batch.csv",
    "jsonl": "batch.jsonl",
    "parquet": "tasks.parquet",
    "vendor": vendor.BATCH,
    "xlsx": workbook.BATCH,
    "label-studio": label_studio.FOLDER,
    "ground-truth": "tasks.manifest",
    "splink": "clerical-labels.csv",
}
"""What the file of a round's tasks is called, by format; of Label Studio it is a folder."""


def write_tasks(table: pa.Table, directory: Path, spec: EvaluationSpec, batch: str) -> None:
    """Write the tasks for the annotators.

    Args:
        table: as `tasks.blind` makes it.
        directory: where to; see `TASK_FILES`.
        spec: of the evaluation, with the format.
        batch: opaque name of the batch.

    Raises:
        InputError: if the format needs a package that is not installed.
    """
    sink = spec.sink
    path = directory / TASK_FILES[sink.format]
    if sink.format == "parquet":
        pq.write_table(table, path)
    elif sink.format == "label-studio":
        label_studio.write_tasks(table, directory, sink, spec.labels, batch)
    elif sink.format == "vendor":
        vendor.write_tasks(table, directory, sink, spec.labels)
    elif sink.format == "xlsx":
        workbook.write_tasks(table, directory, sink, spec.labels)
    elif sink.format == "ground-truth":
        ground_truth.write_manifest(table, path)
    elif sink.format == "splink":
        splink.write_batch(table, path, sink)
    elif sink.format == "jsonl":
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(json_text(row) + "\n" for row in table.to_pylist())
    else:
        _write_csv(table, path, sink.escape)


def _write_csv(table: pa.Table, path: Path, escape: bool) -> None:
    columns: list[list[Any]] = [column.to_pylist() for column in table.columns]
    if escape:
        columns = [[vendor.escaped(value) for value in column] for column in columns]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(table.column_names)
        rows.writerows(zip(*columns, strict=True))
