"""The bias of smooth functions of weighted means, to second order, and of ratios term by term.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 9 and 24; W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 6.8.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure, Ratio
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.history import Votes
from evalsampling.stats.outputs import Outputs

MOST_MEANS = 100
"""Most weighted means of a measure whose bias is estimated: it takes their covariance matrix."""

_STEP = 0.1
"""Standard errors by which means are moved for second differences."""


@dataclasses.dataclass(frozen=True)
class Bias:
    """The estimated bias of a number, to second order.

    For a ratio x^ / y^ it is -S_xy / y^2 + x S_yy / y^3. [Y] stops at the first term. The second
    term is as large: for precision the two cancel.
    """

    total: float  # the bias, which a correction subtracts
    # -S_xy / y^2, as in [Y] eq. 9 and, for a Poisson sample, eq. 24; None for numbers that are not
    # a ratio of two means
    covariance_term: float | None = None
    variance_term: float | None = None  # x S_yy / y^3; None for the same numbers


def ratio_bias(loss: FloatArray, sample: WeightedSample) -> Bias | None:
    """Return the bias of the ratio of the weighted means of two columns, None if undefined."""
    x, y = sample.mean(loss)
    if y == 0 or not sample.draws:
        return None
    covariance = sample.covariance(loss)
    first, second = float(-covariance[0, 1] / y**2), float(x * covariance[1, 1] / y**3)
    return Bias(first + second, first, second)


def less_bias(value: FloatArray, biases: Sequence[Bias | None]) -> FloatArray:
    """Return values, shape (m,), minus the bias of each; values of unknown bias stay."""
    return value - np.array([0.0 if bias is None else bias.total for bias in biases])


def biases(
    measure: Measure,
    outputs: Outputs,
    votes: Votes,
    sample: WeightedSample,
    inside: BoolArray,
    normalised: bool,
) -> Sequence[Bias | None]:
    """Return the bias of each component of a measure; None where it is undefined or always 0.

    With e the residual l - R^ of a row, or l itself where weights are not normalised, it is tr(D2g
    Cov(e)) / 2 - Dg Cov(e, 1): the first term of any curved g, the second of the division by the
    sum of the weights over the rows ``inside`` the domain.
    """
    none = [None] * len(measure.components)
    total = float(sample.weight @ inside)
    if not sample.draws or total == 0 or measure.size > MOST_MEANS:
        return none
    if isinstance(measure, Ratio):
        loss = votes.mean(measure.loss(outputs, votes.label))
        return [ratio_bias(loss * inside[:, None], sample)]
    if measure.affine and not normalised:
        return none
    scale = inside / (total if normalised else 1.0)
    loss = votes.mean(measure.loss(outputs, votes.label))
    risk = sample.mean(loss * scale[:, None])
    residual = (loss - risk if normalised else loss) * scale[:, None]
    covariance = sample.covariance(np.column_stack([residual, scale]))
    with np.errstate(invalid="ignore", divide="ignore"):
        total_bias = _curvature(measure, risk, covariance[:-1, :-1])
        if normalised:
            total_bias = total_bias - measure.jacobian(risk) @ covariance[:-1, -1]
    return [Bias(bias) if np.isfinite(bias) else None for bias in total_bias.tolist()]


def _curvature(measure: Measure, risk: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return tr(D2g Cov) / 2 of each component, (m,), by second differences along its axes."""
    spread, axes = np.linalg.eigh(covariance)
    centre, total = measure.value(risk), np.zeros(len(measure.components))
    for variance, axis in zip(spread.tolist(), axes.T, strict=True):
        if variance > 1e-12 * spread[-1]:
            move = _STEP * np.sqrt(variance) * axis
            second = measure.value(risk + move) + measure.value(risk - move) - 2 * centre
            total = total + second / (2 * _STEP**2)
    return total
