"""Evaluations in memory."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from tests.jobs import make_pool


def arrays(**changes: Any) -> dict[str, Any]:
    table = make_pool().table
    columns = {name: table[name].to_numpy() for name in ("score", "prediction", "id")}
    return {**columns, "strata": {"leaves": 16}, "seed": 5, **changes}


def test_same_rows_as_a_workspace(job: Any) -> None:
    one = job()
    one.prepare()
    one.sample()
    evaluation = Evaluation.from_arrays(**arrays())
    assert sorted(evaluation.sample(20).tolist()) == sorted(one.batch(1)["id"])


def test_ids_may_be_text_or_left_out() -> None:
    text = Evaluation.from_arrays(**arrays(id=np.array([f"r{i}" for i in range(2000)])))
    assert all(id.startswith("r") for id in text.sample(5).tolist())
    numbers = Evaluation.from_arrays(**arrays(id=None))
    assert set(numbers.sample(5).tolist()) <= set(range(2000))


def test_probabilities_by_class_equal_those_of_the_positive_class() -> None:
    p = np.linspace(0, 1, 2000)
    one = Evaluation.from_arrays(**arrays(probability=p))
    both = Evaluation.from_arrays(**arrays(probability=np.stack([1 - p, p], axis=1)))
    np.testing.assert_array_equal(one.table.probability, both.table.probability)


def test_three_classes() -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice(3, size=3000, p=[0.9, 0.08, 0.02])
    guess = np.where(rng.random(3000) < 0.8, truth, 0)
    p = np.full((3000, 3), 0.1)
    p[np.arange(3000), guess] = 0.8
    evaluation = Evaluation.from_arrays(
        score=1 - p[:, 0] + rng.random(3000) / 100,
        prediction=guess,
        probability=p,
        labels={"classes": [0, 1, 2], "positive": 2},
        measure=["accuracy", "recall"],
        sampler="importance",
        strata={"leaves": 32},
    )
    for _ in range(8):
        ids = evaluation.sample(100)
        evaluation.label(ids, truth[ids])
    accuracy, recall = evaluation.estimate()
    for estimate, value in [
        (accuracy, np.mean(truth == guess)),
        (recall, np.mean(guess[truth == 2] == 2)),
    ]:
        assert estimate.intervals[0].low <= value <= estimate.intervals[0].high


def test_measure_without_support_is_not_estimated() -> None:
    evaluation = Evaluation.from_arrays(**arrays(measure=["precision", "recall"]))
    ids = evaluation.sample(30)
    evaluation.label(ids, np.array([make_pool().truth[id] for id in ids.tolist()]))
    precision, recall = evaluation.estimate()
    assert precision.value is not None
    assert recall.value is None
    assert "cannot be estimated from rows drawn for precision" in str(recall.reason)
    assert (recall.intervals[0].low, recall.intervals[0].high) == (0, 1)


def test_undefined_on_the_pool_is_an_error() -> None:
    evaluation = Evaluation.from_arrays(
        **arrays(prediction=np.zeros(2000, dtype=int), measure="precision")
    )
    with pytest.raises(InputError, match="precision is undefined on this pool"):
        evaluation.sample(10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prediction": np.zeros(1999, dtype=int)}, "prediction: 1999 values for 2000 scores"),
        ({"score": np.full(2000, np.nan)}, "column 'score', row 0"),
        ({"id": np.zeros(2000, dtype=int)}, "duplicate id 0"),
        ({"measure": "f3"}, "unknown measure 'f3'"),
        ({"prediction": np.full(2000, 7)}, "column 'prediction', row 0: 7 is none of"),
    ],
)
def test_bad_arrays(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Evaluation.from_arrays(**arrays(**changes))


def test_bad_labels_change_nothing() -> None:
    evaluation = Evaluation.from_arrays(**arrays())
    ids = evaluation.sample(10)
    with pytest.raises(InputError, match="was not drawn"):
        evaluation.label(np.array([ids[0], -5]), np.array([1, 1]))
    with pytest.raises(InputError, match="is not one of"):
        evaluation.label(ids[:2], np.array([1, 2]))
    assert len(evaluation.history.labelled) == 0


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_size_of_a_round(size: Any) -> None:
    evaluation = Evaluation.from_arrays(**arrays())
    with pytest.raises(InputError, match="whole number of at least 1"):
        evaluation.sample(size)
    assert not evaluation.history.rounds


def test_two_labels_for_one_id() -> None:
    evaluation = Evaluation.from_arrays(**arrays())
    ids = evaluation.sample(10)
    with pytest.raises(InputError, match="has two labels"):
        evaluation.label(ids[[0, 0]], np.array([0, 1]))
    with pytest.raises(InputError, match="1 labels for 2 ids"):
        evaluation.label(ids[:2], np.array([0]))
