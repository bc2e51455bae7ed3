"""Estimates from a Poisson sample: labelled rows with their inclusion probabilities."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.delta_method import Evidence, estimate
from evalsampling.inference.evidence import find_gaps
from evalsampling.inference.ratio_bias import biases, less_bias
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.votes import Votes


def estimate_from_inclusion(
    measure: Measure,
    outputs: Outputs,
    label: IntArray,
    inclusion: FloatArray,
    confidence: float = 0.95,
    correct_bias: bool = False,
    stochastic: bool = False,
    methods: Sequence[str] = (),
) -> list[Estimate]:
    """Return the estimates of the components of a measure, by the ratio estimator.

    It is that of [Y] *Sample Efficient Model Evaluation*, 2021, eq. 18, 28 and 24. The rows outside
    the sample are not needed, so no interval is model-based and no estimate is a census.

    Args:
        measure: the measure to estimate.
        outputs: outputs for the n rows of a Poisson sample.
        label: shape (n,): class codes of these rows.
        inclusion: shape (n,): the probability of each row to be in the sample, in (0, 1].
        confidence: level of the intervals, in (0, 1).
        correct_bias: whether the bias is subtracted.
        stochastic: whether answers about the same row may differ. The variance is then that of [Y]
            eq. 27 without its second term: too large, never too small.
        methods: names of further interval methods, reported beside the default.

    Raises:
        ValueError: if the numbers of rows differ, or a probability is outside (0, 1].
    """
    if not len(outputs) == len(label) == len(inclusion):
        raise ValueError(f"{len(outputs)} rows, {len(label)} labels, {len(inclusion)} inclusions")
    if not np.all((inclusion > 0) & (inclusion <= 1)):
        raise ValueError("inclusion probabilities must lie in (0, 1]")
    rows = np.arange(len(label))
    estimated_rows = float(np.sum(1 / inclusion))
    sample = WeightedSample.without_replacement(rows, inclusion, max(estimated_rows, 1.0))
    if stochastic:
        sample = dataclasses.replace(
            sample, weight_square_sum=sample.weight**2, weight_sum=sample.weight
        )
    risk = measure.mean_loss(outputs, label, sample.weight)
    influence = measure.influence(outputs, label, risk)
    influence = influence - sample.weight @ influence
    inside = np.ones(len(rows), dtype=np.bool_)
    votes = Votes.of_labels(label)
    known_biases = biases(measure, outputs, votes, sample, inside, normalised=True)
    value = measure.value(risk)
    value = less_bias(value, known_biases) if correct_bias else value
    shares = measure.shares(outputs, label)
    gaps = find_gaps(shares, rows, len(measure.components), shares)
    evidence = [
        Evidence(measure.undefined_without, gap, bias=bias)
        for gap, bias in zip(gaps, known_biases, strict=True)
    ]
    targets = [
        Target(component.name, component.bounds, threshold=component.threshold)
        for component in measure.components
    ]
    return estimate(targets, value, influence, sample, evidence, confidence, methods)
