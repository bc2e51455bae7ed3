"""Votes of a delivery: a reader for each format returns rows of named fields, checked in one place.

Which format a file has, the end of its name says; fields tell exports of labelling tools from ours.
"""

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
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels import questions, splink, workbook
from evalsampling.labels.delivered_ids import ID, DeliveredIds
from evalsampling.labels.questions import Asked, Row
from evalsampling.labels.sinks import reader_of
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import (
    BY_TASK,
    COLUMNS,
    MOST_BYTES,
    MOST_CHARACTERS,
    MOST_ROWS,
    YES_OR_NO,
    Vote,
    in_unicode,
    is_flag,
    long_table,
    rejected,
    too_large,
    vote_of,
    with_values,
)
from evalsampling.pool.arrow import is_bytes, plain
from evalsampling.pool.formats.text import delimiter_of
from evalsampling.pool.rendering import rendered
from evalsampling.spec import LabellingPlan

_EXACT = ("task", "label", "unique_id_l", "unique_id_r")
"""Columns whose values tell votes apart, beside ids, so that they must not be rounded."""

_FLOATS = {pa.float16(): 1 << 11, pa.float32(): 1 << 24}
_WHOLE_BELOW = 1 << 53
"""Least whole number from which on a float of a type, or of any other type, stands for several."""

Item = TypeVar("Item")

_HEADER_BYTES = 1 << 16
"""Bytes among which the header shows what separates the cells."""

_ROWS_LOOKED_AT = 100
"""Rows of a file whose fields tell what it is."""

_NAMES_LISTED = 20
"""Most names of fields in the message that none is called ``label``."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of a delivery, with the columns of a table in their order; objects have none.

    `whole_below` has by column the least number of it that stands for several whole numbers.
    """

    rows: Iterator[Row]
    columns: Sequence[str] | None = None
    whole_below: Mapping[str, int] = dataclasses.field(default_factory=dict)


def read_votes(path: str, content: bytes, plan: LabellingPlan | None = None) -> list[Vote]:
    """Return the votes of a delivery.

    Required columns are ``task`` or ``id`` (or the pool's columns of ids) and ``label``; optional
    ones ``annotator``, ``time``, ``skipped`` and ``comment``. Others are not read. Tables of Splink
    and exports of tools (`exports.TABLE`) have fields of their own, by which they are known.
    """
    sink = None if plan is None else reader_of(plan)
    bare = path[:-3] if path.lower().endswith(".gz") else path
    suffix = PurePath(bare).suffix.lower()
    read = _READERS.get(suffix) if bare == path or suffix in _TEXT else None
    asked = Asked() if plan is None else Asked.of(plan)
    try:
        if sink is not None and path.lower().endswith(sink.endings):
            votes = iter(sink.read(path, content))
        elif read is None:
            raise InputError(f"{path}: labels come as {', '.join(endings(plan))}")
        else:
            plain = content if bare == path else _decompressed(path, content)
            votes = _votes(path, read(path, plain, asked), asked)
        return _limited(path, map(in_unicode, votes))
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: not UTF-8, save it as UTF-8 text") from error
    except _UNREADABLE as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error


def endings(plan: LabellingPlan | None) -> tuple[str, ...]:
    """Return the extensions of files of labels, including those that the sink reads."""
    sink = None if plan is None else reader_of(plan)
    compressed = (f"{ending}.gz" for ending in _TEXT)
    return (*_READERS, *compressed, *(() if sink is None else sink.endings))


def _limited(path: str, rows: Iterable[Item]) -> list[Item]:
    taken = [*itertools.islice(rows, MOST_ROWS + 1)]
    if len(taken) > MOST_ROWS:
        raise too_large(path, "more rows", f"{MOST_ROWS:,}")
    return taken


def _decompressed(path: str, content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        plain = file.read(MOST_BYTES + 1)
    if len(plain) > MOST_BYTES:
        raise too_large(path, "more bytes when it is decompressed", f"{MOST_BYTES:,}")
    return plain


def _votes(path: str, found: Rows, asked: Asked) -> Iterator[Vote]:
    """Yield the votes of the rows of a file, whose columns are checked."""
    own, read, limits = asked.own, vote_of, dict(found.whole_below)
    own.rename(limits)
    first = [*itertools.islice(found.rows, _ROWS_LOOKED_AT)]
    rows: Iterable[Row] = itertools.chain(first, found.rows)
    columns = found.columns or dict.fromkeys(name for row in first for name in row.fields)
    shapes = [dict.fromkeys(columns), *(row.fields for row in first)]
    export = next(filter(None, map(questions.export_of, shapes)), None)
    if export is None and questions.has_answer_elsewhere(columns, asked.shown):
        rows = _limited(path, rows)
        export = questions.binary_of(path, [row.fields for row in rows], asked.shown)
    if export is not None:
        rows = questions.answered_rows(path, export, map(_once_within, rows), asked)
    elif found.columns is None:
        rows = _own_objects(path, rows, asked)
    else:
        is_splink = splink.is_table(found.columns)
        _check_columns(path, own.renamed(found.columns), is_splink, own)
        read = splink.read_row if is_splink else vote_of
    exact = {*_EXACT, *own.names}
    for line, fields, problem, says, doubt in rows:
        own.rename(fields)
        if problem:
            yield rejected(line, fields, problem)
            continue
        for name, value in fields.items():
            most = limits.get(name, _WHOLE_BELOW)
            if type(value) is float and abs(value) >= most and name in exact:
                raise InputError(
                    f"{path}: line {line}: column {name!r} has {value:.17g} as a float, which from "
                    f"{most:,} on stands for several whole numbers: {BY_TASK}, or write it as text"
                )
        vote = own.vote(read, line, fields)
        if doubt and vote.problem is None and vote.is_answer:
            vote = with_values(vote, problem=doubt)
        yield vote if says is None else with_values(vote, says=says)


def _check_columns(path: str, columns: list[str], is_splink: bool, own: DeliveredIds) -> None:
    ours = splink.COLUMNS if is_splink else (*COLUMNS[:-1], *filter(is_flag, columns))
    for name in (*ours, *own.names):
        if columns.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is there twice")
    listed = ", ".join(map(repr, columns))
    if {name.strip().lower() for name in columns} > {"label"} and "label" not in columns:
        listed += " (names are compared exactly)"
    ids = splink.IDS if is_splink else own.names
    if "task" not in columns and not {*ids} <= {*columns}:
        words = " and ".join(map(repr, ids))
        raise InputError(f"{path}: column 'task' (or {words}) is missing; there are: {listed}")
    if not is_splink and "label" not in columns and not any(map(is_flag, columns)):
        raise InputError(f"{path}: column 'label' is missing; there are: {listed}")


def _own_objects(path: str, rows: Iterable[Row], asked: Asked) -> list[Row]:
    """Return rows of our own in JSON; without a label at all they are refused."""
    found = _limited(path, rows)
    names = dict.fromkeys(name for row in found for name in row.fields)
    if not any(name == "label" or is_flag(name) for name in names):
        skipped = (str(row.fields.get("skipped")).lower() for row in found)
        if not all(YES_OR_NO.get(word) for word in skipped):
            listed = ", ".join(map(repr, [*names][:_NAMES_LISTED]))
            raise InputError(f"{path}: no line has a 'label'; there are: {listed}")
    return [_once(row, asked) if getattr(row.fields, "repeated", ()) else row for row in found]


def _once(row: Row, asked: Asked) -> Row:
    """Return a row without keys of ours that are there twice: nobody knows which value counts."""
    ours = {*COLUMNS[:-1], *(asked.own.names if ID in row.fields else asked.ids)}
    twice = [name for name in getattr(row.fields, "repeated", ()) if name in ours or is_flag(name)]
    fields = {name: value for name, value in row.fields.items() if name not in twice}
    return Row(row.line, fields, f"{twice[0]!r} is there twice" if twice else "")


def _once_within(row: Row) -> Row:
    """Return the row of an export, with its problem if a key is there twice at any depth."""
    name = _repeated(row.fields)
    return row if name is None else Row(row.line, {}, f"{name!r} is there twice")


def _repeated(value: Any) -> str | None:
    """Return a key that an object, or one within it, has more than once; None if none has."""
    if isinstance(value, _Object) and value.repeated:
        return value.repeated[0]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((name for name in map(_repeated, inner) if name is not None), None)


# --- a reader for each format


def _read_csv(path: str, content: bytes, asked: Asked, usual: str = ",") -> Rows:
    cells = csv_cells(path, content, delimiter_of(content[:_HEADER_BYTES], usual))
    _, header = next(cells, (1, None))
    if header is None:
        raise InputError(f"{path}: the file is empty")
    return Rows(_rows_of_cells(header, cells, content, asked), header)


def _rows_of_cells(
    header: list[str], cells: Iterator[tuple[int, list[str]]], content: bytes, asked: Asked
) -> Iterator[Row]:
    is_long_table = header == long_table(asked.own.names)
    is_ended, last = content.endswith((b"\n", b"\r")), asked.own.renamed(header or [""])[-1]
    following = next(cells, None)
    while following is not None:
        (line, row), following = following, next(cells, None)
        if not any(row):
            continue
        if len(row) != len(header):
            yield Row(line, {}, f"{len(row)} fields where the header has {len(header)}")
            continue
        doubt = ""
        if following is None and not is_ended and _may_go_on(last, row[-1], asked):
            doubt = (
                f"the file ends here without the end of a line, so {last!r} may be cut: deliver "
                "the whole file, or end the line"
            )
        # `evalsampling export` escapes formulas.
        texts = map(unescaped, row) if is_long_table else row
        yield Row(line, dict(zip(header, texts, strict=True)), doubt=doubt)


def _may_go_on(last: str, text: str, asked: Asked) -> bool:
    """Tell whether a text in the last column may be the beginning of another answer."""
    if last == "skipped":  # of `no` and `yes` nothing else is the beginning
        return text == ""
    if last == "label":
        return asked.space is None or any(map(asked.space.goes_on, (text, unescaped(text))))
    return last in {*splink.COLUMNS, *asked.own.names} - {"time", "comment"}


def csv_cells(path: str, content: bytes, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each record of a CSV file, with its last line."""
    csv.field_size_limit(MOST_CHARACTERS)  # Python's own is 131,072.
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
    rows = csv.reader(text, strict=True, delimiter=delimiter)
    begin = 1
    try:
        for row in rows:
            yield rows.line_num, row
            begin = rows.line_num + 1
    except csv.Error as error:
        problem = f": cannot be read: {error}"
        if "end of data" in str(error):
            problem = " does not end; is a quote left open?"
        raise InputError(f"{path}: line {begin}{problem}") from error


def _read_xlsx(path: str, content: bytes, _: Asked) -> Rows:
    rows = workbook.read_rows(path, content)
    header = [str(name) if name is not None else "" for name in next(rows, [])]
    lines = (Row(line, dict(zip(header, row, strict=False))) for line, row in enumerate(rows, 2))
    filled = (
        row
        for row in lines
        if any(name and value not in (None, "") for name, value in row.fields.items())
    )
    return Rows(filled, header, dict.fromkeys(header, workbook.WHOLE_BELOW))


class _Object(dict[str, Any]):
    """An object of JSON that knows which keys are `repeated`."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = collections.Counter([name for name, _ in pairs] if len(pairs) > len(self) else [])
        self.repeated = [name for name, count in counts.items() if count > 1]


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Object, parse_float=_fraction)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON: {error}") from error


def _fraction(text: str) -> float | str:
    """Return a number as a float, or as text if rounding would make it whole."""
    number = float(text)
    is_rounded = number.is_integer() and abs(number) < _WHOLE_BELOW
    return text if is_rounded and decimal.Decimal(text) != number else number


def json_lines(path: str, content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield what the lines of a file of JSON Lines hold, each with its number."""
    # Not `splitlines`, which also splits at characters that a text may contain.
    for line, text in enumerate(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig"), start=1):
        if len(text) > MOST_CHARACTERS:
            raise too_large(path, f"more characters in line {line}", f"{MOST_CHARACTERS:,} in one")
        if text.strip():
            yield line, _parsed(f"{path}: line {line}", text)


def _read_jsonl(path: str, content: bytes, _: Asked) -> Rows:
    return Rows(_of_objects(path, json_lines(path, content)))


def _read_json(path: str, content: bytes, asked: Asked) -> Rows:
    text = content.decode("utf-8-sig")
    try:
        data = _parsed(path, text)
    except InputError:
        if text.lstrip().startswith("{") and "\n" in text.strip():
            return _read_jsonl(path, content, asked)  # JSON Lines under another name
        raise
    if isinstance(data, _Object) and data.repeated:
        raise InputError(f"{path}: not JSON: {data.repeated[0]!r} is there twice in one object")
    rows = _rows_within(data)
    if rows is None:
        raise InputError(f"{path}: not a list of rows, nor an export of a labelling tool")
    return Rows(_of_objects(path, enumerate(rows, start=1)))


def _rows_within(data: Any) -> Iterable[Any] | None:
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


def _of_objects(path: str, found: Iterable[tuple[int, Any]]) -> Iterator[Row]:
    for line, row in found:
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {line}: not a JSON object")
        yield Row(line, row)


def _read_parquet(path: str, content: bytes, asked: Asked) -> Rows:
    # Pages are compared with their checksums where they have some.
    file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    for size, most, words in (
        (file.metadata.num_rows, MOST_ROWS, "rows"),
        (sum(group.total_byte_size for group in groups), MOST_BYTES, "bytes uncompressed"),
    ):
        if size > most:
            raise too_large(path, f"{size:,} {words}", f"{most:,}")
    schema, names = file.schema_arrow, file.schema_arrow.names
    nested = {field.name for field in schema if pa.types.is_nested(field.type)}
    export = questions.export_of(dict.fromkeys(names))
    if export is not None and nested:
        raise InputError(
            f"{path}: an export of {export.tool} with nested columns: give it as JSON Lines"
        )
    ids = (ID,) if ID in names and ID in asked.own.names else asked.ids
    wanted = {*splink.COLUMNS, *COLUMNS, *ids, *filter(is_flag, names)} - (nested & {"comment"})
    if export is not None or questions.has_answer_elsewhere(names, asked.shown):
        wanted |= {*names} - nested
    chosen = [field for field in schema if field.name in wanted]
    for field in chosen:
        if field.name in nested and not _is_label_set(field):
            raise _no_single_value(path, field.name, field.type)
    limits = {field.name: _FLOATS.get(field.type, _WHOLE_BELOW) for field in chosen}
    return Rows(_rows_of_parquet(path, file, [*limits]), names, limits)


def _is_label_set(field: pa.Field) -> bool:
    """Tell whether a column holds sets of labels, as lists of text."""
    kind = field.type
    return field.name == "label" and pa.types.is_list(kind) and pa.types.is_string(kind.value_type)


def _rows_of_parquet(path: str, file: pq.ParquetFile, columns: list[str]) -> Iterator[Row]:
    lines = itertools.count(1)
    # Each row group by itself: a column that lacks a value does not take one of the next group.
    for number in range(file.num_row_groups):
        group = file.read_row_group(number, columns, use_threads=False).select(columns)
        if len(group) != file.metadata.row_group(number).num_rows:
            raise ValueError(f"damaged, row group {number + 1} lacks rows")
        for batch in group.to_batches():
            values = [_values(path, name, batch.column(name)) for name in columns]
            for row in zip(*values, strict=True):
                yield Row(next(lines), dict(zip(columns, row, strict=True)))


def _values(path: str, name: str, column: pa.Array) -> list[Any]:
    """Return the values of a column: text, numbers and truth values as Python's, dates as text."""
    column = plain(column)
    kind = column.type
    as_they_are = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_list)
    try:
        column.validate(full=True)
        if is_bytes(kind):
            column = column.cast(pa.large_binary()).cast(pa.large_string())
        elif not any(is_kind(kind) for is_kind in as_they_are):
            column = rendered(column).cast(pa.large_string())
        return list(column.to_pylist())
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise InputError(f"{path}: column {name!r}: text that is not UTF-8") from error
        raise
    except pa.ArrowNotImplementedError as error:
        raise _no_single_value(path, name, kind) from error


def _no_single_value(path: str, name: str, kind: pa.DataType) -> InputError:
    return InputError(f"{path}: column {name!r}: type {kind} is no text and no number")


_READERS: Mapping[str, Callable[[str, bytes, Asked], Rows]] = {
    ".csv": _read_csv,
    ".tsv": functools.partial(_read_csv, usual="\t"),
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": _read_parquet,
    ".xlsx": _read_xlsx,
    ".json": _read_json,
}
_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""Ends of the names of files that may be compressed: ``votes.csv.gz``."""

_UNREADABLE = (OSError, EOFError, ValueError, RecursionError, zlib.error, pa.ArrowException)
