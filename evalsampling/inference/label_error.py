"""Correction of an estimate for wrong labels, given labels of gold rows, whose class is known.

A row of class i gets the label j with probability P_ij, which depends on nothing else. Then
l~_j = sum_i (P^-1)_ji l_i has the expectation l_i, the loss under the true class, so the measure
is computed from the mean of l~. For the share of positives of two classes this is the estimate of
Rogan and Gladen, (p + specificity - 1) / (sensitivity + specificity - 1).

References:
    W. J. Rogan and B. Gladen, *Estimating prevalence from the results of a screening test*,
    American Journal of Epidemiology 107, 1978.
    N. Natarajan, I. S. Dhillon, P. Ravikumar and A. Tewari, *Learning with noisy labels*,
    NIPS 2013, lemma 1.
    Z. Lang and J. Reiczigel, *Confidence limits for prevalence of disease adjusted for estimated
    sensitivity and specificity*, Preventive Veterinary Medicine 113, 2014.
"""

import dataclasses

import numpy as np
import scipy

from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import Linearisation, OwnProbabilities
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import each_label, known_exactly, model_risk
from evalsampling.stats.arrays import FloatArray, IntArray

_DRAWS = 2000
"""Number of draws of P and of the sampling error that a band is computed from."""

_INNER = 0.75
"""Share of the normal interval's half-width that a band from a model's draws must contain."""

_MOST_FEATURES = 256
_LEAST_RIGHT = 1e-3
"""Least excess of the probability of the right label over that of a wrong one.

With C classes and equally likely wrong labels, the determinant of P is its power of C - 1."""


@dataclasses.dataclass(frozen=True)
class CorrectedEstimate:
    """A number corrected for wrong labels with its band, and the errors of sample and labels."""

    measure: str
    system: str | None
    # corrected value, None if it is undefined or labels hardly depend on the class
    value: float | None
    low: float | None
    high: float | None
    sampling_error: float | None  # standard error of the corrected value that is due to sampling
    # error that is due to wrong labels: the root of the squared correction plus the variance that
    # is due to the limited number of gold rows
    label_error: float | None
    dominates: bool  # whether wrong labels cause more error than sampling does
    against: str | None = None


def correct(
    measure: Measure,
    inputs: EstimationInput,
    gold: IntArray,
    seed: int,
    estimate: Estimate,
    model: LabelModel | None = None,
) -> CorrectedEstimate | None:
    """Return a measure on the whole pool, corrected for wrong labels, with its band.

    The corrected value is the estimate plus the difference that the correction makes to the measure
    of the weighted mean losses; the sampling error is scaled alike. So if no gold label is wrong,
    both stay as they are, even if the estimate uses more than weighted means.

    The band is the central part of draws. In each the rows of P are Dirichlet, with the numbers of
    gold rows plus 1/2 for each class. The sampling error is normal, or from the model's draws of
    the labels of all rows: a few hidden positives make it skewed. The band contains at least the
    normal interval at the observed rates, or with a model its inner part.

    `gold`: shape (classes, classes): number of gold rows by class and label. None is returned for
    measures of several components, or with too many losses.
    """
    sums = _Sums.of_sample(measure, inputs)
    if sums is None:
        return None
    bounds, classes = measure.components[0].bounds, inputs.table.classes
    of, bare = estimate.target, (None, *bounds, None, None)
    undefined = CorrectedEstimate(of.measure, of.system, *bare, dominates=True, against=of.against)
    rates = gold / np.maximum(gold.sum(axis=1, keepdims=True), 1)
    no_errors = np.eye(classes)
    if estimate.value is None or not np.isfinite(sums.value(no_errors)):
        return undefined
    plain, further = estimate.value, estimate.value - sums.value(no_errors)
    value = sums.value(_inverse(rates)) + further
    if not np.isfinite(value):
        return undefined
    of_sums, of_estimate = sums.standard_error(no_errors), estimate.standard_error
    scale = of_estimate / of_sums if of_sums and of_estimate is not None else 1.0
    rng = np.random.default_rng([seed, len(inputs.label)])
    draws = np.stack([rng.dirichlet(row + 0.5, _DRAWS) for row in gold], axis=1)
    inverses = np.stack([_inverse(drawn_rates) for drawn_rates in draws])
    values = np.array([sums.value(inverse) for inverse in inverses]) + further
    if model is None:
        errors = scale * np.array([sums.standard_error(inverse) for inverse in inverses])
        drawn, inner = values + errors * rng.standard_normal(_DRAWS), 1.0
    else:
        drawn, inner = _predicted(measure, inputs, model, inverses, rng), _INNER
    tail, is_defined = (1 - inputs.confidence) / 2, np.isfinite(drawn)
    ends = [  # of the central part of the draws, of which undefined ones count as either bound
        np.quantile(np.where(is_defined, drawn, bound), share)
        for bound, share in zip(bounds, (tail, 1 - tail), strict=True)
    ]
    low, high = np.clip(ends, *bounds).tolist()
    finite = np.clip(values[np.isfinite(values)], *bounds)
    cut, error = float(np.clip(value, *bounds)), scale * sums.standard_error(_inverse(rates))
    # Draws of P make label errors likely even if there were none among the gold rows.
    reach = inner * float(scipy.special.ndtri((1 + inputs.confidence) / 2)) * error
    label_error = float(np.hypot(cut - plain, np.std(finite)))
    return dataclasses.replace(
        undefined,
        value=cut,
        low=max(min(low, cut - reach), bounds[0]),
        high=min(max(high, cut + reach), bounds[1]),
        sampling_error=error,
        label_error=label_error,
        dominates=label_error > error,
    )


def _predicted(
    measure: Measure,
    inputs: EstimationInput,
    model: LabelModel,
    inverses: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the corrected measure for each P^-1, given a draw of all labels: shape (draws,)."""
    labels = model.everywhere
    turn = np.arange(len(inverses)) % len(labels.unlabelled)
    parts = [
        inverses[:, j, i, None] * labels.losses_if(measure, j, i)[turn]
        for j, i in np.ndindex(inverses.shape[1:])
    ]
    risk = np.sum(parts, axis=0)
    defined = np.isfinite(risk).all(axis=1)
    values = np.full(len(inverses), np.nan)
    values[defined] = measure.values(risk[defined])[:, 0]
    own = OwnProbabilities.of_labelled(Linearisation(measure, inputs))
    if own is None:
        return values
    return own.added_to(values[:, None], rng.standard_normal(len(values)))[:, 0]


def _inverse(rates: FloatArray) -> FloatArray:
    """Return the inverse of P; NaN if labels hardly depend on the class, or mean the opposite."""
    if np.linalg.det(rates) < _LEAST_RIGHT ** (len(rates) - 1):
        return np.full_like(rates, np.nan)
    return np.asarray(np.linalg.inv(rates), dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class _Sums:
    """Weighted sums of the losses that rows would have under each class, for each label."""

    measure: Measure
    sums: FloatArray  # (labels, classes, d): the sums
    covariance: FloatArray  # covariance of the flattened sums
    # (classes, d): mean losses over the pool if all its rows were of a class; None if they cannot
    # be computed from the cells
    pool: FloatArray | None
    common: int  # the most common label

    @classmethod
    def of_sample(cls, measure: Measure, inputs: EstimationInput) -> "_Sums | None":
        """Return the sums of a sample; None for several components or too many losses."""
        classes, label, votes = inputs.table.classes, inputs.label, inputs.votes
        if len(measure.components) > 1 or classes**2 * measure.size > _MOST_FEATURES:
            return None
        of_class = [np.full(len(label), y, dtype=np.int64) for y in range(classes)]
        losses = np.stack([measure.loss(inputs.outputs, y) for y in of_class], axis=1)
        features = np.eye(classes)[label][:, :, None, None] * losses[:, None]
        flat = votes.mean(features.reshape(len(label), -1))
        sums, covariance = inputs.sample.mean(flat), inputs.sample.covariance(flat)
        if inputs.self_normalised and inputs.covers_pool:
            total = inputs.sample.weight.sum()
            sums /= total
            covariance = inputs.sample.covariance((flat - sums) / total)
        table, pool = inputs.table, None
        if known_exactly(measure, table):
            pool = np.empty((classes, measure.size))
            for y in each_label(table):
                mass = np.zeros((len(table), classes))
                mass[:, y[0]] = table.count
                pool[y[0]] = model_risk(measure, table, mass) / table.rows
        return cls(
            measure,
            sums.reshape(features.shape[1:]),
            covariance,
            pool,
            int(np.argmax(np.bincount(label, votes.spread(inputs.sample.weight), classes))),
        )

    def _corrected(self, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean losses given P^-1, (d,), and the coefficients of the sums in them."""
        base: float | FloatArray = 0.0
        coefficients = inverse
        if self.pool is not None:
            known = inverse[self.common] - np.eye(len(inverse))[self.common]
            base, coefficients = known @ self.pool, inverse - known
        return base + np.einsum("ji,jie->e", coefficients, self.sums), coefficients

    def value(self, inverse: FloatArray) -> float:
        """Return the corrected measure, given P^-1; NaN if it is undefined."""
        risk, _ = self._corrected(inverse)
        return float(self.measure.value(risk)[0]) if np.isfinite(risk).all() else float("nan")

    def standard_error(self, inverse: FloatArray) -> float:
        """Return the sampling error of the corrected measure, given P^-1; NaN if undefined."""
        risk, coefficients = self._corrected(inverse)
        if not np.isfinite(risk).all():
            return float("nan")
        slope = self.measure.jacobian(risk)[0]
        weights = (coefficients[:, :, None] * slope).ravel()
        return float(np.sqrt(np.maximum(weights @ self.covariance @ weights, 0.0)))
