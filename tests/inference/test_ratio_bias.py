"""The second-order bias: of a ratio on three rows gone through, of others by hand."""

import itertools

import numpy as np
import pytest

from evalsampling.inference.ratio_bias import biases, ratio_bias
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Accuracy, MacroF, Measure, Recall
from evalsampling.measures.base import Component
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import Votes
from evalsampling.stats.outputs import Outputs

F, G = np.array([1.0, 0.4, 2.0]), np.array([2.0, 1.0, 1.5])
"""A positive pair for each row."""


def sample_of(rows: list[int], b: np.ndarray) -> WeightedSample:
    return WeightedSample.without_replacement(np.array(rows, dtype=np.int64), b[rows], 3)


@pytest.mark.parametrize("missing", [0.02, 0.01, 0.005])
def test_bias_is_that_of_all_samples(missing: float) -> None:
    """Exact over all samples but the empty one; what is left goes as the square of 1 - b."""
    b = 1 - missing * np.array([1.0, 0.5, 0.3])
    mean, told, total = 0.0, 0.0, 0.0
    for flags in itertools.product((0, 1), repeat=3):
        rows = [row for row in range(3) if flags[row]]
        if not rows:
            continue
        chance = float(np.prod(np.where(flags, b, 1 - b)))
        total += chance
        mean += chance * np.sum(F[rows] / b[rows]) / np.sum(G[rows] / b[rows])
        found = ratio_bias(np.stack([F, G], axis=1)[rows], sample_of(rows, b))
        told += chance * found.total
    # A row that is left out moves the ratio by far more than its first-order share; so compare
    # with that of large pools: each row stands for many like it.
    bias = mean / total - F.sum() / G.sum()
    assert told == pytest.approx(bias, rel=0.5)


def test_terms_are_those_of_the_sources() -> None:
    """[Y] eq. 24 with its sign, and the term of the denominator's own variance."""
    b, rows = np.array([0.5, 0.2, 1.0]), [0, 1, 2]
    found = ratio_bias(np.stack([F, G], axis=1), sample_of(rows, b))
    y = np.sum(G / b)
    source = np.sum(F * G * (1 / b - 1) / b) / y**2
    assert found.covariance_term == pytest.approx(-source)
    ratio = np.sum(F / b) / y
    assert found.variance_term == pytest.approx(ratio * np.sum(G**2 * (1 / b - 1) / b) / y**2)
    assert found.total == pytest.approx(found.covariance_term + found.variance_term)


def test_ratio_over_nothing_has_none() -> None:
    b = np.array([0.5, 0.5, 0.5])
    assert ratio_bias(np.zeros((2, 2)), sample_of([0, 1], b)) is None
    assert ratio_bias(np.zeros((0, 2)), sample_of([], b)) is None


ROWS = 400
RNG = np.random.default_rng(4)
PREDICTION, LABEL = RNG.integers(0, 3, ROWS), RNG.integers(0, 3, ROWS)
LABEL = np.where(RNG.random(ROWS) < 0.6, PREDICTION, LABEL)
OUTPUTS = Outputs(PREDICTION[:, None], np.zeros((ROWS, 1)), np.full((ROWS, 1, 3), 1 / 3))
INCLUSION = np.where(PREDICTION == LABEL, 0.05, 0.2)


class Product(Measure):
    """The product of the shares of two classes: nothing but curvature."""

    name = "product"

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return np.stack([label == 0, label == 1], axis=1).astype(np.float64)

    def value(self, risk: FloatArray) -> FloatArray:
        return risk[:1] * risk[1:]

    @property
    def components(self) -> tuple[Component, ...]:
        return (Component("product", (0.0, 1.0)),)


def test_curvature_of_a_product_is_the_covariance() -> None:
    """E[x y] - E[x] E[y] = Cov(x, y); without normalised weights there is nothing else."""
    rows = np.arange(0, ROWS, 9)
    sample = WeightedSample.without_replacement(rows, INCLUSION[rows], ROWS)
    outputs, label, inside = OUTPUTS.take(rows), LABEL[rows], np.ones(len(rows), dtype=bool)
    (found,) = biases(Product(), outputs, Votes.of_labels(label), sample, inside, normalised=False)
    wanted = sample.covariance(Product().loss(outputs, label))[0, 1]
    assert found.total == pytest.approx(wanted, abs=1e-12)
    assert found.covariance_term is None


def test_mean_with_given_weights_has_none() -> None:
    rows, inside = np.arange(20), np.ones(20, dtype=bool)
    sample = WeightedSample.without_replacement(rows, INCLUSION[rows], ROWS)
    outputs, votes = OUTPUTS.take(rows), Votes.of_labels(LABEL[rows])
    assert biases(Accuracy(), outputs, votes, sample, inside, False) == [None]
    negative = Votes.of_labels(np.zeros(20, int))
    assert biases(Recall(), outputs, negative, sample, inside, True) == [None]


@pytest.mark.slow
@pytest.mark.parametrize("measure", [MacroF(3), Accuracy()], ids=lambda one: one.name)
def test_bias_of_what_is_no_ratio_is_that_of_many_samples(measure: Measure) -> None:
    """Of 1,000 Poisson samples of 35 rows or so, weights normalised: to 4 standard errors."""
    values, told = [], []
    rng = np.random.default_rng(9)
    for _ in range(1000):
        rows = np.flatnonzero(rng.random(ROWS) < INCLUSION)
        sample = WeightedSample.without_replacement(rows, INCLUSION[rows], ROWS)
        outputs, label = OUTPUTS.take(rows), LABEL[rows]
        weight = sample.weight / sample.weight.sum()
        values.append(measure.value(measure.mean_loss(outputs, label, weight))[0])
        inside = np.ones(len(rows), dtype=bool)
        (found,) = biases(measure, outputs, Votes.of_labels(label), sample, inside, normalised=True)
        told.append(found.total)
    truth = measure.value(measure.mean_loss(OUTPUTS, LABEL, np.full(ROWS, 1 / ROWS)))[0]
    bias, error = np.mean(values) - truth, np.std(values) / np.sqrt(len(values))
    assert abs(bias) > 3 * error
    assert np.mean(told) == pytest.approx(bias, abs=4 * error)
