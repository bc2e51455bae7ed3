"""How far the proposal of a sampler is from the optimal one."""

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import cell_norms, loss_norms, model_risk
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


def divergence(
    measure: Measure, table: CellTable, truth: IntArray, history: History, proposal: Proposal
) -> float:
    """Return the divergence KL(q* || q) of a proposal q from the optimal proposal q*, in nats.

    For a deterministic oracle, q*(x) is in proportion to p(x) ||Dg(R) l(x, y_x)|| ([MR] eq. 5).
    It is infinite if a row that adds is never drawn; 0 if no row adds. ``truth`` is the rows of
    each cell of each class.
    """
    risk = model_risk(measure, table, truth.astype(np.float64)) / table.rows
    floor = float(np.finfo(np.float64).tiny)
    norms = cell_norms(measure, table, risk, floor) * (truth > 0)
    total = float(np.sum(truth * norms))
    if total == 0:
        return 0.0
    atom = proposal.atom
    free = truth.astype(np.float64)
    np.subtract.at(free, (history.cell[atom], history.label[atom]), 1)
    of_atoms = loss_norms(measure, history.outputs.take(atom), history.label[atom], risk, floor)
    best = np.concatenate([norms.ravel(), of_atoms]) / total
    rows = np.concatenate([free.ravel(), np.ones(len(atom))])
    by_cell = np.repeat(proposal.cell_probability, table.classes)
    chance = np.concatenate([by_cell, proposal.atom_probability])
    counted = (rows > 0) & (best > 1e-300)
    if np.any(chance[counted] == 0):
        return float(np.inf)
    ratio = np.log(best[counted] / chance[counted])
    return float(max(np.sum(rows[counted] * best[counted] * ratio), 0.0))
