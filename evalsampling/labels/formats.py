"""Readers of files of votes: one for each extension; a table's columns tell Splink's from ours."""

import collections
import csv
import dataclasses
import decimal
import functools
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels import label_studio, splink, workbook
from evalsampling.labels.delivered_ids import ID, DeliveredIds
from evalsampling.labels.label_flags import flags_of_row, given_label, is_flag, labels_of_row
from evalsampling.labels.parquet_votes import EXACT, MOST_ROWS, inexact, read_columns, too_large
from evalsampling.labels.sinks import Sink
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import (
    BY_TASK,
    YES_OR_NO,
    Vote,
    field_text,
    in_unicode,
    is_number,
    long_table,
)
from evalsampling.pool.formats.delimiter import delimiter_of
from evalsampling.pool.formats.parquet_process import read_facts
from evalsampling.spec.id_columns import IdColumns, columns_of


def read_votes(
    path: str, content: bytes, id_columns: IdColumns = ID, sink: Sink | None = None
) -> list[Vote]:
    """Return the votes of a delivery; the extension of its name says its format.

    Required columns are ``task`` or ``id`` (or the pool's columns of ids) and ``label``; optional
    ones ``annotator``, ``time``, ``skipped`` and ``comment``. Others are not read. Tables of Splink
    have columns of their own, ``.json`` is an export of Label Studio, ``.xlsx`` a workbook.

    Args:
        path: path of the file; its name is in messages.
        content: content of the file.
        id_columns: the pool's columns of ids.
        sink: a sink of another package, which reads files with its endings itself.

    Raises:
        InputError: if the file cannot be read, lacks a column, is too large decoded, or has whole
            numbers as floats so large that each stands for several numbers.
    """
    reader = _READERS.get(PurePath(path).suffix.lower())
    if sink is not None and path.lower().endswith(sink.endings):
        reader = _without_ids(sink.read)
    if reader is None:
        raise InputError(f"{path}: labels come as {', '.join(endings(sink))}")
    try:
        own = DeliveredIds(ID if id_columns in _COLUMNS else id_columns)
        votes = list(map(in_unicode, itertools.islice(reader(path, content, own), MOST_ROWS + 1)))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8, save it as UTF-8 text") from error
    except (OSError, ValueError, RecursionError, csv.Error, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if len(votes) > MOST_ROWS:
        raise too_large(path, "more rows", f"{MOST_ROWS:,}")
    return votes


def endings(sink: Sink | None) -> tuple[str, ...]:
    """Return the extensions of files of labels, including those that a sink reads."""
    return (*_READERS, *(() if sink is None else sink.endings))


_Reader = Callable[[str, bytes, DeliveredIds], Iterable[Vote]]


def _without_ids(read: Callable[[str, bytes], Iterable[Vote]]) -> _Reader:
    return lambda path, content, own: read(path, content)


class _Lines:
    """The lines of a text file; a record of more than `RECORD_CHARACTERS` characters is an error.

    `begin` is the first line of the record that is being read, from 1.
    """

    def __init__(self, path: str, content: bytes, newline: str | None) -> None:
        self._path = path
        self._text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=newline)
        self._lines_read, self._record_length = 0, 0
        self.begin = 1

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self._lines_read += 1
            self._record_length += len(line)
            if self._record_length > RECORD_CHARACTERS:
                raise InputError(
                    f"{self._path}: line {self.begin}: a line of more than "
                    f"{RECORD_CHARACTERS:,} characters"
                )
            yield line

    def end_record(self) -> None:
        """Start another record at the next line."""
        self.begin, self._record_length = self._lines_read + 1, 0


def _read_csv(path: str, content: bytes, own: DeliveredIds) -> Iterator[Vote]:
    lines = _Lines(path, content, newline="")
    rows = _cells(path, lines, delimiter_of(content[:_HEADER_BYTES]))
    _, header = next(rows, (1, None))
    if header is None:
        raise InputError(f"{path}: the file is empty")
    is_long_table = header == long_table(own.names)
    header, read_row = _table(path, header, own)
    is_ended = content.endswith((b"\n", b"\r"))
    following = next(rows, None)
    while following is not None:
        line, row = following
        following = next(rows, None)
        if not any(row):
            continue
        if is_long_table:  # Written by `evalsampling votes`, which escapes formulas.
            row = list(map(unescaped, row))
        if len(row) != len(header):
            yield Vote(line, problem=f"{len(row)} fields where the header has {len(header)}")
            continue
        vote = read_row(line, dict(zip(header, row, strict=True)))
        # `no` in the column `skipped` is the beginning of nothing else; an empty field may be.
        is_whole = is_ended or (header[-1] == "skipped" and row[-1] != "")
        if following is None and not is_whole:
            vote = dataclasses.replace(vote, unended=header[-1])
        yield vote


def _cells(path: str, lines: _Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each record of a CSV file, with its last line."""
    allow_long_cells()
    rows = csv.reader(iter(lines), strict=True, delimiter=delimiter)
    try:
        for row in rows:
            lines.end_record()
            yield rows.line_num, row
    except csv.Error as error:
        problem = f": cannot be read: {error}"
        if "end of data" in str(error):
            problem = " does not end; is a quote left open?"
        raise InputError(f"{path}: line {lines.begin}{problem}") from error


def allow_long_cells() -> None:
    """Let cells of CSV files be as long as a record may be, for the whole process."""
    csv.field_size_limit(max(csv.field_size_limit(), RECORD_CHARACTERS))


def _read_xlsx(path: str, content: bytes, own: DeliveredIds) -> Iterator[Vote]:
    rows = workbook.read_rows(path, content)
    names = [str(name) if name is not None else "" for name in next(rows, [])]
    header, read_row = _table(path, names, own)
    exact = [name for name in dict.fromkeys([*EXACT, *own.names]) if name in header]
    for line, row in enumerate(rows, start=2):
        values = {name: value for name, value in zip(header, row, strict=False) if name}
        for name in exact:
            value = values.get(name)
            if isinstance(value, int | float) and abs(value) >= _INEXACT_FROM:
                raise InputError(
                    f"{path}: line {line}: column {name!r} has {value:.17g} as a number, of which "
                    f"a spreadsheet keeps 15 digits: {BY_TASK}, or write it as text"
                )
        if any(value not in (None, "") for value in values.values()):
            yield read_row(line, values)


def _table(
    path: str, header: list[str], own: DeliveredIds
) -> tuple[list[str], Callable[[int, Mapping[str, Any]], Vote]]:
    """Return the names of a table's columns, that of ids being ``id``, and what reads its rows."""
    is_splink = splink.is_table(header)
    header = own.renamed(header)
    _check_columns(path, header, is_splink, own)
    read = splink.read_row if is_splink else vote_of
    return header, functools.partial(own.vote, read)


def _read_jsonl(path: str, content: bytes, own: DeliveredIds) -> Iterator[Vote]:
    lines = _Lines(path, content, newline=None)
    hook = functools.partial(_Object, own=own)
    names: dict[str, None] = {}
    unlabelled, labelled = 0, False
    for line, text in enumerate(lines, start=1):
        lines.end_record()
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=hook, parse_float=decimal.Decimal)
        except (ValueError, RecursionError, decimal.DecimalException) as error:
            raise InputError(f"{path}: line {line}: not JSON: {error}") from error
        if not isinstance(row, _Object):
            raise InputError(f"{path}: line {line}: not a JSON object")
        single = own.columns if isinstance(own.columns, str) else ID
        if single in row and single not in row.twice and ID not in row:
            row[ID] = row.pop(single)
        if row.twice:
            once = {name: value for name, value in row.items() if name not in row.twice}
            yield _rejected(line, once, f"{row.twice[0]!r} is there twice")
            continue
        if not ("task" in row or own.are_in(row)):
            yield _rejected(line, row, own.unnamed(row))
            continue
        labelled |= "label" in row or any(map(is_flag, row))
        if len(names) < _NAMES_LISTED:
            names.update(dict.fromkeys(row))
        vote = own.vote(vote_of, line, _of_json(path, row, own))
        unlabelled = unlabelled or (0 if vote.skipped or vote.problem else line)
        yield vote
    if unlabelled and not labelled:
        listed = ", ".join(map(repr, [*names][:_NAMES_LISTED]))
        raise InputError(f"{path}: no line has a 'label'; there are: {listed}")


class _Object(dict[str, Any]):
    """A JSON object that knows which of the keys that we read it has more than once: `twice`."""

    def __init__(self, pairs: list[tuple[str, Any]], own: DeliveredIds) -> None:
        super().__init__(pairs)
        repeating = pairs if len(pairs) > len(self) else []
        ids = own.names if ID in self else columns_of(own.columns)
        names = [name for name, _ in repeating if name in (*ids, *_COLUMNS[:-1]) or is_flag(name)]
        self.twice = [name for name, count in collections.Counter(names).items() if count > 1]


def _of_json(path: str, row: Mapping[str, Any], own: DeliveredIds) -> dict[str, Any]:
    """Return the columns of an object that we read, with decimal numbers as floats or integers."""
    names = [*_COLUMNS, *own.names, *filter(is_flag, row)]
    fields = {name: row[name] for name in names if name in row}
    for name, value in fields.items():
        if not isinstance(value, decimal.Decimal):
            continue
        below = -_WHOLE_BELOW < value < _WHOLE_BELOW
        if name in (*EXACT, *own.names) and not below:
            raise inexact(path, name, f"{value:.17g}", _WHOLE_BELOW)
        is_whole = below and value == value.to_integral_value()
        fields[name] = int(value) if is_whole else _fraction(value)
    return fields


def _fraction(value: decimal.Decimal) -> float | str:
    """Return a number as a float, or as text if rounding would make it whole."""
    number = float(value)
    return str(value) if number.is_integer() else number


def _read_parquet(path: str, content: bytes, own: DeliveredIds) -> Iterator[Vote]:
    facts = read_facts(content)
    schema = facts["schema"]
    columns = schema.names
    _, read_row = _table(path, columns, own)
    ids = own.names if ID in columns else columns_of(own.columns)
    names: tuple[str, ...] = splink.COLUMNS if splink.is_table(columns) else _COLUMNS
    if "comment" in columns and pa.types.is_nested(schema.field("comment").type):
        names = _COLUMNS[:-1]
    names = (*names, *ids, *filter(is_flag, columns))
    for line, row in enumerate(read_columns(path, content, facts, names, ids), start=1):
        yield read_row(line, row)


_READERS: Mapping[str, _Reader] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".xlsx": _read_xlsx,
    ".json": _without_ids(label_studio.read_export),
}
_COLUMNS = ("task", "id", "label", "annotator", "time", "skipped", "comment")
"""Columns that are read. A comment decides nothing, so it comes last and may have any type."""

RECORD_CHARACTERS = 1 << 24
"""Most characters of a line of CSV or JSON, or of the lines of one quoted cell."""

_HEADER_BYTES = 1 << 16
"""Bytes among which the header shows what separates the cells."""

_WHOLE_BELOW = 1 << 53
"""Least whole number from which on a float stands for several."""

_INEXACT_FROM = 10**15
"""Least number of a spreadsheet that may stand for several whole numbers."""

_NAMES_LISTED = 20
"""Most names of fields in the message that none is called ``label``."""


def _check_columns(path: str, columns: list[str], is_splink: bool, own: DeliveredIds) -> None:
    ours = splink.COLUMNS if is_splink else (*_COLUMNS[:-1], *filter(is_flag, columns))
    for name in (*ours, *own.names):
        if columns.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is there twice")
    if is_splink:
        splink.check_columns(path, columns)
        return
    listed = ", ".join(map(repr, columns))
    if {name.strip().lower() for name in columns} > {"label"} and "label" not in columns:
        listed += " (names are compared exactly)"
    if "task" not in columns and not own.are_in(columns):
        ids = " and ".join(map(repr, own.names))
        raise InputError(f"{path}: column 'task' (or {ids}) is missing; there are: {listed}")
    if "label" not in columns and not any(map(is_flag, columns)):
        raise InputError(f"{path}: column 'label' is missing; there are: {listed}")


def vote_of(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a row, with its problem if a field has a value that is not allowed."""
    fields = {name: row.get(name) for name in _COLUMNS[:-1]}
    labels, problem = labels_of_row(row)
    if problem:
        return _rejected(line, row, problem)
    if labels is not None:
        fields["label"] = None
    for name, value in fields.items():
        if isinstance(value, dict | list):
            return _rejected(line, row, f"{name} is no text and no number")
    texts = {name: field_text(value) for name, value in fields.items()}
    skipped = texts.pop("skipped") or "no"
    if skipped.lower() not in YES_OR_NO:
        allowed = ", ".join(YES_OR_NO)
        return _rejected(line, row, f"skipped is {skipped!r}, which is none of: {allowed}")
    comment = row.get("comment")
    return Vote(
        line,
        task=texts["task"],
        id=texts["id"],
        label=texts["label"],
        labels=labels,
        flags=() if labels is None else flags_of_row(row),
        annotator=texts["annotator"],
        time=texts["time"],
        skipped=YES_OR_NO[skipped.lower()],
        comment=comment if isinstance(comment, str) and comment else None,
        has_number=is_number(row.get("id")),
    )


def _rejected(line: int, row: Mapping[str, Any], problem: str) -> Vote:
    """Return the vote of a row that is rejected, with the task, id and label that the row has."""
    task, id = field_text(row.get("task")), field_text(row.get("id"))
    return Vote(line, task=task, id=id, label=given_label(row), problem=problem)
