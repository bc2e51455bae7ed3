"""Batches for people with a spreadsheet: a CSV file, and a sheet of instructions."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.labels.label_studio import QUESTION, filled
from evalsampling.labels.tasks import shown_columns
from evalsampling.spec import LabellingPlan
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sink import SinkSpec

BATCH, SHEET = "batch.csv", "instructions.txt"

ADDED = ("annotator", "comment")
"""Columns that people may fill beside the label."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet takes for formulas, and the escape itself."""


def escaped(value: Any) -> Any:
    """Return a cell with an apostrophe before it if a spreadsheet might take it for a formula."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return value


def unescaped(cell: str) -> str:
    """Return the text that `escaped` was given."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def write_csv(table: pa.Table, path: Path, escape: bool, encoding: str = "utf-8") -> None:
    """Write a table as CSV."""
    columns: list[list[Any]] = [column.to_pylist() for column in table.columns]
    if escape:
        columns = [[escaped(value) for value in column] for column in columns]
    path.write_bytes(csv_text(table.column_names, zip(*columns, strict=True)).encode(encoding))


def csv_text(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table as the text of a CSV file."""
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(names)
    lines.writerows(rows)
    return text.getvalue()


def write_tasks(table: pa.Table, path: Path, plan: LabellingPlan, _: str) -> None:
    """Write tasks as CSV for spreadsheets, with the columns `ADDED`, and instructions beside."""
    write_csv(with_added(table), path, plan.sink.escape, "utf-8-sig")
    sheet = instructions(BATCH, len(table), shown_columns(table), plan.sink, plan.labels)
    path.with_name(SHEET).write_text(sheet, encoding="utf-8")


def with_added(table: pa.Table) -> pa.Table:
    """Return tasks with the columns `ADDED`, empty where they are no payload."""
    for name in ADDED:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([""] * len(table), pa.string()))
    return table


def instructions(
    batch: str, rows: int, columns: list[str], sink: SinkSpec, labels: LabelsSpec
) -> str:
    """Return the instructions as text: the question, what to write where and to leave alone."""
    return filled(
        "instructions.txt",
        batch=batch,
        question=sink.question or QUESTION,
        rows=rows,
        columns=columns,
        field=labels.space.field,
        meanings=labels.meanings,
        votes=labels.votes,
        escape=sink.escape,
    )
