"""Static importance sampling: the optimal proposal for the prior, never adapted.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, remark 4 and proposition 2;
    Sawade, Landwehr, Bickel and Scheffer, *Active risk estimation*, ICML 2010.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.samplers.base import ReplacementSampler, no_atoms
from evalsampling.samplers.variance import FLOOR, cells_adding_to, loss_norms, losses_by_label
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class Importance(ReplacementSampler):
    """Importance sampling for a deterministic oracle: v(x) = p(x) sum_y n(x, y) s(y|k).

    s(y|k) is the leaf's mean prior probability, n(x, y) the size of the loss after the
    Jacobian at the risk that the prior implies.
    """

    name = "importance"

    def proposal(self, table: CellTable, history: History) -> Proposal:
        """Return the proposal, the same for every round."""
        # A leaf whose scores are all 0 or 1 keeps a chance to be found wrong.
        prior = np.maximum(table.leaf_prior, FLOOR)[table.leaf]
        losses = losses_by_label(self.measure, table.signature, prior.shape[1])
        risk = np.einsum("c,cy,cyd->d", table.count, prior, losses) / table.rows
        value = np.sum(loss_norms(self.measure, risk, losses, FLOOR) * prior, axis=1)
        return Proposal(value / np.sum(table.count * value), no_atoms(), np.zeros(0))

    def supports(self, table: CellTable, measure: Measure) -> bool:
        """Whether cells that can add to the measure can add to the one sampled for."""
        return bool(np.all(self.reach(table) | ~cells_adding_to(measure, table)))
