"""Estimates from a Poisson sample: labelled rows with their inclusion probabilities."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.labelled_rows import LabelledRows
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


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
    sampled = LabelledRows(outputs, label, rows, sample)
    return sampled.estimate(measure, confidence, correct_bias, methods)
