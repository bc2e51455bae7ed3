"""Deliveries that were cut short bring no label that the whole file does not."""

import dataclasses
import random

import pytest

from evalsampling import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.classes import Classes
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.label_spaces.sets import Sets
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.votes import check_votes
from evalsampling.spec import EvaluationSpec, LabelsSpec
from tests.labels.deliveries import FORMATS, register_of, written
from tests.slow import slowly

IDS = ["12", "123", "9", "x"]


def register(space: LabelSpace) -> Register:
    return register_of([f"t_{id}" for id in IDS], IDS, space)


def spec_of(space: LabelSpace) -> EvaluationSpec:
    spec = EvaluationSpec.from_mapping({"pool": {"path": "x", "score": "s"}}, "/")
    return dataclasses.replace(spec, labels=LabelsSpec(space, "deterministic"))


CLASSES = Classes(("no", "no idea", "yes", "un"), 2)
NUMBERS = Numbers(0.0, 10.0)
SETS = Sets(("a", "b"))


@pytest.mark.parametrize(
    ("labels", "text", "is_cut"),
    [
        (CLASSES, "task,label\nt_x,no", True),  # or `no idea`
        (CLASSES, "task,label\nt_x,un", True),  # or `unsure`
        (CLASSES, "task,label\nt_x,yes", False),
        (CLASSES, "task,label\nt_x,No", True),
        (CLASSES, "task,label\nt_x,no idea", False),
        (CLASSES, "task,label\nt_x,no\n", False),
        (CLASSES, "task,label\r\nt_x,no\r", False),
        (CLASSES, "task,label,comment\nt_x,no,wh", False),
        (CLASSES, "label,id\nyes,12", True),
        (CLASSES, "label,id\nyes,12\n", False),
        (CLASSES, "label,task\nyes,t_12", True),
        (CLASSES, "task,label,skipped\nt_x,yes,", True),
        (CLASSES, "task,label,skipped\nt_x,yes,no", False),
        (CLASSES, "task,label,annotator\nt_9,yes,Ann\nt_x,yes,An", True),
        (NUMBERS, "task,label\nt_x,5", True),
        (NUMBERS, "task,label\nt_x,5\n", False),
        (SETS, "task,label\nt_x,a", True),
        (SETS, "task,label\nt_x,b+a", False),
        (Classes((1, 10), 1), "task,label\nt_x,1", True),
        (Classes(), "task,label\nt_x,1", False),
        (Classes(), "task,clerical_match_score\nt_x,0", True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("replace", [False, True])
def test_what_may_go_on_is_held_back(
    labels: LabelSpace, text: str, is_cut: bool, replace: bool
) -> None:
    votes = read_votes("votes.csv", text.encode(), spec_of(labels).labelling)
    taken, rejects = check_votes(votes, register(labels), replace)
    assert (len(taken), len(rejects)) == (len(votes) - is_cut, is_cut)
    for reject in rejects:
        assert "the file ends here without the end of a line, so '" in reject.reason


def test_a_row_without_an_answer_is_not_held_back() -> None:
    votes = read_votes("votes.csv", b"label,id\n,12", spec_of(CLASSES).labelling)
    assert check_votes(votes, register(CLASSES)) == ([], [])


@pytest.mark.parametrize("name", [*FORMATS, "votes.json"])
@pytest.mark.parametrize("order", [("task", "label"), *slowly(("label", "task"), ("label", "id"))])
def test_cut_anywhere_nothing_is_read_that_the_whole_does_not_say(
    name: str, order: tuple[str, str]
) -> None:
    for seed in range(30):
        draw = random.Random(seed)
        places = draw.sample(range(len(IDS)), draw.randint(1, len(IDS)))
        labels = draw.choices(["no", "no idea", "un", "unsure", "yes"], k=len(IDS))
        fields = {"id": IDS, "task": [f"t_{id}" for id in IDS], "label": labels}
        names = ("task", "label") if name == "votes.json" else order
        rows = [[fields[column][row] for column in names] for row in places]
        content = written(name, rows, names)
        votes = read_votes(name, content, spec_of(CLASSES).labelling)
        whole, rejects = check_votes(votes, register(CLASSES))
        assert not rejects
        said = {(row, vote.label) for row, vote in whole}
        cut = content[: draw.randrange(len(content))]
        try:
            votes = read_votes(name, cut, spec_of(CLASSES).labelling)
        except InputError:
            continue
        taken, _ = check_votes(votes, register(CLASSES))
        assert {(row, vote.label) for row, vote in taken} <= said
