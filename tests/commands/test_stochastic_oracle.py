"""Rounds of a stochastic oracle: every draw is a task."""

import shutil
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evalsampling import workspace
from tests.commands.rounds import doubtful, repeated
from tests.jobs import Job, call, make_rich_pool


def test_every_draw_is_a_task_of_its_own(asked: Job) -> None:
    batch = asked.batch(1)
    draws = pq.read_table(asked.round_directory(1) / "draws.parquet")
    assert len(batch["task"]) == len(set(batch["task"])) == len(draws) == 90
    assert len(set(batch["id"])) < 90
    assert draws["new"].to_pylist() == [True] * 90
    assert draws["question"].to_pylist() == list(range(1, 91))
    names = [batch["payload.name"][batch["id"].index(id)] for id in batch["id"]]
    assert batch["payload.name"] == names


def test_votes_are_counted_and_budgeted(asked: Job) -> None:
    sizes = [90]
    for number in (1, 2, 3):
        result = asked.estimate("--labels", asked.deliver(doubtful(asked, number))).json
        assert result["labels"] == sum(sizes)
        assert call("status", asked.workspace, "--json").json["labels"] == sum(sizes)
        sampled = asked.sample().json
        sizes.append(sampled["rows"])
    assert sizes == [90, 90, 20, 0]
    assert (sampled["reason"], result["done"]) == ("budget", True)
    first, second = asked.asked(1), asked.asked(2)
    assert {task for task, _ in first}.isdisjoint(task for task, _ in second)
    assert {id for _, id in first} & {id for _, id in second}, "rows come again in later rounds"


def test_label_by_id_is_refused_where_it_is_ambiguous(asked: Job) -> None:
    id, tasks = repeated(asked)
    once = next(i for i in asked.batch(1)["id"] if asked.batch(1)["id"].count(i) == 1)
    path = asked.deliver([(id, "1"), (once, "1")], header="id,label")
    result = asked.estimate("--labels", path).json
    assert (result["labels"], result["rejects"]) == (1, 1)
    (listed,) = (asked.workspace / "labels").glob("*.rejects.csv")
    assert f"id {id!r} was drawn {len(tasks)} times: name the task" in listed.read_text()


def test_questions_about_one_row_may_be_answered_differently(asked: Job) -> None:
    _, (one, other, *_) = repeated(asked)
    result = asked.estimate("--labels", asked.deliver([(one, "1"), (other, "0")])).json
    assert (result["labels"], result["rejects"], result["open"]) == (2, 0, 88)
    same = asked.estimate("--labels", asked.deliver([(one, "0")], "other.csv")).json
    assert (same["labels"], same["rejects"]) == (2, 1), "but not one question"


@pytest.mark.parametrize("sampler", ["ais", "importance", "passive", "oasis"])
def test_stochastic_rounds_start_from_the_files_alone(job: Any, sampler: str) -> None:
    """Two evaluations, one in this process throughout, one read from files each round."""
    one = job(
        make_rich_pool(),
        labels={"oracle": "stochastic"},
        strata={"leaves": 4},
        sampler=sampler,
        round_size=40,
        pool={"score": "s0.score", "prediction": "s0.prediction"},
    )
    one.prepare()
    memory = workspace.load(one.workspace)
    for number in range(1, 4):
        assert one.sample().json["rows"] == 40
        rows = memory.draw(40)
        draws = pq.read_table(one.round_directory(number) / "draws.parquet")
        here = memory.history
        np.testing.assert_array_equal(here.rounds[-1].probability, draws["q"].to_numpy())
        np.testing.assert_array_equal(here.rank[rows], draws["rank"].to_numpy())
        answers = doubtful(one, number)
        one.estimate("--labels", one.deliver(answers))
        labels = memory.history.label.copy()
        labels[rows] = [int(label) for _, label in answers]
        memory.history = memory.history.with_labels(labels)
    rival = shutil.copytree(one.workspace, one.directory / "rival")
    here, there = one.sample().json, call("sample", rival, "--json").json
    assert (here["round"], here["rows"]) == (there["round"], there["rows"])
    theirs = pq.read_table(rival / "rounds" / "0004" / "draws.parquet")
    assert pq.read_table(one.round_directory(4) / "draws.parquet") == theirs
