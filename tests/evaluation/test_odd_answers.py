"""Answers that are not what they seem are named, and honest ones are not."""

import dataclasses
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.odd_answers import AnswerGroup, _Compared, odd_answers

ROWS = 5000
LABELS = 150

Labels = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Rows:
    """A pool whose scores are right probabilities, and its truth."""

    score: Labels
    prediction: Labels
    truth: Labels

    @classmethod
    def made(cls, seed: int = 0, a: float = 0.3, b: float = 0.5) -> "Rows":
        """Return rows with scores of a beta distribution."""
        rng = np.random.default_rng(seed)
        score = rng.beta(a, b, ROWS)
        return cls(score, (score > 0.5).astype(int), (rng.random(ROWS) < score).astype(int))

    def warnings(self, answer: Callable[..., Any], labels: int = LABELS, **spec: Any) -> list[str]:
        """Return what `estimate` warns of first, given how drawn rows are answered."""
        evaluation = Evaluation.from_arrays(self.score, self.prediction, seed=1, **spec)
        ids = evaluation.sample(labels)
        evaluation.label(ids, answer(self.truth[ids], self.prediction[ids]))
        return list(evaluation.estimate().warnings)


POOL = Rows.made()

SAID = {
    "all positive": (lambda truth, _: truth * 0 + 1, r"All 150 answers are '1'; \d+ of these rows "
                     r"are predicted '0'\. By the scores \d+ would be of another class"),
    "all negative": (lambda truth, _: truth * 0, r"All 150 answers are '0'; \d+ of these rows are "
                     r"predicted '1'\. By the scores \d+ would be of another class"),
    "swapped": (lambda truth, _: 1 - truth, r"The answers contradict the predictions: '1' is said "
                r"of \d+ of \d+ rows predicted '1' and of \d+ of \d+ rows predicted '0'\."),
    "1 where the prediction is right": (lambda truth, told: (truth == told).astype(int),
                                        "The answers contradict the predictions"),
    "moved by a row": (lambda truth, _: np.roll(truth, 1), r"The answers are those of other rows: "
                       r"\d+ of 150 agree with the predictions, and moved up by one row \d+ would"),
    "moved back by a row": (lambda truth, _: np.roll(truth, -1), "moved down by one row"),
    "turned round": (lambda truth, _: truth[::-1], "in the reverse order"),
    "in any order": (lambda truth, _: np.random.default_rng(4).permutation(truth),
                     r"The answers have nothing to do with the predictions: \d+ of 300 agree, \d+ "
                     r"would by chance, and \d+ by the scores"),
    "copied": (lambda _, told: told, r"All 300 answers are what is predicted, where the scores "
               r"expect \d+ to differ"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_odd_is_said_first(name: str) -> None:
    answer, words = SAID[name]
    first = POOL.warnings(answer, 300 if name in ("in any order", "copied") else LABELS)[0]
    assert re.search(words, first), first


def test_honest_answers_are_not_odd() -> None:
    """Nor those that are all predicted, where the scores expect no error."""
    assert POOL.warnings(lambda truth, _: truth) == []
    assert Rows.made(a=0.01, b=0.02).warnings(lambda _, told: told, 300) == []


@pytest.mark.parametrize("written", [0, 1])
def test_one_class_alone_written_down_is_told_of(written: int) -> None:
    """Whoever ticks matches leaves the rest empty; rows that nobody got to are of both classes."""
    evaluation = Evaluation.from_arrays(POOL.score, POOL.prediction, seed=1)
    ids = evaluation.sample(LABELS)
    mine = ids[POOL.truth[ids] == written]
    evaluation.label(mine, POOL.truth[mine])
    (told,) = [each for each in evaluation.estimate().warnings if "without a label are" in each]
    rest = ids[POOL.truth[ids] != written]
    left = np.sum(POOL.prediction[rest] != written)
    assert told.startswith(f"All {LABELS - len(rest)} answers are '{written}', and {left} of")
    evaluation.label(rest, POOL.truth[rest])
    assert not any("without a label" in each for each in evaluation.estimate().warnings)


def test_a_class_of_several_that_is_left_empty_is_told_of() -> None:
    """Of other classes all rows are answered; rows that nobody got to are of all classes."""
    rng = np.random.default_rng(4)
    names = np.array(["ham", "phishing", "spam"])
    truth = rng.choice(names, ROWS, p=[0.6, 0.2, 0.2])
    told = np.where(rng.random(ROWS) < 0.8, truth, rng.choice(names, ROWS))
    columns = {"id": range(ROWS), "told": told}
    evaluation = Evaluation.from_frame(
        columns, id="id", prediction="told", labels={"classes": names.tolist()}, seed=2,
        measure="accuracy",
    )  # fmt: skip
    ids = evaluation.sample(LABELS)
    rest = truth[ids] == "ham"
    evaluation.label(ids[~rest], truth[ids[~rest]])
    first, missed = evaluation.estimate().warnings[0], np.sum(told[ids[rest]] == "ham")
    assert first.startswith(
        f"None of {np.sum(~rest)} answers is 'ham', and {missed} of {np.sum(rest)} rows without"
    )
    evaluation.label(ids[rest], truth[ids[rest]])
    assert not any("without a label" in each for each in evaluation.estimate().warnings)


def test_rows_that_nobody_got_to_yet_are_not_odd() -> None:
    """Nor where all answers so far are one class, as of a system that finds nothing."""
    evaluation = Evaluation.from_arrays(POOL.score / 50, POOL.prediction, seed=1)
    ids = evaluation.sample(LABELS)
    evaluation.label(ids[:50], np.zeros(50, dtype=int))
    assert not any("without a label are" in each for each in evaluation.estimate().warnings)


def test_numbers_of_the_sentence_are_those_of_the_labels() -> None:
    told: list[Labels] = []
    (first, *_) = POOL.warnings(lambda truth, given: [told.append(given), truth * 0 + 1][1])
    assert f"; {np.sum(told[0] == 0)} of these rows are predicted '0'" in first


def test_verdicts_without_probabilities_take_many_others() -> None:
    """Scores that are half as many positives as are predicted, or less, are not believed."""
    low = dataclasses.replace(POOL, score=POOL.score * 1e-3)
    warnings = low.warnings(lambda truth, _: truth * 0 + 1)
    (first,) = [text for text in warnings if text.startswith("All 150 answers are '1'; ")]
    assert first.endswith("of these rows are predicted '0'.")
    assert not [text for text in low.warnings(lambda _, told: told) if "what is predicted" in text]
    poor = dataclasses.replace(low, prediction=(np.arange(ROWS) % 12 == 0).astype(int))
    found = poor.warnings(lambda truth, _: truth * 0, sampler="passive")
    assert not [text for text in found if text.startswith("All ")], "few were predicted positive"


@pytest.mark.parametrize("answer", ["sports", "other"])
def test_more_classes_than_two(answer: str) -> None:
    rng = np.random.default_rng(4)
    names = ["news", "other", "sports"]
    probability = rng.dirichlet([0.4] * 3, ROWS)
    told = np.array(names)[probability.argmax(axis=1)]
    evaluation = Evaluation.from_arrays(
        probability[:, 2], told, probability=probability, labels={"classes": names},
        measure="accuracy", seed=2,
    )  # fmt: skip
    ids = evaluation.sample(100)
    evaluation.label(ids, [answer] * 100)
    first = evaluation.estimate().warnings[0]
    assert first.startswith(f"All 100 answers are '{answer}'; ")
    assert "of these rows are predicted otherwise" in first
    names = {"news": "sports", "sports": "other", "other": "news"}
    evaluation.label(ids, [names[one] for one in told[ids]], replace=True)
    first = evaluation.estimate().warnings[0]
    assert "The answers contradict the predictions: 0 of 100 agree" in first


@pytest.mark.parametrize(("unit", "is_told"), [(100, True), (1, False)])
def test_numbers_in_another_unit(unit: int, is_told: bool) -> None:
    """The mean squared error of percentages answered as shares was 2,850 in place of 54."""
    rng = np.random.default_rng(4)
    predicted = rng.normal(50, 15, ROWS).clip(0, 99)
    truth = (predicted + rng.normal(0, 7, ROWS)).clip(0, 99)
    evaluation = Evaluation.from_frame(
        {"said": predicted, "variance": np.full(ROWS, 49.0)}, prediction="said", seed=2,
        labels={"range": [0, 100]},
    )  # fmt: skip
    ids = evaluation.sample(50)
    evaluation.label(ids, truth[ids] / unit)
    first = next(iter(evaluation.estimate().warnings), "")
    assert first.startswith("All 50 answers lie from ") == is_told
    if is_told:
        ends = np.array(re.findall(r"from (\d+\.\d+) to (\d+\.\d+)", first), dtype=float)
        for (least, most), rows in zip(ends, (truth[ids] / unit, predicted[ids]), strict=True):
            assert (least, most) == pytest.approx((rows.min(), rows.max()), rel=1e-2)


def test_one_good_system_speaks_for_the_answers() -> None:
    """Of two systems, a contrary one says nothing of answers that the other agrees with."""
    columns = {"score": POOL.score, "good": POOL.prediction, "bad": 1 - POOL.prediction}
    systems = {name: {"score": "score", "prediction": name} for name in ("good", "bad")}
    evaluation = Evaluation.from_frame(
        columns, score="score", seed=1, systems=systems, measure="accuracy"
    )
    ids = evaluation.sample(LABELS)
    evaluation.label(ids, POOL.truth[ids])
    assert not [text for text in evaluation.estimate().warnings if "contradict" in text]
    evaluation.label(ids, POOL.truth[ids] * 0, replace=True)
    assert evaluation.estimate().warnings[0].startswith("All 150 answers are '0'")


def test_a_call_that_is_odd_is_found_among_honest_ones_until_it_is_replaced() -> None:
    evaluation = Evaluation.from_arrays(POOL.score, POOL.prediction, seed=1)
    first, second = evaluation.sample(100), evaluation.sample(60)
    evaluation.label(first, POOL.truth[first])
    evaluation.label(second, [1] * 60)
    assert evaluation.estimate().warnings[0].startswith("All 60 answers are '1'")
    evaluation.label(second, POOL.truth[second], replace=True)
    assert evaluation.estimate().warnings == ()


def test_many_small_calls_are_judged_together() -> None:
    evaluation = Evaluation.from_arrays(POOL.score, POOL.prediction, seed=1)
    for part in np.split(evaluation.sample(100), 10):
        evaluation.label(part, [1] * 10)
    assert evaluation.estimate().warnings[0].startswith("All 100 answers are '1'")


def test_errors_that_people_picked_are_not_odd() -> None:
    human, errors = np.full(ROWS, np.nan), np.flatnonzero(POOL.truth != POOL.prediction)
    human[errors[::10]] = POOL.truth[errors[::10]]
    columns = {"score": POOL.score, "prediction": POOL.prediction, "human": human}
    evaluation = Evaluation.from_labelled(columns, label="human", drawn="picked")
    assert not [text for text in evaluation.estimate().warnings if text.startswith("The answers")]


def test_distance_from_chance_is_that_of_all_orders() -> None:
    """Mean and variance of the agreement over all orders of seven answers."""
    evaluation = Evaluation.from_arrays(POOL.score, POOL.prediction, seed=1)
    ids = evaluation.sample(7)
    evaluation.label(ids, POOL.truth[ids])
    predicted = POOL.prediction[ids]
    code = np.array([0, 1, 1, 0, 1, 0, 0])
    compared = _Compared(evaluation.analysis, AnswerGroup("", np.arange(7), code), 0)
    agree = [np.sum(np.array(order) == predicted) for order in itertools.permutations(code)]
    now, chance, distance = compared.agreement()
    assert now == np.sum(code == predicted)
    assert chance == pytest.approx(np.mean(agree))
    assert distance == pytest.approx((now - np.mean(agree)) / np.std(agree))


def test_labels_that_are_no_classes_are_not_judged() -> None:
    evaluation = Evaluation.from_arrays(
        POOL.score,
        POOL.score,
        labels={"range": [0, 1]},
        measure="mse",
        columns={"variance": np.ones(ROWS)},
    )
    ids = evaluation.sample(50)
    evaluation.label(ids, [0.5] * 50)
    assert odd_answers(evaluation.analysis, []) == []


@pytest.mark.slow
@pytest.mark.parametrize("labels", [100, 300])
def test_honest_answers_are_seldom_called_odd(labels: int) -> None:
    """At most 1 in 200 of seeded deliveries, whose scores may be far off.

    Positives are from 1 in 3 to 1 in 50; log-odds are multiplied by 0.4 to 2.5, moved by up to 2
    either way, and blurred, so that predictions are from near perfect to poor.
    """
    rng = np.random.default_rng(labels)
    found, deliveries = [], 0
    for seed in range(40):
        share, slope = rng.uniform(-4, -0.7), np.exp(rng.uniform(-0.9, 0.9))
        true = share + rng.normal(0, np.exp(rng.uniform(-0.5, 1.6)), ROWS)
        truth = rng.random(ROWS) < 1 / (1 + np.exp(-true))
        seen = true + rng.normal(0, rng.uniform(0, 2), ROWS)
        score = slope * seen + rng.uniform(-2, 2)
        told = (score > rng.uniform(-1, 1)).astype(int)
        for sampler in ({}, {"sampler": "passive"}, {"measure": "precision"}):
            try:
                evaluation = Evaluation.from_arrays(score, told, seed=seed, **sampler)
                before = evaluation.analysis
                for draw in range(5):
                    now = dataclasses.replace(before, seed=draw).with_round(labels)
                    pool = evaluation.state.pool  # type: ignore[union-attr]
                    drawn = now.history.with_rows(*pool.describe(now.history))
                    label = truth[pool.ids(drawn.cell, drawn.rank)].astype(int)
                    answered = now.with_history(drawn.with_labels(label))
                    found += odd_answers(answered, [])
                    deliveries += 1
            except ValueError:
                continue
    assert deliveries >= 500
    assert len(found) <= deliveries / 200, found
