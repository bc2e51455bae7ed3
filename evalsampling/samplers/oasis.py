"""OASIS: adaptive importance sampling of strata for F-measures.

References:
    [OASIS] Marchant and Rubinstein, *In Search of an Entity Resolution OASIS: Optimal Asymptotic
    Sequential Importance Sampling*, VLDB 2017, algorithm 3.
"""

import dataclasses

import numpy as np

from evalsampling.measures.binary import FBeta, Precision, Recall
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.spec.parameters import above_0, number
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.oasis import instrumental, plug_in_f
from evalsampling.stats.oracle import beta_by_stratum


@dataclasses.dataclass(frozen=True)
class Oasis(ReplacementSampler):
    """Draws strata with probabilities optimal for the rates of positives estimated so far.

    The rates are means of independent Beta posteriors; the F-measure is the estimate so far. Rows
    of a leaf have equal chances, whatever their predictions and labels.

    Attributes:
        epsilon: share of the pool's own distribution in the proposal, in (0, 1].
        strength: weight of the prior of each leaf in pseudo-counts, above 0. As in the authors'
            package, it is divided by the number of draws from the leaf.
    """

    epsilon: float = 1e-3
    strength: float = 2.0
    name = "oasis"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.measure, FBeta | Precision | Recall):
            raise ValueError(
                f"it is made for F-measures, precision and recall, not for {self.measure.name}"
            )
        if not 0 < number("epsilon", self.epsilon) <= 1:
            raise ValueError(f"epsilon must be above 0 and at most 1, got {self.epsilon}")
        above_0("strength", self.strength)

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        measure = self.measure
        assert isinstance(measure, FBeta | Precision | Recall)
        share = table.kinds.predicted(measure.positive, measure.system)
        predicted = table.mean_by_leaf(share[:, None])[:, 0]
        draws = history.question
        draws = draws[history.label[draws] >= 0]
        leaf, votes = table.leaf[history.cell[draws]], history.votes(draws)
        said = votes.mean((votes.label == measure.positive).astype(np.float64))
        positives, negatives = (
            np.bincount(leaf, y, len(table.leaves)).astype(np.float64) for y in (said, 1 - said)
        )
        rate = beta_by_stratum(
            table.leaf_prior[:, measure.positive],
            self.strength / np.maximum(positives + negatives, 1),
            positives,
            negatives,
        )
        # The weight of precision in F_a = TP / (a (TP + FP) + (1 - a) (TP + FN)).
        a = float(isinstance(measure, Precision))
        if isinstance(measure, FBeta):
            a = measure.weight_of_precision
        weight = table.leaf_count / table.rows
        value = self._f_measure(table, history)
        if not np.isfinite(value):  # It is what the rates imply.
            value = plug_in_f(weight, rate, predicted, a)
        q = instrumental(weight, rate, predicted, value, a, self.epsilon)
        by_row = q / np.maximum(table.leaf_count, 1)
        return Proposal(by_row[table.leaf])

    def _f_measure(self, table: CellTable, history: History) -> float:
        """Return the F-measure that labels so far estimate, maybe undefined."""
        sample = self.weigh(table, history)
        votes = history.votes(sample.question)
        outputs = history.outputs.take(sample.question[votes.row])
        risk = self.measure.mean_loss(outputs, votes.label, votes.spread(sample.weight))
        return float(self.measure.value(risk)[0])
