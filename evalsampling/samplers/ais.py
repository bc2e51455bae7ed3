"""Adaptive importance sampling with a Dirichlet-tree model of the oracle.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, algorithm 1, proposition 2 and section 4.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.samplers.variance import FLOOR, adds_to, loss_norms, losses_by_label
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.oracle import fit_dirichlet_tree
from evalsampling.stats.tree import LeafTree


@dataclasses.dataclass(frozen=True)
class AdaptiveImportance(ReplacementSampler):
    """AIS for a deterministic oracle: v(x) = p(x) sum_y n(x, y) pi_t(y|x), no square root.

    pi_t is the posterior of the Dirichlet tree given all labels so far; a labelled row is an
    atom with a posterior of its own, a point mass at its label. Expectation-maximization starts
    from the posterior of the round before, which the history holds.

    Attributes:
        branching: children of a node of the tree; at least the number of leaves: flat model.
    """

    branching: int = 2
    name = "ais"

    def proposal(self, table: CellTable, history: History) -> Proposal:
        """Return the asymptotically optimal proposal for what is known now."""
        classes = table.probability.shape[1]
        # A class that the prior excludes keeps a chance to be found.
        prior = np.maximum(table.leaf_prior, FLOOR)
        atom = history.labelled
        atom_cell, atom_label = history.cell[atom], history.label[atom]
        labelled = np.zeros((table.leaves, classes))
        np.add.at(labelled, (table.leaf[atom_cell], atom_label), 1)

        posterior = fit_dirichlet_tree(
            tree=LeafTree(table.leaves, self.branching),
            prior=prior,
            labelled=labelled,
            unlabelled=table.leaf_count - labelled.sum(axis=1),
            start=history.rounds[-1].posterior if history.rounds else None,
        ).posterior

        free = table.count - np.bincount(atom_cell, minlength=len(table))
        response = posterior[table.leaf]
        losses = losses_by_label(self.measure, table.signature, classes)
        atom_losses = losses[atom_cell, atom_label]
        risk = np.einsum("c,cy,cyd->d", free, response, losses) + atom_losses.sum(axis=0)
        floor = FLOOR * max(free.sum(), 1) / table.rows
        jacobian_risk = risk / table.rows
        value = np.sum(loss_norms(self.measure, jacobian_risk, losses, floor) * response, axis=1)
        atom_value = loss_norms(self.measure, jacobian_risk, atom_losses, floor)
        total = np.sum(free * value) + atom_value.sum()
        return Proposal(value / total, atom, atom_value / total, posterior)

    def supports(self, table: CellTable, measure: Measure) -> bool:
        """Whether rows that add to the measure also add to the one sampled for.

        Label by label: an atom whose label adds nothing to the measure sampled for is never
        drawn again.
        """
        return bool(np.all(adds_to(self.measure, table) | ~adds_to(measure, table)))
