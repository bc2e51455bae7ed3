"""What wrong labels do to an estimate, given how often labels of rows of known class were right.

A label j of a row whose class is i has the chance P_ij, whatever else the row is. Then
l~_j = sum_i (P^-1)_ji l_i has the expectation l_i, the loss under the true class: its mean is what
the measure is taken of. For the share of positives of two classes this is the estimate of Rogan and
Gladen, (p + specificity - 1) / (sensitivity + specificity - 1).

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

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.own_probabilities import OwnProbabilities
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import each_label, known_exactly, model_risk

_DRAWS = 2000
"""Of the chances P and of the error of sampling, behind a band."""

_INNER = 0.75
"""Share of the normal interval that the draws of a model are widened to hold."""

_MOST_FEATURES = 256
_LEAST_RIGHT = 1e-3
"""What the chance of a right label may exceed that of a wrong one by, at least: with C classes the
determinant of P is that to the power of C - 1, if wrong ones are alike."""


@dataclasses.dataclass(frozen=True)
class LabelErrorBand:
    """A measure corrected for wrong labels, and what its error is made of.

    Attributes:
        value: corrected, None if it is undefined or the labels say next to nothing.
        low: lower end of the band.
        high: upper end of the band.
        sampling_error: standard error that the sample alone leaves in the corrected value.
        label_error: what wrong labels do: the root of the squared correction and of the variance
            that comes of the number of gold rows.
        dominates: whether that is more than the error of sampling.
    """

    value: float | None
    low: float
    high: float
    sampling_error: float | None
    label_error: float | None

    @property
    def dominates(self) -> bool:
        """Whether wrong labels, not sampling, are what limits the estimate."""
        if self.sampling_error is None or self.label_error is None:
            return self.value is None
        return self.label_error > self.sampling_error


def correct(
    measure: Measure,
    inputs: EstimationInput,
    gold: IntArray,
    seed: int,
    estimate: Estimate,
    model: LabelModel | None = None,
) -> LabelErrorBand | None:
    """Return the band of a measure of one component on the whole pool.

    The corrected value is the estimate and what the correction adds to the weighted mean of the
    losses; the error of sampling is that of the estimate, times what the correction does to that
    of the mean. So labels without errors leave both, whatever else an estimate is made of: the
    weights' own sum, or a model.

    The band is the middle part of draws: of P, from the Dirichlet distribution of each row with
    the gold rows and 1/2 for each class as parameters, and of the error of sampling: from the
    normal distribution, or by the model draws of the labels that all rows would get, of which a few
    hidden positives make a lean distribution that no normal one follows. It holds at least the
    normal interval at the rates that were met, with a model the inner part of it.

    Of the correction l~ - l, what rows with the most common label have is known of every row of the
    pool, if the cells tell its losses: the sample gives the rest.

    Args:
        measure: to correct.
        inputs: the labelled rows and their weights.
        gold: shape (classes, classes): gold rows by their class and by their label.
        seed: of the draws.
        estimate: of the measure, from the labels as they are given.
        model: of the labels as they are given, where the measure's interval is by it.

    Returns:
        None for measures of several components, or of too many entries to be told apart.
    """
    sums = _Sums.of_sample(measure, inputs)
    if sums is None:
        return None
    bounds, classes = measure.components[0].bounds, inputs.table.classes
    nothing = LabelErrorBand(None, *bounds, None, None)
    rates = gold / np.maximum(gold.sum(axis=1, keepdims=True), 1)
    right = np.eye(classes)
    if estimate.value is None or not np.isfinite(sums.value(right)):
        return nothing
    plain, further = estimate.value, estimate.value - sums.value(right)
    value = sums.value(_inverse(rates)) + further
    if not np.isfinite(value):
        return nothing
    of_sums, of_estimate = sums.standard_error(right), estimate.standard_error
    scale = of_estimate / of_sums if of_sums and of_estimate is not None else 1.0
    rng = np.random.default_rng([seed, len(inputs.label)])
    draws = np.stack([rng.dirichlet(row + 0.5, _DRAWS) for row in gold], axis=1)
    inverses = np.stack([_inverse(one) for one in draws])
    values = np.array([sums.value(one) for one in inverses]) + further
    if model is None:
        errors = scale * np.array([sums.standard_error(one) for one in inverses])
        drawn, held = values + errors * rng.standard_normal(_DRAWS), 1.0
    else:
        drawn, held = _predicted(measure, inputs, model, inverses, rng), _INNER
    low, high = _middle(drawn, bounds, inputs.confidence)
    finite = np.clip(values[np.isfinite(values)], *bounds)
    cut, error = float(np.clip(value, *bounds)), scale * sums.standard_error(_inverse(rates))
    # The draws take rare errors for likely: at the rates that were met there may be none.
    reach = held * float(scipy.special.ndtri((1 + inputs.confidence) / 2)) * error
    return LabelErrorBand(
        cut,
        max(min(low, cut - reach), bounds[0]),
        min(max(high, cut + reach), bounds[1]),
        error,
        float(np.hypot(cut - plain, np.std(finite))),
    )


def _predicted(
    measure: Measure,
    inputs: EstimationInput,
    model: LabelModel,
    inverses: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the corrected measure of draws of all labels, each with a P^-1 of its own.

    Rows with the label j count (P^-1)_ji times as rows of each class i.
    """
    labels = model.everywhere
    turn = np.arange(len(inverses)) % len(labels.unlabelled)
    classes = range(model.table.classes)
    risk = np.sum(
        [
            inverses[:, j, i, None] * labels.losses_if(measure, j, i)[turn]
            for j in classes
            for i in classes
        ],
        axis=0,
    )
    defined = np.isfinite(risk).all(axis=1)
    values = np.full(len(inverses), np.nan)
    values[defined] = measure.values(risk[defined])[:, 0]
    everywhere = np.ones(len(inputs.sample.question), dtype=bool)
    own = OwnProbabilities.of_labelled(measure, inputs, Domain(), everywhere)
    if own is None:
        return values
    return own.added_to(values[:, None], rng.standard_normal(len(values)))[:, 0]


def _inverse(rates: FloatArray) -> FloatArray:
    """Return P^-1, NaN where labels tell next to nothing of classes, or the opposite."""
    if np.linalg.det(rates) < _LEAST_RIGHT ** (len(rates) - 1):
        return np.full_like(rates, np.nan)
    return np.asarray(np.linalg.inv(rates), dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class _Sums:
    """Weighted sums of the losses that rows would have under each class, by their labels.

    Attributes:
        measure: of one component.
        sums: shape (labels, classes, d).
        covariance: of them, flattened.
        pool: shape (classes, d): mean losses of all rows of the pool, were all of one class; None
            if the cells do not tell them.
        common: the most common label.
    """

    measure: Measure
    sums: FloatArray
    covariance: FloatArray
    pool: FloatArray | None
    common: int

    @classmethod
    def of_sample(cls, measure: Measure, inputs: EstimationInput) -> "_Sums | None":
        """Return the sums of a sample, None for measures that have too many of them."""
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
        return cls(
            measure,
            sums.reshape(features.shape[1:]),
            covariance,
            _pool_means(measure, inputs),
            int(np.argmax(np.bincount(label, votes.spread(inputs.sample.weight), classes))),
        )

    def _known_part(self, inverse: FloatArray) -> FloatArray:
        """Return what the correction is of rows whose label is the common one: a row of P^-1 - I.

        Its mean over the pool is known, so the sample is not asked for it.
        """
        return inverse[self.common] - np.eye(len(inverse))[self.common]

    def _coefficients(self, inverse: FloatArray) -> FloatArray:
        return inverse if self.pool is None else inverse - self._known_part(inverse)

    def _risk(self, inverse: FloatArray) -> FloatArray:
        base = 0.0 if self.pool is None else self._known_part(inverse) @ self.pool
        return base + np.einsum("ji,jie->e", self._coefficients(inverse), self.sums)

    def value(self, inverse: FloatArray) -> float:
        """Return the measure under P, by its inverse; NaN if it is undefined."""
        risk = self._risk(inverse)
        return float(self.measure.value(risk)[0]) if np.isfinite(risk).all() else float("nan")

    def standard_error(self, inverse: FloatArray) -> float:
        """Return the error that sampling leaves in it, likewise."""
        risk = self._risk(inverse)
        if not np.isfinite(risk).all():
            return float("nan")
        slope = self.measure.jacobian(risk)[0]
        weights = (self._coefficients(inverse)[:, :, None] * slope).ravel()
        return float(np.sqrt(np.maximum(weights @ self.covariance @ weights, 0.0)))


def _pool_means(measure: Measure, inputs: EstimationInput) -> FloatArray | None:
    """Return the mean loss of the pool under each class, (classes, d), if the cells tell it."""
    table = inputs.table
    if not known_exactly(measure, table):
        return None
    means = []
    for y in each_label(table):
        mass = np.zeros((len(table), table.classes))
        mass[:, y[0]] = table.count
        means.append(model_risk(measure, table, mass) / table.rows)
    return np.array(means)


def _middle(
    draws: FloatArray, bounds: tuple[float, float], confidence: float
) -> tuple[float, float]:
    """Return the middle part of draws; one that is undefined may be anything."""
    tail = (1 - confidence) / 2
    low = np.quantile(np.where(np.isfinite(draws), draws, bounds[0]), tail)
    high = np.quantile(np.where(np.isfinite(draws), draws, bounds[1]), 1 - tail)
    return float(np.clip(low, *bounds)), float(np.clip(high, *bounds))
