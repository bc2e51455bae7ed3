"""Estimates from a Poisson sample: labelled rows with their inclusion probabilities."""

from collections.abc import Sequence

import numpy as np

from evalsampling.inference.choice import by_weights
from evalsampling.inference.domains import WHOLE_POOL, Domain
from evalsampling.inference.evidence import Evidence, find_gaps
from evalsampling.inference.random_answers import with_random_answers
from evalsampling.inference.ratio_bias import biases, less_bias
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import Votes
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

    [Y] *Sample Efficient Model Evaluation*, 2021, eq. 18, 28 and 24. Rows outside the sample are
    not needed, so no interval is model-based and no estimate a census. Outputs and class codes are
    those of n sampled rows, ``inclusion`` the probability of each, in (0, 1].

    `stochastic`: whether answers about the same row may differ. The variance is then that of [Y]
    eq. 27, of one answer a row without its second term: too large, never too small.
    """
    if not len(outputs) == len(label) == len(inclusion):
        raise ValueError(f"{len(outputs)} rows, {len(label)} labels, {len(inclusion)} inclusions")
    if not np.all((inclusion > 0) & (inclusion <= 1)):
        raise ValueError("inclusion probabilities must lie in (0, 1]")
    votes, questions = Votes.of_labels(label), np.arange(len(label))
    sample = WeightedSample.without_replacement(
        questions, inclusion, max(float(np.sum(1 / inclusion)), 1.0)
    )
    if stochastic:
        unknown = np.full(len(label), np.inf)
        sample = with_random_answers(sample, votes, inclusion, questions, unknown)
    risk = measure.mean_loss(outputs, label, sample.weight)
    influence = measure.influence(outputs, label, risk)
    influence = influence - sample.weight @ influence
    everywhere = np.ones(len(label), dtype=np.bool_)
    bias_of_parts = biases(measure, outputs, votes, sample, everywhere, normalised=True)
    value = measure.value(risk)
    value = less_bias(value, bias_of_parts) if correct_bias else value
    shares = measure.shares(outputs, label)
    gaps = find_gaps(shares, questions, len(measure.components), shares)
    evidence = [
        Evidence(measure.undefined_without, gap, bias=bias)
        for gap, bias in zip(gaps, bias_of_parts, strict=True)
    ]
    targets = WHOLE_POOL.targets(measure, Domain())
    return by_weights(targets, value, influence, sample, evidence, confidence, methods)
