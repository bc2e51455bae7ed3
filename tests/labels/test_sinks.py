"""Every format brings every id and text that a pool may hold to the annotators and back."""

import csv
import dataclasses
import json
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsampling import InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.sets import Sets
from evalsampling.labels.formats import read_votes
from evalsampling.labels.label_studio import data_keys, label_config
from evalsampling.labels.sinks import SINKS, write_tasks
from evalsampling.labels.splink import as_table, make_pair
from evalsampling.labels.vendor import escaped, instructions, unescaped
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sink import Sides, SinkSpec
from tests.jobs import strict_json
from tests.labels.deliveries import written

ODD = [
    "", "0012", "1e5", "9007199254740993", "=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "'", "''",
    'a "quoted" b', "a,b;c\td", "line\nline", "line\r\nline", "line\rline", " spaces ", "é",
    "日本語", "🙂", "\u200b\ufeff", "nul\x00nul", "\x1b[31m", "null", "NaN", "true",
    "<b>&amp;</b>", "$left_x", "{{x}}", "x" * 10_240, "é\n" * 5_000, "\u2028\u2029\x85\x0b\x0c",
    "\ud7ff\ue000\ufffd",
]  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)
CLASSES = ["0", "1", "01", "yes ", "é", '"', "a,b", "=1"]


def spec(format: str, classes: Any = (0, 1), **sink: Any) -> EvaluationSpec:
    if format == "splink":
        sink["records"] = {"left": "left", "right": "right"}
    content = {
        "pool": {
            "path": "x", "payload": ["left", "right"],
            **({"probability": {c: f"p{c}" for c in classes}} if len(classes) > 2 else {}),
        },
        "labels": {"classes": list(classes)},
        "sink": {"format": format, **sink},
    }  # fmt: skip
    return EvaluationSpec.from_mapping(content, "/")


def shown(format: str, directory: Path) -> list[dict[str, Any]]:
    """What an independent reader of the format finds in a batch."""
    path = directory / SINKS[format].batch
    if format in ("csv", "vendor", "splink"):
        encoding = "utf-8-sig" if format == "vendor" else "utf-8"
        with path.open(encoding=encoding, newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        if format == "splink":
            return [
                {"task": r["task"], "left": r["unique_id_l"], "right": r["unique_id_r"]}
                for r in rows
            ]
        if format == "vendor":
            return [{name: unescaped(value) for name, value in row.items()} for row in rows]
        return rows
    if format == "xlsx":
        return sheet(path)
    if format == "jsonl":
        return [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    if format == "parquet":
        return list(pq.read_table(path).to_pylist())
    files = sorted(path.glob("tasks-*.json"))
    return [task["data"] for file in files for task in json.loads(file.read_text())]


def sheet(path: Path) -> list[dict[str, Any]]:
    """The tasks of a workbook, by its XML, in which a spreadsheet program reads ``_xHHHH_``."""
    names = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as archive:
        content = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    head, *rows = [
        [
            re.sub(
                "_x([0-9A-F]{4})_",
                lambda found: chr(int(found[1], 16)),
                cell.findtext("x:is/x:t", "", names),
            )
            for cell in row.iterfind("x:c", names)
        ]
        for row in content.iterfind("x:sheetData/x:row", names)
    ]
    return [dict(zip(head, row, strict=True)) for row in rows]


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), format=st.sampled_from(
    sorted(SINKS.own)))  # fmt: skip
def test_every_text_arrives(tmp_path_factory: Any, rows: Any, format: str) -> None:
    directory = tmp_path_factory.mktemp("batch")
    table = pa.table(
        {
            "task": [f"t_{row}" for row in range(len(rows))],
            "left": [left for left, _ in rows],
            "right": [right for _, right in rows],
            "label": [""] * len(rows),
        }
    )
    write_tasks(table, directory / SINKS[format].batch, spec(format, chunk=3), "b_x")
    found = shown(format, directory)
    assert [(row["task"], row["left"], row["right"]) for row in found] == [
        (f"t_{place}", *row) for place, row in enumerate(rows)
    ]


def test_lines_of_json_have_no_number_that_json_does_not_have(tmp_path: Path) -> None:
    numbers = [0.5, float("nan"), float("inf"), float("-inf"), None]
    table = pa.table({"task": list("abcde"), "left": numbers, "label": [""] * 5})
    write_tasks(table, tmp_path / "batch.jsonl", spec("jsonl"), "b_x")
    lines = (tmp_path / "batch.jsonl").read_text().splitlines()
    assert [strict_json(line)["left"] for line in lines] == [0.5, None, None, None, None]
    assert lines[0] == '{"task": "a", "left": 0.5, "label": ""}'


TASK = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=80)
@given(
    votes=st.lists(
        st.tuples(TASK, st.sampled_from(CLASSES), TASK, TEXT, st.booleans()),
        min_size=1, max_size=6,
    ),
    format=st.sampled_from(["csv", "jsonl", "parquet", "json"]),
)  # fmt: skip
def test_every_task_and_label_comes_back(votes: Any, format: str) -> None:
    """Task, label, annotator and comment, as the vendors' files have them."""
    rows = [
        {"task": task, "label": "" if skip else label, "annotator": who, "comment": note,
         "skipped": "yes" if skip else ""}
        for task, label, who, note, skip in votes
    ]  # fmt: skip
    found = read_votes(f"votes.{format}", encoded(rows, format))
    for row, vote in zip(rows, found, strict=True):
        assert vote.problem is None
        assert (vote.task, vote.label) == (row["task"], row["label"] or None)
        assert vote.annotator == row["annotator"]
        assert vote.comment == (row["comment"] or None)
        assert vote.skipped is (row["skipped"] == "yes")


def encoded(rows: list[dict[str, str]], format: str) -> bytes:
    """Votes as an independent writer of each format has them."""
    if format != "json":
        return written(f"x.{format}", [[*row.values()] for row in rows], [*rows[0]])
    return json.dumps([exported_task(row) for row in rows]).encode()


def exported_task(row: dict[str, str]) -> dict[str, Any]:
    results = []
    if row["label"]:
        value: dict[str, Any] = {"choices": [row["label"]]}
        results.append({"from_name": "label", "type": "choices", "value": value, "id": "1"})
    if row["comment"]:
        value = {"text": [row["comment"]]}
        results.append({"from_name": "comment", "type": "textarea", "value": value})
    return {
        "id": 1,
        "data": {"task": row["task"]},
        "predictions": [{"result": [{"from_name": "label", "value": {"choices": ["no"]}}]}],
        "drafts": [{"result": [{"from_name": "label", "value": {"choices": ["no"]}}]}],
        "annotations": [
            {
                "id": 1, "completed_by": {"id": row["annotator"]}, "result": results,
                "was_cancelled": bool(row["skipped"]),
            }
        ],
    }  # fmt: skip


@given(TEXT)
def test_the_escape_of_formulas_can_be_undone(text: str) -> None:
    cell = escaped(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unescaped(cell) == text
    assert escaped(7) == 7


# --- the page of Label Studio


def labels(*classes: Any, several: bool = False) -> LabelsSpec:
    return LabelsSpec(Sets(classes) if several else Classes(classes), "deterministic")


def choices_of(labels: LabelsSpec) -> ElementTree.Element:
    [choices] = ElementTree.fromstring(label_config(["text"], labels, SinkSpec())).iter("Choices")
    return choices


@settings(max_examples=60)
@given(st.lists(TEXT.filter(bool), min_size=1, max_size=6, unique=True), TEXT)
def test_a_page_is_xml_and_shows_every_column(columns: list[str], question: str) -> None:
    sink = SinkSpec("label-studio", question or None)
    page = ElementTree.fromstring(label_config(columns, labels(0, 1), sink))
    keys = data_keys(columns)
    assert len({*keys.values()}) == len(columns)
    assert [one.get("value") for one in page.iter("Text")] == [f"${key}" for key in keys.values()]
    (choices,) = page.iter("Choices")
    assert choices.get("toName") == next(iter(keys.values()))
    assert [one.get("value") for one in choices] == ["0", "1", "unsure"]


def test_no_two_parts_of_a_page_have_one_name() -> None:
    """Label Studio refuses a page of which two have."""
    columns = ["comment", "a b", "batch", "field_2__", "field_2___", "note"]
    assert list(data_keys(columns).values()) == [
        "field_1__", "field_2____", "field_3__", "field_2__", "field_2___", "note",
    ]  # fmt: skip
    page = ElementTree.fromstring(label_config(columns, labels(0, 1), SinkSpec()))
    names = [one.get("name") for one in page.iter() if one.get("name") is not None]
    assert len({*names}) == len(names) == len(columns) + 2


@pytest.mark.parametrize(
    ("classes", "several", "kind"),
    [((0, 1), False, "single-radio"), (("a", "b", "c"), False, "single-radio"),
     (("a", "b", "c"), True, "multiple"), (("yes", "unsure"), False, "single-radio")],
)  # fmt: skip
def test_choices_of_two_classes_of_many_and_of_several_at_once(
    classes: Any, several: bool, kind: str
) -> None:
    choices = choices_of(labels(*classes, several=several))
    assert choices.get("choice") == kind
    assert choices.get("required") == ("false" if several else "true")
    offered = [one.get("value") for one in choices]
    assert offered[: len(classes)] == [str(one) for one in classes]
    assert offered.count("unsure") == 1


@pytest.mark.parametrize(
    ("classes", "keys"),
    [((0, 1), "012"), ((2, 1), "213"), (("a", "b", "c"), "1234"), (("x", 1, "y"), "2134"),
     (tuple(range(10)), "0123456789"), (("a", *map(str, range(12))), "-0123456789---")],
)  # fmt: skip
def test_the_key_of_a_digit_chooses_no_other_class(classes: Any, keys: str) -> None:
    """Else who presses 1 for 1 would say 0."""
    choices = choices_of(labels(*classes))
    assert "".join(one.get("hotkey", "-") for one in choices).rstrip("-") == keys.rstrip("-")


def test_annotators_are_told_what_classes_mean() -> None:
    told = {"1": 'the same "person" & address', "0": "different people"}
    both = dataclasses.replace(labels(0, 1), meanings=told)
    page = ElementTree.fromstring(label_config(["text"], both, SinkSpec()))
    shown = [one.get("value") for one in page.iter("Header")]
    assert shown[-2:] == ['1: the same "person" & address', "0: different people"]
    (choices,) = page.iter("Choices")
    assert [one.get("value") for one in choices] == ["0", "1", "unsure"]
    sheet = instructions("batch.csv", 5, ["text"], SinkSpec(), both)
    assert '    0: different people\n    1: the same "person" & address\n' in sheet


@pytest.mark.parametrize("votes", [1, 2])
def test_who_labels_is_asked_where_several_do(votes: int) -> None:
    asked = dataclasses.replace(labels(0, 1), votes=votes)
    sheet = instructions("batch.csv", 5, ["text"], SinkSpec(), asked)
    assert ("the column annotator" in sheet) == (f"by {votes} people" in sheet) == (votes > 1)


def test_pairs_stand_side_by_side() -> None:
    sink = SinkSpec("label-studio", pairs=Sides("_l", "_r"))
    page = ElementTree.fromstring(
        label_config(["name_l", "note", "name_r", "city_l"], labels(0, 1), sink)
    )
    grid = next(view for view in page.iter("View") if "grid" in view.get("style", ""))
    assert [one.get("value") for one in grid.iter("Text")] == ["$name_l", "$name_r"]
    single = [one.get("value") for one in page.findall("Text")]
    assert single == ["$note", "$city_l"], "without its like a column stands alone"


@pytest.mark.parametrize("wrong", [" a", "a\nb", "\x00"])
def test_a_class_that_no_choice_can_be(wrong: str) -> None:
    with pytest.raises(InputError, match="cannot be a choice of Label Studio"):
        label_config(["text"], labels(wrong, "b"), SinkSpec())


RECORD = st.tuples(TEXT.filter(bool), TEXT.filter(bool))


@settings(max_examples=60)
@given(st.lists(st.tuples(RECORD, RECORD), min_size=1, max_size=6))
def test_every_pair_of_records_comes_back(pairs: list[Any]) -> None:
    """A table as Splink has it: the pair of each line, whichever record stands on the left."""
    turned = [(right, left) for left, right in pairs]
    for listed in (pairs, turned):
        found = read_votes("votes.csv", as_table((pair, 1.0) for pair in listed))
        assert [vote.pair for vote in found] == [make_pair(*a, *b) for a, b in pairs]
        assert all(vote.score == 1 and vote.problem is None for vote in found)


ANSWERS = ("annotator", "skipped", "comment", "time", "clerical_match_score", "label.a")
NO_ID = "{} cannot be shown as sink.format is"


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        *(({"payload": [name]}, f"{name} is a column of answers") for name in ANSWERS),
        ({"id": "pair", "payload": ["id"]}, NO_ID.format("id")),
        ({"id": "pair", "payload": ["pair", "id"]}, NO_ID.format("id")),
        ({"id": "pair", "payload": [{"pair": "hash"}]}, NO_ID.format("pair")),
        ({"payload": [{"id": {"truncate": 3}}]}, NO_ID.format("id")),
    ],
)
def test_no_column_of_the_payload_is_taken_for_an_answer_or_an_id(pool: Any, words: str) -> None:
    """But by Label Studio, whose answers do not come in columns."""
    content: dict[str, Any] = {"pool": {"path": "x", **pool}}
    for format in ("csv", "jsonl", "parquet", "vendor", "xlsx"):
        with pytest.raises(InputError, match=words):
            EvaluationSpec.from_mapping({**content, "sink": {"format": format}}, "/")
    shown = EvaluationSpec.from_mapping({**content, "sink": {"format": "label-studio"}}, "/")
    assert len(shown.pool.payload) == len(pool["payload"])


@pytest.mark.parametrize(
    ("score", "expected"), [("1", 1.0), ("0.0", 0.0), ("0.5", 0.5), ("", None), ("0.9", 0.9)]
)
def test_tables_of_splink(score: str, expected: float | None) -> None:
    head = "source_dataset_l,unique_id_l,source_dataset_r,unique_id_r,clerical_match_score"
    (vote,) = read_votes("x.csv", f"{head}\nb,2,a,001,{score}\n".encode())
    assert vote.problem is None
    assert (vote.pair, vote.score) == ((("a", "001"), ("b", "2")), expected)
