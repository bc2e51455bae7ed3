"""Rows and answers of a task come to one share, however they travel."""

import collections
import json
import random
from typing import Any

import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import (
    SHARES,
    Packed,
    answers_by_share,
    as_mapping,
    joined,
    packed_answers,
    packed_rows,
    rows_by_share,
    share_of,
)
from evalsampling.labels.votes import Reject
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.workspace.pool_facts import PoolFacts, drawn_rows
from tests.counted_histories import same_counts
from tests.drawn_by_row import counts_in, delivered
from tests.jobs import Job
from tests.pairs import IDS, pair_pool


def test_shares_are_alike_in_size() -> None:
    size = collections.Counter(share_of(f"t1-{number:06x}") for number in range(64_000))
    assert set(size) == set(range(SHARES))
    assert 800 < min(size.values()) <= max(size.values()) < 1200
    assert 0 <= share_of("\ud800") < SHARES


@pytest.fixture
def labelled(job: Any) -> Job:
    """A workspace with a round of some fifty rows."""
    one: Job = job(sampler="poisson", round_size=50)
    assert one.prepare().status == one.sample().status == 0
    return one


def in_transit(rows: list[Any], answers: list[dict[str, Any]], by: str) -> dict[int, list[Packed]]:
    """What each share gets of rows and answers that come one by one, in any order."""
    shares: dict[int, list[Packed]] = collections.defaultdict(list)
    for part in rows:
        for share, table in rows_by_share(part, by):
            shares[share] += [packed for _, packed in packed_rows(share, [table])]
    for answer in answers:
        for share, own in answers_by_share(answer, by):
            shares[share] += [packed for _, packed in packed_answers(share, [own])]
    for gathered in shares.values():
        random.Random(3).shuffle(gathered)
    return shares


def summed(one: Job, shares: dict[int, list[Packed]], by: str) -> tuple[Any, list[Reject], int]:
    """The sum of all shares, their rejects and how much came."""
    join = PoolFacts.read(one.workspace).label_join
    parts = [joined(gathered, join, by) for gathered in shares.values()]
    counts = LabelledCounts.sum([counts for _, counts, _ in parts])
    rejects = [reject for _, _, of_share in parts for reject in of_share]
    return counts, rejects, sum(size for size, _, _ in parts)


@pytest.mark.parametrize("by", ["task", "id"])
@pytest.mark.parametrize("singly", [False, True])
def test_shares_add_up_to_the_labels_of_the_command(labelled: Job, by: str, singly: bool) -> None:
    truth = labelled.pool.truth
    named = {"task": dict(labelled.asked(1)), "id": {str(id): id for _, id in labelled.asked(1)}}
    answers = [{by: name, "label": str(truth[id])} for name, id in named[by].items()][3:]
    table = drawn_rows(labelled.workspace)
    rows = table.to_pylist() if singly else [table.slice(0, 20), table.slice(15)]
    twice = [*answers, *answers[:5]]
    counts, rejects, size = summed(labelled, in_transit(rows, twice, by), by)
    assert (len(counts), counts.labelled, rejects) == (len(table), len(answers), [])
    assert size == sum(1 if singly else len(part) for part in rows) + len(twice)
    assert delivered(labelled, answers)["labels"] == len(answers)
    assert same_counts(counts, counts_in(labelled))


@pytest.mark.parametrize("numbers", [False, True])
def test_pairs_are_joined_by_their_columns(job: Any, numbers: bool) -> None:
    one: Job = job(pair_pool(numbers=numbers), pool={"id": IDS}, sampler="poisson", round_size=50)
    assert one.prepare().status == one.sample().status == 0
    answers = [
        {**dict(zip(IDS, map(str, json.loads(id)), strict=True)), "label": str(one.pool.truth[id])}
        for _, id in one.asked(1)
    ]
    strange = [{IDS[0]: "a1", "label": "1"}, {IDS[0]: "zz", IDS[1]: "q", "label": "1"}]
    shares: dict[int, list[Packed]] = collections.defaultdict(list)
    for share, rows in rows_by_share(drawn_rows(one.workspace), "id", tuple(IDS)):
        shares[share] += [packed for _, packed in packed_rows(share, [rows])]
    for answer in [*answers, *strange]:
        for share, own in answers_by_share(answer, "id", tuple(IDS)):
            shares[share] += [packed for _, packed in packed_answers(share, [own])]
    counts, rejects, _ = summed(one, shares, "id")
    assert counts.labelled == len(answers)
    shown = sorted((as_mapping(r, tuple(IDS)) for r in rejects), key=lambda row: row["reason"])
    assert [[*row] for row in shown] == [["task", *IDS, "label", "reason"]] * 2
    assert (
        shown[0]["reason"] == "no unique_id_l and unique_id_r is given, by which labels are joined"
    )
    assert (shown[1][IDS[0]], shown[1][IDS[1]]) == ("zz", "q")
    assert delivered(one, answers)["labels"] == len(answers)
    assert same_counts(counts, counts_in(one))


@pytest.mark.parametrize("task", [None, "", "nobody knows it"])
def test_an_answer_that_names_no_row_is_rejected_once(labelled: Job, task: str | None) -> None:
    table, answers = drawn_rows(labelled.workspace), [{"task": task, "label": "1", "id": "7"}]
    counts, rejects, _ = summed(labelled, in_transit([table], answers, "task"), "task")
    assert (len(counts), counts.labelled) == (len(table), 0)
    (reject,) = rejects
    assert as_mapping(reject)["task"] == (task or None)
    assert "task" in reject.reason


def test_answers_of_other_kinds_are_rejected_each_with_its_reason(labelled: Job) -> None:
    """Lone surrogates, lists, numbers: what JSON can spell."""
    task = labelled.asked(1)[0][0]
    answers = [
        {"task": task, "label": "\ud800"},
        {"task": "\ud800", "label": "1"},
        {"task": task, "label": ["1", "0"]},
        {"task": task, "label": 7},
        {"task": task, "label": "1", "skipped": "perhaps"},
    ]
    _, rejects, size = summed(labelled, in_transit([], answers, "task"), "task")
    assert len(rejects) == len(answers) == size
    assert all(reject.reason for reject in rejects)
    join = in_transit([drawn_rows(labelled.workspace)], answers, "task")
    counts, rejects, _ = summed(labelled, join, "task")
    assert (counts.labelled, len(rejects)) == (0, len(answers))


def test_labels_as_json_has_them_count(labelled: Job) -> None:
    """Whole numbers for classes, as a table of a warehouse gives them."""
    table = drawn_rows(labelled.workspace)
    answers = [
        {"task": task, "label": labelled.pool.truth[id], "skipped": False, "annotator": None}
        for task, id in labelled.asked(1)
    ]
    counts, rejects, _ = summed(labelled, in_transit([table], answers, "task"), "task")
    assert (counts.labelled, rejects) == (len(table), [])


def test_rows_without_the_column_and_what_is_no_row_are_refused() -> None:
    with pytest.raises(InputError, match="rows of a round: column 'task' is missing; there are: x"):
        list(rows_by_share({"x": 1}, "task"))
    with pytest.raises(InputError, match="column 'id' is missing; there are: task"):
        list(rows_by_share(pa.table({"task": ["a"]}), "id"))
    with pytest.raises(InputError, match="a row is a mapping or a named tuple, got int"):
        list(answers_by_share(3, "task"))
