"""Batches as workbooks of spreadsheet programs (.xlsx), and the rows of workbooks that come back.

All cells are text, so that a spreadsheet takes none for a number, a date or a formula, neither
when it opens the file nor when somebody types. Workbooks are written and read by openpyxl, an
extra: ``pip install 'evalsampling[xlsx]'``.
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

from evalsampling.errors import InputError, from_extra
from evalsampling.label_spaces.base import UNSURE_LABEL
from evalsampling.labels.tasks import shown_columns
from evalsampling.labels.vendor import instructions, with_added
from evalsampling.labels.vote import MOST_BYTES, MOST_ROWS, too_large
from evalsampling.spec import LabellingPlan
from evalsampling.spec.labels import LabelsSpec

BATCH = "batch.xlsx"
TASKS, SHEET = "tasks", "instructions"
"""Names of the two sheets."""

MOST_CHARACTERS = 32_767
"""Most UTF-16 units of a cell's text."""

WHOLE_BELOW = 10**15
"""Least number of a spreadsheet that may stand for several whole numbers."""

CUT = "…"
"""End of a text that was truncated."""

_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that a workbook spells ``_xHHHH_``, and the underscore of a text spelled like that."""

_AS_TEXT = "@"
"""The number format of cells that keep their text as it was typed."""

_MOST_CHOICES = 255
"""Most characters of a cell's list of choices, and of the message where something else is typed."""


def write_tasks(table: pa.Table, path: Path, plan: LabellingPlan, _: str) -> None:
    """Write a workbook of two sheets: tasks with columns for the answers, and instructions.

    The column ``label`` offers the classes if they fit into a list of choices, and refuses others.
    """
    openpyxl = _openpyxl("sink.format")
    names = with_added(table).column_names
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(TASKS)
    sheet.freeze_panes = "A2"
    for place, name in enumerate(names):
        letter = openpyxl.utils.get_column_letter(place + 1)
        sheet.column_dimensions[letter].width = 24
        choices = _choices(plan.labels) if name == "label" else None
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
    for row in zip(*(column.to_pylist() for column in with_added(table).columns), strict=True):
        sheet.append([cell(value) for value in row])
    help_sheet = book.create_sheet(SHEET)
    help_sheet.column_dimensions["A"].width = 100
    text = instructions(BATCH, len(table), shown_columns(table), plan.sink, plan.labels)
    for line in text.splitlines():
        help_sheet.append([cell(line)])
    book.save(path)


def read_rows(path: str, content: bytes) -> Iterator[list[Any]]:
    """Yield the rows of the sheet of tasks, or of the first sheet if none has that name.

    Cells are text, floats, truth values, dates or None; that of a formula is its stored result.
    """
    openpyxl = _openpyxl(path)
    width = 0
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise too_large(path, f"{size:,} bytes uncompressed", f"{MOST_BYTES:,}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About styles that openpyxl does not know.
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book[TASKS] if TASKS in book.sheetnames else book.worksheets[0]
        heads = {}
        for one in book.worksheets:
            one.reset_dimensions()  # The size that a file states may be wrong.
            heads[one.title] = {*next(one.values, ())} - {None}
        own = heads[sheet.title]
        alike = [repr(name) for name, head in heads.items() if own and own <= head]
        if len(alike) > 1:
            names = " and ".join(alike)
            raise InputError(f"{path}: sheets {names} have the same columns: give each as a file")
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
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
            yield [float(cell) if type(cell) is int else cell for cell in row]
    except zipfile.BadZipFile as error:
        raise InputError(
            f"{path}: cannot be read: {error}; a workbook with a password is none that can be read"
        ) from error
    except InputError:
        raise
    except Exception as error:  # A damaged workbook can raise anything.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read: damaged, or no workbook: {reason}") from error


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
