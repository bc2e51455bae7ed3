"""The effect on a measure of using each row's own probability, not the mean of its cell."""

import dataclasses

import numpy as np

from evalsampling.inference.linearisation import Linearisation
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class OwnProbabilities:
    """The difference between a measure and the same measure with cells' mean probabilities.

    Draws of the labels of unlabelled rows use the mean probability of the row's cell, as nothing
    more is known of the row. The loss at the mean probability is not the mean loss if
    probabilities in a cell differ: with several classes, with systems whose scores do not define
    the cells, and with probabilities that are not a function of the score.

    Attributes:
        shift: shape (m,): the difference, estimated from the labelled rows.
        error: shape (m,): standard error of the difference.
        bounds: least and greatest values of the measure, shape (m,) each.
    """

    shift: FloatArray
    error: FloatArray
    bounds: tuple[FloatArray, FloatArray]

    @classmethod
    def of_labelled(cls, part: Linearisation) -> "OwnProbabilities | None":
        """Return the difference on a domain; None for measures that do not use probabilities.

        It is the weighted mean, over labelled rows, of what a row adds to the measure with its own
        probability minus what it adds with the mean probability. These rows represent the rows
        without a label, so each row's weight is reduced by the row itself.
        """
        measure, inputs, factor = part.measure, part.inputs, part.factor
        if "probability" not in measure.looks_at:
            return None
        table, sample = inputs.table, inputs.sample
        total = sample.weight @ factor
        if inputs.covers_pool and total > 0:
            factor = factor / total
        risk = part.risk(sample.weight * factor)
        cell = inputs.history.cell[sample.question[inputs.votes.row]]
        mean = table.outputs.probability[table.first_kind[cell]]
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

        Args:
            values: draws of the measure with mean probabilities, shape (draws, m).
            noise: standard normal numbers, shape (draws,): the error of the difference in each
                draw, in units of `error`, the same for all components.
        """
        return np.clip(values + self.shift + noise[:, None] * self.error, *self.bounds)
