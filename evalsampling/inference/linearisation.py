"""Estimates of measures with the influence of each labelled row, which variances need."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure
from evalsampling.measures.expected_labels import influence_moments
from evalsampling.measures.on_cells import (
    LARGEST_MATRIX,
    bounding_outputs,
    each_label,
    expected_risk,
    model_risk,
)
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class LinearTerms:
    """The terms (Dg(risk) l - centre) factor, whose weighted sum is an estimate's linear part."""

    risk: FloatArray  # R^, shape (d,)
    centre: FloatArray  # (n, m), or (1, m) if it is the same for all labelled rows
    factor: FloatArray  # (n,): factor of each labelled row, 0 outside the domain

    def added(self, influence: FloatArray) -> FloatArray:
        """Return the term of each labelled row, shape (n, m), given its Dg(risk) l."""
        return np.asarray((influence - self.centre) * self.factor[:, None])


@dataclasses.dataclass(frozen=True)
class Linearisation:
    """The estimate of a measure on a part of the pool, as a function of weighted sums over rows."""

    measure: Measure
    inputs: EstimationInput
    domain: Domain = Domain()

    @functools.cached_property
    def inside(self) -> BoolArray:
        """Whether each labelled row is in the domain, shape (n,)."""
        return self.domain.holds(self.inputs.history, self.inputs.sample.question)

    @functools.cached_property
    def factor(self) -> FloatArray:
        """Factors that turn the pool's weights of labelled rows into the domain's, shape (n,)."""
        rows = max(int(self.domain.rows(self.inputs.table).sum()), 1)
        return np.asarray(self.inside * (self.inputs.table.rows / rows))

    def risk(self, weight: FloatArray) -> FloatArray:
        """Return the weighted sum of losses, shape (d,), given the weight of each labelled row."""
        inputs = self.inputs
        return self.measure.mean_loss(inputs.outputs, inputs.label, inputs.votes.spread(weight))

    def estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return g(R^), (m,), and the influence of each labelled row, (n, m), 0 outside the domain.

        R^ of a domain is the weighted sum over its rows, divided by its known share of the pool;
        or, if every row could be drawn, by the estimate of this share, whose error is correlated
        with the numerator's. Self-normalised weights are treated alike. With a model, see
        `_by_model`.
        """
        if self.inputs.response is not None:
            return self._by_model()
        terms = self.terms
        return self.measure.value(terms.risk), terms.added(self._influence(terms.risk))

    def expected_error(self, rate: FloatArray) -> FloatArray:
        """Return the standard error of `estimate` that rates of the classes predict, shape (m,).

        Each labelled row counts with the mean of its influence over the labels that it might have
        had: a variance estimated from labels reflects only those in the sample.
        """
        history, question, terms = self.inputs.history, self.inputs.sample.question, self.terms
        outputs, chance = history.outputs.take(question), rate[history.cell[question]]
        mean = square = np.zeros((len(question), len(self.measure.components)))
        for y in range(chance.shape[1]):
            label = np.full(len(question), y, dtype=np.int64)
            added = terms.added(self.measure.influence(outputs, label, terms.risk))
            of_class = chance[:, y : y + 1]
            mean, square = mean + of_class * added, square + of_class * added**2
        return np.sqrt(np.maximum(self.inputs.sample.variance_of(mean, square), 0.0))

    @functools.cached_property
    def terms(self) -> LinearTerms:
        """The linear part of an estimate from weights, or of the difference estimator."""
        inputs, factor, weight = self.inputs, self.factor, self.inputs.sample.weight
        if inputs.response is not None:
            return self._differences(inputs.response)
        of_share = self.domain.count is not None or inputs.self_normalised
        if not (of_share and inputs.covers_pool and np.any(weight @ factor)):
            none = np.zeros((1, len(self.measure.components)))
            return LinearTerms(self.risk(weight * factor), none, factor)
        factor = factor / (weight @ factor)
        risk = self.risk(weight * factor)
        return LinearTerms(risk, ((weight * factor) @ self._influence(risk))[None], factor)

    def _influence(self, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l of each labelled row, shape (n, m), the mean over its answers."""
        inputs = self.inputs
        return inputs.votes.mean(self.measure.influence(inputs.outputs, inputs.label, risk))

    def _by_model(self) -> tuple[FloatArray, FloatArray]:
        """Return the difference estimate, cut at the measure's bounds, and each row's influence.

        The estimate from weights alone replaces it where it is undefined, or its variance or
        squared distance from the range exceeds the variance of a uniform number in the range, as
        happens where the model is far off in cells whose rows have large weights.
        """
        measure, terms = self.measure, self.terms
        value, influence = measure.value(terms.risk), terms.added(self._influence(terms.risk))
        low, high = np.transpose([component.bounds for component in measure.components])
        within = np.clip(value, low, high)
        square = np.maximum((value - within) ** 2, self.inputs.sample.variance(influence))
        useless = np.isnan(value) | (square > variance_of_any(measure))
        if not useless.any():
            return within, influence
        alone = dataclasses.replace(self, inputs=dataclasses.replace(self.inputs, response=None))
        of_weights, its_influence = alone.estimate()
        return np.where(useless, of_weights, within), np.where(useless, its_influence, influence)

    def _differences(self, response: FloatArray) -> LinearTerms:
        """Return the linear part of the difference estimator, given the model's rates.

        The model's total over the cells plus the weighted sum of the differences between labels and
        model (Särndal, Swensson and Wretman, *Model Assisted Survey Sampling*, 1992, eq. 6.3.4). So
        rows that the weights of their cell do not account for get the model's labels; if weights
        account for more rows than a cell has, the estimate may leave the measure's range.
        """
        measure, table, sample = self.measure, self.inputs.table, self.inputs.sample
        cell, weight = self.inputs.history.cell[sample.question], sample.weight * self.factor
        rows = self.domain.rows(table)
        share = rows / max(int(rows.sum()), 1) - np.bincount(cell, weight, len(table))
        risk = self.risk(weight)
        if table.kinds.expected is not None:
            risk = risk + expected_risk(measure, table.kinds, share)
            centre = influence_moments(measure, table.kinds, table.kinds.expected, risk)[0]
        else:
            risk = risk + model_risk(measure, table, share[:, None] * response)
            centre = np.einsum("cy,cym->cm", response, influence_by_cell(measure, table, risk))
        return LinearTerms(risk, centre[cell], self.factor)


def influence_by_cell(measure: Measure, table: CellTable, risk: FloatArray) -> FloatArray:
    """Return the mean influence at R^ of a row of each cell by label: (cells, classes, m)."""
    views = bounding_outputs(measure, table)
    by_label = [
        sum(table.kinds.by_cell(measure.influence(view, y, risk)) for view in views) / len(views)
        for y in each_label(table)
    ]
    return np.nan_to_num(np.stack(by_label, axis=1))


def influences_by_cell(
    measure: Measure, table: CellTable, parts: Sequence[FloatArray]
) -> Iterator[Sequence[FloatArray]]:
    """Yield, for each part, the mean influence of a row of each cell, by class: (n, m, cells) each.

    It is `influence_by_cell` at the n risks of the part, shape (n, d). Losses are computed once for
    all risks, unless that takes matrices that are too large.
    """
    m, d = len(measure.components), parts[0].shape[1]
    if max(len(table.kinds), len(parts[0]) * m) * d > LARGEST_MATRIX:
        for risks in parts:
            by_risk = np.stack([influence_by_cell(measure, table, risk) for risk in risks])
            yield list(np.transpose(by_risk, (2, 0, 3, 1)))
        return
    views = bounding_outputs(measure, table)
    losses = [
        np.sum([table.kinds.by_cell(measure.loss(view, y)) for view in views], axis=0) / len(views)
        for y in each_label(table)
    ]
    for risks in parts:
        slopes = measure.jacobians(risks).reshape(-1, d)
        influences, shape = [slopes @ loss.T for loss in losses], (len(risks), m, len(table))
        # Most are defined throughout: to test that is far faster than to make a copy.
        yield [
            (each if np.isfinite(each).all() else np.nan_to_num(each)).reshape(shape)
            for each in influences
        ]


def variance_of_any(measure: Measure) -> FloatArray:
    """Return the variance of a uniform number in the range of each component, shape (m,)."""
    low, high = np.transpose([component.bounds for component in measure.components])
    return np.asarray((high - low) ** 2 / 12)


@dataclasses.dataclass(frozen=True)
class OwnProbabilities:
    """The difference between a measure and the same measure with cells' mean probabilities.

    Draws of labels use the mean probability of the cell, and the loss at the mean is not the mean
    loss where probabilities in a cell differ.
    """

    shift: FloatArray  # (m,): the difference, estimated from the labelled rows
    error: FloatArray  # (m,): standard error of the difference
    # least and greatest values of the measure, shape (m,) each
    bounds: tuple[FloatArray, FloatArray]

    @classmethod
    def of_labelled(cls, part: Linearisation) -> "OwnProbabilities | None":
        """Return the difference on a domain; None for measures that do not use probabilities.

        It is the weighted mean, over labelled rows, of what a row adds with its own probability
        minus what it adds with the mean. These rows stand for those without a label, so each row's
        weight is reduced by the row itself.
        """
        measure = part.measure
        if "probability" not in measure.looks_at:
            return None
        inputs, factor = part.inputs, part.factor
        table, sample = inputs.table, inputs.sample
        total = sample.weight @ factor
        if inputs.covers_pool and total > 0:
            factor = factor / total
        risk = part.risk(sample.weight * factor)
        cell = inputs.history.cell[sample.question[inputs.votes.row]]
        mean = table.kinds.probability[table.kinds.first[cell]]
        of_cell = dataclasses.replace(inputs.outputs, probability=mean)

        def influence(outputs: Outputs) -> FloatArray:
            return inputs.votes.mean(measure.influence(outputs, inputs.label, risk))

        further = influence(inputs.outputs) - influence(of_cell)
        further = np.where(np.isfinite(further), further, 0.0)
        rows = max(int(part.domain.rows(table).sum()), 1)
        beyond = np.maximum(factor - 1 / (rows * sample.weight), 0.0)[:, None] * further
        error = np.sqrt(np.maximum(sample.variance(beyond), 0.0))
        least, greatest = np.transpose([component.bounds for component in measure.components])
        return cls(sample.mean(beyond), error, (least, greatest))

    def added_to(self, values: FloatArray, noise: FloatArray) -> FloatArray:
        """Return draws of the measure plus the difference, within its bounds: shape (draws, m).

        The standard normal noise, one of each draw, is the error of the difference.
        """
        return np.clip(values + self.shift + noise[:, None] * self.error, *self.bounds)
