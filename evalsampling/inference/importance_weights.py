"""Estimates from draws with replacement: labelled rows with their importance weights.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, equations
    3.11, 3.14 and 3.31; [MR] Marchant and Rubinstein, *Needle in a Haystack*, 2021, equation 1.
"""

from collections.abc import Sequence

import numpy as np

from evalsampling.inference.evidence import find_missing_weight
from evalsampling.inference.labelled_rows import LabelledRows
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


def estimate_from_draws(
    measure: Measure,
    outputs: Outputs,
    label: IntArray,
    question: IntArray,
    weight: FloatArray,
    confidence: float = 0.95,
    self_normalised: bool = True,
    row: IntArray | None = None,
    methods: Sequence[str] = (),
    aimed_at: bool = True,
    targets: Sequence[Target] | None = None,
) -> list[Estimate]:
    """Return the estimates of the components of a measure from N independent draws.

    Self-normalised, G^ = sum v w l / sum v w with the variance sum (v w)^2 (l - G^)^2 /
    (sum v w)^2, times N / (N - 1) ([AE] eq. 3.31 and 3.14); else G^ = g((1 / N) sum v l) with the
    sample covariance of the terms v l ([MR] eq. 1). For ratios both are the same.

    Args:
        measure: the measure to estimate.
        outputs: of the systems for each of n questions.
        label: shape (n,): class code of each question.
        question: shape (N,): the question of each draw, in [0, n). Each is drawn at least once.
        weight: shape (N,): v = 1 / (M q) of each draw, above 0.
        confidence: level of the intervals, in (0, 1).
        self_normalised: whether weights are divided by their sum.
        row: shape (n,): number of the row of each question, if several may be about one row.
        methods: names of further interval methods, reported beside the default.
        aimed_at: whether rows were drawn for the measure. For others there is a check of whether
            the weights sum to the rows of the pool.
        targets: what the components are called; None for an evaluation of one system.

    Raises:
        ValueError: if the numbers do not fit, or a weight is not above 0 and finite.
    """
    if not len(outputs) == len(label) or len(question) != len(weight):
        raise ValueError(f"{len(outputs)} rows, {len(label)} labels, {len(weight)} weights")
    if not np.all((weight > 0) & np.isfinite(weight)):
        raise ValueError("importance weights must be above 0 and finite")
    every = np.ones(len(label), dtype=np.bool_)
    plain = WeightedSample.with_replacement(question, weight, len(label))
    gap = None if aimed_at else find_missing_weight(plain, every, 1.0)
    if self_normalised and len(weight):
        plain = WeightedSample.with_replacement(question, weight / weight.mean(), len(label))
    rows = np.arange(len(label)) if row is None else row
    labelled = LabelledRows(outputs, label, rows, plain, self_normalised)
    return labelled.estimate(measure, confidence, methods=methods, gap=gap, targets=targets)
