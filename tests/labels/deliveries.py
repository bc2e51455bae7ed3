"""Deliveries as files of every format."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.classes import Classes
from evalsampling.labels.register import Register
from evalsampling.labels.tally import Tally

FORMATS = ("votes.csv", "votes.jsonl", "votes.parquet", "votes.xlsx")


def register_of(
    tasks: Sequence[str], ids: Sequence[str], space: LabelSpace | None = None, votes: int = 1
) -> Register:
    """Return the register of questions without any answer, by their tasks and ids."""
    return Register(
        question_of_task={task: row for row, task in enumerate(tasks)},
        ids=ids,
        space=space or Classes(),
        tally=Tally(len(ids), votes=votes),
    )


def written(name: str, rows: Sequence[Sequence[Any]], names: Sequence[str]) -> bytes:
    """Return a file of labels; the extension tells its format."""
    suffix = PurePath(name).suffix
    if suffix == ".csv":
        text = io.StringIO(newline="")
        lines = csv.writer(text)
        lines.writerow(names)
        lines.writerows(rows)
        return text.getvalue().encode()
    if suffix == ".jsonl":
        objects = (json.dumps(dict(zip(names, row, strict=True))) for row in rows)
        return "".join(f"{one}\n" for one in objects).encode()
    if suffix == ".json":
        return json.dumps([_annotated(*row) for row in rows]).encode()
    if suffix == ".parquet":
        return parquet(**dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True)))
    file = io.BytesIO()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("tasks")
    for row in (names, *rows):
        cells = [openpyxl.cell.WriteOnlyCell(sheet, value) for value in row]
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type = "s"
        sheet.append(cells)
    book.save(file)
    return file.getvalue()


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def _annotated(task: str, label: str, annotator: Any = 1) -> dict[str, Any]:
    """Return a task as an export of Label Studio has it."""
    result = [{"from_name": "label", "type": "choices", "value": {"choices": [label]}}]
    given = {"was_cancelled": False, "result": result, "completed_by": annotator}
    return {"data": {"task": task}, "annotations": [given]}
