"""Batches as workbooks of spreadsheet programs (.xlsx), and the rows that come back in them.

Every cell is text, so that nothing is taken for a number, a date or a formula: neither when the
file is opened nor when somebody types. Written and read by openpyxl, an extra:
``pip install 'evalsampling[xlsx]'``.
"""

import bisect
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.parquet_votes import MOST_BYTES, MOST_ROWS, too_large
from evalsampling.labels.vendor import ADDED, instructions
from evalsampling.labels.votes import UNSURE_LABEL
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sink import SinkSpec

BATCH = "batch.xlsx"
TASKS, SHEET = "tasks", "instructions"
"""The two sheets."""

MOST_STRINGS = 1 << 20
"""Texts of a workbook, which its cells share."""

MOST_CELLS, MOST_SHEET_ROWS = 1 << 21, 1 << 19
"""Of a workbook, also the empty ones."""

MOST_COLUMNS = 1 << 10
"""Up to the last cell of a row, and rows of that width count with all their cells."""

MOST_PARTS, MOST_ELEMENTS = 10_000, 1 << 19
"""Files in a workbook; and elements of XML in them beside cells and texts."""

MOST_CHARACTERS = 32_767
"""Of a cell, in UTF-16."""

CUT = "…"
"""What a text ends with that had more."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that a workbook spells ``_xHHHH_``, and the beginning of what looks so already."""

_AS_TEXT = "@"
"""The number format by which cells stay what was typed."""

_MOST_CHOICES = 255
"""Characters of a list of choices."""


def write_tasks(table: pa.Table, directory: Path, sink: SinkSpec, labels: LabelsSpec) -> None:
    """Write tasks as one sheet, with columns for annotator and comment, and instructions as one.

    Where the classes are few, the column ``label`` offers them.

    Args:
        table: as `tasks.blind` makes it.
        directory: of the round.
        sink: the question.
        labels: the classes.

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
        choices = _choices(labels) if name == "label" else None
        if choices is not None:
            sheet.data_validations.append(
                openpyxl.worksheet.datavalidation.DataValidation(
                    type="list",
                    formula1=f'"{choices}"',
                    sqref=f"{letter}2:{letter}{len(table) + 1}",
                )
            )

    def cell(value: Any, is_head: bool = False) -> Any:
        one = openpyxl.cell.WriteOnlyCell(sheet, _cell_text("" if value is None else str(value)))
        one.data_type = "s"  # also what begins with `=`
        one.number_format = _AS_TEXT
        if is_head:
            one.font = openpyxl.styles.Font(bold=True)
        return one

    sheet.append([cell(name, is_head=True) for name in names])
    columns = [column.to_pylist() for column in table.columns]
    added = [[""] * len(table)] * (len(names) - len(columns))
    for row in zip(*columns, *added, strict=True):
        sheet.append([cell(value) for value in row])
    shown = [name for name in table.column_names if name not in ("task", "label")]
    told = book.create_sheet(SHEET)
    told.column_dimensions["A"].width = 100
    for line in instructions(BATCH, len(table), shown, sink, labels).splitlines():
        told.append([cell(line)])
    book.save(directory / BATCH)


def read_rows(path: str, content: bytes) -> Iterator[list[Any]]:
    """Yield the rows of the sheet of tasks, or of the first sheet if none has that name.

    Cells are text, numbers, truth values, dates or None; of a formula what it last came to.

    A workbook of some kilobytes may stand for hours of work: texts and cells that are empty take
    next to no room in it. So they are counted before it is parsed.

    Args:
        path: of the file, for messages.
        content: of the file.

    Raises:
        InputError: if openpyxl is not installed, the file is damaged or too large, or a value
            stands beyond the columns that have a name.
    """
    openpyxl = _openpyxl(path)
    text, cells, width = 0, 0, 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_parts(path, archive)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of looks that openpyxl does not know.
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book[TASKS] if TASKS in book.sheetnames else book.worksheets[0]
        sheet.reset_dimensions()  # What a file says of its size may be anything.
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            text += sum(len(value) for value in row if isinstance(value, str))
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
            if text > MOST_BYTES:
                raise too_large(path, "more text", f"{MOST_BYTES:,} characters")
            yield list(row)
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{path}: cannot be read: {error}; a workbook with a password is none that can be read"
        ) from error
    except InputError:
        raise
    except Exception as error:  # The parts of a damaged workbook fail in any way.
        told = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read: damaged, or no workbook: {told}") from error


_MOST_PADDED = 1 << 24
"""Cells of all rows together, with those that a row lacks before its last one."""

_CELL = re.compile(rb"<(?:[\w.-]+:)?c[\s/>]")
_ROW = re.compile(rb"<(?:[\w.-]+:)?row[\s/>]")
_STRING = re.compile(rb"<(?:[\w.-]+:)?si[\s/>]")
_TAGS_OF_CELL, _TAGS_OF_STRING = 8, 4
"""That begin or end an element: of a cell with a formula or a text, of a text without formats."""

_MOST_TAGS = MOST_CELLS * _TAGS_OF_CELL + MOST_STRINGS * _TAGS_OF_STRING + 2 * MOST_ELEMENTS

MOST_MARKUP = 1 << 20
"""Bytes of an element's tag with the text after it, or of a comment: what has not ended yet is
looked at again with each piece of a file."""

MOST_FORMATS, MOST_FORMAT = 1 << 12, 1 << 11
"""Number formats, and bytes of each: each is looked through once for each of its characters."""

_LONG_TAG = re.compile(rb"<[^<]{%d}" % MOST_MARKUP)
_FORMAT = re.compile(rb"formatCode\s*=\s*(?:\"[^\"]*|'[^']*)")
_ASIDES = ((b"<!--", b"-->"), (b"<?", b"?>"))
"""How what is no element begins and ends, within which there may be what looks like elements."""


def _check_parts(path: str, archive: zipfile.ZipFile) -> None:
    """Check how much there is to parse in a workbook.

    Raises:
        InputError: if it is too much, or a part has entities, which stand for more.
        zipfile.BadZipFile: if a part is damaged.
    """
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > MOST_BYTES:
        raise too_large(path, f"{size:,} bytes uncompressed", f"{MOST_BYTES:,}")
    if len(parts) > MOST_PARTS:
        raise too_large(path, f"{len(parts):,} parts", f"{MOST_PARTS:,}")
    strings = cells = rows = others = 0
    for part in parts:
        text = archive.read(part)
        is_wide = {text[:2], text[2:4]} & {b"<\0", b"\0<"}
        if is_wide or b"<!ENTITY" in text or b"<!DOCTYPE" in text:
            raise InputError(f"{path}: cannot be read: {part.filename!r} is no XML of a workbook")
        if text.count(b"<") > _MOST_TAGS:  # Too many to look at each.
            raise too_large(path, "more elements", f"{_MOST_TAGS:,}")
        found = [sum(1 for _ in one.finditer(text)) for one in (_STRING, _CELL, _ROW)]
        strings, cells, rows = strings + found[0], cells + found[1], rows + found[2]
        tags = found[0] * _TAGS_OF_STRING + found[1] * _TAGS_OF_CELL + 2 * found[2]
        others += max(0, text.count(b"<") - tags)
        if _LONG_TAG.search(text) or any(_is_long(text, *aside) for aside in _ASIDES):
            raise too_large(path, "a longer element", f"{MOST_MARKUP:,} bytes of each")
        lengths = [len(one[0]) for one in _FORMAT.finditer(text)]
        if len(lengths) > MOST_FORMATS or max(lengths, default=0) > MOST_FORMAT:
            allowed = f"{MOST_FORMATS:,} of {MOST_FORMAT:,} bytes each"
            raise too_large(path, "more or longer number formats", allowed)
    for count, most, called in [
        (strings, MOST_STRINGS, "texts"),
        (cells, MOST_CELLS, "cells"),
        (rows, MOST_SHEET_ROWS, "rows"),
        (others, MOST_ELEMENTS, "other elements"),
    ]:
        if count > most:
            raise too_large(path, f"{count:,} {called}", f"{most:,}")


def _is_long(text: bytes, begin: bytes, end: bytes) -> bool:
    """Tell whether something of a text that begins and ends so is longer than it may be."""
    place = text.find(begin)
    while place >= 0:
        after = text.find(end, place)
        if (len(text) if after < 0 else after) - place > MOST_MARKUP:
            return True
        place = -1 if after < 0 else text.find(begin, after)
    return False


def _width(row: Sequence[Any]) -> int:
    """Return how many columns a row has up to its last value."""
    return next((place for place in range(len(row), 0, -1) if row[place - 1] not in (None, "")), 0)


def _openpyxl(what: str) -> Any:
    """Return openpyxl with the parts that are used.

    Raises:
        InputError: naming what needs it, if it is not installed.
    """
    try:
        import openpyxl
        import openpyxl.cell
        import openpyxl.styles
        import openpyxl.utils
        import openpyxl.worksheet.datavalidation
    except ImportError as error:
        raise InputError(
            f"{what}: a workbook needs openpyxl: pip install 'evalsampling[xlsx]' ({error})"
        ) from error
    return openpyxl


def _choices(labels: LabelsSpec) -> str | None:
    """Return the answers that a cell offers, None if it cannot: of sets, numbers and odd texts."""
    if labels.multilabel or labels.numbers is not None:
        return None
    texts = [*map(str, labels.classes), UNSURE_LABEL]
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
    return _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
