"""What the probabilities of the rows add to a measure, beyond the mean ones of their cells."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import FloatArray
from evalsampling.inference.domains import Domain
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import sampled_risk
from evalsampling.measures.base import Measure
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class OwnProbabilities:
    """How far a measure is from the one with the mean probabilities of cells.

    Draws of the labels of rows without one give each the mean probability of its cell, as no more
    is known of it. Losses of that mean are not the mean losses where probabilities in a cell
    differ: several classes, systems whose scores do not make the cells, probabilities that are
    not made of the score.

    Attributes:
        shift: shape (m,): by how much the measure is greater, by the labelled rows.
        error: shape (m,): standard error of that.
        bounds: least and greatest values of the measure, shape (m,) each.
    """

    shift: FloatArray
    error: FloatArray
    bounds: tuple[FloatArray, FloatArray]

    @classmethod
    def of_labelled(
        cls,
        measure: Measure,
        inputs: EstimationInput,
        domain: Domain,
        inside: npt.NDArray[np.bool_],
    ) -> "OwnProbabilities | None":
        """Return it of a domain; None for measures that do not look at probabilities.

        The weighted mean of what labelled rows add to the measure by their own probability less
        what they do by the mean one. They stand for the rows without a label, so each counts with
        its weight less the row itself.

        Args:
            measure: what is estimated.
            inputs: from what.
            domain: on what part of the pool.
            inside: shape (n,): which labelled rows are in it.
        """
        if "probability" not in measure.looks_at:
            return None
        table, sample = inputs.table, inputs.sample
        rows = max(int(domain.rows(table).sum()), 1)
        factor = inside * (table.rows / rows)
        total = sample.weight @ factor
        if inputs.covers_pool and total > 0:
            factor = factor / total
        risk = sampled_risk(measure, inputs, sample.weight * factor)
        cell = inputs.history.cell[sample.question[inputs.votes.row]]
        mean = table.outputs.probability[table.first_kind[cell]]
        of_cell = dataclasses.replace(inputs.outputs, probability=mean)

        def influence(outputs: Outputs) -> FloatArray:
            return inputs.votes.mean(measure.influence(outputs, inputs.label, risk))

        further = influence(inputs.outputs) - influence(of_cell)
        further = np.where(np.isfinite(further), further, 0.0)
        beyond = np.maximum(factor - 1 / (rows * sample.weight), 0.0)[:, None] * further
        error = np.sqrt(np.maximum(sample.variance(beyond), 0.0))
        least, greatest = np.transpose([one.bounds for one in measure.components])
        return cls(sample.mean(beyond), error, (least, greatest))

    def added_to(self, values: FloatArray, noise: FloatArray) -> FloatArray:
        """Return draws of the measure with it, shape (draws, m), within the measure's bounds.

        Args:
            values: draws of the measure, by mean probabilities, shape (draws, m).
            noise: standard normal, shape (draws,): its error is the same share of `error` in all
                components of a draw.
        """
        return np.clip(values + self.shift + noise[:, None] * self.error, *self.bounds)
