"""Rows of a round picked from any rows, and answers joined to them, as a workspace does."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.evaluation.round_rows import CHANCE, ROUND
from evalsampling.labels.votes import Reject
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.stored_columns import CELL
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.permanent import permanent_numbers
from evalsampling.workspace.pool_facts import PoolFacts, drawn_rows
from tests.counted_histories import same_counts
from tests.drawn_by_row import cells_of, counts_in, delivered, picked, votes_of
from tests.jobs import Job, Jobs, make_rich_pool

Answer = dict[str, str]


def two_rounds(job: Jobs, **keys: Any) -> Job:
    """A workspace with two rounds by Poisson sampling, the first of them labelled."""
    one = job(**{"sampler": "poisson", **keys})
    assert one.prepare().status == one.sample().status == 0
    one.answer(1)
    assert one.sample("--size", 40).status == 0
    return one


@pytest.mark.parametrize("parameters", [{}, {"online": "exclude"}, {"cap": True}], ids=str)
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


def test_rows_of_cells_that_are_new_have_the_mean_chance(job: Any) -> None:
    """A pool of which the cells of the second prediction are not known."""
    one = two_rounds(job)
    facts = PoolFacts.read(one.workspace)
    cells = cells_of(facts, one.pool.table)
    common = np.bincount(cells.cell).argmax()
    (chances,) = facts.rounds[:1]
    kept = chances.code != common
    fewer = type(chances)(chances.code[kept], chances.chance[kept], 0.5)
    rows = facts.picker((fewer,)).pick(cells)
    number = permanent_numbers(hash_ids(cells.ids, facts.pool.spec.seed))
    wanted = number[cells.cell == common] < 0.5
    taken = rows.filter(pa.compute.equal(rows[CELL], common))
    assert set(taken[CHANCE].to_pylist()) == {0.5}
    assert len(taken) == wanted.sum() > 100


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


def joined(one: Job, answers: list[Answer], seed: int = 0) -> tuple[LabelledCounts, list[Reject]]:
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
        ({}, ["ann"]),
        ({}, ["ann", "bob"]),
        ({"votes": 3}, ["ann", "bob", "cy"]),
        ({"votes": 3}, [""]),
        ({"votes": 2}, ["Ann", "ann ", "bob"]),
    ],
    ids=["nobody named", "one", "two", "three votes", "nobody named of three", "spellings"],
)
def test_answers_come_to_the_labels_of_the_command(
    job: Any, labels: dict[str, Any], annotators: list[str]
) -> None:
    """One delivery with everything that can be wrong with one."""
    one = job(sampler="poisson", labels=labels, round_size=60)
    assert one.prepare().status == one.sample().status == 0
    answers = messy(answers_to(one, rounds=1), annotators, seed=4)
    counts, rejects = joined(one, answers)
    assert rejects, "nothing was wrong"
    delivered(one, answers)
    assert same_counts(counts, counts_in(one))
    again, _ = joined(one, answers, seed=5)
    assert same_counts(again, counts)


def test_a_row_is_counted_once_however_often_it_comes(job: Any) -> None:
    one = two_rounds(job)
    answers = answers_to(one)
    counts, rejects = joined(one, answers * 3)
    assert (len(counts), counts.labelled, rejects) == (len(answers), len(answers), [])
    assert set(counts.facts[:, 0]) == {0, 1}


def test_contradictions_by_nobody_named_are_both_rejected(job: Any) -> None:
    one = two_rounds(job)
    first, *others = answers_to(one)
    other = {**first, "label": str(1 - int(first["label"]))}
    counts, rejects = joined(one, [first, other, *others])
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
    counts, _ = joined(one, answers)
    rows = picked(facts, pool.table, facts.rounds, parts=4)
    from_rows, _ = facts.label_join.join(rows, votes_of(answers))
    assert delivered(one, answers)["labels"] == len(answers)
    assert same_counts(counts, counts_in(one))
    assert same_counts(from_rows, counts_in(one))
    assert Path(one.workspace).exists()
