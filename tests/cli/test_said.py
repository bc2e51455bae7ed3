"""Sentences said of small and unusual evaluations: where they are true, and only there."""

import dataclasses
import functools
import html
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from tests.jobs import call
from tests.slow import fast

ROWS = 300
RNG = np.random.default_rng(0)
SCORE = RNG.beta(1, 3, ROWS)
IS_POSITIVE = (RNG.random(ROWS) < SCORE).astype(int)
PREDICTED = (SCORE >= 0.5).astype(int)

F1 = ("f1", "precision", "recall")


@dataclasses.dataclass(frozen=True)
class State:
    """An evaluation in memory: its pool, its rounds, and which rows of the last have no label.

    Attributes:
        rows: of the pool, the first of `SCORE`.
        rounds: rows of each round.
        score: of all rows, `SCORE` if not given.
        predicted: predictions, `PREDICTED` if not given.
        truth: labels, `IS_POSITIVE` if not given.
        open: rows of the last round without a label.
        spec: other keys of it.
    """

    rows: int = ROWS
    rounds: tuple[int, ...] = ()
    score: Any = None
    predicted: Any = None
    truth: Any = None
    open: int = 0
    spec: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def evaluation(self) -> Evaluation:
        """The evaluation, with its labels."""
        score, predicted, truth = (
            np.broadcast_to(own if given is None else given, ROWS)[: self.rows]
            for own, given in (
                (SCORE, self.score),
                (PREDICTED, self.predicted),
                (IS_POSITIVE, self.truth),
            )
        )
        spec = {"measure": list(F1), "seed": 1, **self.spec}
        evaluation = Evaluation.from_arrays(score.copy(), predicted.copy(), **spec)
        for number, size in enumerate(self.rounds, start=1):
            ids = np.asarray(evaluation.sample(size))
            ids = ids[: len(ids) - self.open * (number == len(self.rounds))]
            if len(ids):
                evaluation.label(ids, truth[ids])
        return evaluation


STATES = {
    "no label": State(),
    "one row": State(1, (10,), predicted=0),
    "one row, no label": State(1),
    "two rows": State(2, (10,), score=[0.2, 0.4] * 150, predicted=0),
    "ten rows, all labelled": State(10, (10,), truth=[0, 1] * 150),
    "one label": State(rounds=(1,)),
    "nine labels": State(rounds=(9,)),
    "fifty labels": State(rounds=(50,)),
    "half of the pool": State(rounds=(150,)),
    "all labelled": State(rounds=(300,)),
    "nothing predicted": State(rounds=(50,), predicted=0),
    "nothing predicted, precision": State(predicted=0, spec={"measure": "precision"}),
    "nothing predicted, MCC": State(predicted=0, spec={"measure": "mcc"}),
    "nothing predicted, MCC too": State(
        rounds=(50,), predicted=0, spec={"measure": ["accuracy", "mcc"]}
    ),
    "all predicted": State(rounds=(50,), predicted=1),
    "no positive": State(rounds=(50,), truth=0),
    "all positive": State(rounds=(50,), truth=1),
    "all right": State(
        rounds=(60,), truth=PREDICTED, spec={"measure": ["accuracy"], "sampler": "passive"}
    ),
    "ties": State(rounds=(60,), score=0.3),
    "part of a round open": State(rounds=(40, 40), open=20),
    "a whole round open": State(rounds=(40, 40), open=40),
    "all rounds open": State(rounds=(40,), open=40),
    "one row open": State(rounds=(40,), open=1),
    "curve far off": State(
        rounds=(100,),
        truth=(np.arange(ROWS) % 7 == 0).astype(int),
        spec={"measure": ["f1", "recall", "accuracy"]},
    ),
}

_DEPENDS = "other rows that it depends on: then"
_UNSEEN = "nothing of what no labelled row shows"

SAID = (
    # Forecasts.
    ("python", "half of the pool", "No affordable number of labels", False),
    ("python", "half of the pool", f"For ± 0.03 label the [0-9]+ {_DEPENDS}", True),
    ("python", "fifty labels", f"± 0.05 label the 7 {_DEPENDS} it is exact", True),
    ("python", "fifty labels", r"For ± [\d.]+ expect \d+ to \d+ labels", True),
    ("python", "all labelled", "expect (about|to)", False),
    ("python", "nothing predicted", "expect (about|to)", False),
    ("python", "no positive", r"For ± \S+e-\d+", False),
    ("python", "all positive", r"For ± \S+e-\d+", False),
    # Positives that were not met.
    ("python", "nothing predicted", r"The (low|high) end allows for positives", False),
    ("python", "all predicted", r"Recall 1\.000 \(1\.000 to 1\.000\)\.\s+The low end", False),
    ("python", "all predicted", "The low end allows for positives that score lower", False),
    ("python", "no positive", "every labelled positive", False),
    ("python", "one label", "every labelled positive", False),
    # Exact numbers rest on nothing.
    ("python", "all labelled", "every row that it depends on has a label", True),
    ("python", "all labelled", "rests on how rows were drawn", False),
    ("report", "all labelled", "rests on how rows were drawn", False),
    ("python", "fifty labels", "holds if positives become likelier as the score rises", True),
    ("estimate --detail", "half of the pool", "rests on how rows were drawn; it knows", True),
    ("estimate --detail", "all right", f"design-based: .* {_UNSEEN}", True),
    ("estimate", "all labelled", "In brackets are 95 % intervals", False),
    ("estimate", "no label", "In brackets are 95 % intervals", False),
    ("estimate", "fifty labels", "In brackets are 95 % intervals", True),
    # Numbers that are undefined.
    ("python", "nothing predicted", "the pool has no predicted positives", True),
    ("python", "nothing predicted, MCC too", "among the labelled rows", False),
    ("python", "nothing predicted, MCC too", "MCC cannot be estimated: mcc is undefined", True),
    ("python", "nothing predicted, MCC", "no labels yet", False),
    ("python", "nothing predicted, MCC", "the pool has no positives, no negatives, no pred", True),
    ("python", "no positive", "no positives among the labelled rows", True),
    ("python", "no label", "no labels yet", True),
    # What was seen.
    ("python", "no positive", "only 0 positives", False),
    ("python", "no positive", "f1: no positives seen, fewer than 10", True),
    ("python", "nine labels", r"only 1 \w+ positives", False),
    # Labels that are missing.
    ("python", "part of a round open", "others of their round stand for them", True),
    ("python", "a whole round open", "40 of 80 rows drawn have no label", True),
    ("python", "a whole round open", "others of their round stand for them", False),
    ("python", "all rounds open", "others of their round stand for them", False),
    ("python", "one row open", "1 of 40 rows drawn has no label", True),
    # What is left to draw.
    ("sample", "nothing predicted, precision", "has been drawn", False),
    ("sample", "nothing predicted, precision", "no row of the pool can add to the measure", True),
    ("sample", "ten rows, all labelled", "no row of the pool can add to the measure", False),
    ("sample", "part of a round open", "40 rows to label", False),
    ("sample", "part of a round open", "round 2: 40 rows in", True),
    ("sample", "fifty labels", "rows to label in", True),
    # The report.
    ("report", "no label", "The next step is to label a first batch", True),
    ("report", "nothing predicted, precision", "The next step is to label", False),
    ("report", "nothing predicted, precision", "There is nothing to label", True),
    ("report", "all labelled", "its budget is spent, or its goal is met", False),
    ("report", "all labelled", "or no row is left whose label could add to it", True),
    ("report", "half of the pool", "The evaluation is done", False),
    ("report", "a whole round open", "40 labels out of a pool of 300 rows, drawn in 2", False),
    ("report", "a whole round open", "after 2 rounds; 40 tasks are still open", True),
    ("report", "one label", "rests on 1 label out of a pool of 300 rows, after 1 round", True),
    ("report", "one row", "a pool of 1 row", True),
    ("report", "ties", "Positives with low scores are rarely drawn", False),
    # Scores.
    ("python", "one row, no label", "1 rows|1 cells", False),
    ("python", "one row, no label", "1 row in 1 cell", True),
    ("python", "one row, no label", "of the rows have the same probability", False),
    ("python", "two rows", "Rows with the same probability are drawn alike", False),
    ("python", "ties", "100 % of the rows have the same probability", True),
    ("estimate", "one label", "1 label, 0 open", True),
)
"""Where it is looked for, the state, a sentence as a pattern, and whether it is said."""


FAST = (
    "no label", "one row, no label", "fifty labels", "half of the pool", "all labelled",
    "nothing predicted", "nothing predicted, precision", "nothing predicted, MCC",
    "a whole round open",
)  # fmt: skip
"""States of which `make test` looks at all sentences; `make test-slow` looks at all states."""


def told(place: str, evaluation: Evaluation, folder: Path) -> str:
    """All that is said of an evaluation in Python, by a command, or on the page of a report."""
    if place == "python":
        scores = evaluation.scores
        return "\n".join(map(str, (evaluation, scores and scores.words, evaluation.estimate())))
    evaluation.save(folder / "run")
    if place != "report":
        command, *options = place.split()
        result = call(command, folder / "run", *options).done
        return result.out + result.err
    assert call("report", folder / "run", "--to", folder / "page.html").status == 0
    page = (folder / "page.html").read_text()
    page = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """Returns what is said of a state in a place; each is made once."""
    made = functools.cache(lambda state: STATES[state].evaluation())

    @functools.cache
    def text(place: str, state: str) -> str:
        return " ".join(told(place, made(state), tmp_path_factory.mktemp("said")).split())

    return text


@pytest.mark.parametrize(
    ("place", "state", "sentence", "is_said"),
    [pytest.param(*line, marks=() if line[1] in FAST else pytest.mark.slow) for line in SAID],
)
def test_sentence(
    said: Callable[[str, str], str], place: str, state: str, sentence: str, is_said: bool
) -> None:
    assert (re.search(sentence, said(place, state)) is not None) is is_said, said(place, state)


@pytest.mark.parametrize(
    "state", fast(4, [name for name, state in STATES.items() if len(state.rounds)])
)
def test_numbers_of_sentences_fit_each_other(state: str) -> None:
    """No interval is said to reach beyond another, and no forecast is below what there is."""
    evaluation = STATES[state].evaluation()
    labels, rows = len(evaluation.history.labelled), evaluation.analysis.table.rows
    for estimate in evaluation.estimate():
        aside, part, outlook = estimate.without_unmet, estimate.unsearched, estimate.outlook
        if aside is not None:
            assert estimate.low <= aside.low <= aside.high <= estimate.high
        if outlook is not None and outlook.labels is not None:
            assert labels < outlook.labels <= rows
            assert outlook.half_width < estimate.half_width
        if estimate.value is not None:
            assert estimate.low <= estimate.value <= estimate.high
        if part is not None:
            assert 0 < part.positives <= part.rows - part.labelled
