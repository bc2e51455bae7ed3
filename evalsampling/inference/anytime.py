"""Tests and intervals of a mean that may be looked at after every draw.

A gambler who bets against a mean m stakes on each draw a share of the wealth, at fair odds if the
mean is m. So the wealth is a martingale then, and by Ville's inequality it ever grows to 1 / alpha
with a probability of at most alpha, whenever one looks and whatever made one stop.

References:
    I. Waudby-Smith and A. Ramdas, *Estimating means of bounded random variables by betting*,
    Journal of the Royal Statistical Society B 86, 2024, theorem 1 and section 4.
    J. Ville, *Étude critique de la notion de collectif*, Gauthier-Villars 1939.
"""

import dataclasses
import math

import numpy as np
import scipy

from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import MeanDifference
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.history import NO_LABEL

STAKES = np.geomspace(0.004, 0.9, 16)
"""Shares of the wealth, of the largest loss there can be; the wealth is spread over all evenly."""

_STEPS = 24
"""Halvings of the range in which an end of an interval lies."""


@dataclasses.dataclass(frozen=True)
class Gamble:
    """Independent draws with one mean, in order, and how large each could have been."""

    value: FloatArray  # (n,)
    bound: FloatArray  # (n,): greatest absolute value, known before the draw; above 0

    def p_value(self, mean: float = 0.0) -> float:
        """Return the two-sided p-value of a mean, right at whatever draw one stops."""
        wealth = max(self._log_wealth(mean, 1.0), self._log_wealth(mean, -1.0))
        return float(min(1.0, 2 * math.exp(-max(wealth, 0.0))))

    def interval(self, confidence: float, bounds: tuple[float, float]) -> tuple[float, float]:
        """Return the ends of the means whose p-value never was below 1 - confidence."""
        limit = math.log(2 / (1 - confidence))
        return self._end(limit, bounds, 1.0), self._end(limit, bounds, -1.0)

    def _end(self, limit: float, bounds: tuple[float, float], side: float) -> float:
        """Return the bound beyond which bets on the mean reach the limit of their wealth."""
        lost, kept = bounds if side > 0 else bounds[::-1]
        if self._log_wealth(lost, side) < limit:
            return lost
        for _ in range(_STEPS):
            middle = (lost + kept) / 2
            if self._log_wealth(middle, side) < limit:
                kept = middle
            else:
                lost = middle
        return lost

    def _log_wealth(self, mean: float, side: float) -> float:
        """Return the logarithm of the greatest wealth ever, betting on one side of a mean."""
        if not len(self.value):
            return 0.0
        gain = side * (self.value - mean) / (self.bound + abs(mean))
        grown = np.cumsum(np.log1p(STAKES[:, None] * gain), axis=1)
        return float(np.max(scipy.special.logsumexp(grown, axis=0)) - math.log(len(STAKES)))


def gamble_on(measure: Measure, inputs: EstimationInput) -> Gamble | None:
    """Return the draws whose mean is a measure on the pool, up to the first unlabelled round.

    None if the measure is no mean difference, rows were not drawn with replacement or share
    clusters, or a chance was not known before the draw: it bounds the weight.
    """
    table, history = inputs.table, inputs.history
    if not isinstance(measure, MeanDifference) or not inputs.with_replacement or inputs.has_atoms:
        return None
    if inputs.sample.cluster is not None:
        return None
    largest = measure.components[0].bounds[1]
    if len(measure.components) != 1 or not math.isfinite(largest):
        return None
    adding = cells_adding_to(measure, table)
    values, bounds = [np.zeros(0)], [np.zeros(0)]
    for drawn in history.rounds:
        unlabelled = history.label[drawn.question] == NO_LABEL
        if drawn.cell_probability is None or unlabelled.any():
            break
        least = drawn.cell_probability[adding].min(initial=np.inf)
        votes = history.votes(drawn.question)
        outputs = history.outputs.take(drawn.question[votes.row])
        loss = votes.mean(measure.loss(outputs, votes.label)[:, 0])
        values.append(loss / (table.rows * drawn.probability))
        bounds.append(np.full(len(loss), largest / (table.rows * least)))
    value, bound = np.concatenate(values), np.concatenate(bounds)
    return Gamble(value, bound) if len(value) and np.all(bound > 0) else None
