"""Mangled files of labelling tools: no label comes of one that is not in it for that very task.

Exports of Label Studio, tables of Splink, long tables of votes and
spreadsheets of vendors are made of known votes and then damaged: bytes are flipped, cut out,
doubled, lines swapped, values of another type put in. What is taken is compared with what a reader
of its own finds, written here.

    EVALSAMPLING_DELIVERIES=100000 pytest -m slow tests/faults/test_vendor_files.py
"""

import csv
import io
import json
import os
import random
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.spellings import plain, yes_and_no
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.splink import make_pair
from evalsampling.labels.tally import Subjects, Tally
from evalsampling.labels.tasks import opaque_name, with_check
from evalsampling.labels.vendor import escaped
from evalsampling.labels.votes import check_votes

ROWS = 12
TASKS = [with_check(opaque_name(b"key", row)) for row in range(ROWS)]
PAIRS = [(("a", f"00{row}"), ("b", str(row + 7))) for row in range(ROWS)]
CLASSES = ["no", "yes"]
REGISTER = Register(
    question_of_task={task: row for row, task in enumerate(TASKS)},
    ids=[str(row) for row in range(ROWS)],
    space=Classes(tuple(CLASSES)),
    tally=Tally(Subjects(ROWS, votes=3)),
    pairs={make_pair(*left, *right): [row] for row, (left, right) in enumerate(PAIRS)},
)
FEW, MANY = 150, int(os.environ.get("EVALSAMPLING_DELIVERIES", "100000"))

Found = set[tuple[str, str, str]]
"""Task, annotator and label."""


def votes(draw: random.Random) -> list[tuple[int, str, str]]:
    """Row, annotator and answer."""
    rows = [
        (row, name, draw.choice([*CLASSES, *CLASSES, "", "unsure"]))
        for row in draw.sample(range(ROWS), draw.randint(1, ROWS))
        for name in draw.sample("123", draw.randint(1, 3))
    ]
    draw.shuffle(rows)
    return rows


# --- one format after the other: how it is written, and what another reader finds


def label_studio(draw: random.Random) -> bytes:
    by_task: dict[int, list[Any]] = {}
    for row, name, label in votes(draw):
        results = [
            {"from_name": "label", "to_name": "x", "type": "choices", "id": "r",
             "value": {"choices": [label]}}
        ] if label else []  # fmt: skip
        if draw.random() < 0.2:
            text = {"text": [draw.choice(["no", 'say "yes"', "é"])]}
            results.append({"from_name": "comment", "type": "textarea", "value": text})
        if draw.random() < 0.1:
            results.append({"from_name": "other", "type": "choices", "value": {"choices": ["no"]}})
        by_task.setdefault(row, []).append(
            {"id": 1, "completed_by": int(name), "was_cancelled": not label, "result": results}
        )
    content = [
        {"id": row, "data": {"task": TASKS[row], "text": "yes"}, "annotations": given,
         "predictions": [{"result": [{"from_name": "label", "value": {"choices": ["yes"]}}]}]}
        for row, given in by_task.items()
    ]  # fmt: skip
    return json.dumps(content, indent=draw.choice([None, 1])).encode()


def found_in_export(content: bytes) -> Found:
    tasks = json.loads(content.decode("utf-8-sig"))
    given = [(task, one) for task in tasks for one in readable(lambda t=task: t["annotations"])]
    return {
        (name, str(one.get("completed_by")), choice)
        for task, one in given
        for name in named_in(task)
        for results in [readable(lambda o=one: [] if o["was_cancelled"] else o["result"])]
        for result in results
        for choice in readable(
            lambda r=result: r["value"]["choices"] if isinstance(r["from_name"], str) else []
        )
    }


def named_in(task: Any) -> list[Any]:
    """What may name the row of a task: any of its data, as a task or as an id."""
    given = readable(lambda: task["data"].values())
    ids = [REGISTER.questions_of_id.get(str(value), ()) for value in given]
    return [*given, *(TASKS[question] for questions in ids for question in questions)]


def readable(look: Callable[[], Any]) -> list[Any]:
    """What a damaged place still holds: nothing, if it is not what it should be."""
    try:
        return list(look())
    except (KeyError, TypeError, ValueError, AttributeError):
        return []


def splink(draw: random.Random) -> bytes:
    text = io.StringIO(newline="")
    names = ["source_dataset_l", "unique_id_l", "source_dataset_r", "unique_id_r"]
    writer = csv.writer(text)
    writer.writerow([*names, "clerical_match_score", "annotator"])
    for row, name, label in votes(draw):
        left, right = draw.sample(PAIRS[row], 2)
        score = {"yes": draw.choice(["1", "0.75"]), "no": "0", "unsure": "0.5"}.get(label, "")
        writer.writerow([*left, *right, score, name])
    return text.getvalue().encode()


def found_in_splink(content: bytes) -> Found:
    rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    return {found for row in rows for found in readable(lambda r=row: matches(r))}


def matches(row: dict[str, str]) -> Found:
    records = {(row.get(f"source_dataset_{side}") or "", row[f"unique_id_{side}"]) for side in "lr"}
    label = "yes" if float(row["clerical_match_score"]) > 0.5 else "no"
    return {
        (task, str(row.get("annotator")), label)
        for task, pair in zip(TASKS, PAIRS, strict=True)
        if records == {*pair}
    }


def long_table(draw: random.Random) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["task", "annotator", "label", "time", "skipped", "comment"])
    for row, name, label in votes(draw):
        comment = draw.choice(["", 'a "b", c', "two\nlines", "yes"])
        writer.writerow([TASKS[row], name, label, "2026", "" if label else "yes", comment])
    return text.getvalue().encode()


def found_in_long_table(content: bytes) -> Found:
    text = content.decode("utf-8-sig")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return {(str(r.get("task")), str(r.get("annotator")), str(r.get("label"))) for r in rows}


def vendor(draw: random.Random) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["task", "text", "label", "annotator", "comment"])
    for row, name, label in votes(draw):
        shown = escaped(draw.choice(["=1+1", "yes", "'no", "two\r\nlines", "-", "00" + name]))
        writer.writerow([TASKS[row], shown, label, name, draw.choice(["", "=yes", "no"])])
    return text.getvalue().encode("utf-8-sig")


FORMATS: dict[str, tuple[str, Callable[[random.Random], bytes], Callable[[bytes], Found]]] = {
    "label-studio": ("json", label_studio, found_in_export),
    "splink": ("csv", splink, found_in_splink),
    "long": ("csv", long_table, found_in_long_table),
    "vendor": ("csv", vendor, found_in_long_table),
}


# --- damage


def flip(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def cut(content: bytes, draw: random.Random) -> bytes:
    begin, end = sorted(draw.sample(range(len(content) + 1), 2))
    return content[:begin] + content[min(end, begin + 40) :]


def double(content: bytes, draw: random.Random) -> bytes:
    begin, end = sorted(draw.sample(range(len(content) + 1), 2))
    return content[:end] + content[begin:]


def end_early(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content)) + 1]


def swap_lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, other = draw.choices(range(len(lines)), k=2)
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def retype(content: bytes, draw: random.Random) -> bytes:
    """Put another value, or a quote, in place of a word."""
    words = list(re.finditer(rb"[\w-]+", content))
    if not words:
        return content
    word = draw.choice(words)
    other = draw.choice([b"yes", b"no", b"null", b"true", b"1", b"[]", b"{}", b'"', b"\\ud800"])
    return content[: word.start()] + other + content[word.end() :]


def exchange(content: bytes, draw: random.Random) -> bytes:
    """Put one word of the file in place of another."""
    words = list(re.finditer(rb"[\w-]+", content))
    if not words:
        return content
    one, other = draw.choices(words, k=2)
    return content[: one.start()] + other[0] + content[one.end() :]


DAMAGE = (flip, cut, double, end_early, swap_lines, retype, exchange)


def named(person: object) -> str:
    """A name as people see it: spellings that look alike are one person."""
    text = unicodedata.normalize("NFKC", str(person))
    shown = "".join(one for one in text if one.isprintable() or one.isspace())
    return " ".join(shown.split()).casefold()


def check(seed: int, name: str) -> bool:
    """Make, damage, read and check one file; tell whether a label of it was taken."""
    suffix, write, find = FORMATS[name]
    draw = random.Random(f"{name}-{seed}")
    content = write(draw)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        content = draw.choice(DAMAGE)(content, draw) or b"x"
    try:
        delivered = read_votes(f"votes.{suffix}", content)
    except InputError:
        return False
    taken, _ = check_votes(delivered, REGISTER)
    labels = {(TASKS[row], named(vote.annotator), vote.label) for row, vote in taken if vote.label}
    assert all(vote.annotator for _, vote in taken)
    if labels:
        words = yes_and_no(REGISTER.space.codes)
        spelled = {
            (task, named(person), words.get(plain(label), plain(label)))
            for task, person, label in find(content)
        }
        assert labels <= spelled, (seed, name, content)
    return bool(labels)


@pytest.mark.parametrize("name", FORMATS)
def test_labels_are_in_the_file(name: str) -> None:
    taken = sum(check(seed, name) for seed in range(FEW))
    assert taken > FEW // 10, "nearly nothing was read, so nearly nothing was checked"


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_labels_are_in_the_file_of_many(name: str) -> None:
    taken = sum(check(seed, name) for seed in range(FEW, FEW + MANY // len(FORMATS) + 1))
    assert taken > MANY // (10 * len(FORMATS))
