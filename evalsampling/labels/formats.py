"""Files of tasks and of votes: CSV, JSON Lines, Parquet."""

import csv
import dataclasses
import decimal
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels.parquet_votes import EXACT, MOST_ROWS, inexact, read_columns, too_large


@dataclasses.dataclass(frozen=True, slots=True)
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
        InputError: if the file cannot be read, lacks a column, is too large decoded, or has whole
            numbers as floats that stand for several of them.
    """
    reader = _READERS.get(PurePath(path).suffix.lower())
    if reader is None:
        raise InputError(f"{path}: labels come as {', '.join(_READERS)}")
    try:
        votes = list(itertools.islice(reader(path, content), MOST_ROWS + 1))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8, save it as UTF-8 text") from error
    except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if len(votes) > MOST_ROWS:
        raise too_large(path, "more rows", f"{MOST_ROWS:,}")
    return votes


class _Lines:
    """The lines of a text, of which no record may take too many.

    Attributes:
        taken: characters of the record that is being read.
    """

    def __init__(self, path: str, content: bytes, newline: str | None) -> None:
        self._path = path
        self._text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=newline)
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.taken += len(line)
            if self.taken > RECORD_CHARACTERS:
                raise InputError(
                    f"{self._path}: has a line of more than {RECORD_CHARACTERS:,} characters"
                )
            yield line


def _read_csv(path: str, content: bytes) -> Iterator[Vote]:
    lines = _Lines(path, content, newline="")
    rows = csv.reader(iter(lines), strict=True)
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path}: the file is empty")
    _check_columns(path, header)
    for row in rows:
        lines.taken = 0
        if not any(row):
            continue
        if len(row) != len(header):
            problem = f"{len(row)} fields where the header has {len(header)}"
            yield Vote(rows.line_num, problem=problem)
            continue
        yield _vote(rows.line_num, dict(zip(header, row, strict=True)))


def _read_jsonl(path: str, content: bytes) -> Iterator[Vote]:
    lines = _Lines(path, content, newline=None)
    names: dict[str, None] = {}
    unlabelled, labelled = 0, False
    for line, text in enumerate(lines, start=1):
        lines.taken = 0
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=_Object, parse_float=decimal.Decimal)
        except (ValueError, RecursionError, decimal.DecimalException) as error:
            raise InputError(f"{path}: line {line}: not JSON: {error}") from error
        if not isinstance(row, _Object):
            raise InputError(f"{path}: line {line}: not a JSON object")
        if row.twice is not None:
            yield Vote(line, problem=f"{row.twice!r} is there twice")
            continue
        if not ("task" in row or "id" in row):
            yield Vote(line, problem="neither task nor id is given")
            continue
        labelled |= "label" in row
        if len(names) < _NAMES_TOLD:
            names.update(dict.fromkeys(row))
        vote = _vote(line, _of_json(path, row))
        unlabelled = unlabelled or (0 if vote.skipped or vote.problem else line)
        yield vote
    if unlabelled and not labelled:
        there = ", ".join(map(repr, [*names][:_NAMES_TOLD]))
        raise InputError(f"{path}: no line has a 'label'; there are: {there}")


class _Object(dict[str, Any]):
    """A JSON object.

    Attributes:
        twice: a name of ours that is there more than once, None if there is none.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs if name in _COLUMNS] if len(pairs) > len(self) else []
        self.twice = next((name for name in names if names.count(name) > 1), None)


def _of_json(path: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return our columns of an object, numbers with a fraction or an exponent as floats."""
    found = {name: row[name] for name in _COLUMNS if name in row}
    for name, value in found.items():
        if not isinstance(value, decimal.Decimal):
            continue
        below = -_WHOLE_BELOW < value < _WHOLE_BELOW
        if name in EXACT and not below:
            raise inexact(path, name, f"{value:.17g}", _WHOLE_BELOW)
        # What is not whole must not become so by rounding.
        whole = below and value == value.to_integral_value()
        found[name] = int(value) if whole else _fraction(value)
    return found


def _fraction(value: decimal.Decimal) -> float | str:
    number = float(value)
    return str(value) if number.is_integer() else number


def _read_parquet(path: str, content: bytes) -> Iterator[Vote]:
    _check_columns(path, pq.read_schema(pa.BufferReader(content)).names)
    for line, row in enumerate(read_columns(path, content, _COLUMNS), start=1):
        yield _vote(line, row)


_READERS: Mapping[str, Callable[[str, bytes], Iterator[Vote]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
_COLUMNS = ("task", "id", "label", "annotator", "time", "skipped")

_SKIPPED = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

RECORD_CHARACTERS = 1 << 24
"""Most characters of a line of CSV or JSON, or of the lines of one quoted cell."""

_WHOLE_BELOW = 1 << 53
"""From here on a float stands for several whole numbers."""

_NAMES_TOLD = 20


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
    """Return the vote of a row, with a problem if a field is no single value or not known."""
    fields = {name: row.get(name) for name in _COLUMNS}
    for name, value in fields.items():
        if isinstance(value, dict | list):
            return Vote(line, problem=f"{name} is no text and no number")
        if isinstance(value, str) and not value.isascii() and not _is_unicode(value):
            return Vote(line, problem=f"{name} is no Unicode text: {value!a}")
    told = {name: _text(value) for name, value in fields.items()}
    skipped = told.pop("skipped") or "no"
    if skipped.lower() not in _SKIPPED:
        known = ", ".join(_SKIPPED)
        return Vote(line, problem=f"skipped is {skipped!r}, which is none of: {known}")
    return Vote(line, **told, skipped=_SKIPPED[skipped.lower()])


def _is_unicode(text: str) -> bool:
    """Tell whether text has no half of a pair of surrogates, which JSON can spell."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(value: Any) -> str | None:
    """Return a field as text: a whole number that a file stores as a float is still whole."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
