"""Readers of files of votes: one for each ending; fields tell exports of tools from ours."""

import collections
import csv
import dataclasses
import decimal
import functools
import gzip
import io
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels import questions, splink, workbook
from evalsampling.labels.delivered_ids import ID, DeliveredIds
from evalsampling.labels.exports import Export
from evalsampling.labels.label_flags import flags_of_row, given_label, is_flag, labels_of_row
from evalsampling.labels.limits import EXACT, MOST_BYTES, MOST_ROWS, inexact, too_large
from evalsampling.labels.parquet_rows import open_parquet, read_rows
from evalsampling.labels.sinks import Sink
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import (
    BY_TASK,
    YES_OR_NO,
    Vote,
    field_text,
    in_unicode,
    long_table,
    with_values,
)
from evalsampling.pool.formats.delimiter import delimiter_of
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import IdColumns, columns_of


def read_votes(
    path: str,
    content: bytes,
    id_columns: IdColumns = ID,
    sink: Sink | None = None,
    spec: EvaluationSpec | None = None,
) -> list[Vote]:
    """Return the votes of a delivery; the end of its name says its format.

    Required columns are ``task`` or ``id`` (or the pool's columns of ids) and ``label``; optional
    ones ``annotator``, ``time``, ``skipped`` and ``comment``. Others are not read. Tables of Splink
    and exports of tools (`exports.TABLE`) have fields of their own, by which they are known.
    """
    bare = path[:-3] if path.lower().endswith(".gz") else path
    reader = _READERS.get(PurePath(bare).suffix.lower())
    reader = None if bare != path and PurePath(bare).suffix.lower() not in _TEXT else reader
    if sink is not None and path.lower().endswith(sink.endings):
        reader = _without_ids(sink.read)
    if reader is None:
        raise InputError(f"{path}: labels come as {', '.join(endings(sink))}")
    try:
        content = content if bare == path else _decompressed(path, content)
        asked = Asked(DeliveredIds(ID if id_columns in _COLUMNS else id_columns), spec)
        votes = list(map(in_unicode, itertools.islice(reader(path, content, asked), MOST_ROWS + 1)))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8, save it as UTF-8 text") from error
    except _UNREADABLE as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    if len(votes) > MOST_ROWS:
        raise too_large(path, "more rows", f"{MOST_ROWS:,}")
    return votes


def endings(sink: Sink | None) -> tuple[str, ...]:
    """Return the extensions of files of labels, including those that a sink reads."""
    compressed = (f"{ending}.gz" for ending in _TEXT)
    return (*_READERS, *compressed, *(() if sink is None else sink.endings))


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is known of the tasks that a delivery answers.

    Attributes:
        own: how it names rows, where it does not by task.
        spec: of the evaluation; None if not known.
    """

    own: DeliveredIds
    spec: EvaluationSpec | None = None

    @property
    def shown(self) -> Sequence[str]:
        """Columns of the pool, which are no answers."""
        if self.spec is None:
            return []
        pool = self.spec.pool
        predicted = (name for one in pool.systems for name in (one.score, one.prediction))
        return [name for name in (*pool.payload, *pool.slices, *predicted) if name is not None]

    def votes(self, path: str, export: Export, rows: Iterable[tuple[int, Any]]) -> Iterator[Vote]:
        """Yield the votes of an export of a labelling tool."""
        space = None if self.spec is None else self.spec.labels.space
        for line, fields, says, problem in questions.answered_rows(
            path, export, rows, self.own, space
        ):
            row = _of_json(path, fields, self.own)
            vote = self.own.vote(vote_of, line, row)
            yield _rejected(line, row, problem) if problem else with_values(vote, says=says)


_Reader = Callable[[str, bytes, Asked], Iterable[Vote]]


def _without_ids(read: Callable[[str, bytes], Iterable[Vote]]) -> _Reader:
    return lambda path, content, asked: read(path, content)


def _decompressed(path: str, content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        plain = file.read(MOST_BYTES + 1)
    if len(plain) > MOST_BYTES:
        raise too_large(path, "more bytes when it is decompressed", f"{MOST_BYTES:,}")
    return plain


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


def _read_csv(path: str, content: bytes, asked: Asked, usual: str = ",") -> Iterator[Vote]:
    lines = _Lines(path, content, newline="")
    rows = _cells(path, lines, delimiter_of(content[:_HEADER_BYTES], usual))
    _, header = next(rows, (1, None))
    if header is None:
        raise InputError(f"{path}: the file is empty")
    is_long_table = header == long_table(asked.own.names)
    # `no` in the column `skipped` is the beginning of nothing else; an empty field may be.
    is_ended, cut, odd = content.endswith((b"\n", b"\r")), 0, []

    def fitting() -> Iterator[tuple[int, list[str]]]:
        nonlocal cut
        following = next(rows, None)
        while following is not None:
            line, row = following
            following = next(rows, None)
            if any(row) and len(row) != len(header):
                problem = f"{len(row)} fields where the header has {len(header)}"
                odd.append(Vote(line, problem=problem))
            elif any(row):
                is_whole = is_ended or (header[-1] == "skipped" and row[-1] != "")
                cut = line if following is None and not is_whole else 0
                # Written by `evalsampling export`, which escapes formulas.
                yield line, list(map(unescaped, row)) if is_long_table else row

    last = asked.own.renamed(header or [""])[-1]
    decides = last in {"label", *splink.COLUMNS, *asked.own.names} - {"time", "comment"}
    for vote in _of_table(path, header, fitting(), asked):
        yield dataclasses.replace(vote, cut=last) if decides and vote.line == cut else vote
    yield from odd


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


def _read_xlsx(path: str, content: bytes, asked: Asked) -> Iterator[Vote]:
    rows = workbook.read_rows(path, content)
    header = [str(name) if name is not None else "" for name in next(rows, [])]
    names = asked.own.renamed(header)
    exact = {*EXACT, *asked.own.names}

    def filled() -> Iterator[tuple[int, list[Any]]]:
        for line, row in enumerate(rows, start=2):
            for name, value in zip(names, row, strict=False):
                is_large = isinstance(value, int | float) and abs(value) >= _INEXACT_FROM
                if name in exact and is_large:
                    raise InputError(
                        f"{path}: line {line}: column {name!r} has {value:.17g} as a "
                        f"number: {BY_TASK}, or write it as text"
                    )
            named = (one for name, one in zip(names, row, strict=False) if name)
            if any(value not in (None, "") for value in named):
                yield line, [*row]

    yield from _of_table(path, header, filled(), asked)


def _of_table(
    path: str, header: list[str], rows: Iterable[tuple[int, Sequence[Any]]], asked: Asked
) -> Iterator[Vote]:
    """Yield the votes of a table, by the names of its columns."""
    export = questions.export_of(dict.fromkeys(header))
    if export is None and questions.has_answer_elsewhere(header, asked.shown):
        rows = [*rows]
        found = [dict(zip(header, row, strict=False)) for _, row in rows]
        export = questions.binary_of(path, found, asked.shown)
    if export is not None:
        fields = ((line, dict(zip(header, row, strict=False))) for line, row in rows)
        yield from asked.votes(path, export, fields)
        return
    names, read_row = _columns_of(path, header, asked.own)
    for line, row in rows:
        yield read_row(line, {name: one for name, one in zip(names, row, strict=False) if name})


def _columns_of(
    path: str, header: list[str], own: DeliveredIds
) -> tuple[list[str], Callable[[int, Mapping[str, Any]], Vote]]:
    """Return the names of a table's columns, that of ids being ``id``, and what reads its rows."""
    is_splink = splink.is_table(header)
    header = own.renamed(header)
    _check_columns(path, header, is_splink, own)
    read = splink.read_row if is_splink else vote_of
    return header, functools.partial(own.vote, read)


def _read_jsonl(path: str, content: bytes, asked: Asked) -> Iterator[Vote]:
    lines = _Lines(path, content, newline=None)
    hook = functools.partial(_Object, own=asked.own)

    def objects() -> Iterator[tuple[int, _Object]]:
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
            yield line, row

    return _of_objects(path, objects(), asked)


def _read_json(path: str, content: bytes, asked: Asked) -> Iterator[Vote]:
    try:
        text = content.decode("utf-8-sig")
        data = json.loads(text, object_pairs_hook=_once, parse_float=decimal.Decimal)
    except UnicodeDecodeError:
        raise
    except (ValueError, RecursionError, decimal.DecimalException) as error:
        if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b"\n" in content.strip():
            return _read_jsonl(path, content, asked)  # JSON Lines under another name
        raise InputError(f"{path}: not JSON: {error}") from error
    rows = _rows_of(data)
    if rows is None:
        raise InputError(f"{path}: not a list of rows, nor an export of a labelling tool")
    objects = (_Object([*row.items()], asked.own) if isinstance(row, dict) else row for row in rows)
    return _of_objects(path, enumerate(objects, start=1), asked)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, a `ValueError` if a key is there twice."""
    counts = collections.Counter(name for name, _ in pairs)
    if len(counts) < len(pairs):
        raise ValueError(f"{counts.most_common(1)[0][0]!r} is there twice in one object")
    return dict(pairs)


def _rows_of(data: Any) -> Iterable[Any] | None:
    """Return the rows of a JSON file: a list, one within an object, columns, or rows by name."""
    if isinstance(data, list):
        return data
    values = [*data.values()] if isinstance(data, dict) else []
    if values and all(isinstance(value, list) for value in values):
        lengths = {len(value) for value in values}
        if len(values) > 1 and len(lengths) == 1:
            return [dict(zip(data, row, strict=True)) for row in zip(*values, strict=True)]
    if values and all(isinstance(value, dict) for value in values):
        return values
    lists = [value for value in values if isinstance(value, list) and value]
    return lists[0] if len(lists) == 1 and all(isinstance(row, dict) for row in lists[0]) else None


def _of_objects(path: str, rows: Iterator[tuple[int, Any]], asked: Asked) -> Iterator[Vote]:
    """Yield the votes of objects, whose fields tell whose they are."""
    first = [*itertools.islice(rows, _ROWS_LOOKED_AT)]
    rows = itertools.chain(first, rows)
    exports = (questions.export_of(row) for _, row in first)
    export = next((export for export in exports if export is not None), None)
    fields = {name: None for _, row in first if isinstance(row, dict) for name in row}
    if export is None and questions.has_answer_elsewhere(fields, asked.shown):
        kept = [*rows]
        export, rows = questions.binary_of(path, [row for _, row in kept], asked.shown), iter(kept)
    if export is None:
        yield from _of_own_objects(path, rows, asked.own)
        return
    once = []
    for line, row in rows:
        name = _repeated(row)
        if name is None:
            once.append((line, row))
        else:
            yield _rejected(line, {}, f"{name!r} is there twice")
    yield from asked.votes(path, export, once)


def _repeated(value: Any) -> str | None:
    """Return a key that an object, or one within it, has more than once; None if none has."""
    if isinstance(value, _Object) and value.repeated:
        return value.repeated[0]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((name for name in map(_repeated, inner) if name is not None), None)


def _of_own_objects(
    path: str, rows: Iterable[tuple[int, Any]], own: DeliveredIds
) -> Iterator[Vote]:
    names: dict[str, None] = {}
    unlabelled, labelled = 0, False
    for line, row in rows:
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
    """A JSON object that knows which keys are `repeated`, and which of ours are: `twice`."""

    def __init__(self, pairs: list[tuple[str, Any]], own: DeliveredIds) -> None:
        super().__init__(pairs)
        counts = collections.Counter([name for name, _ in pairs] if len(pairs) > len(self) else [])
        self.repeated = [name for name, count in counts.items() if count > 1]
        ids = own.names if ID in self else columns_of(own.columns)
        ours = (*ids, *_COLUMNS[:-1])
        self.twice = [name for name in self.repeated if name in ours or is_flag(name)]


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


def _read_parquet(path: str, content: bytes, asked: Asked) -> Iterator[Vote]:
    file, own = open_parquet(content), asked.own
    schema = file.schema_arrow
    columns = schema.names
    single = [field.name for field in schema if not pa.types.is_nested(field.type)]
    export = questions.export_of(dict.fromkeys(columns))
    if export is not None and len(single) < len(columns):
        raise InputError(
            f"{path}: an export of {export.tool} with nested columns: give it as JSON Lines"
        )
    if export is None and questions.has_answer_elsewhere(columns, asked.shown):
        rows = [*read_rows(path, file, single, ())]
        export = questions.binary_of(path, rows, asked.shown)
    if export is not None:
        rows = [*read_rows(path, file, single, ())]
        yield from asked.votes(path, export, enumerate(rows, start=1))
        return
    _, read_row = _columns_of(path, columns, own)
    ids = own.names if ID in columns else columns_of(own.columns)
    names: tuple[str, ...] = splink.COLUMNS if splink.is_table(columns) else _COLUMNS
    if "comment" in columns and pa.types.is_nested(schema.field("comment").type):
        names = _COLUMNS[:-1]
    names = (*names, *ids, *filter(is_flag, columns))
    for line, row in enumerate(read_rows(path, file, names, ids), start=1):
        yield read_row(line, row)


_READERS: Mapping[str, _Reader] = {
    ".csv": _read_csv,
    ".tsv": functools.partial(_read_csv, usual="\t"),
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": _read_parquet,
    ".xlsx": _read_xlsx,
    ".json": _read_json,
}
_UNREADABLE = (
    OSError, EOFError, ValueError, RecursionError, zlib.error, csv.Error, pa.ArrowException,
)  # fmt: skip
_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""Ends of the names of files that may be compressed: ``votes.csv.gz``."""

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

_ROWS_LOOKED_AT = 100
"""Rows of JSON whose fields tell what the file is."""

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
    if isinstance(row.get("label"), list) and labels is not None and len(labels) == 1:
        fields["label"], labels = labels[0], None
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
    )


def _rejected(line: int, row: Mapping[str, Any], problem: str) -> Vote:
    """Return the vote of a row that is rejected, with the task, id and label that the row has."""
    task, id = field_text(row.get("task")), field_text(row.get("id"))
    return Vote(line, task=task, id=id, label=given_label(row), problem=problem)
