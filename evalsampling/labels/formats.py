"""Files of tasks and of votes: CSV, JSON Lines, Parquet."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError


@dataclasses.dataclass(frozen=True)
class Vote:
    """One answer as it was delivered; values are text, compared exactly.

    Attributes:
        line: of the file, from 1; of a Parquet file the row, from 1.
        task: name of the task, if given.
        id: id of the row, if given.
        label: class, None if the field is empty.
        annotator: who answered, if told.
        time: when, if told.
        skipped: whether the annotator declined to answer.
        problem: why the line makes no vote, if it does not.
    """

    line: int
    task: str | None = None
    id: str | None = None
    label: str | None = None
    annotator: str | None = None
    time: str | None = None
    skipped: bool = False
    problem: str | None = None


TASK_FILES = {"csv": "batch.csv", "jsonl": "batch.jsonl", "parquet": "tasks.parquet"}
"""What the file of a round's tasks is called, by format."""


def write_tasks(table: pa.Table, directory: Path, format: str) -> None:
    """Write the tasks for the annotators.

    Args:
        table: as `tasks.blind` makes it.
        directory: where to; see `TASK_FILES`.
        format: ``csv``, ``jsonl`` or ``parquet``.
    """
    path = directory / TASK_FILES[format]
    if format == "parquet":
        pq.write_table(table, path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if format == "csv":
            rows = csv.writer(file)
            rows.writerow(table.column_names)
            rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        else:
            for row in table.to_pylist():
                file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def read_votes(path: str, content: bytes) -> list[Vote]:
    """Read a delivery; its extension tells the format.

    Columns are ``task`` or ``id``, ``label``, and if there are any ``annotator``, ``time`` and
    ``skipped``; others are passed over.

    Args:
        path: of the file.
        content: of the file.

    Raises:
        InputError: if the file cannot be read or lacks a column.
    """
    reader = _READERS.get(PurePath(path).suffix.lower())
    if reader is None:
        raise InputError(f"{path}: labels come as {', '.join(_READERS)}")
    try:
        return list(reader(path, content))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8, save it as UTF-8 text") from error
    except (OSError, csv.Error, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error


def _read_csv(path: str, content: bytes) -> Iterator[Vote]:
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path}: the file is empty")
    _check_columns(path, header)
    for row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            problem = f"{len(row)} fields where the header has {len(header)}"
            yield Vote(rows.line_num, problem=problem)
            continue
        yield _vote(rows.line_num, dict(zip(header, row, strict=True)))


def _read_jsonl(path: str, content: bytes) -> Iterator[Vote]:
    for line, text in enumerate(io.StringIO(content.decode("utf-8-sig"), newline=None), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {line}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {line}: not a JSON object")
        if not ("task" in row or "id" in row):
            yield Vote(line, problem="neither task nor id is given")
            continue
        yield _vote(line, row)


def _read_parquet(path: str, content: bytes) -> Iterator[Vote]:
    table = pq.read_table(pa.BufferReader(content))
    _check_columns(path, table.column_names)
    known = [name for name in table.column_names if name in _COLUMNS]
    for line, row in enumerate(table.select(known).to_pylist(), start=1):
        yield _vote(line, row)


_READERS: Mapping[str, Callable[[str, bytes], Iterator[Vote]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
_COLUMNS = ("task", "id", "label", "annotator", "time", "skipped")


def _check_columns(path: str, columns: list[str]) -> None:
    there = ", ".join(map(repr, columns))
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t"):
        there += " (fields are told apart by commas, not by semicolons or tabs)"
    elif {name.strip().lower() for name in columns} > {"label"} and "label" not in columns:
        there += " (names are compared exactly)"
    if "task" not in columns and "id" not in columns:
        raise InputError(f"{path}: column 'task' (or 'id') is missing; there are: {there}")
    if "label" not in columns:
        raise InputError(f"{path}: column 'label' is missing; there are: {there}")
    for name in _COLUMNS:
        if columns.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is there twice")


def _vote(line: int, row: Mapping[str, Any]) -> Vote:
    skipped = _text(row.get("skipped"))
    return Vote(
        line=line,
        task=_text(row.get("task")),
        id=_text(row.get("id")),
        label=_text(row.get("label")),
        annotator=_text(row.get("annotator")),
        time=_text(row.get("time")),
        skipped=skipped is not None and skipped.lower() in ("true", "1", "yes"),
    )


def _text(value: Any) -> str | None:
    """Return a field as text: a whole number that a file stores as a float is still whole."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
