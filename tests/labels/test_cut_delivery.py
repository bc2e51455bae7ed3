"""Deliveries that were cut short bring no label that the whole file does not."""

import random
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.label_spaces.sets import Sets
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.tally import Subjects, Tally
from evalsampling.labels.votes import check_votes
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.rounds import measures
from tests.jobs import Job, Pool, call, make_pool
from tests.labels.deliveries import FORMATS, written
from tests.slow import fast

IDS = ["12", "123", "9", "x"]


def register(space: LabelSpace) -> Register:
    return Register(
        question_of_task={f"t_{id}": row for row, id in enumerate(IDS)},
        ids=IDS,
        tally=Tally(Subjects(len(IDS))),
        space=space,
    )


CLASSES = Classes(("no", "no idea", "yes", "un"), 2)
NUMBERS = Numbers(0.0, 10.0)
SETS = Sets(("a", "b"))


@pytest.mark.parametrize(
    ("labels", "text", "words"),
    [
        (CLASSES, "task,label\nt_x,no", "'no' may be the beginning of 'no idea'"),
        (CLASSES, "task,label\nt_x,un", "'un' may be the beginning of 'unsure'"),
        (CLASSES, "task,label\nt_x,yes", ""),
        (CLASSES, "task,label\nt_x,No", "'No' may be the beginning of 'no idea'"),
        (CLASSES, "task,label\nt_x,no idea", ""),
        (CLASSES, "task,label\nt_x,no\n", ""),
        (CLASSES, "task,label\r\nt_x,no\r", ""),
        (CLASSES, "task,label,comment\nt_x,no,wh", ""),
        (CLASSES, "label,id\nyes,12", "'12' may be the beginning of '123'"),
        (CLASSES, "label,id\nyes,123", ""),
        (CLASSES, "label,task\nyes,t_12", "'t_12' may be the beginning of 't_123'"),
        (CLASSES, "task,label,skipped\nt_x,yes,", "'' may be the beginning of 'true'"),
        (CLASSES, "task,label,skipped\nt_x,yes,no", ""),
        (CLASSES, "task,label,annotator\nt_9,yes,Ann\nt_x,yes,An", "the beginning of 'Ann'"),
        (CLASSES, "task,label,annotator\nt_9,yes,Ann\nt_x,yes,Ann", ""),
        (NUMBERS, "task,label\nt_x,5", "'5' may be the beginning of another number"),
        (NUMBERS, "task,label\nt_x,5\n", ""),
        (SETS, "task,label\nt_x,a", "'a' may be the beginning of a larger set"),
        (SETS, "task,label\nt_x,b+a", ""),
        (Classes((1, 10), 1), "task,label\nt_x,1", "beginning of '10'"),
        (Classes(), "task,clerical_match_score\nt_x,0",
         "'0' may be the beginning of another number"),
        (Classes(), "task,clerical_match_score\nt_x,0.7", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("replace", [False, True])
def test_what_may_go_on_is_held_back(
    labels: LabelSpace, text: str, words: str, replace: bool
) -> None:
    votes = read_votes("votes.csv", text.encode())
    taken, rejects = check_votes(votes, register(labels), replace)
    assert len(taken) == len(votes) - bool(words)
    assert [words in reject.reason for reject in rejects] == [True] * bool(words)
    for reject in rejects:
        assert "the file ends here without the end of a line" in reject.reason


@pytest.mark.parametrize("name", [*FORMATS, "votes.json"])
@pytest.mark.parametrize("order", [("task", "label"), ("label", "task"), ("label", "id")])
def test_cut_anywhere_nothing_is_read_that_the_whole_does_not_say(
    name: str, order: tuple[str, str]
) -> None:
    for seed in range(60):
        draw = random.Random(seed)
        places = draw.sample(range(len(IDS)), draw.randint(1, len(IDS)))
        labels = draw.choices(["no", "no idea", "un", "unsure", "yes"], k=len(IDS))
        fields = {"id": IDS, "task": [f"t_{id}" for id in IDS], "label": labels}
        names = ("task", "label") if name == "votes.json" else order
        rows = [[fields[column][row] for column in names] for row in places]
        content = written(name, rows, names)
        whole, rejects = check_votes(read_votes(name, content), register(CLASSES))
        assert not rejects
        said = {(row, vote.label) for row, vote in whole}
        cut = content[: draw.randrange(len(content))]
        try:
            votes = read_votes(name, cut)
        except InputError:
            continue
        taken, _ = check_votes(votes, register(CLASSES))
        assert {(row, vote.label) for row, vote in taken} <= said


def with_classes(job: Any, **labels: Any) -> Job:
    """A job whose class of most rows is the beginning of another."""
    pool = make_pool()
    names = ["no", "no idea"]
    column = pool.table.schema.get_field_index("prediction")
    prediction = [names[one] for one in pool.table["prediction"].to_pylist()]
    table = pool.table.set_column(column, "prediction", [prediction])
    one: Job = job(
        Pool(table, {id: names[label] for id, label in pool.truth.items()}),
        labels={"classes": names, **labels},
        measure=["f1", "accuracy"],
        strata={"leaves": 4},
    )
    assert one.prepare().status == 0
    assert one.sample().status == 0
    return one


def test_six_bytes_missing_bring_no_label_that_sticks(job: Any) -> None:
    one = with_classes(job)
    tasks = [task for task, _ in one.answers(1)]
    whole = one.deliver([*((task, "no") for task in tasks[:-1]), (tasks[-1], "no idea")], "a.csv")
    content = whole.read_bytes().rstrip()
    cut = whole.with_name("cut.csv")
    cut.write_bytes(content[:-5])
    told = one.estimate("--labels", cut)
    assert (told.json["labels"], told.json["open"], told.json["rejects"]) == (19, 1, 1)
    assert "'no' may be the beginning of 'no idea'" in told.err
    cut.write_bytes(content)  # The upload came to its end, under the same name.
    told = one.estimate("--labels", cut)
    assert (told.json["labels"], told.json["open"], told.json["rejects"]) == (20, 0, 0)
    assert "it begins with a delivery that was taken before, and replaces it" in told.err
    [label] = [vote for vote in votes_of(one) if vote[0] == tasks[-1]]
    assert label[1:] == (None, "no idea")


def votes_of(one: Job) -> list[tuple[str, str | None, str]]:
    """Task, annotator and label of all votes that stand."""
    snapshot = Snapshot.at(one.workspace)
    columns = ("task", "annotator", "label")
    return [
        vote
        for delivery in snapshot.deliveries
        for vote in zip(*(delivery.votes[name].to_pylist() for name in columns), strict=True)
    ]


@pytest.mark.parametrize(
    "seed",
    fast(1, range(10)),
)
def test_cut_anywhere_the_whole_file_decides(job: Any, seed: int) -> None:
    """One after the other come longer and longer parts; in the end all is as if it came at once."""
    draw = random.Random(seed)
    votes = draw.choice([1, 2])
    one, other = (with_classes(job, **({"votes": 2} if votes == 2 else {})) for _ in range(2))
    columns = ["task", "label", "annotator", "comment"]
    draw.shuffle(columns)
    results = []
    for place, by in enumerate((one, other)):
        given = random.Random(seed)
        rows = [
            {"task": task, "annotator": name, "comment": given.choice(["", "hm, why\nnot"]),
             "label": given.choice(["no", "no idea", "unsure", ""])}
            for task, _ in by.asked(1)[:8]
            for name in ["Ann", "Anna"][:votes]
        ]  # fmt: skip
        whole = by.deliver([[row[name] for name in columns] for row in rows], "whole.csv",
                           ",".join(columns))  # fmt: skip
        content = whole.read_bytes()
        content = content.rstrip() if given.random() < 0.3 else content
        head = content.index(b"\n") + 1
        cuts = sorted(given.randrange(head, len(content)) for _ in range(4 * (1 - place)))
        for cut in cuts:
            part = whole.with_name("part.csv")
            part.write_bytes(content[:cut])
            assert by.estimate("--labels", part).status in (0, 1)
        whole.write_bytes(content)
        told, ids = by.estimate("--labels", whole), dict(by.asked(1))
        assert told.status == 0
        results.append((told.json["labels"], told.json["open"], told.json["rejects"],
                        told.json["measures"], told.json["missing"],
                        sorted((str(ids[task]), *map(str, vote))
                               for task, *vote in votes_of(by))))  # fmt: skip
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_file_that_grows_says_nothing_twice(drawn: Job) -> None:
    """Not even what a correction has changed meanwhile."""
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers[:10], "a.csv"))
    (task, label), *_ = answers
    corrected = str(1 - int(label))
    drawn.estimate("--replace", drawn.deliver([(task, corrected)], "correction.csv"))
    told = drawn.estimate("--labels", drawn.deliver(answers, "a.csv"))
    assert (told.json["labels"], told.json["rejects"]) == (20, 0)
    assert "a.csv: 10 taken, 0 rejected; it begins with" in told.err
    assert (task, None, label) in votes_of(drawn)
    snapshot = Snapshot.at(drawn.workspace)
    assert snapshot.labels[snapshot.question_of_task[task]] == int(corrected)
    before = measures(drawn)
    drawn.deliver(answers[:10], "a.csv")
    again = drawn.estimate("--labels", drawn.directory / "a.csv")
    assert "a.csv: a file that begins with it was taken, nothing changed" in again.err
    assert again.json["measures"] == before


def test_part_and_whole_in_one_folder(drawn: Job) -> None:
    zone = drawn.directory / "zone"
    zone.mkdir()
    answers = drawn.answers(1)
    drawn.deliver(answers, "zone/a.csv")
    drawn.deliver(answers[:5], "zone/b.csv")
    told = drawn.estimate("--labels", zone)
    assert (told.json["labels"], told.json["rejects"]) == (20, 0)
    assert f"{zone}/b.csv: {zone}/a.csv begins with it and goes on" in told.err
    assert drawn.estimate("--labels", zone).json["labels"] == 20


@pytest.mark.slow
def test_rejects_of_a_part_are_judged_in_the_whole(drawn: Job) -> None:
    rows = [("t_nobody", "1"), *drawn.answers(1)]
    for count in (1, 5, 21):
        told = drawn.estimate("--labels", drawn.deliver(rows[:count], "a.csv"))
        assert (told.json["labels"], told.json["rejects"]) == (count - 1, 1)
    assert call("status", drawn.workspace, "--json").json["rejects"] == 1
