"""Measures of rows with weights, against pools in which each row stands as often as it counts."""

import dataclasses
import pickle

import numpy as np
import pytest

from evalsampling.measures import Measure, Recall, Weighted, difference
from tests.measures.pools import NAMED, build, value_of
from tests.measures.sliced_pools import pool_with_slices

every_named = pytest.mark.parametrize("measure", NAMED.values(), ids=NAMED.keys())


@every_named
@pytest.mark.parametrize("scale", [1.0, 1e-3, 3e7])
def test_value_is_that_of_rows_that_stand_as_often_as_they_count(
    measure: Measure, scale: float
) -> None:
    outputs, label, _ = pool_with_slices()
    assert outputs.weight is not None
    copies = np.repeat(np.arange(len(label)), outputs.weight.astype(int))
    expected = value_of(measure, outputs.take(copies), label[copies])
    scaled = dataclasses.replace(outputs, magnitudes={"weight": scale * outputs.weight})
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


def test_systems_are_compared_by_weight() -> None:
    outputs, label, _ = pool_with_slices()
    one, other = (Weighted(build("accuracy", system=s)) for s in range(2))
    right = np.average(outputs.prediction == label[:, None], axis=0, weights=outputs.weight)
    found = value_of(difference(one, other), outputs, label)
    np.testing.assert_allclose(found, right[:1] - right[1:])


def test_rows_without_weights_are_refused() -> None:
    outputs, label, _ = pool_with_slices()
    with pytest.raises(ValueError, match="recall: rows have no weights"):
        Weighted(Recall()).loss(dataclasses.replace(outputs, magnitudes={}), label)
