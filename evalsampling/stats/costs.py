"""Costs of labels: proposals that allow for them, and the draws that money buys.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, section 4.3
    (theorem 4.2, lemma 4.2).
    L. V. Kantorovich's inequality, as in G. S. Watson, G. Alpargu and G. P. H. Styan, *Some
    comments on six inequalities associated with the inefficiency of ordinary least squares*, 1997.
"""

import dataclasses
import math

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray


def per_root_cost(size: FloatArray, cost: FloatArray | None) -> FloatArray:
    """Return a measure of size divided by the root of the costs, if there are any: shape (n,).

    If the size is optimal for a number of rows, the result is for an amount of money: proposals
    (theorem 4.2), inclusion probabilities, and allocations to strata (W. G. Cochran, *Sampling
    Techniques*, 3rd edition, 1977, theorem 5.6).
    """
    return size if cost is None else size / np.sqrt(cost)


@dataclasses.dataclass(frozen=True)
class Price:
    """Mean and standard deviation of the cost of a label."""

    mean: float  # above 0; infinite if no row can be drawn
    deviation: float

    @classmethod
    def of_rows(cls, mass: FloatArray, cost: FloatArray | None) -> "Price":
        """Return the price of the label of a row, of each cell in proportion to its mass."""
        if not mass.any():
            return cls(math.inf, 0.0)
        if cost is None:
            return cls(1.0, 0.0)
        share = mass / mass.sum()
        mean = float(share @ cost)
        return cls(mean, math.sqrt(float(share @ (cost - mean) ** 2)))

    def labels_within(self, money: float) -> int:
        """Return the most labels n with n mean + sqrt(n) deviation <= money; 1 if mean <= money."""
        if not self.mean <= money:
            return 0
        root = math.sqrt(self.deviation**2 + 4 * self.mean * money) - self.deviation
        return max(math.floor((root / (2 * self.mean)) ** 2), 1)


def draws_within(money: float, probability: FloatArray, rows: IntArray, cost: FloatArray) -> float:
    """Return n*, the draws whose expected cost is an amount of money (theorem 4.2)."""
    return money / float(np.sum(rows * probability * cost))


def predicted_saving(size: FloatArray, rows: IntArray, cost: FloatArray | None = None) -> float:
    """Return the error variance of the best proposal divided by that of even draws, at equal cost.

    (mean sqrt(h c))^2 / (mean h mean c), h the expected squared effect of a label on the measure,
    whose root is the ``size``; at most 1 without costs (Cauchy and Schwarz).
    """
    cost = np.ones(len(size)) if cost is None else cost
    total = rows.sum()
    best = float(rows @ (size * np.sqrt(cost)) / total) ** 2
    return best / (float(rows @ size**2 / total) * float(rows @ cost / total))
