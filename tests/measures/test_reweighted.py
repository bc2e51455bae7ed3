"""Measures of rows with weights, of a slice or of their own: derivatives, structured methods."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Measure, Sliced, Weighted
from evalsampling.measures.reweighted import Reweighted
from tests.measures.pools import NAMED, risk_of
from tests.measures.sliced_pools import WHERE, pool_with_slices

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
            ("sliced", Sliced(measure, WHERE)),
            ("weighted", Weighted(measure)),
            ("both", Sliced(Weighted(measure), WHERE)),
        )
    ],
)


@every_one
def test_jacobian_equals_central_differences(measure: Reweighted) -> None:
    risk = risk_of(measure, OUTPUTS, LABEL)
    found = measure.jacobian(risk)
    assert found.shape == (len(measure.components), measure.size)
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
