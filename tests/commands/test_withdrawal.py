"""Rounds that are taken back."""

import numpy as np
import pytest

from evalsampling.commands.top_up import TopUp, short_cells
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import Job, Jobs, call, files_below


@pytest.mark.slow
def test_a_withdrawn_round_counts_as_never_drawn(drawn: Job) -> None:
    drawn.answer(1, "1.csv")
    before = drawn.estimate().json
    drawn.sample()
    ids, answers = drawn.batch(2)["id"], drawn.answers(2)
    result = drawn.sample("--withdraw", 2).json
    assert (result["round"], result["rows"], result["reason"]) == (2, 0, "withdrawn")
    assert drawn.estimate().json == before
    assert call("status", drawn.workspace, "--json").json["withdrawn"] == [2]
    assert "\n2 rounds, 1 withdrawn, 20 of 200 labels, " in call("status", drawn.workspace).out
    late = drawn.estimate("--labels", drawn.deliver(answers, "late.csv"))
    assert late.json["labels"] == 20
    assert late.json["rejects"] == 20
    assert "round 2 was withdrawn" in late.err
    again = drawn.sample().json
    assert (again["round"], again["rows"]) == (3, 20)
    assert set(drawn.batch(3)["id"]) == set(ids), "nobody gets another sample by withdrawing"
    assert not {*drawn.batch(3)["task"]} & {*drawn.batch(2)["task"]}
    done = drawn.answer(3, "3.csv").json
    assert (done["labels"], done["open"], done["round"]) == (40, 0, 2)
    assert call("status", "--verify", drawn.workspace).status == 0


@pytest.mark.slow
@pytest.mark.usefixtures("one_key")
def test_the_numbers_are_those_without_it(job: Jobs) -> None:
    results = []
    for withdrawn in (False, True):
        one = job(measure=["f1", "accuracy"]).prepared()
        numbers = [1, 2, 3]
        for number in numbers:
            one.sample()
            if withdrawn and number == 2:
                one.sample("--withdraw", 2)
                one.sample("--size", 7)
                one.sample("--withdraw", 3)
                assert one.sample().json["round"] == 4
                numbers[1:] = [4, 5]
                number = 4
            rows = [(str(id), str(one.pool.truth[id])) for id in one.batch(number)["id"]]
            result = one.estimate("--labels", one.deliver(rows, f"{number}.csv", "id,label")).json
        results.append(result)
    assert results[0] == results[1]


@pytest.mark.slow
def test_what_cannot_be_withdrawn(drawn: Job) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)[:1], "1.csv"))
    before = files_below(drawn.workspace)
    for number, words in ((1, "it has answers already"), (2, "there is no such round")):
        assert words in drawn.sample("--withdraw", number).refused
    assert files_below(drawn.workspace) == before
    drawn.sample("--next")
    drawn.sample("--next")
    assert "round 3 was drawn after it" in drawn.sample("--withdraw", 2).err
    assert drawn.sample("--withdraw", 3).status == 0
    assert drawn.sample("--withdraw", 3).status == 0
    assert drawn.sample("--withdraw", 2).status == 0
    assert drawn.sample("--withdraw", 1).status == 1
    assert drawn.sample("--withdraw", 1, "--next").status == 2
    assert drawn.sample("--withdraw", 0).status == 2


def test_the_next_round_is_of_one_size_for_all_commands(job: Jobs) -> None:
    one = job(round_size={"first": 10, "growth": 3}).drawn()
    one.sample("--withdraw", 1)
    snapshot = Snapshot.at(one.workspace)
    topped = TopUp.from_snapshot(snapshot, None, HERE)
    held = short_cells(snapshot, None).short
    np.testing.assert_array_equal(held, short_cells(snapshot, 10).short)
    assert topped is None or topped.wanted == 10
    assert snapshot.next_round_size == one.sample().json["rows"] == 10
