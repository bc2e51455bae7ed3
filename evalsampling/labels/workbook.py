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
from collections.abc import Iterator
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

    Args:
        path: of the file, for messages.
        content: of the file.

    Raises:
        InputError: if openpyxl is not installed, or the file is damaged or too large.
    """
    openpyxl = _openpyxl(path)
    text = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise too_large(path, f"{size:,} bytes uncompressed", f"{MOST_BYTES:,}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of looks that openpyxl does not know.
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book[TASKS] if TASKS in book.sheetnames else book.worksheets[0]
        sheet.reset_dimensions()  # What a file says of its size may be anything.
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            text += sum(len(value) for value in row if isinstance(value, str))
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
