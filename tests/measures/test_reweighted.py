"""Measures of rows with weights, of a slice or of their own.

They are compared with the same measure of the rows of the slice alone, and of pools in which each
row stands as often as it counts.
"""

import dataclasses
import pickle
import re

import numpy as np
import pytest

from evalsampling.measures import Measure, Recall, Sliced, Weighted, difference
from evalsampling.measures.reweighted import Reweighted
from evalsampling.stats.slices import UnknownSliceError
from tests.measures.pools import (
    NAMED,
    WHERE,
    build,
    every_named,
    pool_with_slices,
    risk_of,
    value_of,
)

OUTPUTS, LABEL, _ = pool_with_slices()
OUTPUTS = dataclasses.replace(
    OUTPUTS, magnitudes={"weight": np.random.default_rng(3).random(len(LABEL))}
)

every_one = pytest.mark.parametrize(
    "measure",
    [
        pytest.param(made, id=f"{how} {name}")
        for name, measure in NAMED.items()
        for how, made in (
            ("both", Sliced(Weighted(measure), WHERE)),
            ("sliced", Sliced(measure, WHERE)),
            ("weighted", Weighted(measure)),
        )
        if how == "both" or name in ("accuracy", "f1")
    ],
)


@every_one
def test_jacobian_equals_central_differences(measure: Reweighted) -> None:
    """But for precision at a recall: its slope is of rates that never fall (`test_curves`)."""
    risk = risk_of(measure, OUTPUTS, LABEL)
    found = measure.jacobian(risk)
    assert found.shape == (len(measure.components), measure.size)
    if "precision_at_recall" in measure.name:
        return
    for i in np.flatnonzero(risk):
        step = np.zeros(len(risk))
        step[i] = 1e-6 * abs(risk[i])
        slope = (measure.value(risk + step) - measure.value(risk - step)) / (2 * step[i])
        defined = np.isfinite(slope)
        allowed = 1e-5 * np.nanmax(np.abs(found)) + 1e-9 / abs(risk[i])
        assert np.all(np.abs(found[defined, i] - slope[defined]) <= allowed)


@every_one
def test_structured_methods_equal_the_dense_ones(measure: Reweighted) -> None:
    risk = risk_of(measure, OUTPUTS, LABEL)
    weight = np.random.default_rng(1).random(len(LABEL))
    for method in ("mean_loss", "adds", "influence", "squared_norm", "proposal_norm"):
        last = {"mean_loss": [weight], "adds": []}.get(method, [risk])
        found = getattr(measure, method)(OUTPUTS, LABEL, *last)
        dense = getattr(Measure, method)(measure, OUTPUTS, LABEL, *last)
        np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-10, err_msg=method)
    uncounted = measure.weight(OUTPUTS) == 0
    assert not measure.influence(OUTPUTS, LABEL, risk)[uncounted].any()


@every_one
def test_a_measure_of_rows_with_weights_needs_no_scale(measure: Reweighted) -> None:
    risk = risk_of(measure, OUTPUTS, LABEL)
    np.testing.assert_allclose(measure.value(risk / 7), measure.value(risk))
    assert measure.plain in NAMED.values()


@every_named
def test_value_is_that_of_the_rows_of_the_slice(measure: Measure) -> None:
    outputs, label, inside = pool_with_slices()
    expected = value_of(measure, outputs.take(inside), label[inside])
    np.testing.assert_allclose(value_of(Sliced(measure, WHERE), outputs, label), expected)


@every_named
def test_systems_are_compared_on_a_slice_as_on_the_pool(measure: Measure) -> None:
    sliced = Sliced(measure, WHERE)
    assert sliced.greater_is_better == measure.greater_is_better
    assert sliced.incomparable == measure.incomparable


@every_named
def test_measures_say_whether_they_are_free_of_scale(measure: Measure) -> None:
    outputs, label, _ = pool_with_slices()
    risk = risk_of(measure, outputs, label)
    is_free = np.allclose(measure.value(risk / 7), measure.value(risk), equal_nan=True)
    assert measure.scale_free == is_free


def test_evidence_and_shares_are_of_the_slice() -> None:
    outputs, label, inside = pool_with_slices()
    sliced = Sliced(Recall(), WHERE)
    np.testing.assert_array_equal(sliced.evidence(outputs, label), (label == 1) & inside)
    (share,) = sliced.shares(outputs, label)
    assert share.rows_name == "positives where country=DE, device=phone"
    np.testing.assert_array_equal(share.rows, (label == 1) & inside)


def test_which_rows_may_add() -> None:
    """All rows of a slice add where its share is estimated, else those that add to the measure."""
    outputs, label, inside = pool_with_slices()
    ratio, mean = Sliced(Recall(), WHERE), Sliced(build("accuracy"), WHERE)
    for method in ("may_add", "must_add"):
        found = getattr(ratio, method)(outputs, outputs, label)
        np.testing.assert_array_equal(found, inside & (label == 1))
        np.testing.assert_array_equal(getattr(mean, method)(outputs, outputs, label), inside)
    assert mean.size == 2


def test_a_slice_without_rows_is_undefined() -> None:
    outputs, label, inside = pool_with_slices()
    sliced = Sliced(build("accuracy"), WHERE)
    risk = risk_of(sliced, outputs.take(~inside), label[~inside])
    assert np.isnan(sliced.value(risk)).all()
    assert np.isnan(sliced.jacobian(risk)).all()


@pytest.mark.parametrize(
    ("measure", "where", "name"),
    [
        (Recall(), {"country": "DE"}, "recall(country=DE)"),
        (Recall(), {"country": ["DE", "FR"]}, "recall(country=DE|FR)"),
        (build("f_beta", beta=2.0), WHERE, "f_beta(beta=2, country=DE, device=phone)"),
    ],
)
def test_names(measure: Measure, where: dict, name: str) -> None:
    sliced = Sliced(measure, where)
    assert (sliced.name, sliced.components[0].name) == (name, name)
    assert sliced == Sliced(measure, dict(where)) == pickle.loads(pickle.dumps(sliced))
    assert hash(sliced) == hash(Sliced(measure, where))


def test_systems_are_compared_on_a_slice_and_by_weight() -> None:
    outputs, label, inside = pool_with_slices()
    right = outputs.prediction == label[:, None]
    for wanted, of in (
        (right[inside].mean(axis=0), lambda measure: Sliced(measure, WHERE)),
        (np.average(right, axis=0, weights=outputs.weight), Weighted),
    ):
        one, other = (of(build("accuracy", system=system)) for system in range(2))
        found = value_of(difference(one, other), outputs, label)
        np.testing.assert_allclose(found, wanted[:1] - wanted[1:])


def test_bad_slices_are_refused() -> None:
    with pytest.raises(TypeError, match="only a measure has slices"):
        Sliced("recall", WHERE)  # type: ignore[arg-type]
    for where in ({}, {"country": ()}):
        with pytest.raises(ValueError, match="a slice needs columns with values"):
            Sliced(Recall(), where)
    outputs, label, _ = pool_with_slices()
    with pytest.raises(UnknownSliceError, match=re.escape("country=IT: cells do not tell")):
        Sliced(Recall(), {"country": "IT"}).loss(outputs, label)


@every_named
def test_value_is_that_of_rows_that_stand_as_often_as_they_count(measure: Measure) -> None:
    """On any scale."""
    outputs, label, _ = pool_with_slices()
    copies = np.repeat(np.arange(len(label)), outputs.weight.astype(int))
    expected = value_of(measure, outputs.take(copies), label[copies])
    scaled = dataclasses.replace(outputs, magnitudes={"weight": 3e7 * outputs.weight})
    np.testing.assert_allclose(value_of(Weighted(measure), scaled, label), expected)


def test_all_but_the_weights_is_the_measures_own() -> None:
    outputs, label, _ = pool_with_slices()
    measure, weighted = Recall(), Weighted(Recall())
    assert (weighted.name, weighted.evidence_name) == (measure.name, measure.evidence_name)
    assert weighted.components == measure.components
    assert weighted == pickle.loads(pickle.dumps(weighted)) != measure
    np.testing.assert_array_equal(weighted.evidence(outputs, label), label == 1)
    for method in ("may_add", "must_add"):
        found = getattr(weighted, method)(outputs, outputs, label)
        np.testing.assert_array_equal(found, label == 1)
        assert getattr(Weighted(build("accuracy")), method)(outputs, outputs, label).all()


def test_rows_without_weights_are_refused() -> None:
    outputs, label, _ = pool_with_slices()
    with pytest.raises(ValueError, match="recall: rows have no weights"):
        Weighted(Recall()).loss(dataclasses.replace(outputs, magnitudes={}), label)
