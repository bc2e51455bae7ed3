"""Diagnostics of a sampler: its model compared with the labels, its proposal with the optimal."""

import dataclasses

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import cell_norms, loss_norms, model_risk
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class LeafDiagnosis:
    """Class probabilities of a leaf: by the prior, by its labels, and by the sampler's model."""

    leaf: int
    rows: int
    labelled: int
    prior: tuple[float, ...]
    # share of each class among the labels of the leaf, each label weighted by the rows of its cell
    # that it represents; None without a label
    observed: tuple[float, ...] | None
    # by the model that the latest round was drawn by (the sampler `calibrated` assumes next to no
    # hidden positives there: `DESIGN_SHARE`); None if the sampler has none
    posterior: tuple[float, ...] | None


def diagnose(table: CellTable, history: History) -> list[LeafDiagnosis]:
    """Return the class probabilities of each leaf by the prior, the labels and the latest model."""
    counts = history.seen(len(table), table.classes)
    labelled = np.bincount(history.cell[history.labelled], minlength=len(table))
    seen = labelled > 0
    # Rows of a cell have equal chances, so the plain share of a label is unbiased within it.
    share = counts / np.maximum(labelled, 1)[:, None]
    mass = table.sum_by_leaf((table.count * seen)[:, None] * share)
    total = mass.sum(axis=1)
    by_leaf = table.sum_by_leaf(labelled[:, None])[:, 0]
    model = history.rounds[-1].posterior if history.rounds else None
    return [
        LeafDiagnosis(
            leaf=leaf,
            rows=int(table.leaf_count[leaf]),
            labelled=int(by_leaf[leaf]),
            prior=tuple(table.leaf_prior[leaf].tolist()),
            observed=tuple((mass[leaf] / total[leaf]).tolist()) if total[leaf] else None,
            posterior=None if model is None else tuple(model[leaf].tolist()),
        )
        for leaf in range(len(table.leaves))
    ]


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
