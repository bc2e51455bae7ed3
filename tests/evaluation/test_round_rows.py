"""Rows of a round picked from any rows, and answers joined to them, as a workspace does."""

import collections
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import (
    CHANCE,
    ROUND,
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
from evalsampling.pool.stored_columns import CELL
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.workspace.pool_facts import PoolFacts, drawn_rows
from tests.counted_histories import same_counts
from tests.drawn_by_row import cells_of, counts_in, delivered, picked, votes_of
from tests.jobs import Job, Jobs, make_rich_pool
from tests.pairs import IDS, pair_pool
from tests.slow import fast, slowly

Answer = dict[str, str]


def two_rounds(job: Jobs, **keys: Any) -> Job:
    """A workspace with two rounds by Poisson sampling, the first of them labelled."""
    one = job(**{"sampler": "poisson", **keys})
    assert one.prepare().status == one.sample().status == 0
    one.answer(1)
    assert one.sample("--size", 40).status == 0
    return one


@pytest.mark.parametrize("parameters", [{"online": "exclude"}, *slowly({}, {"cap": True})], ids=str)
def test_picked_rows_are_those_of_the_command(job: Any, parameters: dict[str, Any]) -> None:
    one = two_rounds(job, sampler={"name": "poisson", **parameters})
    facts = PoolFacts.read(one.workspace)
    for number in (1, 2):
        rows = picked(facts, one.pool.table, facts.rounds[:number], parts=3)
        assert dict(zip(rows["task"].to_pylist(), rows["id"].to_pylist(), strict=True)) == dict(
            one.asked(number)
        )
        assert set(rows[ROUND].to_pylist()) == {number}
        chance = facts.rounds[number - 1].of_cells(rows[CELL].to_numpy())
        np.testing.assert_array_equal(rows[CHANCE].to_numpy(), chance)
        stored = drawn_rows(one.workspace)
        wanted = {row["task"]: row for row in stored.to_pylist()}
        for row in rows.to_pylist():
            own = wanted[row["task"]]
            assert {key: row[key] for key in own if key in row} == {
                key: own[key] for key in own if key in row
            }


def test_tasks_are_those_of_the_command_and_say_no_score(job: Any) -> None:
    one = two_rounds(job)
    facts = PoolFacts.read(one.workspace)
    picker = facts.picker(facts.rounds)
    tasks = picker.tasks(picker.pick(cells_of(facts, one.pool.table)))
    assert tasks.column_names == ["task", "name", "label"]
    batch = (one.round_directory(2) / "batch.csv").read_text("utf-8-sig")
    assert sorted(line.split(",")[:2] for line in batch.splitlines()[1:]) == sorted(
        [row["task"], row["name"]] for row in tasks.to_pylist()
    )


def answers_to(job: Job, rounds: int = 2) -> list[Answer]:
    pairs = [pair for number in range(1, rounds + 1) for pair in job.asked(number)]
    truth = job.pool.truth
    return [{"task": task, "id": str(id), "label": str(truth[id])} for task, id in pairs]


def messy(answers: list[Answer], annotators: list[str], seed: int) -> list[Answer]:
    """Answers as people give them: repeated, contradictory, unknown, skipped, unsure, empty."""
    draw = random.Random(seed)
    given: list[Answer] = []
    for answer in answers:
        for name in annotators:
            own = {**answer, "annotator": name, "skipped": ""}
            kind = draw.random()
            if kind < 0.1:
                own |= {"label": "", "skipped": "yes"}
            elif kind < 0.2:
                own |= {"label": "unsure"}
            elif kind < 0.25:
                own |= {"label": ""}
            elif kind < 0.3:
                own |= {"label": "maybe"}
            elif kind < 0.4:
                own |= {"task": own["task"] + "x"}
            elif kind < 0.5:
                given.append({**own, "label": str(1 - int(own["label"]))})
            given += [own] * draw.choice([1, 1, 2])
    draw.shuffle(given)
    return given


def joined_to_rows(
    one: Job, answers: list[Answer], seed: int = 0
) -> tuple[LabelledCounts, list[Reject]]:
    """Answers joined in another order, to rows that come in parts and repeatedly."""
    facts, draw = PoolFacts.read(one.workspace), random.Random(seed)
    rows = drawn_rows(one.workspace)
    places = [*range(len(rows)), *draw.choices(range(len(rows)), k=9)]
    draw.shuffle(places)
    shuffled = draw.sample(answers, len(answers))
    return facts.label_join.join(rows.take(pa.array(places)), votes_of(shuffled))


@pytest.mark.parametrize(
    ("labels", "annotators"),
    [
        ({}, [""]),
        ({"votes": 3}, ["ann", "bob", "cy"]),
        ({"votes": 2}, ["Ann", "ann ", "bob"]),
        *fast(0, [({}, ["ann"]), ({}, ["ann", "bob"]), ({"votes": 3}, [""])]),
    ],
    ids=["nobody named", "three votes", "spellings", "one", "two", "nobody named of three"],
)
def test_answers_come_to_the_labels_of_the_command(
    job: Any, labels: dict[str, Any], annotators: list[str]
) -> None:
    """One delivery with everything that can be wrong with one."""
    one = job(sampler="poisson", labels=labels, round_size=60)
    assert one.prepare().status == one.sample().status == 0
    answers = messy(answers_to(one, rounds=1), annotators, seed=4)
    counts, rejects = joined_to_rows(one, answers)
    assert rejects, "nothing was wrong"
    delivered(one, answers)
    assert same_counts(counts, counts_in(one))
    again, _ = joined_to_rows(one, answers, seed=5)
    assert same_counts(again, counts)


def test_a_row_is_counted_once_however_often_it_comes(job: Any) -> None:
    one = two_rounds(job)
    answers = answers_to(one)
    counts, rejects = joined_to_rows(one, answers * 3)
    assert (len(counts), counts.labelled, rejects) == (len(answers), len(answers), [])
    assert set(counts.facts[:, 0]) == {0, 1}


def test_contradictions_by_nobody_named_are_both_rejected(job: Any) -> None:
    one = two_rounds(job)
    first, *others = answers_to(one)
    other = {**first, "label": str(1 - int(first["label"]))}
    counts, rejects = joined_to_rows(one, [first, other, *others])
    assert counts.labelled == len(others)
    assert {reject.reason for reject in rejects} == {
        "two different labels for one row: '0' and '1'"
    }
    assert len(rejects) == 2


def test_answers_without_rows_and_rows_without_answers(job: Any) -> None:
    one = two_rounds(job)
    join, answers = PoolFacts.read(one.workspace).label_join, answers_to(one)
    counts, rejects = join.join(None, votes_of(answers[:3]))
    assert (len(counts), len(rejects)) == (0, 3)
    counts, rejects = join.join(drawn_rows(one.workspace), [])
    assert (len(counts), counts.labelled, rejects) == (len(answers), 0, [])


def test_rows_of_another_workspace_do_not_count(job: Any) -> None:
    """Of another model, say: the same pool, with the same ids."""
    one, other = two_rounds(job), two_rounds(job)
    facts, answers = PoolFacts.read(one.workspace), answers_to(other)
    foreign = drawn_rows(other.workspace)
    counts, rejects = facts.label_join.join(foreign, votes_of(answers))
    assert (len(counts), counts.labelled) == (0, 0)
    told = [reject for reject in rejects if "drawn in another workspace" in reject.reason]
    assert sorted(str(each.task) for each in told) == sorted(foreign["task"].to_pylist())
    mixed = pa.concat_tables([foreign, drawn_rows(one.workspace)], promote_options="permissive")
    own = answers_to(one)
    counts, rejects = facts.label_join.join(mixed, votes_of(own))
    assert (len(counts), counts.labelled, len(rejects)) == (len(own), len(own), len(foreign))
    late = drawn_rows(one.workspace)
    later = late.set_column(late.column_names.index(ROUND), ROUND, pa.array([3] * len(late)))
    counts, rejects = facts.label_join.join(later, votes_of(own))
    assert len(counts) == 0
    assert "in another round than it says" in rejects[0].reason


def test_rows_with_slices_costs_and_several_systems(job: Any) -> None:
    """All that is stored of a row comes back in its counts."""
    pool = make_rich_pool(seed=3)
    one = job(
        pool,
        sampler="poisson",
        measure=["f1", {"name": "recall", "where": {"city": ["Bern", None]}}],
        budget={"cost": 900},
        pool={
            "id": "id",
            "cost": "size",
            "slices": ["city", "new"],
            "systems": {
                name: {"score": f"{name}.score", "prediction": f"{name}.prediction"}
                for name in ("s0", "s1")
            },
        },
    )
    assert one.prepare().status == one.sample("--size", 50).status == 0
    facts, answers = PoolFacts.read(one.workspace), answers_to(one, rounds=1)
    counts, _ = joined_to_rows(one, answers)
    rows = picked(facts, pool.table, facts.rounds, parts=4)
    from_rows, _ = facts.label_join.join(rows, votes_of(answers))
    assert delivered(one, answers)["labels"] == len(answers)
    assert same_counts(counts, counts_in(one))
    assert same_counts(from_rows, counts_in(one))
    assert Path(one.workspace).exists()


# --- rows and answers of a task come to one share, however they travel


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


@pytest.mark.parametrize(
    ("by", "singly"), fast(2, [("task", True), ("id", False), ("task", False), ("id", True)])
)
def test_shares_add_up_to_the_labels_of_the_command(labelled: Job, by: str, singly: bool) -> None:
    truth = labelled.pool.truth
    named = {"task": dict(labelled.asked(1)), "id": {str(id): id for _, id in labelled.asked(1)}}
    answers = [{by: name, "label": str(truth[id])} for name, id in named[by].items()][3:]
    table = drawn_rows(labelled.workspace)
    rows = table.to_pylist() if singly else [table.slice(0, 20), table.slice(15)]
    as_bytes = [{name: text.encode() for name, text in one.items()} for one in answers[:5]]
    twice = [*answers, *as_bytes]
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
    expected = "no unique_id_l and unique_id_r is given, by which labels are joined"
    assert shown[0]["reason"] == expected
    assert (shown[1][IDS[0]], shown[1][IDS[1]]) == ("zz", "q")
    assert delivered(one, answers)["labels"] == len(answers)
    assert same_counts(counts, counts_in(one))


@pytest.mark.parametrize("task", [None, "", "nobody knows it"])
def test_an_answer_that_names_no_row_is_rejected_once(labelled: Job, task: str | None) -> None:
    table, answers = drawn_rows(labelled.workspace), [{"task": task, "label": "1", "id": "7"}]
    counts, rejects, _ = summed(labelled, in_transit([table], answers, "task"), "task")
    assert (len(counts), counts.labelled) == (len(table), 0)
    (reject,) = rejects
    assert (as_mapping(reject)["task"], as_mapping(reject)["label"]) == (task or None, "1")
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
