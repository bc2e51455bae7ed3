"""Workbooks: what goes out is text, what comes back is what was typed, damage is told."""

import dataclasses
import datetime
import io
import random
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsampling import EvaluationSpec, InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.labels import workbook
from evalsampling.labels.formats import read_votes
from evalsampling.labels.workbook import BATCH, CUT, MOST_CHARACTERS, read_rows, write_tasks
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sink import SinkSpec

TYPED = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=30
)
"""What somebody may type into a cell."""


def saved(*rows: Any, sheet: str = "tasks") -> bytes:
    """A workbook that has cells as a spreadsheet program would save them."""
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row in rows:
        book.active.append(row)
        for cell in book.active[book.active.max_row]:
            if isinstance(cell.value, str):
                cell.data_type = "s"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def rewritten(content: bytes, change: Any) -> bytes:
    """A workbook with another sheet."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, change(text) if "worksheets/" in name else text)
    return file.getvalue()


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(TYPED.filter(bool), TYPED.filter(bool), TYPED, TYPED), min_size=1))
def test_what_was_typed_comes_back(rows: list[Any]) -> None:
    head = ("task", "label", "annotator", "comment", "more")
    found = read_votes("votes.xlsx", saved(head, *((*row, "x") for row in rows)))
    assert [vote.problem for vote in found] == [None] * len(rows)
    assert [(one.task, one.label, one.annotator or "", one.comment or "") for one in found] == rows


@pytest.mark.parametrize(
    ("typed", "label"),
    [("0012", "0012"), ("=1", "=1"), ("1e5", "1e5"), (1, "1"), (1.0, "1"), (0.5, "0.5"),
     ("", None), (None, None), (True, "True"),
     (datetime.datetime(2026, 3, 1), "2026-03-01 00:00:00")],
)  # fmt: skip
def test_cells_of_all_types(typed: Any, label: str | None) -> None:
    votes = read_votes("x.xlsx", saved(["task", "label"], ["t_a", typed], [None, ""], ["t_b", "z"]))
    assert [(one.line, one.task, one.label) for one in votes] == [
        (2, "t_a", label),
        (4, "t_b", "z"),
    ]


def test_a_formula_is_what_it_came_to() -> None:
    content = saved(["task", "label"], ["t_a", 7])
    of_formula = rewritten(content, lambda text: text.replace("<v>7</v>", "<f>3+4</f><v>7</v>"))
    assert of_formula != content
    assert [vote.label for vote in read_votes("x.xlsx", of_formula)] == ["7"]


def test_the_sheet_of_tasks_is_read_whatever_comes_first() -> None:
    book = openpyxl.load_workbook(io.BytesIO(saved(["task", "label"], ["t_a", "1"])))
    book.create_sheet("notes", 0).append(["hello"])
    file = io.BytesIO()
    book.save(file)
    assert [vote.task for vote in read_votes("x.xlsx", file.getvalue())] == ["t_a"]
    other = saved(["task", "label"], ["t_b", "1"], sheet="Tabelle1")
    assert [vote.task for vote in read_votes("x.xlsx", other)] == ["t_b"]


def test_answers_on_a_second_sheet_are_not_passed_over() -> None:
    """Annotators copy the sheet and fill in the copy, or each has one."""
    book = openpyxl.load_workbook(io.BytesIO(saved(["task", "label"], ["t_a", ""])))
    copy = book.copy_worksheet(book["tasks"])
    copy["B2"], copy["C1"] = "1", "why"
    file = io.BytesIO()
    book.save(file)
    with pytest.raises(InputError, match="sheets 'tasks' and 'tasks Copy' have the same columns"):
        read_votes("x.xlsx", file.getvalue())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "x.xlsx: cannot be read: File is not a zip file; a workbook with a password"),
        (saved(["task", "note"]), "x.xlsx: column 'label' is missing; there are: 'task', 'note'"),
        (saved([]), "x.xlsx: column 'task' (or 'id') is missing"),
        (saved(["task", "label", "label"]), "x.xlsx: column 'label' is there twice"),
        (saved(["id", "label"], [10**15, "1"]),
         "x.xlsx: line 2: column 'id' has 1000000000000000 as a float, which from "
         "1,000,000,000,000,000 on stands for several whole numbers: answer by the column `task`"),
        (saved(["unique_id_l", "unique_id_r", "clerical_match_score"], ["a", -(10**15), 1]),
         "x.xlsx: line 2: column 'unique_id_r' has -1000000000000000 as a float"),
        (rewritten(saved(["task", "label"]), lambda text: text[:200]), "damaged, or no workbook"),
        (rewritten(saved(["task", "label"]), lambda text: text.replace("A1", "ZZZZ1")),
         "damaged, or no workbook"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(content: bytes, words: str) -> None:
    with pytest.raises(InputError) as told:
        read_votes("x.xlsx", content)
    assert words in str(told.value)


def test_of_a_damaged_file_nothing_comes_that_was_not_in_it() -> None:
    rows = [(f"t_{row}", random.Random(row).choice(["yes", "no"])) for row in range(20)]
    content, draw, unread = saved(["task", "label"], *rows), random.Random(5), 0
    for _ in range(150):
        place = draw.randrange(len(content))
        damaged = content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]
        if draw.random() < 0.3:
            damaged = damaged[: draw.randrange(len(content))]
        try:
            votes = read_votes("x.xlsx", damaged)
        except InputError:
            unread += 1
            continue
        assert {(vote.task, vote.label) for vote in votes} <= {*rows}
    assert 50 < unread < 150


def test_a_workbook_that_is_too_large_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = saved(["task", "label"], *[("t", 1)] * 2_000)
    assert len(list(read_rows("x.xlsx", rows))) == 2_001
    monkeypatch.setattr(workbook, "MOST_BYTES", len(rows))
    with pytest.raises(InputError, match="bytes uncompressed; a delivery has at most"):
        list(read_rows("x.xlsx", rows))


def test_ordinary_markup_is_read() -> None:
    """The longest text of a cell, as references; comments."""
    longest = "&#8364;" * workbook.MOST_CHARACTERS
    rows = f'<!-- made by hand --><row r="2"><c t="inlineStr"><is><t>{longest}</t></is></c></row>'
    made = rewritten(
        saved(["task", "label"]), lambda text: text.replace("</sheetData>", f"{rows}</sheetData>")
    )
    [vote] = read_votes("x.xlsx", made)
    assert vote.task == "€" * workbook.MOST_CHARACTERS


def test_values_beyond_the_names_are_refused_and_empty_cells_are_not() -> None:
    head, row = ["task", "label", None, ""], ["t_a", "1", None, ""]
    votes = read_votes("x.xlsx", saved(head, row, [*row, None, ""]))
    assert [vote.label for vote in votes] == ["1", "1"]
    with pytest.raises(InputError, match="line 3: there is a value in column F, which has no name"):
        read_votes("x.xlsx", saved(head, row, [*row, None, "note"]))


def test_a_row_far_below_is_no_billion_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "MOST_ROWS", 1_000)
    far = rewritten(
        saved(["task", "label"], ["t_a", "1"]),
        lambda text: text.replace('r="2"', 'r="9999999999"').replace("A1:B2", "A1:XFD1048576"),
    )
    with pytest.raises(InputError, match="a delivery has at most 1,000"):
        read_votes("x.xlsx", far)


# --- what goes out


def written(directory: Path, labels: LabelsSpec, **columns: list[Any]) -> Any:
    rows = len(columns["text"])
    table = pa.table({"task": [f"t_{n}" for n in range(rows)], **columns, "label": [""] * rows})
    spec = EvaluationSpec.from_mapping({"pool": {"path": "x"}}, "/")
    spec = dataclasses.replace(spec, sink=SinkSpec("xlsx", "Same?"), labels=labels)
    write_tasks(table, directory / BATCH, spec.labelling, "b_x")
    return openpyxl.load_workbook(directory / BATCH)


def test_all_cells_are_text(tmp_path: Path) -> None:
    odd = ["=1+1", "0012", "1e5", "#N/A", None, "2026-03-01"]
    book = written(tmp_path, LabelsSpec(Classes(), "deterministic"), text=odd, number=[2**60] * 6)
    assert book.sheetnames == ["tasks", "instructions"]
    sheet = book["tasks"]
    assert [cell.value for cell in sheet[1]] == [
        "task", "text", "number", "label", "annotator", "comment"
    ]  # fmt: skip
    assert [cell.value for cell in sheet["B"][1:]] == odd
    assert {cell.value for cell in sheet["C"][1:]} == {str(2**60)}
    assert {cell.data_type for row in sheet for cell in row if cell.value is not None} == {"s"}
    assert {cell.number_format for row in sheet for cell in row} == {"@"}
    assert sheet.freeze_panes == "A2"
    [choices] = sheet.data_validations.dataValidation
    assert (choices.type, choices.formula1, str(choices.sqref)) == ("list", '"0,1,unsure"', "D2:D7")
    assert choices.showErrorMessage
    assert (choices.errorStyle, choices.error) == ("stop", "One of: 0, 1, unsure")
    lines = [row[0] for row in book["instructions"].iter_rows(values_only=True)]
    assert lines[0] == "What to do with batch.xlsx"
    assert "Same?" in lines
    assert lines[-1] == "Save it as it is, as .xlsx."


@pytest.mark.parametrize("classes", [("a,b", "c"), (" a", "b"), tuple(map(str, range(200)))])
def test_classes_that_no_list_can_offer(tmp_path: Path, classes: Any) -> None:
    book = written(tmp_path, LabelsSpec(Classes(classes, 0), "deterministic"), text=["x"])
    assert not book["tasks"].data_validations.dataValidation


@pytest.mark.parametrize("text", ["x" * 40_000, "🙂" * 20_000, "\x01" * 10_000])
def test_a_text_that_no_cell_holds_is_cut(tmp_path: Path, text: str) -> None:
    book = written(tmp_path, LabelsSpec(Classes(), "deterministic"), text=[text])
    shown = book["tasks"]["B2"].value
    assert shown.endswith(CUT)
    units = len(shown.encode("utf-16-le")) // 2
    assert MOST_CHARACTERS - 8 < units <= MOST_CHARACTERS


def test_without_openpyxl_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = saved(["task", "label"])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"x\.xlsx: a workbook needs openpyxl: pip install 'evals"):
        read_votes("x.xlsx", content)
    with pytest.raises(InputError, match=r"sink\.format: a workbook needs openpyxl"):
        written(tmp_path, LabelsSpec(Classes(), "deterministic"), text=["x"])
    assert not [*tmp_path.iterdir()]
