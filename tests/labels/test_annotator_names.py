"""Who answered: spellings of one name are one person."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsampling.labels.annotator_names import People, folded
from evalsampling.storage.checksums import sealed
from tests.commands.votes import HEADER
from tests.jobs import Job, call
from tests.slow import slowly

FOUR = ["Ann", "ann", "Ann ", "A\u200bnn"]


@pytest.mark.parametrize(
    ("one", "other"),
    [*(("Ann", name) for name in FOUR), ("Ann Lee", "\ufeffANN\u00a0  lee\t"),
     ("Ren\u00e9", "Rene\u0301"), ("Stra\u00dfe", "STRASSE"), ("\uff21\uff4e\uff4e", "ann"),
     ("Ann\ufe0f", "ann"), ("An\u00adn", "ann"), ("ann\u3164", "Ann"),
     ("\u0130nci", "i\u0307nci")],
)  # fmt: skip
def test_spellings_of_one_name(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(("one", "other"), [("Ann", "Anna"), ("Ann Lee", "AnnLee"), ("é", "e")])
def test_names_of_two_people(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@given(st.text())
def test_what_is_folded_stays(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    people = People([])
    first = people.spelled(name)
    assert (first is None) == (folded(name) == "")
    for other in (name.upper(), f" {name}\u200b", name):
        if folded(other) == folded(name):
            assert people.spelled(other) == first
    assert first is None or folded(first) == folded(name)


def test_nothing_to_be_seen_is_nobody() -> None:
    assert [People([]).spelled(name) for name in ("\u200b", " \t", "\u3164", None)] == [None] * 4


@pytest.fixture
def voted(job: Any) -> Job:
    one: Job = job(labels={"votes": 3}, measure="accuracy")
    assert one.prepare().status == 0
    assert one.sample().status == 0
    return one


@pytest.mark.slow
def test_one_person_decides_no_row_alone(voted: Job) -> None:
    task = voted.answers(1)[0][0]
    rows = [(task, name, "1", "", "") for name in FOUR]
    for place, row in enumerate(rows):
        told = voted.estimate("--labels", voted.deliver([row], f"{place}.csv", HEADER))
        assert (told.json["labels"], told.json["open"]) == (0, 20)
    told = voted.estimate("--labels", voted.deliver(rows, "all.csv", HEADER))
    assert told.json["labels"] == 0
    [who] = call("annotators", voted.workspace, "--json").json["annotators"]
    assert (who["annotator"], who["labels"]) == ("Ann", 1)
    more = [(task, name, "1", "", "") for name in ("Bob", "Cy")]
    told = voted.estimate("--labels", voted.deliver(more, "more.csv", HEADER))
    assert (told.json["labels"], told.json["open"]) == (1, 19)


def test_a_name_that_is_blank_names_nobody(voted: Job) -> None:
    task = voted.answers(1)[0][0]
    told = voted.estimate(
        "--labels", voted.deliver([(task, "\u200b ", "1", "", "")], "a.csv", HEADER)
    )
    assert (told.json["labels"], told.json["rejects"]) == (0, 1)
    assert "no annotator is named" in told.err


def test_older_workspaces_keep_what_they_had(voted: Job) -> None:
    marker = voted.workspace / "evaluation.json"
    content = json.loads(marker.read_text())
    assert content.pop("annotators") == "folded"
    content.pop("sha256")
    marker.write_text(json.dumps(sealed(content)))
    task = voted.answers(1)[0][0]
    rows = [(task, name, "1", "", "") for name in FOUR]
    told = voted.estimate("--labels", voted.deliver(rows, "a.csv", HEADER))
    assert told.json["labels"] == 1, "four people"


@pytest.mark.parametrize("seed", [0, 1, *slowly(*range(2, 10))])
def test_order_and_spelling_change_no_number(job: Any, seed: int, tmp_path: Path) -> None:
    """The same answers under one spelling each, and under many in another order."""
    draw = random.Random(seed)
    spell = [str, str.upper, str.title, " {}".format, lambda name: name[0] + "\u200d" + name[1:]]
    results = []
    for mixed in (False, True):
        one: Job = job(labels={"votes": 3}, measure="accuracy")
        assert one.prepare().status == 0
        assert one.sample().status == 0
        given = random.Random(seed)
        rows = [
            (task, name, given.choice("01"), "", "")
            for task, _ in one.asked(1)
            for name in ("ann", "bob", "cyd")
        ]
        if mixed:
            rows = [(task, draw.choice(spell)(name), *rest) for task, name, *rest in rows]
            draw.shuffle(rows)
        told = one.estimate("--labels", one.deliver(rows, "a.csv", HEADER)).json
        people = call("annotators", one.workspace, "--json").json["annotators"]
        counts = sorted((folded(who["annotator"]), who["labels"]) for who in people)
        results.append((told["labels"], told["open"], told["measures"], counts))
    assert results[0] == results[1]
