"""Batches as workbooks of spreadsheet programs (.xlsx), and the rows of workbooks that come back.

All cells are text, so that a spreadsheet takes none for a number, a date or a formula, neither
when it opens the file nor when somebody types. Workbooks are written and read by openpyxl, an
extra: ``pip install 'evalsampling[xlsx]'``.
"""

import bisect
import collections
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError, from_extra
from evalsampling.label_spaces.base import UNSURE_LABEL
from evalsampling.labels.parquet_votes import MOST_BYTES, MOST_ROWS, too_large
from evalsampling.labels.tasks import shown_columns
from evalsampling.labels.vendor import ADDED, instructions
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.labels import LabelsSpec

BATCH = "batch.xlsx"
TASKS, SHEET = "tasks", "instructions"
"""Names of the two sheets."""

MOST_STRINGS = 1 << 20
"""Most shared texts of a workbook."""

MOST_CELLS, MOST_SHEET_ROWS = 1 << 21, 1 << 19
"""Most cells and rows of a workbook, with the empty ones."""

MOST_COLUMNS = 1 << 10
"""Most columns of a row."""

MOST_PARTS, MOST_ELEMENTS = 10_000, 1 << 19
"""Most files in a workbook, and most elements of XML in them other than cells, rows and texts."""

MOST_CHARACTERS = 32_767
"""Most UTF-16 units of a cell's text."""

CUT = "…"
"""End of a text that was truncated."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that a workbook spells ``_xHHHH_``, and the underscore of a text spelled like that."""

_AS_TEXT = "@"
"""The number format of cells that keep their text as it was typed."""

_MOST_CHOICES = 255
"""Most characters of a cell's list of choices, and of the message where something else is typed."""


def write_tasks(table: pa.Table, path: Path, spec: EvaluationSpec, _: str) -> None:
    """Write a workbook of two sheets: tasks with columns for the answers, and instructions.

    The column ``label`` offers the classes if they fit into a list of choices, and refuses others.
    The arguments are those of `sinks.Sink.write`.

    Raises:
        InputError: if openpyxl is not installed.
    """
    openpyxl = _openpyxl("sink.format")
    names = [*table.column_names, *(name for name in ADDED if name not in table.column_names)]
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(TASKS)
    sheet.freeze_panes = "A2"
    for place, name in enumerate(names):
        letter = openpyxl.utils.get_column_letter(place + 1)
        sheet.column_dimensions[letter].width = 24
        choices = _choices(spec.labels) if name == "label" else None
        if choices is not None:
            sheet.data_validations.append(
                openpyxl.worksheet.datavalidation.DataValidation(
                    type="list",
                    formula1=f'"{choices}"',
                    showErrorMessage=True,  # Without it a spreadsheet accepts any other text.
                    errorStyle="stop",
                    errorTitle="No such answer",
                    error=f"One of: {choices.replace(',', ', ')}"[:_MOST_CHOICES],
                    sqref=f"{letter}2:{letter}{len(table) + 1}",
                )
            )

    def cell(value: Any, is_head: bool = False) -> Any:
        text = _cell_text("" if value is None else str(value))
        written = openpyxl.cell.WriteOnlyCell(sheet, text)
        written.data_type = "s"  # a text, even if it begins with `=`
        written.number_format = _AS_TEXT
        if is_head:
            written.font = openpyxl.styles.Font(bold=True)
        return written

    sheet.append([cell(name, is_head=True) for name in names])
    columns = [column.to_pylist() for column in table.columns]
    added = [[""] * len(table)] * (len(names) - len(columns))
    for row in zip(*columns, *added, strict=True):
        sheet.append([cell(value) for value in row])
    help_sheet = book.create_sheet(SHEET)
    help_sheet.column_dimensions["A"].width = 100
    text = instructions(BATCH, len(table), shown_columns(table), spec.sink, spec.labels)
    for line in text.splitlines():
        help_sheet.append([cell(line)])
    book.save(path)


def read_rows(path: str, content: bytes) -> Iterator[list[Any]]:
    """Yield the rows of the sheet of tasks, or of the first sheet if none has that name.

    Cells are text, numbers, truth values, dates or None; that of a formula is its stored result.

    A workbook of some kilobytes may take hours to parse, since empty texts and cells compress to
    almost nothing. So they are counted before it is parsed.

    Args:
        path: path of the file, for messages.
        content: content of the file.

    Raises:
        InputError: if openpyxl is not installed, the file is damaged or too large, or a value
            stands in a column without a name.
    """
    openpyxl = _openpyxl(path)
    characters = cells = width = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_parts(path, archive)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About styles that openpyxl does not know.
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book[TASKS] if TASKS in book.sheetnames else book.worksheets[0]
        sheet.reset_dimensions()  # The size that a file states may be wrong.
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            characters += sum(len(value) for value in row if isinstance(value, str))
            cells += len(row)
            if len(row) > MOST_COLUMNS:
                raise too_large(path, f"{len(row):,} columns", f"{MOST_COLUMNS:,}")
            if cells > _MOST_PADDED:
                raise too_large(path, "more cells", f"{_MOST_PADDED:,}")
            if number == 1:
                width = _width(row)
            elif _width(row) > width:
                raise InputError(
                    f"{path}: line {number}: there is a value in column "
                    f"{openpyxl.utils.get_column_letter(_width(row))}, which has no name in the "
                    "first row"
                )
            if number > MOST_ROWS:
                raise too_large(path, "more rows", f"{MOST_ROWS:,}")
            if characters > MOST_BYTES:
                raise too_large(path, "more text", f"{MOST_BYTES:,} characters")
            yield list(row)
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{path}: cannot be read: {error}; a workbook with a password is none that can be read"
        ) from error
    except InputError:
        raise
    except Exception as error:  # A damaged workbook can raise anything.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read: damaged, or no workbook: {reason}") from error


_MOST_PADDED = 1 << 24
"""Most cells that are parsed, with those that the file leaves out before a row's last cell."""

_COUNTED = {
    "texts": (re.compile(rb"<(?:[\w.-]+:)?si[\s/>]"), 4, MOST_STRINGS),
    "cells": (re.compile(rb"<(?:[\w.-]+:)?c[\s/>]"), 8, MOST_CELLS),
    "rows": (re.compile(rb"<(?:[\w.-]+:)?row[\s/>]"), 2, MOST_SHEET_ROWS),
}
"""Elements that are counted: the tag of one, how many tags it has within it at most, as a shared
text without formats or a cell with a formula, and most of them."""

_MOST_TAGS = sum(tags * most for _, tags, most in _COUNTED.values())

MOST_MARKUP = 1 << 20
"""Most bytes of a tag with the text after it, or of a comment: the parser scans one again with
each piece of a file until it ends."""

MOST_FORMATS, MOST_FORMAT = 1 << 12, 1 << 11
"""Most number formats, and most bytes of each, whose square openpyxl's time grows with."""

_LONG_TAG = re.compile(rb"<[^<]{%d}" % MOST_MARKUP)
_FORMAT = re.compile(rb"formatCode\s*=\s*(?:\"[^\"]*|'[^']*)")
_ASIDES = ((b"<!--", b"-->"), (b"<?", b"?>"))
"""Begin and end of comments and processing instructions, which may contain tags."""


def _check_parts(path: str, archive: zipfile.ZipFile) -> None:
    """Raise an error if a workbook is too large, or has entities, which may expand to more."""
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > MOST_BYTES:
        raise too_large(path, f"{size:,} bytes uncompressed", f"{MOST_BYTES:,}")
    if len(parts) > MOST_PARTS:
        raise too_large(path, f"{len(parts):,} parts", f"{MOST_PARTS:,}")
    counts = collections.Counter[str]()
    for part in parts:
        text = archive.read(part)
        is_wide = {text[:2], text[2:4]} & {b"<\0", b"\0<"}
        if is_wide or b"<!ENTITY" in text or b"<!DOCTYPE" in text:
            raise InputError(f"{path}: cannot be read: {part.filename!r} is no XML of a workbook")
        if text.count(b"<") > _MOST_TAGS:  # Too many to search for patterns.
            raise too_large(path, "more elements", f"{_MOST_TAGS:,}")
        others = text.count(b"<")
        for kind, (tag, tags, _) in _COUNTED.items():
            count = sum(1 for _ in tag.finditer(text))
            counts[kind] += count
            others -= count * tags
        counts["other elements"] += max(0, others)
        if _LONG_TAG.search(text) or any(_is_long(text, *aside) for aside in _ASIDES):
            raise too_large(path, "a longer element", f"{MOST_MARKUP:,} bytes of each")
        lengths = [len(match[0]) for match in _FORMAT.finditer(text)]
        if len(lengths) > MOST_FORMATS or max(lengths, default=0) > MOST_FORMAT:
            allowed = f"{MOST_FORMATS:,} of {MOST_FORMAT:,} bytes each"
            raise too_large(path, "more or longer number formats", allowed)
    for kind, count in counts.items():
        most = _COUNTED[kind][2] if kind in _COUNTED else MOST_ELEMENTS
        if count > most:
            raise too_large(path, f"{count:,} {kind}", f"{most:,}")


def _is_long(text: bytes, begin: bytes, end: bytes) -> bool:
    """Tell whether a part of a text from ``begin`` to ``end`` is longer than `MOST_MARKUP`."""
    place = text.find(begin)
    while place >= 0:
        after = text.find(end, place)
        if (len(text) if after < 0 else after) - place > MOST_MARKUP:
            return True
        place = -1 if after < 0 else text.find(begin, after)
    return False


def _width(row: Sequence[Any]) -> int:
    """Return the number of columns of a row up to its last value."""
    return next((place for place in range(len(row), 0, -1) if row[place - 1] not in (None, "")), 0)


def _openpyxl(what: str) -> Any:
    """Return openpyxl; where it is not installed, the error begins with ``what``."""
    with from_extra("xlsx", "openpyxl", f"{what}: a workbook"):
        import openpyxl
        import openpyxl.cell
        import openpyxl.styles
        import openpyxl.utils
        import openpyxl.worksheet.datavalidation
    return openpyxl


def _choices(labels: LabelsSpec) -> str | None:
    """Return the list of choices of a cell, None for sets, numbers and texts it cannot contain."""
    field = labels.space.field
    if field.several or not field.choices:
        return None
    texts = [*field.choices, UNSURE_LABEL]
    choices = ",".join(dict.fromkeys(texts))
    plain = all(text == text.strip() and not set(text) & set(',"\r\n') for text in texts)
    return choices if plain and len(choices) <= _MOST_CHOICES else None


def _cell_text(text: str) -> str:
    """Return a text as a cell spells it, cut if it is longer than a cell may be."""
    if _units(text) > MOST_CHARACTERS:
        lengths = range(len(text))
        room = MOST_CHARACTERS - len(CUT)
        text = text[: bisect.bisect_right(lengths, room, key=lambda n: _units(text[:n])) - 1] + CUT
    return _spelled(text)


def _units(text: str) -> int:
    return len(_spelled(text).encode("utf-16-le")) // 2


def _spelled(text: str) -> str:
    return _NOT_IN_XML.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
