"""Files of labels: what is read of each format, and what is refused."""

import decimal
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.labels import formats
from evalsampling.labels.formats import read_votes
from evalsampling.labels.vote import Vote
from evalsampling.spec import EvaluationSpec
from tests.labels.deliveries import parquet

TWO_53 = 2**53


def read(name: str, content: bytes | str) -> list[Vote]:
    return read_votes(name, content.encode() if isinstance(content, str) else content)


# --- whole numbers as floats


@pytest.mark.parametrize("column", ["id", "label"])
@pytest.mark.parametrize("value", [TWO_53, -TWO_53, TWO_53 + 2, 10**300])
def test_floats_that_stand_for_several_numbers_are_refused(column: str, value: int) -> None:
    other = "label" if column == "id" else "id"
    values = pa.array([float(value), None, 5.0])
    contents = {
        "a.parquet": parquet(**{column: values, other: ["1", "1", "1"]}),
        "a.jsonl": "".join(f'{{"{column}": {v}, "{other}": 1}}\n' for v in (5.0, float(value))),
    }
    for name, content in contents.items():
        with pytest.raises(InputError, match=f"{name}: line .: column '{column}' has .* as a flo"):
            read(name, content)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()], ids=str)
def test_floats_that_stand_for_one_number_are_that_number(kind: pa.DataType) -> None:
    most = {pa.float64(): TWO_53, pa.float32(): 2**24, pa.float16(): 2**11}[kind]
    ids = np.array([0, 7, most - 1], dtype=kind.to_pandas_dtype())
    votes = read("a.parquet", parquet(id=pa.array(ids, kind), label=pa.array([1.0, 0.0, 1.0])))
    assert [vote.id for vote in votes] == ["0", "7", str(most - 1)]
    assert [vote.label for vote in votes] == ["1", "0", "1"]
    with pytest.raises(InputError, match=r"line 1: column 'id' has .* as a float, which"):
        read("a.parquet", parquet(id=pa.array([float(most)]).cast(kind), label=["1"]))


def test_whole_numbers_of_any_size_are_exact() -> None:
    ids = [TWO_53 + 1, -(TWO_53 + 1), 2**63 - 1]
    lines = "".join(json.dumps({"id": id, "label": 1}) + "\n" for id in ids)
    for votes in (read("a.jsonl", lines), read("a.parquet", parquet(id=ids, label=[1, 1, 1]))):
        assert [vote.id for vote in votes] == [str(id) for id in ids]


@pytest.mark.parametrize("text", ["4503599627370497.4", "0.99999999999999999999", "1e-400"])
def test_fractions_do_not_become_whole_by_rounding(text: str) -> None:
    (vote,) = read("a.jsonl", f'{{"id": {text}, "label": 1}}')
    assert not vote.id.isdecimal()


def test_times_as_floats_are_text() -> None:
    (vote,) = read("a.jsonl", '{"id": 1, "label": 1, "time": 1.7e18}')
    assert vote.time is not None
    (vote,) = read("a.parquet", parquet(id=[1], label=[1], time=[1.7e18]))
    assert vote.time is not None


# --- lines that are rejected


def given(vote: Vote) -> tuple[str | None, str | None, str | None]:
    return vote.task, vote.id, vote.label


def annotated(annotation: Any) -> str:
    return json.dumps([{"data": {"task": "t"}, "annotations": [annotation]}])


BY_ONE = {"completed_by": 1, "was_cancelled": False, "result": []}
RATED = {"from_name": "label", "type": "rating", "value": {"rating": "1"}}
PAIR = "unique_id_l,unique_id_r,clerical_match_score\n1,2,"
NO_VOTES = [
    ("a.jsonl", '{"task": "t", "label": 1, "label": 0}', ("t", None, None),
     "'label' is there twice"),
    ("a.jsonl", '{"task": "t", "id": 1, "task": "u", "label": 0}', (None, "1", "0"),
     "'task' is there twice"),
    ("a.jsonl", '{"task": "t", "label": 1, "skipped": "maybe"}', ("t", None, "1"),
     "skipped is 'maybe', which is none of"),
    ("a.jsonl", '{"task": "t", "label": 1, "skipped": 2}', ("t", None, "1"), "skipped is '2'"),
    ("a.jsonl", '{"task": "t", "label": ["é", 1]}', ("t", None, '["é", 1]'),
     "label is no text and no number"),
    ("a.jsonl", '{"task": "t", "id": 3.0, "label": {"é": 1}}', ("t", "3", '{"é": 1}'),
     "label is no text and no number"),
    ("a.jsonl", '{"task": {"t": 1}, "label": 1}', ('{"t": 1}', None, "1"),
     "task is no text and no number"),
    ("a.jsonl", '{"task": "t", "label": 1, "annotator": "\\ud800"}', ("t", None, "1"),
     "annotator is no Unicode text"),
    ("a.jsonl", '{"task": "\\ud800", "id": 7, "label": 1}', (None, "7", "1"),
     "task is no Unicode text"),
    ("a.csv", "task,label,skipped\nt,1,maybe\n", ("t", None, "1"), "skipped is 'maybe'"),
    ("a.csv", "id,label,skipped\n7,,maybe\n", (None, "7", None), "skipped is 'maybe'"),
    ("a.csv", "task,label.a,label.b\nt,1,2\n", ("t", None, "label.a=1, label.b=2"),
     "label.b is '2', which is none of"),
    ("a.csv", "task,label,label.a\nt,b,1\n", ("t", None, "label=b, label.a=1"),
     "label is given, and columns of labels too"),
    ("a.jsonl", '{"task": "t", "label.a": 1, "label.a": 0}', ("t", None, None),
     "'label.a' is there twice"),
    ("a.csv", "task,label\nt,1,?\n", (None, None, None), "3 fields where the header has 2"),
    ("a.csv", "task,clerical_match_score\nt,1.5\n", ("t", None, "1.5"), "not between 0 and 1"),
    ("a.csv", f"{PAIR}-0.1\n", (None, None, "-0.1"), "clerical_match_score is '-0.1', which"),
    ("a.csv", f"{PAIR}yes\n", (None, None, "yes"), "clerical_match_score is 'yes', which is no nu"),
    ("a.csv", f"{PAIR}nan\n", (None, None, "nan"), "clerical_match_score is 'nan'"),
    ("a.csv", f"{PAIR}inf\n", (None, None, "inf"), "clerical_match_score is 'inf'"),
    ("a.csv", "task,clerical_match_score,skipped\nt,0.9,maybe\n", ("t", None, "0.9"),
     "skipped is 'maybe'"),
    ("a.json", annotated({**BY_ONE, "completed_by": None}), ("t", None, "[]"),
     "completed_by names nobody"),
    ("a.json", annotated({**BY_ONE, "result": None}), ("t", None, "[]"), "damaged"),
    ("a.json", annotated({"completed_by": 1, "result": []}), ("t", None, "[]"), "damaged"),
    ("a.json", annotated({**BY_ONE, "was_cancelled": "no"}), ("t", None, "[]"), "damaged"),
    ("a.json", annotated(7), ("t", None, "[]"), "no list of objects"),
    ("a.json", annotated({**BY_ONE, "result": [RATED]}), ("t", None, "[]"), "damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told", "problem"), NO_VOTES)
def test_what_is_no_vote_keeps_what_was_given(
    name: str, content: str, told: Any, problem: str
) -> None:
    (vote,) = read(name, content)
    assert problem in str(vote.problem)
    assert given(vote) == told
    if name == "a.jsonl":
        before, vote, after = read(
            name, f'{{"id": 1, "label": 1}}\n{content}\n{{"id": 2, "label": 0}}'
        )
        assert (vote.line, given(vote)) == (2, told)
        assert (before.label, after.label) == ("1", "0")


REFUSED = [
    ("a.csv", b"task,answer\nx,1\n", "column 'label' is missing; there are: 'task', 'answer'"),
    ("a.csv", b"label\n1\n", "column 'task' (or 'id') is missing"),
    ("a.csv", b"task|label\nx|1\n", "'task' (or 'id') is missing; there are: 'task|label'"),
    ("a.csv", b"Task,Label\nx,1\n", "compared exactly"),
    ("a.csv", b"task,label,label\nx,1,0\n", "column 'label' is there twice"),
    ("a.csv", b"task,label.b,label.a,label.b\nt,1,0,0\n", "column 'label.b' is there twice"),
    ("a.csv", b"", "the file is empty"),
    ("a.csv", b'task,label\n"x,1\n', "line 2 does not end; is a quote left open?"),
    ("a.csv", b'task,label\na,1\nb,"1\nc,1\nd,1\n', "line 3 does not end; is a quote left open?"),
    ("a.csv", b'task,"label\na,1\n', "line 1 does not end; is a quote left open?"),
    ("a.csv", b'task,label\n"a\nb",1\n"c"d,1\n', "line 4: cannot be read: "),
    ("a.csv", b"task,label\n\xff\xfe,1\n", "cannot be read: not UTF-8"),
    ("a.csv", "task,label\nx,1\n".encode("utf-16"), "not UTF-8"),
    ("a.jsonl", b'{"task": "x", "label": 1}\n{oops\n', "line 2: not JSON"),
    ("a.jsonl", b'{"task": "x", "label": 1}\n7\n', "line 2: not a JSON object"),
    ("a.jsonl", b'{"task": "t", "answer": 1}\n{"task": "u", "answer": 0}\n',
     "no line has a 'label'; there are: 'task', 'answer'"),
    ("a.json", b'[{"task": "t_a", "text": "1"}]', "no line has a 'label'"),
    ("a.json", b"{}", "not a list of rows"),
    ("a.json", b'{"a": [{"task": "t"}], "a": [{"task": "u"}]}', "'a' is there twice"),
    ("a.json", b"[", "not JSON"),
    ("a.json", b"[" * 100_000, "not JSON"),
    ("a.json", b"\xff", "not UTF-8"),
    ("a.parquet", b"PAR1", "cannot be read"),
    ("a.xlsx", b"task,label\nx,1\n", "cannot be read"),
    ("a.ods", b"", "labels come as .csv, .tsv, .jsonl, .ndjson, .parquet, .xlsx, .json, .csv.gz"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), REFUSED)
def test_what_cannot_be_read_is_one_line_with_the_name_of_the_file(
    name: str, content: bytes, words: str
) -> None:
    with pytest.raises(InputError) as told:
        read(name, content)
    assert str(told.value).startswith(f"{name}: ")
    assert words in str(told.value)
    assert "\n" not in str(told.value)


OWN_ID = EvaluationSpec.from_mapping({"pool": {"path": "x", "id": "uid", "score": "s"}}, "/")


def test_an_own_id_is_bounded_by_the_type_of_its_column() -> None:
    content = parquet(uid=pa.array([2048.0]).cast(pa.float16()), label=["1"])
    with pytest.raises(InputError, match=r"column 'id' has 2048 as a float, which from 2,048 on"):
        read_votes("a.parquet", content, OWN_ID)


def test_the_own_id_twice_in_a_line_is_no_vote() -> None:
    """Nobody knows which of the two is meant; beside an ``id`` nobody asks."""
    line = b'{"uid": 3, "uid": 4, "label": 1}'
    (vote,) = read_votes("a.jsonl", line, OWN_ID)
    assert (vote.id, vote.label, vote.problem) == (None, "1", "'uid' is there twice")
    (vote,) = read_votes("a.jsonl", line.replace(b"{", b'{"id": 7, '), OWN_ID)
    assert (vote.id, vote.problem) == ("7", None)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "label": 1, "note": 1, "note": 2}',
        '{"id": 1, "label": 1, "note": "\\ud800"}',
        '{"id": 1, "label": 1, "note": {"label": 0, "label": 2}}',
        '{"id": 1, "label": 1, "note": 1e999999999}',
    ],
)
def test_what_is_wrong_with_other_names_is_nobodys_concern(line: str) -> None:
    assert read("a.jsonl", line) == [Vote(1, id="1", label="1")]


@pytest.mark.parametrize(
    ("text", "skipped"),
    [("Yes", True), ("1", True), ("no", False), ("", False), ("FALSE", False), ("0", False)],
)
def test_values_of_skipped(text: str, skipped: bool) -> None:
    (vote,) = read("a.csv", f"task,label,skipped\nt,1,{text}\n")
    assert (vote.skipped, vote.problem) == (skipped, None)


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    assert read("a.csv", b"\xef\xbb\xbf" + b"task,label\nt,1\n") == read(
        "a.csv", "task,label\nt,1\n"
    )


def test_some_lines_of_json_may_have_no_label() -> None:
    assert len(read("a.jsonl", '{"task": "t"}\n{"task": "u", "label": 0}\n')) == 2
    assert read("a.jsonl", '{"task": "t", "skipped": true}\n')[0].skipped
    assert read("a.jsonl", "") == []


# --- columns of Parquet


def test_columns_that_nobody_uses_are_not_read() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    odd = pa.array([1], pa.int64()).cast(pa.timestamp("ns", "Mars/Base"))
    content = parquet(id=[1], label=[1], broken=broken, odd=odd, nested=[[1]])
    assert read("a.parquet", content) == [Vote(1, id="1", label="1")]


def test_odd_columns_of_ours_are_text_or_one_error() -> None:
    at = pa.array([1, None], pa.int64()).cast(pa.timestamp("ns", "Mars/Base"))
    votes = read("a.parquet", parquet(id=[1, 2], label=[1, 0], time=at))
    assert [vote.time for vote in votes] == ["1970-01-01 00:00:00.000000001+00:00", None]
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    for annotator in (broken, broken.dictionary_encode(), pa.array([b"\xff"])):
        with pytest.raises(InputError, match="column 'annotator': text that is not UTF-8"):
            read("a.parquet", parquet(id=[1], label=[1], annotator=annotator))
    with pytest.raises(InputError, match="column 'annotator': type list"):
        read("a.parquet", parquet(id=[1], label=[1], annotator=[[1]]))


def test_types_that_hold_the_same() -> None:
    tasks = ["t_a", "t_b", None, "t_a"]
    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.string_view()]
    columns = [pa.array(tasks).cast(kind) for kind in kinds]
    columns.append(pa.array(tasks).dictionary_encode())
    for column in columns:
        votes = read("a.parquet", parquet(task=column, label=[1, 0, 1, 0]))
        assert [vote.task for vote in votes] == tasks
    decimals = [decimal.Decimal(1), decimal.Decimal(0), None]
    for values in ([1, 0, None], ["1", "0", ""], [1.0, 0.0, float("nan")], decimals):
        votes = read("a.parquet", parquet(id=[1, 2, 3], label=values))
        assert [vote.label for vote in votes] == ["1", "0", None]


# --- bounds


def test_uncompressed_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_BYTES", 10_000)
    labels = {"id": range(1000), "label": [1] * 1000}
    assert len(read("a.parquet", parquet(**labels))) == 1000
    long = [f"{row:050}" for row in range(1000)]
    with pytest.raises(InputError, match="bytes uncompressed; a delivery has at most 10,000"):
        read("a.parquet", parquet(**labels, annotator=long))


def test_damaged_pages_are_one_error() -> None:
    """Each page has a checksum."""
    rows, sink = {"task": [f"t_{row}" for row in range(200)], "label": [1] * 200}, io.BytesIO()
    pq.write_table(
        pa.table(rows), sink, row_group_size=90, write_page_checksum=True, compression="none"
    )
    content = bytearray(sink.getvalue())
    content[content.index(b"t_117")] ^= 1
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read: ") as error:
        read("a.parquet", bytes(content))
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read: "):
        read("a.parquet", bytes(content[:-9]))


def test_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_ROWS", 3)
    rows = parquet(id=[1, 2, 3, 4], label=[1, 1, 1, 1])
    lines = {"a.csv": "id,label\n" + "1,1\n" * 4, "a.jsonl": '{"id":1,"label":1}\n' * 4}
    for name, content in {**lines, "a.parquet": rows}.items():
        with pytest.raises(InputError, match=r"has (more|4) rows; a delivery has at most 3"):
            read(name, content)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("a.csv", 'id,label\n1,"' + "x\n" * 1000, "line 2: cannot be read: field larger than"),
     ("a.jsonl", "[" * 2000, "has more characters in line 1; a delivery has at most 1,000 in one")],
)  # fmt: skip
def test_endless_lines_are_refused(
    name: str, content: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "MOST_CHARACTERS", 1000)
    with pytest.raises(InputError, match=f"{name}: {words}"):
        read(name, content)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_batch_comes_back_with_long_texts(name: str) -> None:
    """Python's own limit of a cell of CSV is 131,072 characters."""
    text = "x" * 1_000_000
    lines = {
        "a.csv": f'task,text,label\nt_a,"{text}",1\n',
        "a.jsonl": f'{{"task":"t_a","text":"{text}","label":"1"}}\n',
    }
    assert [(vote.task, vote.label) for vote in read(name, lines[name])] == [("t_a", "1")]
