"""Parts of variance-minimising proposals: norms of losses, with a floor ([MR] section 3)."""

import abc
import dataclasses

import numpy as np

from evalsampling.inference.inputs import EstimationInput
from evalsampling.measures.base import Measure, check_defined
from evalsampling.measures.on_cells import adds_to, always_adds_to, bounding_outputs, each_label
from evalsampling.samplers.base import ReplacementSampler, no_atoms, no_rounds
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight of a nonzero loss, where others are of order 1."""


@dataclasses.dataclass(frozen=True)
class DeviationSampler(ReplacementSampler):
    """Draws rows with replacement by how far their label is expected to move the measure."""

    trusts_prior = True

    @abc.abstractmethod
    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return the probability of a row of each cell before costs and mixing, shape (cells,)."""

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal, the same for every round unless labels calibrate the scores."""
        return Proposal(self.probability(table, history), no_atoms(), np.zeros(0))

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


def loss_norms(
    measure: Measure, outputs: Outputs, label: IntArray, risk: FloatArray, floor: float
) -> FloatArray:
    """Return n(x, y) = max(||Dg(R) l(x, y)||, floor 1[l != 0]) ([MR] proposition 2).

    Args:
        measure: the measure, with its loss l and Jacobian Dg.
        outputs: outputs of the systems for n rows.
        label: shape (n,): class codes.
        risk: R, shape (d,).
        floor: eps_t, greater than 0.

    Returns:
        Shape (n,).
    """
    norms = measure.proposal_norm(outputs, label, risk)
    return np.maximum(norms, floor * measure.adds(outputs, label))


def cell_norms(measure: Measure, table: CellTable, risk: FloatArray, floor: float) -> FloatArray:
    """Return the norm n(x, y) of the losses of each cell's rows, shape (cells, classes).

    Where rows of a cell differ, their mean is taken; at least the floor where one may add.

    Raises:
        InputError: if the measure is undefined at ``risk``, so that no row adds to it.
    """
    check_defined(measure, risk)
    by_kind = np.mean(
        [
            [loss_norms(measure, outputs, y, risk, floor) for y in each_label(table)]
            for outputs in bounding_outputs(measure, table)
        ],
        axis=0,
    ).T
    return np.maximum(table.mean_by_cell(by_kind), floor * adds_to(measure, table))


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
