"""Parts of variance-minimising proposals: norms of losses, with a floor ([MR] section 3)."""

import abc
import dataclasses

import numpy as np

from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import always_adds_to, loss_norms
from evalsampling.samplers.base import ReplacementSampler, no_rounds
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class DeviationSampler(ReplacementSampler):
    """Draws rows with replacement by how far their label is expected to move the measure."""

    trusts_prior = True

    @abc.abstractmethod
    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return the probability of a row of each cell before costs and mixing, shape (cells,)."""

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal, the same for every round unless labels calibrate the scores."""
        return Proposal(self.probability(table, history))

    def unmixed_support(self, table: CellTable) -> BoolArray:
        """Return which cells are expected to move the measure, shape (cells,).

        No label changes the answer, since every class is possible in every cell.
        """
        return self.probability(table, no_rounds(table)) > 0

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        """Return the input of the estimates, with self-normalised weights.

        [AE] eq. 3.31, the ratio estimator of [Y] eq. 4: see `active_risk`, `optimal_importance`.
        """
        return dataclasses.replace(inputs, self_normalised=True)


def atom_norms(
    measure: Measure, table: CellTable, history: History, risk: FloatArray, floor: float
) -> FloatArray:
    """Return the norm n(x, y) of the loss of each labelled row, shape (labelled,).

    It is at least the floor where rows of the cell with that label always add to the measure, even
    if this row does not (say, with a probability of exactly 0). So labelled rows have a chance
    wherever their cell has.
    """
    atom = history.labelled
    label = history.label[atom]
    norms = loss_norms(measure, history.outputs.take(atom), label, risk, floor)
    return np.maximum(norms, floor * always_adds_to(measure, table)[history.cell[atom], label])
