"""Expected deviation of a measure by a row's label, which the designs of [Y] are proportional to.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 12 to 14 and 94, and appendix D.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import Measure, check_defined
from evalsampling.measures.expected_labels import expected_of_rows, influence_moments, smoothed
from evalsampling.measures.on_cells import bounding_outputs, expected_risk, model_risk
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable, Kinds
from evalsampling.stats.outputs import Outputs

LEAST_PROBABILITY = 1e-4
"""Probabilities of a class are taken to be at least this: no score is certain."""


@dataclasses.dataclass(frozen=True)
class Deviation:
    """The root mean square deviation h of rows under an anticipated label distribution p_a.

    h^2(x) = sum_y p_a(y|x) ||Dg(R_a) (l(x, y) - R_a)||^2. For a ratio sum f / sum g this is
    sum_y p_a(y|x) (f - F'_a g)^2 up to a factor ([Y] eq. 12), F'_a = sum E_a f / sum E_a g
    (eq. 14); for other measures it is the delta method of [Y] appendix D, with all cross terms.
    """

    measure: Measure
    risk: FloatArray  # R_a, shape (d,)
    smoothing: float = 1.0  # lambda of p_a; each of many labels is had or not: two classes

    @classmethod
    def from_cells(
        cls, measure: Measure, table: CellTable, prior: FloatArray, smoothing: float = 1.0
    ) -> "Deviation":
        """Return the deviation with the R_a that cells give by a prior, shape (cells, classes)."""
        if table.kinds.expected is not None:
            kinds = dataclasses.replace(table.kinds, expected=_of_labels(table.kinds, smoothing))
            risk = expected_risk(measure, kinds, table.count.astype(np.float64)) / table.rows
        else:
            anticipated = anticipate(prior, smoothing)
            risk = model_risk(measure, table, table.count[:, None] * anticipated) / table.rows
        check_defined(measure, risk)
        return cls(measure, risk, smoothing)

    def of_rows(self, outputs: Outputs, prior: FloatArray) -> FloatArray:
        """Return h of rows, shape (n,), by their probabilities of classes, or of many labels."""
        if outputs.tags is not None:
            expected = expected_of_rows(outputs.tags, prior)
            return self._by_label(outputs, _shrunk(expected, outputs.tags, self.smoothing))
        anticipated = anticipate(prior, self.smoothing)
        return np.sqrt(np.sum(anticipated * self._squares(outputs, prior.shape[1]), axis=1))

    def of_cells(self, table: CellTable, prior: FloatArray) -> FloatArray:
        """Return h of the rows of each cell, shape (cells,), their root mean square."""
        if table.kinds.expected is not None:
            return self._by_label(table.kinds, _of_labels(table.kinds, self.smoothing))
        views = bounding_outputs(self.measure, table)
        squares = sum(self._squares(outputs, table.classes) for outputs in views) / len(views)
        anticipated = anticipate(prior, self.smoothing)
        return np.sqrt(np.sum(anticipated * table.kinds.by_cell(np.asarray(squares)), axis=1))

    def _by_label(self, outputs: Outputs, expected: FloatArray) -> FloatArray:
        """Return h, shape (n,), of rows with any number of many labels ([Y] eq. 95 to 97, 119)."""
        mean, variance = influence_moments(self.measure, outputs, expected, self.risk)
        centre = np.nan_to_num(self.measure.jacobian(self.risk)) @ self.risk
        return np.asarray(np.sqrt(((mean - centre) ** 2 + variance).sum(axis=1)))

    def _squares(self, outputs: Outputs, classes: int) -> FloatArray:
        """Return ||Dg(R_a) (l(x, y) - R_a)||^2, shape (n, classes)."""
        centre = self.measure.jacobian(self.risk) @ self.risk
        by_class = []
        for y in range(classes):
            label = np.full(len(outputs), y, dtype=np.int64)
            influence = self.measure.influence(outputs, label, self.risk) - centre
            by_class.append(np.nansum(influence**2, axis=1))
        return np.stack(by_class, axis=1)


def _of_labels(kinds: Kinds, smoothing: float) -> FloatArray:
    """Return what is anticipated of many labels in each cell, (cells, 1 + systems, labels)."""
    assert kinds.expected is not None
    assert kinds.tags is not None
    return _shrunk(kinds.expected, kinds.tags, smoothing)


def _shrunk(expected: FloatArray, tags: FloatArray, smoothing: float) -> FloatArray:
    """Return what is anticipated of many labels: at least `LEAST_PROBABILITY`, then smoothed."""
    return smoothed(expected, tags, smoothing * (1 - 2 * LEAST_PROBABILITY))


def anticipate(prior: FloatArray, smoothing: float) -> FloatArray:
    """Return p_a, shape (n, classes), rows summing to 1: clipped, then smoothed ([Y] eq. 13)."""
    clipped = np.maximum(prior, LEAST_PROBABILITY)
    clipped = clipped / clipped.sum(axis=1, keepdims=True)
    return smoothing * clipped + (1 - smoothing) / prior.shape[1]
