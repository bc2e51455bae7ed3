"""Votes as fields of a row give them: sets of labels, through every format."""

import json
from typing import Any

import pytest

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.sets import Sets
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.votes import check_votes
from tests.labels.deliveries import parquet, register_of

KNOWN = ("toxic", "insult", "threat")
SPACE = Sets(KNOWN)
TASKS = ["t_a", "t_b", "t_c"]
SETS = [["threat", "toxic"], [], ["insult"]]
TEXTS = ["toxic+threat", "none", "insult"]
FLAGS = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def register(space: LabelSpace = SPACE) -> Register:
    return register_of(TASKS, ["1", "2", "3"], space)


def export(choices: list[list[str]]) -> bytes:
    def task(name: str, chosen: list[str]) -> dict[str, Any]:
        result = {"from_name": "label", "type": "choices", "value": {"choices": chosen}}
        annotation = {"completed_by": 1, "was_cancelled": False}
        annotation |= {"result": [result] if chosen else []}
        return {"data": {"task": name}, "annotations": [annotation]}

    return json.dumps([task(*one) for one in zip(TASKS, choices, strict=True)]).encode()


CSV_FLAGS = "task,label.toxic,label.insult,label.threat\n" + "".join(
    f"{task},{','.join(map(str, row))}\n" for task, row in zip(TASKS, FLAGS, strict=True)
)
CSV_LISTS = 'task,label\nt_a,"[""threat"", ""toxic""]"\nt_b,[]\nt_c,"[""insult""]"\n'
FORMATS = {
    "csv, a column for each": ("x.csv", CSV_FLAGS.encode()),
    "csv, lists": ("x.csv", CSV_LISTS.encode()),
    "csv, floats for each": (
        "x.csv",
        b"task,label.toxic,label.insult,label.threat\nt_a,1.0,0.0,1.0\nt_b,0.0,0.0,0.0\nt_c,0.0,1.0,0\n",
    ),
    "csv, text with spaces": ("x.csv", b"task,label\nt_a,threat + toxic\nt_b,none\nt_c,insult\n"),
    "csv, text": ("x.csv", b"task,label\nt_a,threat+toxic\nt_b,none\nt_c,insult\n"),
    "jsonl, lists": (
        "x.jsonl",
        "\n".join(
            json.dumps({"task": t, "label": s}) for t, s in zip(TASKS, SETS, strict=True)
        ).encode(),
    ),
    "jsonl, a key for each": (
        "x.jsonl",
        "\n".join(
            json.dumps(
                {"task": t, **{f"label.{k}": bool(v) for k, v in zip(KNOWN, row, strict=True)}}
            )
            for t, row in zip(TASKS, FLAGS, strict=True)
        ).encode(),
    ),
    "parquet, lists": ("x.parquet", parquet(task=TASKS, label=SETS)),
    "parquet, a column for each": (
        "x.parquet",
        parquet(task=TASKS, **{f"label.{k}": [r[i] for r in FLAGS] for i, k in enumerate(KNOWN)}),
    ),
    "label studio": ("x.json", export(SETS)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_sets_come_back_through_every_format(name: str) -> None:
    taken, rejects = check_votes(read_votes(*FORMATS[name]), register())
    assert not rejects
    assert [(subject, vote.label) for subject, vote in taken] == [*enumerate(TEXTS)]


@pytest.mark.parametrize("name", ["jsonl, lists", "parquet, lists", "label studio"])
def test_sets_are_no_classes_where_one_is_wanted(name: str) -> None:
    taken, rejects = check_votes(read_votes(*FORMATS[name]), register(Classes(SPACE.outcomes)))
    reasons = [one.reason for one in rejects]
    assert "2 choices where one class is wanted" in reasons
    assert "no choice where one class is wanted" in reasons
    assert len(taken) <= 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"label": ["nice"]}, "label 'nice' is no set of: toxic, insult, threat"),
        ({"label": [1]}, "label is no text and no number"),
        ({"label.toxic": 1, "label.insult": 2}, "label.insult is 2, which is none of"),
        ({"label.toxic": 1, "label.insult": None}, "label.insult is empty, and others are not"),
        ({"label.toxic": 1, "label": "toxic"}, "label is given, and columns of labels too"),
    ],
)
def test_what_is_no_set_is_rejected(line: dict[str, Any], words: str) -> None:
    votes = read_votes("x.jsonl", json.dumps({"task": "t_a", **line}).encode())
    taken, (reject,) = check_votes(votes, register())
    assert not taken
    assert words in reject.reason


LACKING = {
    "x.csv": b"task,label.toxic,label.threat\nt_a,1,0\nt_b,0,0\nt_c,,\n",
    "x.jsonl": b'{"task": "t_a", "label.toxic": 1, "label.threat": 0}\n'
    b'{"task": "t_b", "label.threat": 0}\n',
    "x.parquet": parquet(task=TASKS, **{"label.toxic": [1, 0, None], "label.threat": [0, 0, None]}),
}


EACH_LABEL = "a set of labels takes a column of 0 and 1 for each label"


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", LACKING)
def test_a_label_without_a_column_is_not_a_no(name: str, replace: bool) -> None:
    taken, rejects = check_votes(read_votes(name, LACKING[name]), register(), replace)
    assert not taken
    missing = ["insult", "toxic" if name == "x.jsonl" else "insult"]
    assert [(one.task, one.reason) for one in rejects] == [
        (task, f"column label.{label} is missing: {EACH_LABEL}")
        for task, label in zip(TASKS, missing, strict=False)
    ]


def test_lines_may_differ_in_how_they_give_their_sets() -> None:
    lines = [
        {"task": "t_a", "label.toxic": 1, "label.insult": 0, "label.threat": 0},
        {"task": "t_b", "label": ["insult"]},
        {"task": "t_c", "label.toxic": 1, "skipped": "yes"},
    ]
    votes = read_votes("x.jsonl", "\n".join(map(json.dumps, lines)).encode())
    taken, rejects = check_votes(votes, register())
    assert not rejects
    assert [(vote.label, vote.skipped) for _, vote in taken] == [
        ("toxic", False), ("insult", False), (None, True),
    ]  # fmt: skip


def test_rows_without_an_answer_are_passed_over() -> None:
    content = b"task,label.toxic,label.insult,label.threat\nt_a,,,\nt_b,1,0,0\n"
    taken, rejects = check_votes(read_votes("x.csv", content), register())
    assert not rejects
    assert [vote.label for _, vote in taken] == ["toxic"]


def test_annotator_who_cannot_tell() -> None:
    taken, rejects = check_votes(
        read_votes("x.json", export([["unsure"], [], ["toxic"]])), register()
    )
    assert not rejects
    assert [(vote.label, vote.unsure) for _, vote in taken] == [
        (None, True), ("none", False), ("toxic", False),
    ]  # fmt: skip
