"""Batches out: what a round holds, when it closes, and commands that are killed or raced."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evalsampling.commands.budget import short_cells
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.commands.top_up import TopUp
from evalsampling.labels.sinks import write_tasks
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.faults.operations import Killed
from tests.jobs import Job, Jobs, call, files_below, make_pool


def test_sampling_an_open_round_returns_it_again(drawn: Job) -> None:
    before = files_below(drawn.workspace)
    again = drawn.sample().json
    assert (again["round"], again["rows"]) == (1, 20)
    assert files_below(drawn.workspace) == before


def test_draws_hold_the_design(drawn: Job) -> None:
    draws = pq.read_table(drawn.round_directory(1) / "draws.parquet")
    assert draws.column_names == [
        "round", "draw", "question", "cell", "rank", "q", "new",
        "id", "prediction.0", "score.0", "probability.0.0", "probability.0.1",
    ]  # fmt: skip
    new, question = draws["new"].to_numpy(), draws["question"].to_numpy()
    assert question[new].tolist() == list(range(1, 21)), "questions are numbered as they are asked"
    of_id = dict(zip(draws["id"].to_pylist(), question.tolist(), strict=True))
    assert [of_id[id] for id in draws["id"].to_pylist()] == question.tolist()
    columns = ("id", "score", "prediction")
    pool = zip(*(drawn.pool.table[c].to_pylist() for c in columns), strict=True)
    known = {id: (score, prediction) for id, score, prediction in pool}
    told = zip(*(draws[c].to_pylist() for c in ("id", "score.0", "prediction.0")), strict=True)
    for id, score, prediction in told:
        assert known[id] == (score, prediction)
    design = json.loads((drawn.round_directory(1) / "design.json").read_text())
    assert design["draws"] == len(draws)
    assert design["new_rows"] == 20
    assert draws["new"].to_pylist()[-1], "a round stops on the draw that meets its last new row"


@pytest.mark.slow
def test_a_round_closes_when_every_row_is_answered(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.take(answers[:19], "a.csv")
    assert drawn.sample().json["round"] == 1
    drawn.take([[answers[19][0], "", "yes"]], "b.csv", "task,label,skipped")
    assert drawn.sample().json["round"] == 2


def test_next_gives_up_the_open_rows_and_their_labels_still_count(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.take(answers[:15], "a.csv")
    assert drawn.sample("--next").json["round"] == 2
    assert set(drawn.batch(1)["id"]).isdisjoint(drawn.batch(2)["id"])
    status = call("status", drawn.workspace, "--json").json
    assert (status["labels"], status["open"]) == (15, 20)
    assert drawn.take(answers[15:], "late.csv").json["labels"] == 20


def test_budget_is_spent_to_the_row(job: Any) -> None:
    one = job(budget=50).prepared()
    sizes = []
    for number in range(1, 5):
        sampled = one.sample().json
        sizes.append((sampled["rows"], sampled["reason"]))
        if sampled["rows"]:
            result = one.answer(number).json
    assert sizes == [(20, None), (20, None), (10, None), (0, "budget")]
    assert result["done"]


def test_a_model_that_returns_no_probabilities_draws_nothing(job: Any) -> None:
    """It may do so only once there are labels; the workspace goes on once it is mended."""
    one = job(make_pool(rows=300), sampler={"name": "ais", "model": "flawed_model:model"})
    (one.directory / "flawed_model.py").write_text(
        "def model(cells, labels):\n    return cells.prior + labels.sum()\n"
    )
    one.drawn()
    one.answer(1)
    before = files_below(one.workspace)
    refused = one.sample().refused
    assert "sampler.model: the model must return probabilities from 0 to 1, got " in refused
    assert files_below(one.workspace) == before
    sys.modules["flawed_model"].model = lambda cells, labels: cells.prior
    assert one.sample().status == 0
    design = json.loads((one.workspace / "rounds/0002/design.json").read_text())
    assert design["sampler"] == {"name": "ais", "model": "flawed_model:model"}


@pytest.mark.parametrize(("sampler", "others"), [("ais", 0), ("calibrated", 10)])
def test_rows_that_cannot_add_to_the_measure_are_left_alone(
    job: Any, sampler: str, others: int
) -> None:
    """Precision needs the predicted positives and no more: then the pool is exhausted."""
    keys = {"sampler": sampler, "measure": "precision", "strata": {"leaves": 4}}
    one = job(make_pool(rows=600), budget=500, **keys).prepared()
    predicted = sum(one.pool.table["prediction"].to_pylist())
    for number in range(1, 20):
        sampled = one.sample().json
        if not sampled["rows"]:
            break
        one.answer(number)
    assert sampled["reason"] == "exhausted"
    assert call("status", one.workspace, "--json").json["labels"] - predicted <= others
    result = one.estimate().json
    assert result["done"]
    (precision,) = result["measures"]
    hits = one.pool.table.filter(one.pool.table["prediction"].to_numpy() == 1)["id"].to_pylist()
    truth = [one.pool.truth[id] for id in hits]
    assert precision["value"] == pytest.approx(np.mean(truth), abs=1e-12)
    assert precision["method"] == "census"
    assert precision["low"] == precision["high"] == precision["value"]


def test_sample_killed_before_the_round_is_whole(drawn: Job, monkeypatch: Any) -> None:
    drawn.answer(1)
    before = files_below(drawn.workspace)

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("evalsampling.commands.batches.write_tasks", die)
        with pytest.raises(Killed):
            drawn.sample()
    assert files_below(drawn.workspace) == before
    assert drawn.sample().json["round"] == 2


def test_two_commands_drawing_the_same_round(drawn: Job, monkeypatch: Any) -> None:
    drawn.answer(1)
    rival = shutil.copytree(drawn.workspace, drawn.directory / "rival")
    call("sample", rival)
    theirs = rival / "rounds" / "0002"
    write = write_tasks

    def lose(*arguments: Any) -> Path:
        shutil.copytree(theirs, drawn.round_directory(2))
        return write(*arguments)

    monkeypatch.setattr("evalsampling.commands.batches.write_tasks", lose)
    assert "another command made this round" in drawn.sample().refused
    assert files_below(drawn.round_directory(2)) == files_below(theirs)
    monkeypatch.undo()
    assert drawn.sample().json["round"] == 2


@pytest.mark.parametrize("closing", [["sample", "--next"], ["estimate", "--close"]])
def test_closing_a_round_says_which_rows_it_leaves_half_answered(
    job: Jobs, closing: list[str]
) -> None:
    one = job(
        make_pool(200), budget=60, round_size=5, labels={"votes": 2}, strata={"leaves": 3}
    ).drawn()
    rows = [(task, "ann", label) for task, label in one.answers(1)[:3]]
    one.take(rows, header="task,annotator,label")
    command, flag = closing
    told = call(command, one.workspace, flag)
    said = " ".join((told.out + told.err).split())
    assert (
        "3 rows are closed with answers and no label; answers that come later still count" in said
    )
    again = call(command, one.workspace, flag)
    assert "are closed with answers" not in again.out + again.err


def test_reserve_that_is_gone(drawn: Job) -> None:
    shutil.rmtree(drawn.workspace / "reserve")
    assert "reserve: cannot be read" in drawn.sample("--next").refused


def sample_next_killed(one: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `sample --next`, killed when the new round is there and the earlier one not closed."""

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "close_round", die)
        with pytest.raises(Killed):
            one.sample("--next")


@pytest.mark.parametrize("again", [["--next"], []])
def test_a_round_nobody_was_told_of_is_given_to_who_asks_again(
    drawn: Job, monkeypatch: pytest.MonkeyPatch, again: list[str]
) -> None:
    sample_next_killed(drawn, monkeypatch)
    assert call("status", drawn.workspace, "--json").json["open"] == 20, "round 1 is closed"
    result = drawn.sample(*again).json
    assert (result["round"], result["rows"]) == (2, 20)
    assert (drawn.round_directory(1) / "closed.json").exists()
    assert drawn.sample("--next").json["round"] == 3, "who asks once more wants another one"
    assert call("status", drawn.workspace, "--json").json["open"] == 20


@pytest.mark.parametrize("seen", ["answered", "closed"])
def test_a_round_that_somebody_has_seen_is_not_given_again(
    drawn: Job, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    sample_next_killed(drawn, monkeypatch)
    if seen == "answered":
        drawn.take(drawn.answers(2)[:1])
    else:
        drawn.estimate("--close")
    assert drawn.sample("--next").json["round"] == 3
    assert call("status", drawn.workspace, "--json").json["open"] == 20
    assert (drawn.round_directory(1) / "closed.json").exists()


def test_a_request_that_broke_off_is_finished(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its round was drawn, before the one before was closed; others draw meanwhile."""
    one = job().drawn()
    options = SampleOptions(str(one.workspace), 7, next=True)

    def die(*_: object) -> None:
        raise OSError("a worker was lost")

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "close_round", die)
        with pytest.raises(OSError, match="worker"):
            sample(options, request="request")
    assert call("status", one.workspace, "--json").json["open"] == 7
    again = sample(options, request="request")
    assert (again.round, again.rows, again.reason) == (2, 7, None)
    assert call("status", one.workspace, "--json").json["open"] == 7
    assert one.sample("--next").json["round"] == 3
    assert sample(options, request="request") == again
    assert call("status", one.workspace, "--json").json["open"] == 20


def test_no_round_once_the_difference_is_significant(job: Any) -> None:
    """By the anytime-valid test; `estimate` tells the same. Who names a size draws on."""
    systems = {name: {"score": "score", "prediction": column} for name, column in
               (("new", "prediction"), ("old", {"threshold": 3.0}))}  # fmt: skip
    one = job(
        pool={"prediction": None, "score": "score", "systems": systems},
        measure={"difference": "accuracy"},
        sampler="compare",
        stop={"significance": 0.9},
        round_size=20,
    ).prepared()
    assert one.sample().json["rows"] == 20
    result = one.answer(1).json
    (told,) = result["measures"]
    assert (told["measure"], told["system"], told["against"]) == ("accuracy", "new", "old")
    assert told["significance"]["anytime_p_value"] <= 0.9
    assert result["done"]
    assert one.sample().json["reason"] == "significance"
    assert "wants; `--size N` draws on" in " ".join(call("sample", one.workspace).out.split())
    assert one.sample("--size", 5).json["rows"] == 5


# --- rounds that are taken back


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
    late = drawn.take(answers, "late.csv")
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
            result = one.take(rows, f"{number}.csv", "id,label").json
        results.append(result)
    assert results[0] == results[1]


@pytest.mark.slow
def test_what_cannot_be_withdrawn(drawn: Job) -> None:
    drawn.take(drawn.answers(1)[:1], "1.csv")
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


@pytest.mark.slow
def test_growing_rounds(job: Any) -> None:
    one = job(round_size={"first": 10, "growth": 1.5}, budget=70).prepared()
    sizes = []
    for number in range(1, 5):
        sizes.append(one.sample().json["rows"])
        one.answer(number)
    assert sizes == [10, 15, 22, 23], "22 is 22.5 cut, 23 what is left of the budget"
    assert one.sample().json["reason"] == "budget"


def test_sampling_at_once_gives_one_round(drawn: Job) -> None:
    drawn.answer(1)
    command = [sys.executable, "-m", "evalsampling", "sample", str(drawn.workspace), "--json"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    printed = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert {json.loads(text)["round"] for text in printed} == {2}
    assert len(list((drawn.workspace / "rounds").iterdir())) == 2
