"""Which votes of a delivery count, and why the others do not."""

import pytest

from evalsampling.label_spaces.classes import Classes
from evalsampling.labels.register import Register
from evalsampling.labels.tally import Subjects, Tally
from evalsampling.labels.vote import Vote
from evalsampling.labels.votes import check_votes

REGISTER = Register(
    question_of_task={"t_a": 0, "t_b": 1, "t_c": 2},
    ids=["7", "8", "8"],
    tally=Tally(Subjects(3)),
    space=Classes(),
)


@pytest.mark.parametrize(
    ("task", "id", "row"),
    [("t_a", "7", 0), ("t_a", None, 0), (None, "7", 0), ("t_c", "8", 2), ("t_b", "8", 1)],
)
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
        ("t_d", "7", "unknown task 't_d'"),
    ],
)
@pytest.mark.parametrize("skipped", [False, True])
def test_task_and_id_that_disagree(task: str, id: str, reason: str, skipped: bool) -> None:
    vote = Vote(4, task=task, id=id, label=None if skipped else "1", skipped=skipped)
    taken, (reject,) = check_votes([vote], REGISTER)
    assert not taken
    assert (reject.line, reject.reason) == (4, reason)
