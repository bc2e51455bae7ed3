"""The joint region of several numbers that fits their default intervals and values."""

from collections.abc import Sequence

import numpy as np

from evalsampling.inference.estimand import Estimand
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.intervals import DESIGN_BASED
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.model_based import (
    KIND,
    DrawnMeasure,
    ranges_of,
    weights_of_draws,
)
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.regions import Ellipsoid, Projections
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.joint import parts_of
from evalsampling.stats.arrays import BoolArray, FloatArray


def default_region(
    measure: Measure, inputs: EstimationInput, estimates: Sequence[Estimate]
) -> Ellipsoid:
    """Return the joint region whose projections are the default intervals, widened to its level.

    It is about the reported values, and model-based if any of the intervals is; see
    `regions.Projections`. The correlations are those of the errors: of the design's estimate and of
    the model's draws, weighted as in the intervals.

    Args:
        measure: a measure of k components, on the whole pool.
        inputs: the labelled rows and their weights, with the model that the estimates have.
        estimates: the estimates of the components, in their order.

    Raises:
        ValueError: if a component is undefined, or its labels allow no claim.
    """
    for each in estimates:
        if each.value is None or not each.claims:
            raise ValueError("; ".join(each.warnings) or each.reason or each.measure)
    rows = [[each.value, each.low, each.high] for each in estimates]
    value, low, high = np.array(rows, dtype=np.float64).T
    projections = Projections(value, low, high, inputs.confidence)
    by_model = np.array([each.intervals[0].kind == KIND for each in estimates])
    estimand = Estimand(measure, inputs)
    influence = estimand.linearised[1]
    covariance = inputs.sample.covariance(np.where(np.isfinite(influence), influence, 0.0))
    if inputs.model is None or not by_model.any():
        return projections.region(covariance, DESIGN_BASED)
    errors = _errors(estimand, inputs.model, covariance, value, by_model)
    straight = projections.straightened(errors)
    return projections.region(straight.T @ straight / len(straight), KIND)


def _errors(
    estimand: Estimand,
    model: LabelModel,
    covariance: FloatArray,
    value: FloatArray,
    by_model: BoolArray,
) -> FloatArray:
    """Return draws of the errors of estimates, shape (draws, k).

    Each is the weighted mean of a normal error of the design and of what lies between the estimate
    and a draw of the model. So draws of measures that depend on each other have the distance
    from the surface that they lie on, as the truth has. Numbers whose default interval is not
    model-based have the errors of the design alone.
    """
    parts = [Linearisation(part, estimand.inputs) for part in parts_of(estimand.measure)]
    owns = map(OwnProbabilities.of_labelled, parts)
    drawn = [
        DrawnMeasure(part.measure, model.seed, own).ends(model.everywhere)
        for part, own in zip(parts, owns, strict=True)
    ]
    low, high = (np.concatenate(ends, axis=1) for ends in zip(*drawn, strict=True))
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0)).tolist()
    expected = estimand.expected_error(model.mean_rates)
    combine = estimand.inputs.combine
    weights = weights_of_draws(deviations, ranges_of((low, high)), expected, combine)
    weight = np.where(by_model, weights, 0.0)
    off = (low + high) / 2 - value
    off = off[np.isfinite(off).all(axis=1)]
    rng = np.random.Generator(np.random.PCG64([*model.seed, 7]))
    zero = np.zeros(len(value))
    of_design = rng.multivariate_normal(zero, covariance, len(off), method="eigh")
    return np.asarray((1 - weight) * of_design + weight * off)
