"""Mean losses of probabilities, against scikit-learn."""

import math

import numpy as np
import pytest

from evalsampling.measures import Brier, LogLoss
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of


def two_classes(seed: int, rows: int = 40) -> tuple[Outputs, np.ndarray]:
    rng = np.random.default_rng(seed)
    probability = rng.random(rows)
    label = (rng.random(rows) < probability).astype(np.int64)
    both = np.stack([1 - probability, probability], axis=1)[:, None]
    codes = (probability > 0.5).astype(np.int64)[:, None]
    return Outputs(codes, probability[:, None], both), label


@pytest.mark.parametrize("seed", range(3))
def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = two_classes(seed)
    probability = outputs.probability[:, 0, 1]
    value = value_of(Brier(), outputs, label)
    assert value == pytest.approx(2 * np.mean((probability - label) ** 2), rel=1e-12)
    assert value == pytest.approx(2 * metrics.brier_score_loss(label, probability), rel=1e-12)


@pytest.mark.parametrize("system", [0, 1])
def test_log_loss_equals_that_of_scikit_learn(system: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = make_pool(0)
    expected = metrics.log_loss(label, outputs.probability[:, system], labels=[0, 1, 2])
    assert value_of(LogLoss(system), outputs, label) == pytest.approx(expected, rel=1e-9)


def test_brier_score_of_three_classes() -> None:
    outputs, label = make_pool(1)
    truth = np.eye(3)[label]
    expected = np.mean(np.sum((outputs.probability[:, 1] - truth) ** 2, axis=1))
    before = outputs.probability.copy()
    assert value_of(Brier(system=1), outputs, label) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(outputs.probability, before)


def test_certainty_that_is_wrong_costs_the_most_there_is() -> None:
    codes = np.zeros((2, 1), dtype=np.int64)
    outputs = Outputs(codes, codes * 1.0, np.array([[[1.0, 0.0]], [[1.0, 0.0]]]))
    label = np.array([1, 0])
    assert Brier().loss(outputs, label).tolist() == [[2], [0]]
    for measure in (LogLoss(), LogLoss(clip=0.01)):
        wrong, right = measure.loss(outputs, label)[:, 0]
        assert wrong == pytest.approx(measure.bounds[1], rel=1e-12)
        assert right == pytest.approx(-math.log(1 - measure.clip), rel=1e-12)
    assert Brier().adds(outputs, label).tolist() == [True, False]


def test_names_and_bounds() -> None:
    assert (LogLoss().name, LogLoss(clip=0.01).name) == ("log_loss", "log_loss(clip=0.01)")
    assert LogLoss().bounds == (0, pytest.approx(6 * math.log(10)))
    assert Brier().bounds == (0, 2)


@pytest.mark.parametrize("clip", [0, 0.5, -1, math.nan, "a", True])
def test_clip_must_be_a_small_number(clip: object) -> None:
    with pytest.raises(ValueError, match="clip must be"):
        LogLoss(clip=clip)
