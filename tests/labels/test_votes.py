"""Which votes of a delivery count, and why the others do not."""

import dataclasses

import pytest

from evalsampling.labels.splink import make_pair
from evalsampling.labels.tasks import opaque_name, with_check
from evalsampling.labels.vote import Vote
from evalsampling.labels.votes import check_votes
from tests.labels.deliveries import register_of

TASKS, IDS = ["t_a", "t_b", "t_c", "t_e"], ["7", "8", "8", "0012"]
REGISTER = register_of(TASKS, IDS)


@pytest.mark.parametrize(
    ("task", "id", "row"),
    [("t_a", "7", 0), ("t_a", None, 0), (None, "7", 0), ("t_c", "8", 2), ("t_b", "8", 1),
     ("t_e", "12", 3), ("t_e", "1.2E+1", 3)],
)  # fmt: skip
def test_task_and_id_that_agree(task: str | None, id: str | None, row: int) -> None:
    taken, rejects = check_votes([Vote(1, task=task, id=id, label="1")], REGISTER)
    assert [found for found, _ in taken] == [row]
    assert not rejects


@pytest.mark.parametrize(
    ("task", "id", "reason"),
    [
        ("t_a", "8", "task 't_a' is about id '7', not '8'"),
        ("t_a", "07", "task 't_a' is about id '7', not '07'"),
        ("t_b", "9", "task 't_b' is about id '8', not '9'"),
        ("t_e", "8", "task 't_e' is about id '0012', not '8'"),
        ("t_d", "7", "unknown task 't_d'"),
    ],
)
@pytest.mark.parametrize("skipped", [False, True])
def test_task_and_id_that_disagree(task: str, id: str, reason: str, skipped: bool) -> None:
    vote = Vote(4, task=task, id=id, label=None if skipped else "1", skipped=skipped)
    taken, (reject,) = check_votes([vote], REGISTER)
    assert not taken
    assert (reject.line, reject.reason) == (4, reason)


def test_a_task_that_was_mistyped_is_told() -> None:
    name = with_check(opaque_name(b"k" * 16, 1, 7))
    wrong = name[:-1] + ("0" if name[-1] != "0" else "1")
    _, (reject,) = check_votes([Vote(4, task=wrong, label="1")], REGISTER)
    assert reject.reason.startswith(f"unknown task '{wrong}': its check character is wrong")


def test_an_id_that_was_drawn_twice_needs_the_task() -> None:
    taken, (reject,) = check_votes([Vote(4, id="8", label="1")], REGISTER)
    assert not taken
    assert reject.reason == "id '8' was drawn 2 times: name the task"


def taken_by_id(drawn: list[str], given: list[str]) -> list[str]:
    """The drawn ids that a delivery by ids labels."""
    register = register_of([f"t_{row}" for row in range(len(drawn))], drawn)
    votes = [Vote(line, id=id, label="1") for line, id in enumerate(given, start=2)]
    taken, rejects = check_votes(votes, register)
    assert len(taken) + len(rejects) == len(given)
    assert all("answer by the column `task`" in reject.reason for reject in rejects)
    return [drawn[row] for row, _ in taken]


@pytest.mark.parametrize(
    ("drawn", "given"),
    [("007", "7"), ("1E3", "1000"), ("1000", "1E+3"), ("1.0", "1"), ("+5", "5"), (" 5", "5"),
     ("-0", "0"), ("1234567890123456", "1234567890123460"),
     ("1234567890123456", "1234567890123450")],
)  # fmt: skip
def test_an_id_that_may_be_another_drawn_row_labels_none(drawn: str, given: str) -> None:
    """A spreadsheet makes `7` of `007`: where both were drawn, neither is meant for sure."""
    assert taken_by_id([drawn, given, "x"], [given, "x"]) == ["x"]
    assert taken_by_id([given, "x"], [given, "x"]) == [given, "x"], "nothing else was drawn"


def test_an_id_that_was_changed_and_is_unknown_names_the_way_out() -> None:
    assert taken_by_id(["0012", "1E3", "x"], ["12", "1000", "1.23457E+15", "y", "x"]) == ["x"]


@pytest.mark.parametrize(
    "ids",
    [["1.5", "1.05"], ["1_2", "12"], ["yes", "YES"], ["0.5", "5"], ["1" * 900, "1" * 901],
     [str(10**15 + number) for number in range(41)], ["1e99999999999", "1"]],
)  # fmt: skip
def test_ids_that_no_program_takes_for_one_another(ids: list[str]) -> None:
    assert taken_by_id(ids, ids) == ids


def test_pairs_of_records_are_ids_too() -> None:
    pairs = {make_pair("a", left, "b", "9"): [row] for row, left in enumerate(["07", "7", "8"])}
    register = dataclasses.replace(REGISTER, ids=["p", "q", "r"], pairs=pairs)
    votes = [Vote(1, pair=make_pair("a", left, "b", "9"), score=1.0) for left in ("7", "8", "007")]
    taken, rejects = check_votes(votes, register)
    assert [row for row, _ in taken] == [2]
    assert [reject.reason for reject in rejects] == [
        "pair 'a:7' and 'b:9' may be that of another row: answer by the column `task`",
        "unknown pair 'a:007' and 'b:9': answer by the column `task`",
    ]


@pytest.mark.parametrize("name", ["ann", "Ann ", "A\u200bnn", "\uff21\uff4e\uff4e"])
def test_spellings_of_one_name_are_one_person(name: str) -> None:
    register = register_of(TASKS, IDS, votes=2)
    votes = [Vote(1, task="t_a", label="1", annotator=who) for who in ("Ann", name, "Bob")]
    taken, _ = check_votes(votes, register)
    assert [vote.annotator for _, vote in taken] == ["Ann", "Ann", "Bob"]


def test_a_name_that_is_blank_names_nobody() -> None:
    register = register_of(TASKS, IDS, votes=2)
    taken, (reject,) = check_votes([Vote(1, task="t_a", label="1", annotator="\u200b ")], register)
    assert not taken
    assert "no annotator is named" in reject.reason
