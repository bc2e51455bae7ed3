"""OASIS: adaptive importance sampling of strata for F-measures.

F_a = TP / (a (TP + FP) + (1 - a) (TP + FN)): precision at a = 1, recall at a = 0, F_beta at
a = 1 / (1 + beta^2), so F1 at a = 1/2.

The authors' package `oasis` 0.1.3 (PyPI) has epsilon = 1e-3 and rates from one Beta posterior a
stratum (`stats.oracle.beta_by_stratum`), with the mean score as prior mean and a strength of
2 / max(n_k, 1) pseudo-counts after n_k draws from the stratum; a row drawn again counts again. F is
the running estimate, `plug_in_f` of the prior rates while that is undefined. The distribution is
renewed after every draw. Of several systems it takes the root of the sum of their terms.

It departs from the published formula in strata that hold predictions of both kinds. With m_0 and
m_1 the factors of 1 - lam_k and lam_k in `instrumental`, the paper adds them up,
v_k = M_k ((1 - lam_k) m_0 + lam_k m_1), and the package their squares under the root,
v_k = M_k sqrt((1 - lam_k) m_0^2 + lam_k m_1^2), the best that is uniform within strata. On strata
split by prediction, which cells are, both are the same.

References:
    [OASIS] Marchant and Rubinstein, *In Search of an Entity Resolution OASIS: Optimal Asymptotic
    Sequential Importance Sampling*, VLDB 2017, algorithm 3.
"""

import dataclasses

import numpy as np

from evalsampling.measures.binary import FBeta, Precision, Recall
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.spec.values import Positive, UpToOne
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
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

    epsilon: UpToOne = 1e-3
    strength: Positive = 2.0
    name = "oasis"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.measure, FBeta | Precision | Recall):
            raise ValueError(
                f"it is made for F-measures, precision and recall, not for {self.measure.name}"
            )

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


def instrumental(
    weight: FloatArray, rate: FloatArray, predicted: FloatArray, f: float, a: float, epsilon: float
) -> FloatArray:
    """Return the probability q of drawing from each stratum, then uniformly within it: (strata,).

    v_k = (M_k/M) [(1 - a) (1 - lam_k) F sqrt(pi_k) + lam_k sqrt(a^2 F^2 (1 - pi_k) + (1 - F)^2
    pi_k)], q_k = epsilon M_k/M + (1 - epsilon) v_k / sum v ([OASIS]); the weight if all v are zero.

    Of strata there are the ``weight`` M_k/M, the ``rate`` pi_k of positive labels and lam_k of
    ``predicted`` ones; F is the estimate so far, a the weight of precision, both in [0, 1]. With an
    epsilon of 0 strata that seem to add nothing are never drawn.
    """
    negative = (1 - a) * f * np.sqrt(rate)
    positive = np.sqrt((a * f) ** 2 * (1 - rate) + (1 - f) ** 2 * rate)
    value = weight * ((1 - predicted) * negative + predicted * positive)
    total = value.sum()
    optimal = value / total if total > 0 else weight
    return epsilon * weight + (1 - epsilon) * optimal


def plug_in_f(weight: FloatArray, rate: FloatArray, predicted: FloatArray, a: float) -> float:
    """Return F_a if labels and predictions were independent within strata; 1/2 if that is 0/0.

    F = sum_k M_k lam_k pi_k / sum_k M_k (a lam_k + (1 - a) pi_k).
    """
    positives = np.sum(weight * (a * predicted + (1 - a) * rate))
    return float(np.sum(weight * predicted * rate) / positives) if positives > 0 else 0.5
