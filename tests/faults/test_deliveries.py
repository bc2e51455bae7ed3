"""Mangled deliveries: no label comes of one that is not in the file for that very row.

Each delivery is made of known votes, written as CSV, JSON Lines or Parquet, and then damaged: bytes
are flipped, cut out, doubled, lines swapped, columns renamed and retyped. What is taken of it is
compared with what a reader of its own, written here and nowhere else, finds in the damaged file.

    EVALSAMPLING_DELIVERIES=100000 pytest -m slow tests/faults/test_deliveries.py
"""

import csv
import io
import json
import os
import random
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.tally import Subjects, Tally
from evalsampling.labels.votes import check_votes

ROWS = 12
CLASSES = ["0", "1", "2"]
IDS = [str(id) for id in [*range(8), 2**53, 2**53 + 1, 2**53 + 2, "007"]]
TASKS = [f"t_{row:04x}" for row in range(ROWS)]
REGISTER = Register(
    question_of_task={task: row for row, task in enumerate(TASKS)},
    ids=IDS,
    tally=Tally(Subjects(ROWS)),
    space=Classes(tuple(CLASSES), 2),
)
FEW, MANY = 300, int(os.environ.get("EVALSAMPLING_DELIVERIES", "100000"))

Rows = list[dict[str, Any]]


def votes(draw: random.Random) -> Rows:
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


def as_csv(rows: Rows, draw: random.Random) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator=draw.choice(["\n", "\r\n"]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def number(text: str) -> Any:
    """A number where text is one that keeps its spelling, else the text."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def as_jsonl(rows: Rows, draw: random.Random) -> bytes:
    spelt: Callable[[Any], Any] = draw.choice([number, str, lambda text: text or None])
    lines = [json.dumps({name: spelt(value) for name, value in vote.items()}) for vote in rows]
    if draw.random() < 0.3:  # a name that is there twice
        line = draw.randrange(len(lines))
        lines[line] = lines[line][:-1] + f', "label": {draw.randrange(3)}}}'
    if draw.random() < 0.2:
        lines = [re.sub(r"(?<=: )(\d+)(?=[,}])", r"\1.0", line) for line in lines]
    return "\n".join(lines).encode()


def as_parquet(rows: Rows, draw: random.Random) -> bytes:
    columns = {}
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


def flip(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]


def cut(content: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(content))
    return content[:begin] + content[begin + draw.randint(1, 20) :]


def double(content: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(content))
    end = begin + draw.randint(1, 40)
    return content[:end] + content[begin:end] + content[end:]


def swap_lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    draw.shuffle(lines)
    return b"".join(lines)


def insert(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) + 1)
    bit = draw.choice(
        [b'"', b",", b"\n", b"\r", b"\0", b"{", b"}", b":", b"\\", b"\xff", b"0", b"1"]
    )
    return content[:place] + bit + content[place:]


DAMAGE = [flip, cut, double, swap_lines, insert]


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


FORMATS = {
    "csv": (as_csv, found_in_csv),
    "jsonl": (as_jsonl, found_in_jsonl),
    "parquet": (as_parquet, found_in_parquet),
}


def spelt(value: Any) -> str | None:
    """A field as text, as the documentation says."""
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, float):
        value = int(value) if value.is_integer() and abs(value) < 2**53 else f"float {value}"
    text = "" if value is None else str(value)
    return re.sub(r"^(-?\d+)\.0$", r"\1", text) or None


def check(seed: int, format: str) -> bool:
    """Make, damage, read and check one delivery; tell whether anything of it was taken."""
    draw = random.Random(f"{format}-{seed}")
    write, find = FORMATS[format]
    content = write(votes(draw), draw)
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        content = draw.choice(DAMAGE[: 3 if format == "parquet" else None])(content, draw) or b"x"
    try:
        delivered = read_votes(f"labels.{format}", content)
    except InputError:
        return False
    taken, _ = check_votes(delivered, REGISTER)
    if not taken:
        return False
    try:
        rows = find(content)
    except (OSError, pa.ArrowException) as error:
        raise AssertionError((seed, format, content)) from error
    for question, vote in taken:
        if vote.label is None:
            continue
        told = [
            row
            for row in rows
            if spelt(row.get("label")) == vote.label
            and spelt(row.get("task")) in (None, TASKS[question])
            and spelt(row.get("id")) in (None, IDS[question])
            and (row.get("task") or row.get("id") is not None)
        ]
        assert told, (seed, format, vote, content)
    return True


@pytest.mark.parametrize("format", FORMATS)
def test_labels_are_in_the_file(format: str) -> None:
    taken = sum(check(seed, format) for seed in range(FEW))
    assert taken > FEW // 10, "nearly nothing was read, so nearly nothing was checked"


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_labels_are_in_the_file_of_many(format: str) -> None:
    taken = sum(check(seed, format) for seed in range(FEW, FEW + MANY // 3 + 1))
    assert taken > MANY // 30
