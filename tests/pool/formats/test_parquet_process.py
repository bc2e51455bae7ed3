"""The process that decodes Parquet: it may be ended by a file, and the next one is read."""

import os
import random
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.labels.formats import read_votes
from evalsampling.labels.vote import Vote
from evalsampling.pool.formats.parquet_process import (
    Decoder,
    TooLargeError,
    read_batches,
    read_facts,
)

PLENTY = 1 << 28
ROOT = Path(__file__).resolve().parents[3]


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def votes(rows: int) -> pa.Table:
    """Rows whose label is their own, with gaps, so that a label of another row is seen."""
    draw = random.Random(rows)
    labels = [None if draw.random() < 0.2 else f"label {row}" for row in range(rows)]
    tasks = [f"t_{row}" for row in range(rows)]
    return pa.table({"task": pa.array(tasks, pa.string()), "label": pa.array(labels, pa.string())})


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None])
@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_columns_are_those_of_the_file(encoding: str | None, rows: int) -> None:
    table = votes(rows).append_column("number", pa.array(range(rows), pa.int64()))
    encodings = dict.fromkeys(("task", "label"), encoding) if encoding else None
    options = {"column_encoding": encodings, "use_dictionary": encoding is None}
    content = parquet(table, row_group_size=300, **options)
    facts = read_facts(content)
    assert facts["schema"].equals(table.schema)
    assert facts["rows"] == sum(group[0] for group in facts["groups"]) == rows
    decoded = read_batches(content, ["number", "label"], PLENTY).read_all()
    assert decoded.column_names == ["number", "label"]
    assert decoded.cast(table.select(["number", "label"]).schema).equals(
        table.select(["number", "label"])
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_flipped_bits_of_many_pages_and_groups(version: str, compression: str) -> None:
    """Whatever a bit does, it is one line, or the rows of the file.

    Pages have checksums here: without any, a flipped bit of a value is another value.
    """
    content, right = of_many_pages(version, compression)
    draw, problems = random.Random(5), []
    for _ in range(300):
        changed = bytearray(content)
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        try:
            read = read_votes("labels.parquet", bytes(changed))
        except InputError as error:
            problems.append(str(error))
        else:
            assert of_tasks(read, right) == right
    assert len(problems) > 100
    assert all(line.startswith("labels.parquet: ") and "\n" not in line for line in problems)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_no_page_puts_labels_on_other_rows(version: str) -> None:
    """Each page of labels says by a flipped bit that it has more values than it has, or fewer.

    Arrow reads such a page beyond its end, as far as bits are padded, and its successors behind.
    """
    content, right = of_many_pages(version, "none")
    field = {"1.0": b"\x1c\x15\x16\x15", "2.0": b"\x4c\x15\x16\x15"}[version]  # 11 values
    places = [match.start() + 2 for match in re.finditer(re.escape(field), content)]
    assert len(places) > 20
    for place in places:
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            try:
                read = read_votes("labels.parquet", bytes(changed))
            except InputError:
                continue
            assert of_tasks(read, right) == right


def of_many_pages(version: str, compression: str) -> tuple[bytes, dict[str, str]]:
    """A file of three row groups with pages of 11 rows, and the label of each task."""
    table = votes(200)
    content = parquet(
        table, row_group_size=90, data_page_size=100, write_batch_size=11,
        data_page_version=version, compression=compression, write_page_checksum=True,
    )  # fmt: skip
    return content, dict(
        zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    )


def of_tasks(read: Sequence[Vote], right: Mapping[str, str]) -> dict[str, str]:
    """The labels that were read, by task; rows whose task is lost count as they are."""
    assert len(read) == len(right)
    return {**right, **{vote.task: vote.label for vote in read if vote.task is not None}}


@pytest.mark.slow
def test_text_that_takes_more_memory_than_there_may_be() -> None:
    """Each of 2,300 rows repeats a megabyte of the one before, in no room at all."""
    batch = pa.record_batch({"label": ["x" * 1_000_000] * 50, "task": ["t"] * 50})
    options = {"column_encoding": {"label": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, batch.schema, compression="zstd", **options) as writer:
        for _ in range(46):
            writer.write_batch(batch)
    content = sink.getvalue().to_pybytes()
    assert len(content) < 1_000_000
    with pytest.raises(TooLargeError, match="more memory"):
        read_batches(content, ["label"], PLENTY)
    assert read_batches(content, ["task"], PLENTY).read_all().num_rows == 2300
    with pytest.raises(InputError, match="a delivery has at most"):
        read_votes("a.parquet", content)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="Parquet"):
        read_facts(b"no Parquet")
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    content = parquet(pa.table({"task": ["a"], "label": broken}))
    with pytest.raises(ValueError, match="column 'label': text that is not UTF-8"):
        read_batches(content, ["label"], PLENTY)
    with pytest.raises(TooLargeError):
        read_batches(content, ["task"], 10)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (f"os.kill(os.getpid(), {int(signal.SIGABRT)})", "ended by SIGABRT"),
        (f"os.kill(os.getpid(), {int(signal.SIGALRM)})", "takes too long"),
        ("sys.exit(3)", "ended by status 3"),
        ("print('{\"bytes\": 9}'); sys.stdout.flush(); os._exit(1)", "ended by status 1"),
    ],
)
def test_the_end_of_the_process_is_an_error_in_words(end: str, words: str) -> None:
    program = f"import os, sys; sys.stdin.buffer.readline(); {end}"
    decoder = Decoder([sys.executable, "-c", program])
    for _ in range(2):  # the second by another process
        with pytest.raises(ValueError, match=words):
            decoder.ask(b"x" * 1_000_000, None, 0)


def test_a_killed_process_is_started_again() -> None:
    content = parquet(votes(3))
    assert read_facts(content)["rows"] == 3
    for child in children():
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    for _ in range(2):
        assert read_facts(content)["rows"] == 3


def children() -> list[int]:
    folder = Path(f"/proc/self/task/{os.getpid()}/children")
    if not folder.exists():
        pytest.skip("no list of children")
    return [
        int(child)
        for child in folder.read_text().split()
        if b"parquet_decoder" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def test_the_process_ends_with_the_one_that_started_it() -> None:
    program = (
        "import os, sys; from evalsampling.pool.formats.parquet_process import decoder\n"
        "try: decoder(os.getpid()).ask(b'', None, 0)\n"
        "except ValueError: print('asked')\n"
    )
    call = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "asked\n", "")


def test_limits_of_memory_hold() -> None:
    program = (
        "from evalsampling.pool.formats import parquet_decoder\n"
        "parquet_decoder.limit_memory()\n"
        "try: bytearray(parquet_decoder.MOST_MEMORY)\n"
        "except MemoryError: print('none left')\n"
        "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    expected = "none left\n0\n" if sys.platform == "linux" else "0\n"
    assert done.stdout == expected
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
