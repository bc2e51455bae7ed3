"""A truth table of scores: kind by type by format, with the numbers worked out by hand.

Every pool has 400 rows; the last 40 are predicted positive, where no case says otherwise. Positive
are 30 of these and 10 others: F1 = 2 30 / (40 + 40) = .75.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, EvaluationSpec
from evalsampling.errors import InputError
from evalsampling.preparation.plan import read_table, stratify_pool
from evalsampling.preparation.stratification import Stratification
from tests.jobs import Pool, call
from tests.slow import fast

ROWS, PREDICTED = 400, 40
TRUTH = np.zeros(ROWS, dtype=np.int64)
TRUTH[370:] = 1  # 30 of those predicted
TRUTH[:10] = 1
NO, YES = ROWS - PREDICTED, PREDICTED


def two(low: float, high: float) -> np.ndarray:
    """One score for those predicted negative, one for the others."""
    return np.repeat([low, high], [NO, YES])


def but(scores: np.ndarray, value: float, rows: int, first: int = NO) -> np.ndarray:
    """The scores with a value in place of some."""
    changed = scores.copy()
    changed[first : first + rows] = value
    return changed


@dataclasses.dataclass(frozen=True)
class Case:
    """Scores, and what is made of them.

    Attributes:
        scores: shape (400,).
        kind: what they are.
        expected: positives that the prior expects.
        brier: if they are no order.
        dtype: they are stored as.
        predicted: how many of the last rows are predicted positive.
        keys: of the pool.
        said: in the line about the scores.
    """

    scores: np.ndarray
    kind: str
    expected: float
    brier: float | None = None
    dtype: Any = "float64"
    predicted: int = PREDICTED
    keys: dict[str, Any] = dataclasses.field(default_factory=dict)
    said: str = ""


def expit(score: float) -> float:
    return 1 / (1 + float(np.exp(-score)))


# Squares of the positive class; the measure adds those of both, which are as many.
# Of .01 and .9: 30 hits, 10 misses of those predicted, 10 hits and 350 misses of the others.
BRIER = (30 * 0.1**2 + 10 * 0.9**2 + 10 * 0.99**2 + 350 * 0.01**2) / ROWS
CHANCES, TWO_CHANCES = 360 * 0.01 + 40 * 0.9, two(0.01, 0.9)
# Two of those predicted, both negative, have 1 in place of .9.
CUT = BRIER + 2 * (1 - 0.81) / ROWS
HARD = 20 / ROWS  # 10 wrong each way
ODDS = 360 * expit(-5) + 40 * expit(3)
OFF = (30 * (1 - expit(3)) ** 2 + 10 * expit(3) ** 2 + 10 * expit(5) ** 2) / ROWS
BRIER_ODDS = OFF + 350 * expit(-5) ** 2 / ROWS
SHIFTED = 360 * expit(-1) + 40 * expit(7)

CASES = {
    "probability": Case(
        TWO_CHANCES, "probability", CHANCES, BRIER, said="probability of a positive 0.01 to 0.9"
    ),
    "probability, float32": Case(TWO_CHANCES, "probability", CHANCES, BRIER, "float32"),
    "probability, float16": Case(TWO_CHANCES, "probability", CHANCES, BRIER, "float16"),
    "probability a hair above 1": Case(
        but(TWO_CHANCES, 1.0000054, 2), "probability", CHANCES + 0.2, CUT,
        said="; 2 rows outside [0, 1] by rounding are cut to it",
    ),
    "probability a hair above 1, float32": Case(
        but(TWO_CHANCES, 1.0000001, 2), "probability", CHANCES + 0.2, CUT, "float32",
        said="2 rows outside",
    ),
    "probability a step above 1, float16": Case(
        but(TWO_CHANCES, 1.0009765625, 2), "probability", CHANCES + 0.2, CUT, "float16",
        said="2 rows outside",
    ),
    "probability a hair below 0": Case(
        but(TWO_CHANCES, -1e-9, 5, 100), "probability", CHANCES - 0.05,
        BRIER - 5 * 0.01**2 / ROWS, said="5 rows outside",
    ),
    "probability, stated": Case(
        TWO_CHANCES, "probability", CHANCES, BRIER, keys={"score_is": "probability"},
        said="as the spec says",
    ),
    "probability, stated, a hair above 1": Case(
        but(TWO_CHANCES, 1.0000054, 2), "probability", CHANCES + 0.2, CUT,
        keys={"score_is": "probability"}, said="2 rows outside",
    ),
    "confidence": Case(
        two(0.99, 0.9), "probability", CHANCES, BRIER, keys={"score_is": "confidence"},
        said="'score' is read as the confidence in the class predicted, as the spec says",
    ),
    "confidence, float32": Case(
        two(0.99, 0.9), "probability", CHANCES, BRIER, "float32", keys={"score_is": "confidence"}
    ),
    "confidence, all predicted": Case(
        TWO_CHANCES, "probability", CHANCES, BRIER, predicted=ROWS, keys={"score_is": "confidence"}
    ),
    "verdicts as scores": Case(two(0, 1), "probability", 40, HARD, "int64"),
    "verdicts as small scores": Case(two(0, 1), "probability", 40, HARD, "uint8"),
    "the same probability everywhere": Case(
        np.full(ROWS, 0.1), "probability", 40, (40 * 0.81 + 360 * 0.01) / ROWS
    ),
    "probability, nothing predicted": Case(
        TWO_CHANCES, "probability", CHANCES, BRIER, predicted=0
    ),
    "probability, all predicted": Case(
        TWO_CHANCES, "probability", CHANCES, BRIER, predicted=ROWS
    ),
    "log-odds": Case(two(-5, 3), "log-odds", ODDS, BRIER_ODDS, said="read as log-odds"),
    "log-odds, float32": Case(two(-5, 3), "log-odds", ODDS, BRIER_ODDS, "float32"),
    "log-odds, float16": Case(two(-5, 3), "log-odds", ODDS, BRIER_ODDS, "float16"),
    "log-odds, whole": Case(two(-5, 3), "log-odds", ODDS, BRIER_ODDS, "int32"),
    "log-odds, sentinels": Case(
        but(two(-5, 3), -9999.0, 10, 100), "log-odds", ODDS - 10 * expit(-5),
        BRIER_ODDS - 10 * expit(-5) ** 2 / ROWS,
    ),
    "log-odds with a shift": Case(
        two(-1, 7), "order", 40, said=f"it would expect {SHIFTED:.0f} positives where 40 are"
    ),
    "log-odds with a shift, stated": Case(
        two(-1, 7), "log-odds", SHIFTED, keys={"score_is": "log-odds"}, said="as the spec says"
    ),
    "log-odds, stated, of float32": Case(
        two(-1, 7), "log-odds", SHIFTED, None, "float32", keys={"score_is": "log-odds"}
    ),
    "log-odds, nothing predicted": Case(two(-5, 3), "order", 40, predicted=0),
    "log-odds, all predicted": Case(two(-5, 3), "order", 360, predicted=ROWS),
    "order, stated, in [0, 1]": Case(
        two(0.3, 0.9), "order", 40, keys={"score_is": "order"}, said="as the spec says"
    ),
    "cosine": Case(two(-0.3, 0.9), "order", 40, said="it goes from -0.3 to 0.9"),
    "cosine, float32": Case(two(-0.25, 0.75), "order", 40, None, "float32"),
    "similarity in [0, 1], stated": Case(
        two(0.4, 0.8), "order", 40, None, "float32", keys={"score_is": "order"}
    ),
    "marks from 1 to 5": Case(but(two(2, 5), 1, 100, 0), "order", 40, None, "int64"),
    "marks from 1 to 5 as bytes": Case(two(2, 5), "order", 40, None, "uint8"),
    "marks, most predicted": Case(two(2, 5), "order", 300, None, "float32", predicted=300),
    "margin": Case(two(-0.3, 1.2), "order", 40),
    "0 to 100": Case(two(5, 98), "order", 40, None, "int16", said="it goes from 5 to 98"),
    "percent": Case(two(0.5, 99.5), "order", 40),
    "percent, float32": Case(two(0.5, 99.5), "order", 40, None, "float32"),
    "counts": Case(two(0, 12), "order", 40, None, "uint32"),
    "distances, turned round": Case(two(-80, -0.5), "order", 40),
    "the same score everywhere": Case(np.full(ROWS, 7.0), "order", 40),
    "out of all range": Case(two(-1e300, 1e300), "log-odds", 40, HARD),
    "tiny steps above 1": Case(two(1.5, 1.500001), "order", 40),
}  # fmt: skip


def table_of(case: Case) -> pa.Table:
    prediction = (np.arange(ROWS) >= ROWS - case.predicted).astype(np.int8)
    columns = {"id": np.arange(ROWS), "score": case.scores.astype(case.dtype)}
    return pa.table({**columns, "prediction": prediction})


def tolerance(case: Case) -> float:
    """Half the digits of float16; else float32's, since cells sum up rounded probabilities."""
    return 2e-3 if case.dtype == "float16" else 1e-6


@pytest.mark.parametrize("name", CASES)
def test_scores_in_memory(name: str) -> None:
    case = CASES[name]
    evaluation = Evaluation.from_frame(table_of(case), **case.keys, strata={"leaves": 8})
    scores = evaluation.scores
    assert scores.kind == case.kind
    assert scores.expected == pytest.approx(case.expected, rel=tolerance(case))
    assert case.said in scores.words


SOME = ("probability a hair above 1", "verdicts as small scores", "log-odds, float16",
        "log-odds, whole", "log-odds, stated, of float32", "order, stated, in [0, 1]", "cosine",
        "0 to 100", "out of all range")  # fmt: skip


@pytest.mark.parametrize("name", fast(len(SOME), {**dict.fromkeys(SOME), **CASES}))
def test_scores_in_a_file_are_what_they_are_in_memory(name: str, tmp_path: Path) -> None:
    """And stay so when the workspace is read again."""
    case = CASES[name]
    pq.write_table(table_of(case), tmp_path / "pool.parquet", row_group_size=90)
    content = {"pool": {"path": "pool.parquet", **case.keys}, "strata": {"leaves": 8}}
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    stratification = stratify_pool(spec.reading)
    again = Stratification.from_mapping(stratification.to_mapping(), spec.reading)
    found = again.score_summary(read_table(again))
    evaluation = Evaluation.from_frame(table_of(case), **case.keys, strata={"leaves": 8})
    assert found == evaluation.scores


@pytest.mark.parametrize(
    "name", fast(8, [name for name, case in CASES.items() if case.brier is not None])
)
def test_every_row_labelled_gives_the_numbers_by_hand(name: str) -> None:
    case = CASES[name]
    evaluation = Evaluation.from_frame(
        table_of(case), **case.keys, measure=["brier", "f1"], sampler="passive"
    )
    ids = evaluation.sample(ROWS)
    evaluation.label(ids, TRUTH[ids])
    brier, f1 = evaluation.estimate()
    assert brier.value == pytest.approx(2 * case.brier, rel=tolerance(case))
    if case.predicted == PREDICTED:
        assert f1.value == pytest.approx(0.75)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kind == "order"])
def test_probabilities_of_an_order_are_refused(name: str) -> None:
    case = CASES[name]
    asked = Evaluation.from_frame(table_of(case), **case.keys)
    for measure in ("brier", "log_loss"):
        words = f"{measure} needs a probability, and 'score' is an order"
        with pytest.raises(InputError, match=words):
            Evaluation.from_frame(table_of(case), **case.keys, measure=measure)
        with pytest.raises(InputError, match=words):
            asked.estimate(measure)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "avro"])
@pytest.mark.parametrize(
    "name",
    ["probability a hair above 1", "confidence", "log-odds", "log-odds with a shift", "0 to 100"],
)
def test_scores_in_every_format(name: str, suffix: str, tmp_path: Path) -> None:
    case = CASES[name]
    table = table_of(case).append_column("name", pa.array([f"row {i}" for i in range(ROWS)]))
    Pool(table, {}).write_as(suffix, tmp_path / "pool", files=3)
    content = {"pool": {"path": f"pool/*.{suffix}", **case.keys}, "strata": {"leaves": 8}}
    stratification = stratify_pool(EvaluationSpec.from_mapping(content, tmp_path).reading)
    found = stratification.score_summary(read_table(stratification))
    assert found.kind == case.kind
    assert found.expected == pytest.approx(case.expected, rel=tolerance(case))


@pytest.mark.parametrize("systems", [1, 2])
def test_a_confidence_says_what_the_probability_says(systems: int) -> None:
    """Rows drawn and estimates are the same, also of fields and beside another system."""
    rng = np.random.default_rng(3)
    chance = rng.beta(0.3, 2, 3000)
    truth, says = rng.random(3000) < chance, chance > 0.6
    confidence = np.where(says, chance, 1 - chance)
    found = []
    for score, keys in ((1 - (1 - chance), {}), (confidence, {"score_is": "confidence"})):
        own: dict[str, Any] = {"score": "s.new", "prediction": "says", **keys}
        both = {"new": own, "old": {"score": "old", "prediction": "late"}}
        inner = pa.StructArray.from_arrays([pa.array(score)], ["new"])
        pool = {"id": np.arange(3000), "s": inner, "says": says, "old": chance**2}
        pool["late"] = chance > 0.8
        named = own if systems == 1 else {"systems": both}
        measures: list[Any] = ["f1", "brier", *[{"difference": "brier"}] * (systems - 1)]
        evaluation = Evaluation.from_frame(pool, seed=5, **named, measure=measures)
        for _ in range(2):
            ids = evaluation.sample(60)
            evaluation.label(ids, truth[ids])
        found.append(([*map(str, evaluation.estimate())], ids.tolist()))
    assert found[0] == found[1]


def test_a_confidence_is_counted_with_the_class_that_it_is_in(tmp_path: Path) -> None:
    """Though the prior has a column of its own, so that the first pass wants no predictions."""
    case = CASES["confidence"]
    table = table_of(case).append_column("prior", pa.array(np.linspace(0, 1, ROWS)))
    pq.write_table(table, tmp_path / "pool.parquet")
    pool = {"path": "pool.parquet", "probability": "prior", **case.keys}
    content = {"pool": pool, "strata": {"edges": [0.5]}, "measure": "average_precision"}
    plan = EvaluationSpec.from_mapping(content, tmp_path).reading
    (ends,) = stratify_pool(plan).scores.ranges
    assert ends == pytest.approx((0.01, 0.9))


def test_systems_have_scores_of_their_own_kinds() -> None:
    """The first drives; Brier scores are for those whose scores are no order."""
    cosine, chance, odds = (
        CASES[name].scores for name in ("cosine", "probability", "log-odds with a shift")
    )
    pool = {"id": np.arange(ROWS), "a": cosine, "b": chance, "c": odds}
    pool["says"] = (np.arange(ROWS) >= NO).astype(int)
    systems = {name: {"score": name, "prediction": "says"} for name in "abc"}
    systems["c"]["score_is"] = "log-odds"
    evaluation = Evaluation.from_frame(pool, systems=systems, measure="f1", sampler="passive")
    assert evaluation.scores.kind == "order"
    assert [words.split(":")[0].split(",")[0] for words in evaluation.scores.read_as] == [
        "'a' is read as an order", "", "'c' is read as log-odds",
    ]  # fmt: skip
    ids = evaluation.sample(ROWS)
    evaluation.label(ids, TRUTH[ids])
    brier = {"name": "brier", "system": "b"}
    [of_b] = evaluation.estimate(brier)
    assert of_b.value == pytest.approx(2 * BRIER)
    with pytest.raises(InputError, match="brier of system a needs a probability, and 'a' is an"):
        evaluation.estimate("brier")


def test_a_stated_probability_far_outside_is_refused_by_its_row(tmp_path: Path) -> None:
    table = table_of(Case(but(TWO_CHANCES, 1.2, 1, 123), "probability", 0))
    pq.write_table(table, tmp_path / "pool.parquet")
    spec = tmp_path / "evaluation.yaml"
    spec.write_text("pool: {path: pool.parquet, score_is: probability}\nworkspace: run\n")
    done = call("prepare", spec, "--in-process")
    assert done.status == 1
    words = r"pool.parquet: column 'score', row 123: a probability lies in \[0, 1\], got 1.2"
    assert re.search(words, done.err)
    with pytest.raises(InputError, match=r"column 'score', row 123: a probability lies in"):
        Evaluation.from_frame(table, score_is="probability")


CONFIDENT = {"score": "score", "prediction": "prediction"}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"score_is": "logit"}, "pool.score_is: must be one of probability, log-odds, order"),
        (
            {
                "score_is": "order",
                "labels": {"classes": [0, 1, 2]},
                "probability": {0: "score", 1: "score", 2: "score"},
            },
            "pool.score_is: is of scores of two classes, here there are 3 classes, of which it may",
        ),
        (
            {"score_is": "confidence", "labels": {"classes": [0, 1, 2]}, "measure": "brier"},
            "measure: brier needs a probability of each class, and 'score' is that of the one pred",
        ),
        (
            {"score_is": "confidence", "labels": {"classes": [0, 1, 2]}, "measure": "roc_auc"},
            "measure: roc_auc needs a score of each class, and 'score' is that of the one predict",
        ),
        (
            {"systems": {"a": {"prediction": "prediction", "score_is": "order"}}, "score": "score"},
            "pool.systems.a.score_is: there is no score",
        ),
        (
            {"score_is": "confidence", "prediction": {"threshold": 0.5}},
            "pool.score_is: a confidence is that of the class predicted: name its column",
        ),
        (
            {"systems": {name: {**CONFIDENT, "score_is": "confidence"} for name in "ab"}},
            "pool.systems: 'score' cannot be the confidence in the predictions of two systems",
        ),
        (
            {"systems": {"a": CONFIDENT}, "score": "score", "score_is": "confidence"},
            "pool.score_is: say of a system that its score is a confidence",
        ),
    ],
)
def test_what_cannot_be_stated_is_told(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Evaluation.from_frame(table_of(CASES["probability"]), **keys)
