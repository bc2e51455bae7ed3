"""Measures of the rows of a slice, against the same measure of these rows alone."""

import pickle
import re

import numpy as np
import pytest

from evalsampling.measures import Measure, Recall, Sliced, difference
from evalsampling.stats.slices import UnknownSliceError
from tests.measures.pools import NAMED, build, risk_of, value_of
from tests.measures.sliced_pools import WHERE, pool_with_slices

every_named = pytest.mark.parametrize("measure", NAMED.values(), ids=NAMED.keys())


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


def test_systems_are_compared_on_a_slice() -> None:
    outputs, label, inside = pool_with_slices()
    one, other = (Sliced(build("accuracy", system=s), WHERE) for s in range(2))
    expected = np.mean((outputs.prediction == label[:, None])[inside], axis=0)
    found = value_of(difference(one, other), outputs, label)
    np.testing.assert_allclose(found, expected[:1] - expected[1:])


def test_bad_slices_are_refused() -> None:
    with pytest.raises(TypeError, match="only a measure has slices"):
        Sliced("recall", WHERE)  # type: ignore[arg-type]
    for where in ({}, {"country": ()}):
        with pytest.raises(ValueError, match="a slice needs columns with values"):
            Sliced(Recall(), where)
    outputs, label, _ = pool_with_slices()
    with pytest.raises(UnknownSliceError, match=re.escape("country=IT: cells do not tell")):
        Sliced(Recall(), {"country": "IT"}).loss(outputs, label)
