"""Ids that a spreadsheet changed label no other row."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.classes import Classes
from evalsampling.labels.changed_ids import is_shortened
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.splink import make_pair
from evalsampling.labels.tally import Subjects, Tally
from evalsampling.labels.vote import Vote, is_number
from evalsampling.labels.votes import Reject, check_votes
from tests.jobs import Job, Pool, call
from tests.labels.deliveries import FORMATS, as_spreadsheet, written


def drawn(ids: Sequence[str], pairs: Any = None) -> Register:
    return Register(
        question_of_task={f"t_{row}": row for row in range(len(ids))},
        ids=list(ids),
        tally=Tally(Subjects(len(ids))),
        space=Classes(),
        pairs=pairs or {},
    )


def checked(
    ids: Sequence[str], given: Sequence[Any], name: str = "votes.csv"
) -> tuple[list[str], list[Reject]]:
    """Return the ids of the rows that a delivery by ids labels, and the rejects."""
    votes = read_votes(name, written(name, [(id, "1") for id in given], ("id", "label")))
    taken, rejects = check_votes(votes, drawn(ids))
    return [ids[row] for row, _ in taken], rejects


PAIRS = [f"{number:03d}" for number in range(1, 14)]
ALONE = [str(number) for number in range(100, 116)]
BOTH = [*PAIRS, *(id.lstrip("0") for id in PAIRS), *ALONE]


@pytest.mark.parametrize("name", ["votes.csv", "votes.xlsx", "votes.parquet", "votes.jsonl"])
def test_zeros_that_were_lost_where_the_bare_id_was_drawn_too(name: str) -> None:
    """Of 29 lines 13 were taken as labels of other rows."""
    sent = [*PAIRS, *ALONE]
    given = [as_spreadsheet(id) for id in sent] if name == "votes.xlsx" else [*map(int, sent)]
    taken, rejects = checked(BOTH, given, name)
    assert taken == ALONE
    assert len(rejects) == 13
    assert rejects[0].reason == (
        "id '1' may be '001', which was drawn too, changed by a program that reads numbers: "
        "deliver by task name"
    )


def test_a_delivery_that_has_its_zeros_is_taken_whole() -> None:
    for name in ("votes.csv", "votes.xlsx", "votes.jsonl", "votes.parquet"):
        taken, rejects = checked(BOTH, BOTH, name)
        assert (taken, rejects) == (BOTH, [])


def test_text_elsewhere_says_nothing_of_a_number() -> None:
    """One cell that somebody typed as text, in a column whose other zeros are lost."""
    taken, rejects = checked(["007", "7", "008", "8"], ["008", 7], "votes.xlsx")
    assert taken == ["008"]
    assert [reject.id for reject in rejects] == ["7"]


@pytest.mark.parametrize(
    ("drawn_too", "given"),
    [("1E3", "1000"), ("1000", "1E+3"), ("1.0", "1"), ("1", "1.0"), ("+5", "5"), ("5", "5.00"),
     (" 5", "5"), ("1,000", "1000"), ("50%", "0.5"), ("-0", "0"), ("1e3", "1000"),
     ("1234567890123456", "1234567890123460"), ("1234567890123456", "1234567890123450")],
)  # fmt: skip
def test_other_numbers_that_are_the_same(drawn_too: str, given: str) -> None:
    are_alike(drawn_too, given)


@pytest.mark.parametrize(
    ("drawn_too", "given"),
    [("1.000", "1000"), ("1,50", "1,5"), ("1.5", "1,5"), ("1.234,50", "1234,5"),
     ("1 000", "1000"), ("1'000", "1000"), ("12\u00a0345", "12345"), ("1\u202f000,5", "1000,5"),
     ("1\u2019000", "1000"), ("1.000", "1"), ("1,000", "1"), ("01/02/2024", "1/2/2024"),
     ("1.2.2024", "01.02.2024"), ("2024-1-2", "2024-01-02"), ("01:30", "1:30"),
     ("01:30:00", "1:30:00"), ("true", "TRUE"), ("False", "FALSE")],
)  # fmt: skip
def test_what_spreadsheets_of_other_countries_make(drawn_too: str, given: str) -> None:
    are_alike(drawn_too, given)


@pytest.mark.parametrize(
    ("drawn_too", "given"),
    [("1.5", "1.05"), ("1", "1000"), ("12-05", "12-5"), ("1/02", "1/2"), ("1 0000", "10000"),
     ("1.2.3.04", "1.2.3.4"), ("10:20", "1:2"), ("2024-10-2", "2024-1-2"), ("yes", "YES"),
     ("r01", "r1"), ("1 000 00", "100000"), ("0.5", "5")],
)  # fmt: skip
def test_what_no_spreadsheet_makes_of_another(drawn_too: str, given: str) -> None:
    assert checked([given, drawn_too], [given]) == ([given], [])


def are_alike(drawn_too: str, given: str) -> None:
    taken, [reject] = checked([given, drawn_too, "x"], [given])
    assert not taken
    assert f"may be {drawn_too!r}" in reject.reason
    assert checked([given, "x"], [given, "x"]) == ([given, "x"], []), "nothing else was drawn"


def test_whole_numbers_keep_all_digits_as_text_and_in_typed_files() -> None:
    ids = [str(10**15 + number) for number in range(41)]
    for name in FORMATS:
        as_text = name in ("votes.csv", "votes.xlsx")
        given: list[Any] = ids if as_text else [*map(int, ids)]
        assert checked(ids, given, name) == (ids, [])


def test_what_is_changed_and_not_drawn_says_so() -> None:
    _, rejects = checked(["0012", "1E3", "x"], ["12", "1000", "1.23457E+15", "y"])
    assert [reject.reason for reject in rejects] == [
        "unknown id '12': ids are compared as text, did '0012' lose its leading zeros? deliver by "
        "task name",
        "unknown id '1000': ids are compared as text, is it '1E3', changed by a program that reads "
        "numbers? deliver by task name",
        "unknown id '1.23457E+15': of a number a spreadsheet keeps 15 digits; deliver by task name",
        "unknown id 'y'",
    ]


def test_pairs_of_records_are_ids_too() -> None:
    pairs = {make_pair("a", left, "b", "9"): [row] for row, left in enumerate(["07", "7", "8"])}
    register = drawn(["p", "q", "r"], pairs)
    votes = [Vote(1, pair=make_pair("a", left, "b", "9"), score=1.0) for left in ("7", "8", "007")]
    taken, rejects = check_votes(votes, register)
    assert [row for row, _ in taken] == [2]
    assert [reject.reason for reject in rejects] == [
        "the pair 'a:7' and 'b:9' may be 'a:07' and 'b:9', which was drawn too, changed by a "
        "program that reads numbers: deliver by task name",
        "unknown pair 'a:007' and 'b:9'",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.23457E+15", True), ("1e15", True), ("1234567890123456.0", True), ("1e14", False),
     ("1234567890123456", False), ("x", False), ("", False), (".", False), ("1" * 500, False)],
)  # fmt: skip
def test_what_looks_shortened(text: str, expected: bool) -> None:
    assert is_shortened(text) is expected


NUMERIC = ["7", "07", "007", "7.0", "7E0", "70", "0.7", "1000", "1E3", "1e3", "01000", "1,000",
           "1234567890123456", "1234567890123450", "1234567890123460", "123456789012345600", "x7",
           "0", "00", "000", "-0", "12345e67", "5%", "0.05", " 8", "8", "+8", "a", "b", "1.000",
           "1 000", "1,5", "1,50", "01:30", "1:30", "true", "TRUE", "1/2/2024",
           "01/02/2024"]  # fmt: skip


def is_xlsx(name: str) -> bool:
    return name.endswith(".xlsx")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("seed", range(40))
def test_no_mutation_of_ids_labels_another_row(name: str, seed: int) -> None:
    """A random part of the ids, untouched or as programs leave them: each label is of its row."""
    draw = random.Random(seed)
    ids = draw.sample(NUMERIC, draw.randint(2, len(NUMERIC)))
    sent = draw.sample(ids, draw.randint(1, len(ids)))
    change = draw.choice([str, as_spreadsheet, as_spreadsheet])
    if name.endswith((".csv", ".parquet")):  # Where a column is of one type.
        change = (lambda one: lambda id: str(one(id)))(change)
    rows = [(change(id), "1") for id in sent]
    content, is_text = written(name, rows, ("id", "label")), name.endswith((".csv", ".parquet"))
    if any(is_number(id) and abs(id) >= 10**15 and (is_xlsx(name) or type(id) is float)
           for id, _ in rows):  # fmt: skip
        assert not is_text
        with pytest.raises(InputError, match="number"):
            read_votes(name, content)
        return
    votes = read_votes(name, content)
    taken, rejects = check_votes(votes, drawn(ids))
    for row, vote in taken:
        assert ids[row] == sent[vote.line - (1 if name.endswith((".jsonl", ".parquet")) else 2)]
    assert len(taken) + len(rejects) == len(sent)
    if change is str:
        lone = [id for id in sent if id.isalpha()]
        assert {*lone} <= {ids[row] for row, _ in taken}


def test_a_whole_round_by_ids_that_lost_their_zeros(job: Any) -> None:
    """No label is of another row, and what is rejected can come by task name."""
    rng = np.random.default_rng(3)
    score = rng.normal(size=len(BOTH))
    table = pa.table({
        "id": BOTH, "score": score, "prediction": (score > 0).astype(int), "name": BOTH,
    })  # fmt: skip
    truth = {id: row % 2 for row, id in enumerate(BOTH)}
    one: Job = job(Pool(table, truth), sampler="passive", round_size=42, budget=100,
                   measure="accuracy", strata={"leaves": 2})  # fmt: skip
    assert one.prepare().status == 0
    assert one.sample().json["rows"] == 42
    rows = [(id.lstrip("0"), str(truth[id])) for id in [*PAIRS, *ALONE]]
    told = one.estimate("--labels", one.deliver(rows, "votes.csv", "id,label"))
    assert (told.json["labels"], told.json["rejects"]) == (16, 13)
    assert "votes.csv: 16 taken, 13 rejected" in told.err
    told = one.estimate("--labels", one.deliver(one.answers(1), "tasks.csv"))
    assert (told.json["labels"], told.json["rejects"]) == (42, 13)
    assert call("status", one.workspace, "--json").json["open"] == 0


def test_several_lines_for_one_row_are_counted_as_such(drawn_job: Job, tmp_path: Path) -> None:
    rows = drawn_job.answers(1)[:6]
    many = [rows[place % 6] for place in range(41)]
    told = drawn_job.estimate("--labels", drawn_job.deliver(many, "many.csv"))
    assert "many.csv: 41 lines about 6 rows taken, 0 rejected" in told.err
    assert told.json["labels"] == 6


@pytest.fixture
def drawn_job(job: Any) -> Job:
    one: Job = job()
    assert one.prepare().status == 0
    assert one.sample().status == 0
    return one
