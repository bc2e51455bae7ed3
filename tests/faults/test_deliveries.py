"""Mangled deliveries: no label comes of one that is not in the file for that very row.

Each delivery is made of known votes: tables as CSV, JSON Lines and Parquet, exports of Label
Studio, tables of Splink, long tables and spreadsheets of vendors. Then it is damaged: bytes are
flipped, cut out, doubled, lines swapped, values of another type put in. What is taken of it is
compared with what a reader of its own, written here and nowhere else, finds in the damaged file.

    EVALSAMPLING_DELIVERIES=100000 pytest -m slow tests/faults/test_deliveries.py
"""

import csv
import io
import json
import os
import random
import re
import unicodedata
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.spellings import plain, yes_and_no
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.splink import make_pair
from evalsampling.labels.tally import Tally
from evalsampling.labels.tasks import opaque_name
from evalsampling.labels.vendor import escaped
from evalsampling.labels.vote import Vote
from evalsampling.labels.votes import check_votes

ROWS = 12
CLASSES, WORDS = ["0", "1", "2"], ["no", "yes"]
IDS = [str(id) for id in [*range(8), 2**53, 2**53 + 1, 2**53 + 2, "007"]]
TASKS = [opaque_name(b"key", row, check=True) for row in range(ROWS)]
PAIRS = [(("a", f"00{row}"), ("b", str(row + 7))) for row in range(ROWS)]
REGISTER = Register(
    question_of_task={task: row for row, task in enumerate(TASKS)},
    ids=IDS,
    tally=Tally(ROWS),
    space=Classes(tuple(CLASSES), 2),
)
OF_PEOPLE = Register(
    question_of_task=REGISTER.question_of_task,
    ids=[str(row) for row in range(ROWS)],
    space=Classes(tuple(WORDS)),
    tally=Tally(ROWS, votes=3),
    pairs={make_pair(*left, *right): [row] for row, (left, right) in enumerate(PAIRS)},
)
FEW, MANY = 200, int(os.environ.get("EVALSAMPLING_DELIVERIES", "100000"))


# --- tables of ours: each row by its task, its id or both

Rows = list[dict[str, Any]]


def rows_of(draw: random.Random) -> Rows:
    """Votes by task, by id or by both, in any order, with what else may be in a file."""
    chosen = draw.sample(range(ROWS), draw.randint(1, ROWS))
    by = draw.choice(["task", "id", "both"])
    rows = []
    for row in chosen:
        vote: dict[str, Any] = {}
        if by != "id":
            vote["task"] = TASKS[row]
        if by != "task":
            vote["id"] = IDS[row]
        vote["label"] = draw.choice([*CLASSES, *CLASSES, ""])
        if draw.random() < 0.3:
            vote["skipped"] = draw.choice(["yes", "no", "1", "0", "", "maybe"])
        vote["note"] = draw.choice(["", "a,b", 'x"y', "two\nlines", "é"])
        rows.append(vote)
    names = list(dict.fromkeys(name for vote in rows for name in vote))
    return [{name: vote.get(name, "") for name in names} for vote in rows]


def as_csv(draw: random.Random) -> bytes:
    rows = rows_of(draw)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator=draw.choice(["\n", "\r\n"]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def number(text: str) -> Any:
    """A number where text is one that keeps its spelling, else the text."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def as_jsonl(draw: random.Random) -> bytes:
    rows = rows_of(draw)
    spelt: Callable[[Any], Any] = draw.choice([number, str, lambda text: text or None])
    lines = [json.dumps({name: spelt(value) for name, value in vote.items()}) for vote in rows]
    if draw.random() < 0.3:  # a name that is there twice
        line = draw.randrange(len(lines))
        lines[line] = lines[line][:-1] + f', "label": {draw.randrange(3)}}}'
    if draw.random() < 0.2:
        lines = [re.sub(r"(?<=: )(\d+)(?=[,}])", r"\1.0", line) for line in lines]
    return "\n".join(lines).encode()


def as_parquet(draw: random.Random) -> bytes:
    rows, columns = rows_of(draw), {}
    for name in rows[0]:
        values = [vote[name] for vote in rows]
        array = pa.array(values)
        kinds: list[pa.DataType] = [pa.string(), pa.large_string(), pa.binary(), pa.string_view()]
        if all(isinstance(number(value), int) for value in values):
            kinds += [pa.int64(), pa.uint64(), pa.float64(), pa.float64()]
        kind = draw.choice(kinds)
        if pa.types.is_floating(kind):
            array = array.cast(pa.int64()).cast(kind, safe=False)
        columns[name] = array.cast(kind)
    sink = pa.BufferOutputStream()
    options = {"compression": draw.choice(["none", "snappy", "zstd"])}
    options |= {"write_page_checksum": True} if draw.random() < 0.5 else {}
    pq.write_table(pa.table(columns), sink, use_dictionary=draw.random() < 0.5, **options)
    return sink.getvalue().to_pybytes()


def found_in_csv(content: bytes) -> Rows:
    table = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    header = table[0]
    return [dict(zip(header, row, strict=True)) for row in table[1:] if len(row) == len(header)]


def found_in_jsonl(content: bytes) -> Rows:
    """The objects of all lines, without those that have one of our names twice."""
    rows = []
    for line in re.split(r"\r\n|\r|\n", content.decode("utf-8-sig")):
        if not line.strip():
            continue
        pairs = json.loads(line, object_pairs_hook=list, parse_float=str)
        names = [name for name, _ in pairs]
        if all(
            names.count(name) == 1 for name in ("task", "id", "label", "skipped") if name in names
        ):
            rows.append(dict(pairs))
    return rows


def found_in_parquet(content: bytes) -> Rows:
    names = pq.read_schema(pa.BufferReader(content)).names
    ours = [name for name in names if name in ("task", "id", "label")]
    rows: Rows = pq.read_table(pa.BufferReader(content), columns=ours).to_pylist()
    return rows


def spelt(value: Any) -> str | None:
    """A field as text, as the documentation says."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < 2**53 else f"float {value}"
    text = "" if value is None else str(value)
    return re.sub(r"^(-?\d+)\.0$", r"\1", text) or None


def in_rows(find: Callable[[bytes], Rows]) -> "Told":
    """What tells that a reader finds a row with the label that names no other row."""

    def told(content: bytes, taken: list[tuple[int, Vote]]) -> bool:
        rows = find(content)
        return all(
            any(
                spelt(row.get("label")) == vote.label
                and spelt(row.get("task")) in (None, TASKS[question])
                and spelt(row.get("id")) in (None, IDS[question])
                and (row.get("task") or row.get("id") is not None)
                for row in rows
            )
            for question, vote in taken
        )

    return told


# --- files of several people

Found = set[tuple[str, str, str]]
"""Task, annotator and label."""


def votes(draw: random.Random) -> list[tuple[int, str, str]]:
    """Row, annotator and answer."""
    rows = [
        (row, name, draw.choice([*WORDS, *WORDS, "", "unsure"]))
        for row in draw.sample(range(ROWS), draw.randint(1, ROWS))
        for name in draw.sample("123", draw.randint(1, 3))
    ]
    draw.shuffle(rows)
    return rows


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
    ids = [OF_PEOPLE.questions_of_id.get(str(value), ()) for value in given]
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


def named(person: object) -> str:
    """A name as people see it: spellings that look alike are one person."""
    text = unicodedata.normalize("NFKC", str(person))
    shown = "".join(one for one in text if one.isprintable() or one.isspace())
    return " ".join(shown.split()).casefold()


def in_answers(find: Callable[[bytes], Found]) -> "Told":
    """What tells that a reader finds the label of the task by that annotator."""

    def told(content: bytes, taken: list[tuple[int, Vote]]) -> bool:
        words = yes_and_no(OF_PEOPLE.space.codes)
        found = {
            (task, named(person), words.get(plain(label), plain(label)))
            for task, person, label in find(content)
        }
        given = {(TASKS[row], named(vote.annotator), vote.label) for row, vote in taken}
        return given <= found and all(vote.annotator for _, vote in taken)

    return told


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


def insert(content: bytes, draw: random.Random) -> bytes:
    bits = [b'"', b",", b"\n", b"\r", b"\0", b"{", b"}", b":", b"\\", b"\xff", b"0", b"1"]
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(bits) + content[place:]


DAMAGE = (flip, cut, double, end_early, swap_lines, retype, exchange, insert)


Told = Callable[[bytes, list[tuple[int, Vote]]], bool]


class Format(NamedTuple):
    suffix: str
    write: Callable[[random.Random], bytes]
    told: Told
    register: Register = REGISTER


FORMATS = {
    "csv": Format("csv", as_csv, in_rows(found_in_csv)),
    "jsonl": Format("jsonl", as_jsonl, in_rows(found_in_jsonl)),
    "parquet": Format("parquet", as_parquet, in_rows(found_in_parquet)),
    "label-studio": Format("json", label_studio, in_answers(found_in_export), OF_PEOPLE),
    "splink": Format("csv", splink, in_answers(found_in_splink), OF_PEOPLE),
    "long": Format("csv", long_table, in_answers(found_in_long_table), OF_PEOPLE),
    "vendor": Format("csv", vendor, in_answers(found_in_long_table), OF_PEOPLE),
}


def check(seed: int, name: str) -> bool:
    """Make, damage, read and check one file; tell whether a label of it was taken."""
    draw, form = random.Random(f"{name}-{seed}"), FORMATS[name]
    content = form.write(draw)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        content = draw.choice(DAMAGE[: 3 if name == "parquet" else None])(content, draw) or b"x"
    try:
        delivered = read_votes(f"votes.{form.suffix}", content)
    except InputError:
        return False
    taken, _ = check_votes(delivered, form.register)
    labelled = [(row, vote) for row, vote in taken if vote.label is not None]
    assert not labelled or form.told(content, labelled), (seed, name, content)
    return bool(labelled)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "seeds",
    [range(FEW), pytest.param(range(FEW, FEW + MANY // len(FORMATS) + 1), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_labels_are_in_the_file(name: str, seeds: range) -> None:
    taken = sum(check(seed, name) for seed in seeds)
    assert taken > len(seeds) // 10, "nearly nothing was read, so nearly nothing was checked"
