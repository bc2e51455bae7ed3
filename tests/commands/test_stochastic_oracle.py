"""Rounds of a stochastic oracle: every draw is a task, and every vote on it an answer."""

import pytest

from evalsampling.labels.tally import State
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.rounds import doubtful, repeated
from tests.jobs import Job, Jobs, call, make_pool


def test_votes_are_counted_and_budgeted(asked: Job) -> None:
    sizes = [90]
    for number in (1, 2, 3):
        result = asked.take(doubtful(asked, number)).json
        assert result["labels"] == sum(sizes)
        assert call("status", asked.workspace, "--json").json["labels"] == sum(sizes)
        sampled = asked.sample().json
        sizes.append(sampled["rows"])
    assert sizes == [90, 90, 20, 0]
    assert (sampled["reason"], result["done"]) == ("budget", True)
    first, second = asked.asked(1), asked.asked(2)
    assert {task for task, _ in first}.isdisjoint(task for task, _ in second)
    assert {id for _, id in first} & {id for _, id in second}, "rows come again in later rounds"


def test_questions_about_one_row_may_be_answered_differently(asked: Job) -> None:
    _, (one, other, *_) = repeated(asked)
    result = asked.take([(one, "1"), (other, "0")]).json
    assert (result["labels"], result["rejects"], result["open"]) == (2, 0, 88)
    same = asked.take([(one, "0")], "other.csv").json
    assert (same["labels"], same["rejects"]) == (2, 1), "but not one question"


# --- several votes a task


FORMATS = {
    "long.csv": "label", "lines.jsonl": "label", "table.parquet": "label", "export.json": "label",
    "splink.csv": "clerical_match_score",
}  # fmt: skip
"""Files with a vote on each task, and the column of it."""


@pytest.fixture
def voted(job: Jobs) -> Job:
    """A job whose draws are to have a vote by an annotator for each format of files."""
    one = job(
        make_pool(text_ids=True),
        labels={"oracle": "stochastic", "votes": len(FORMATS)},
        strata={"leaves": 4},
        measure=["accuracy", "f1"],
        sampler={"name": "importance", "delta": 0.3},
        round_size=60,
        budget=100,
    ).prepared()
    assert one.sample().json["rows"] == 60
    return one


def test_tasks_count_once_all_their_votes_are_there(voted: Job) -> None:
    """Skips are answers; with votes for two classes there is nothing to settle."""
    tasks = [task for task, _ in voted.asked(1)]
    rows = [(task, name, "01"[i % 2], "") for task in tasks[:20] for i, name in enumerate("abcd")]
    rows += [(task, name, "", "yes") for task in tasks[:10] for name in "ef"]
    rows += [(task, name, "", "yes") for task in tasks[20:25] for name in "abcdef"]
    result = voted.take(rows, header="task,annotator,label,skipped").json
    assert (result["labels"], result["open"]) == (10, 45)
    missing = result["missing"]
    assert (missing["open"], missing["skipped"], missing["disputed"]) == (45, 5, 0)
    assert missing["bounds"]
    assert voted.sample("--adjudicate").json["reason"] == "no-disputes"
    assert Snapshot.at(voted.workspace).states.count(State.DECIDED) == 10
    assert voted.answer(1, "unnamed.csv").json["rejects"] == 60
