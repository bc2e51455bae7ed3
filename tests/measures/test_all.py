"""What holds of every measure a spec may name, and of measures made of others."""

import functools
import pickle

import numpy as np
import pytest

from evalsampling.measures import Measure
from evalsampling.measures.base import Ratio
from evalsampling.stats.derivatives import jacobian
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import ALL, CLASSES, every_measure, every_scalar, make_pool, risk_of


def random_risk(measure: Measure, seed: int) -> np.ndarray:
    """A risk inside the domain: that of a pool whose rows are weighted at random."""
    outputs, label = make_pool(seed)
    weight = np.random.default_rng(seed).dirichlet(np.ones(len(label)))
    return measure.mean_loss(outputs, label, weight)


@every_measure
def test_jacobians_are_those_at_each_risk(measure: Measure) -> None:
    """Also where the measure is undefined: at a risk of 0."""
    risks = np.stack([random_risk(measure, 0), np.zeros(measure.size)])
    expected = [measure.jacobian(risk) for risk in risks]
    np.testing.assert_array_equal(measure.jacobians(risks), expected)


@every_measure
def test_jacobian_equals_complex_steps_and_central_differences(measure: Measure) -> None:
    """The latter to the largest slope: the curvature of ratios of small risks goes with it."""
    risk = random_risk(measure, 0)
    found = measure.jacobian(risk)
    assert found.shape == (len(measure.components), measure.size)
    np.testing.assert_allclose(found, jacobian(measure.value, risk), rtol=1e-9, atol=1e-10)
    for i, share in enumerate(risk):
        step = np.zeros(len(risk))
        step[i] = 1e-6 * abs(share)
        if share == 0:
            continue
        slope = (measure.value(risk + step) - measure.value(risk - step)) / (2 * step[i])
        allowed = 1e-5 * np.nanmax(np.abs(found)) + 1e-9 / abs(share)
        same = np.isnan(slope) & np.isnan(found[:, i])
        assert np.all(same | (np.abs(found[:, i] - slope) <= allowed))


@every_measure
def test_structured_methods_equal_the_dense_ones(measure: Measure) -> None:
    outputs, label = make_pool(0, rows=25)
    weight = np.random.default_rng(0).random(len(label))
    risk = random_risk(measure, 1)
    np.testing.assert_allclose(
        measure.mean_loss(outputs, label, weight),
        Measure.mean_loss(measure, outputs, label, weight),
        rtol=1e-12,
    )
    np.testing.assert_array_equal(
        measure.adds(outputs, label), Measure.adds(measure, outputs, label)
    )
    dense = Measure.influence(measure, outputs, label, risk)
    found = measure.influence(outputs, label, risk)
    assert found.shape == dense.shape == (len(label), len(measure.components))
    np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        measure.squared_norm(outputs, label, risk),
        np.nansum(measure.importance * dense**2, axis=1),
        rtol=1e-9,
        atol=1e-10,
    )


@every_measure
def test_undefined_components_are_left_out_of_the_norm(measure: Measure) -> None:
    """At a risk of 0, where most are undefined and precision is at the highest thresholds."""
    outputs, label = make_pool(0)
    risk = np.zeros(measure.size)
    value = measure.value(risk)
    rows = measure.jacobian(risk)
    assert np.isnan(rows[np.isnan(value)]).all()
    assert np.isfinite(rows[~np.isnan(value)]).all()
    np.testing.assert_allclose(
        measure.squared_norm(outputs, label, risk),
        Measure.squared_norm(measure, outputs, label, risk),
    )
    np.testing.assert_allclose(
        measure.influence(outputs, label, risk), Measure.influence(measure, outputs, label, risk)
    )


@every_measure
def test_values_are_those_of_every_risk(measure: Measure) -> None:
    """At risks inside the domain, and at 0 and 1, where many are undefined."""
    inside = [random_risk(measure, seed) for seed in range(5)]
    risks = np.array([*inside, np.zeros(measure.size), np.ones(measure.size)])
    expected = np.array([measure.value(risk) for risk in risks])
    found = measure.values(risks)
    assert found.shape == (len(risks), len(measure.components))
    np.testing.assert_allclose(found, expected, rtol=1e-12, equal_nan=True)
    assert measure.values(risks[:0]).shape == (0, len(measure.components))


class Floored(Ratio):
    """A ratio with a `value` of its own, which takes one risk at a time as all measures may."""

    name = "floored"

    def loss(self, outputs: Outputs, label: np.ndarray) -> np.ndarray:
        return np.ones((len(label), 2))

    def value(self, risk: np.ndarray) -> np.ndarray:
        return np.array([max(risk[0] / risk[1], 0.5)])


def test_values_of_ones_own_value_are_taken_risk_by_risk() -> None:
    found = Floored().values(np.array([[0.1, 1.0], [0.6, 0.8], [0.3, 0.4]]))
    np.testing.assert_allclose(found, [[0.5], [0.75], [0.75]])


@every_measure
def test_shapes_and_bounds(measure: Measure) -> None:
    outputs, label = make_pool(2)
    none = Outputs.none(2, CLASSES)
    nobody = np.zeros(0, dtype=np.int64)
    loss = measure.loss(outputs, label)
    assert loss.dtype == np.float64
    assert loss.shape == (len(label), measure.size)
    assert measure.loss(none, nobody).shape == (0, measure.size)
    assert measure.mean_loss(none, nobody, np.zeros(0)).tolist() == [0] * measure.size
    assert measure.squared_norm(none, nobody, risk_of(measure, outputs, label)).shape == (0,)
    assert measure.adds(none, nobody).shape == measure.evidence(none, nobody).shape == (0,)
    value = measure.value(risk_of(measure, outputs, label))
    assert value.shape == (len(measure.components),)
    for number, component in zip(value, measure.components, strict=True):
        assert component.bounds[0] <= number <= component.bounds[1]
    evidence = measure.evidence(outputs, label)
    assert evidence.dtype == bool
    assert evidence.shape == (len(label),)


@every_measure
def test_measures_are_values(measure: Measure) -> None:
    """They go to workers, and are the same there."""
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert hash(measure) == hash(pickle.loads(pickle.dumps(measure)))
    with pytest.raises(AttributeError):
        measure.system = 3


def test_names_tell_measures_apart() -> None:
    names = {(measure.name, measure.system) for measure in ALL.values()}
    # Here f_beta is f1, and pr_curve comes with two sets of thresholds.
    assert len(names) == len(ALL) - 2


class GMean(Measure):
    """Geometric mean of recall and specificity of class 1: what a user might add."""

    name = "g_mean"

    def loss(self, outputs: Outputs, label: np.ndarray) -> np.ndarray:
        f, y = outputs.prediction[:, 0] == 1, label == 1
        return np.stack([f & y, y, ~f & ~y, ~y], axis=1).astype(float)

    def value(self, risk: np.ndarray) -> np.ndarray:
        return np.sqrt(risk[[0]] * risk[2] / (risk[1] * risk[3]))


def test_a_measure_of_ones_own_needs_three_things() -> None:
    measure = GMean()
    outputs, label = make_pool(5)
    risk = risk_of(measure, outputs, label)
    value = measure.value(risk)
    expected = value / 2 * np.array([[1, -1, 1, -1]]) / risk
    np.testing.assert_allclose(measure.jacobian(risk), expected, rtol=1e-12)
    np.testing.assert_allclose(
        measure.squared_norm(outputs, label, risk),
        (measure.loss(outputs, label) @ expected[0]) ** 2,
        rtol=1e-9,
    )
    assert measure.size == 4
    assert [component.name for component in measure.components] == ["g_mean"]
    assert measure.evidence(outputs, label).all()


def test_a_measure_without_a_loss_is_none() -> None:
    class Nothing(Measure):
        name = "nothing"

    with pytest.raises(TypeError, match="abstract"):
        Nothing()


@functools.cache
@functools.cache
def uniform_draws(rows: int) -> np.ndarray:
    """How often each row is drawn, of 400 draws in 4,000 repeats."""
    return np.random.default_rng(9).multinomial(400, np.full(rows, 1 / rows), size=4000)


@every_scalar
def test_delta_method_under_uniform_sampling(measure: Measure) -> None:
    """The variance of g of the mean loss of 400 draws is Dg Cov(l) Dg' / 400.

    Of 4,000 repeats the variance has a relative standard error of sqrt(2 / 4000) = 2.2 %. Four of
    these and 3 % for the second order, which is of the order 1 / 400 times a few, make 12 %.
    """
    outputs, label = make_pool(4, rows=90)
    loss = measure.loss(outputs, label)
    slope = measure.jacobian(loss.mean(axis=0))
    expected = slope @ np.atleast_2d(np.cov(loss.T, bias=True)) @ slope.T / 400
    values = measure.values(uniform_draws(len(label)) @ loss / 400)[:, 0]
    assert np.var(values) == pytest.approx(expected.item(), rel=0.12)
    assert np.mean(values) == pytest.approx(
        measure.value(loss.mean(axis=0))[0], abs=0.15 * np.std(values)
    )
