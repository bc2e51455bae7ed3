"""Upper bounds on the number of rows of a kind in a pool, undetected rows included.

Let *hits* be rows of the kind that count, K_c of them in cell c without a label, and let trial t
take row i with chance x_ti (`inference.exposure`). For any weights theta_ti known before the trial

    W_t = prod_{s <= t} exp(sum_{open hits i} x_si (1 - exp(-theta_si)) - sum_{hits in s} theta_si)

is a nonnegative supermartingale from 1, "open" being those without a label from an earlier trial:
the indicators of a strongly Rayleigh set are negatively associated, functions of single ones that
are all falling (theta > 0) or all rising (theta < 0) have a product whose mean is at most the
product of the means (Joag-Dev and Proschan), and 1 - x + x exp(-theta) is at most
exp(-x (1 - exp(-theta))). So is any mean sum_j w_j W^j of such products, w summing to 1, and with
probability 1 - alpha it stays below 1 / alpha for ever (Ville): whatever the labels, however the
design answers to them, whenever one stops.

With 1 - exp(-theta) = s g / x for exposures g capped at a level, log W^j = G^j . K - R^j is linear
in K: G = s sum_t g, and R sums theta less what the hit itself adds to the exponent. The rows that
are no hits, with s < 0, bound the hits from above as well; they are tighter where hits are common.
By Jensen's inequality, for any probabilities v of the rules,

    (sum_j v_j G^j) . K <= log(1 / alpha) + sum_j v_j (R^j + log(v_j / w_j)),

and the largest sum of K, each in [0, rows of the cell without a label], fills the least searched
cells first. The bound is the least of these over some v.

Of a stochastic oracle a row is a hit with the chance K_i, and a trial that takes it brings the
share f of its answers that are hits, E f = K_i: then 1 - (s g / x) f has the mean 1 - s g K_i.

References:
    K. Joag-Dev and F. Proschan, *Negative association of random variables, with applications*,
    Annals of Statistics 11, 1983; J. Ville, *Étude critique de la notion de collectif*, 1939;
    I. Waudby-Smith and A. Ramdas, *Estimating means of bounded random variables by betting*,
    JRSS B 86, 2024 (mixtures of bets; without replacement).
"""

import dataclasses

import numpy as np
import scipy

from evalsampling.inference.exposure import Exposure
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

BETS = np.array([0.98, 0.85, 0.6, 0.35, 0.15, 0.05])
"""s of the rules about the hits."""

COUNTER_BETS = np.array([-2.0, -0.7, -0.25, -0.08, -0.025])
"""s of the rules about the rows that are not hits."""

_SHARE_OF_BETS = 0.8
"""Share of the weight that the rules about the hits have."""

_HALVINGS = 40

_STEPS = 12
"""Steps of the search for the v with the least bound."""


@dataclasses.dataclass(frozen=True)
class Most:
    """The largest possible number of hits among the rows without a label.

    Attributes:
        count: the number of hits, not rounded.
        cell_count: shape (cells,): number of hits in each cell in a worst case.
        budget: right side of the constraint slope . K <= budget on the hits K of the cells.
        slope: shape (cells,): coefficients of the constraint.
        rows: shape (cells,): number of unlabelled rows that may be hits.
        bet: increase of the slope for each unit of further exposure.
    """

    count: float
    cell_count: FloatArray
    budget: float
    slope: FloatArray
    rows: IntArray
    bet: float = 1.0

    def exposure_for(self, count: float) -> float:
        """Return the further exposure, summed over rows, that lowers the bound to a number of hits.

        The rows of least slope are exposed first, until all have the same, and no hit is found.
        """
        low, high = 0.0, 1.001 * self.budget  # where one row costs more than that, none is left
        for _ in range(_HALVINGS):
            level = (low + high) / 2
            possible = fill(np.maximum(self.slope, level), self.budget, self.rows).sum()
            low, high = (low, level) if possible <= count else (level, high)
        further = np.maximum(high - self.slope, 0.0) / self.bet
        return float(np.minimum(self.rows, self.rows * further).sum())


@dataclasses.dataclass(frozen=True)
class Undetected:
    """The bounds on hits among unlabelled rows that follow from one event of probability 1 - alpha.

    Attributes:
        rules: the rules; the event is that a mean of them is at most 1 / alpha.
        rows: shape (cells,): number of unlabelled rows that may be hits.
        alpha: error probability, in (0, 1).
    """

    rules: "Rules"
    rows: IntArray
    alpha: float

    def most(self, among: BoolArray | None = None) -> Most:
        """Return the largest possible number of unlabelled hits in all cells, or in some of them.

        The event gives the bounds of all v at once, so bounds of several parts hold together.

        Args:
            among: shape (cells,): the cells whose hits are counted; all if not given.
        """
        rules, alpha = self.rules, self.alpha
        rows = self.rows if among is None else np.where(among, self.rows, 0)
        bounds = [rules.bound(rules.best_alone(rows, alpha), rows, alpha)]
        # The v of the least bound is in proportion to w_j W^j at the K of that bound: step towards
        # it.
        log_weight = np.log(rules.weight)
        logs = log_weight.copy()
        for step in range(_STEPS):
            bounds.append(rules.bound(np.exp(logs), rows, alpha))
            aim = _normalised(log_weight + rules.slope @ bounds[-1].cell_count - rules.offset)
            logs = _normalised(logs + (aim - logs) / (step + 2))
        return min(bounds, key=lambda most: most.count)


@dataclasses.dataclass(frozen=True)
class Rules:
    """Betting rules, log W^j = slope_j . K - offset_j, linear in the hits K of the cells.

    Attributes:
        slope: G, shape (rules, cells).
        offset: R, shape (rules,).
        weight: w, shape (rules,), summing to 1.
        bet: |s|, shape (rules,).
    """

    slope: FloatArray
    offset: FloatArray
    weight: FloatArray
    bet: FloatArray

    @classmethod
    def of(cls, exposure: Exposure, hit: FloatArray, miss: FloatArray, rows: IntArray) -> "Rules":
        """Return one rule for each exposure level and each bet s.

        Args:
            exposure: the exposure of the rows to the design's trials.
            hit: shape (n,): 1 for each of its labelled questions that is a hit, else 0; with a
                stochastic oracle the share of the answers that are hits.
            miss: shape (n,): 1 for each labelled question that could have been a hit and is not,
                else 0; with a stochastic oracle the share of such answers.
            rows: shape (cells,): number of unlabelled rows that may be hits.
        """
        slope, offset = [], []
        for total, share, reached in zip(
            exposure.total, exposure.share, exposure.reached, strict=True
        ):
            for s in BETS.tolist():
                slope.append(s * total)
                offset.append(-np.sum(np.log1p(-s * share * hit) + s * reached * hit))
            for s in COUNTER_BETS.tolist():
                slope.append(-s * total)
                gained = np.sum(np.log1p(-s * share * miss) + s * reached * miss)
                offset.append(-s * (total @ rows) - gained)
        weight = np.repeat(
            [_SHARE_OF_BETS / len(BETS), (1 - _SHARE_OF_BETS) / len(COUNTER_BETS)],
            [len(BETS), len(COUNTER_BETS)],
        )
        levels = len(exposure.total)
        bet = np.abs(np.append(BETS, COUNTER_BETS))
        return cls(
            np.array(slope),
            np.array(offset),
            np.tile(weight / levels, levels),
            np.tile(bet, levels),
        )

    def best_alone(self, rows: IntArray, alpha: float) -> FloatArray:
        """Return the probabilities v that choose the single rule of least bound, shape (rules,)."""
        budget = np.maximum(self.offset - np.log(alpha * self.weight), 0.0)
        order = np.argsort(self.slope, axis=1)
        cost = np.take_along_axis(self.slope, order, axis=1) * rows[order]
        free = budget[:, None] - (np.cumsum(cost, axis=1) - cost)
        share = np.divide(free, cost, out=np.ones_like(cost), where=cost > 0)
        count = np.sum(np.clip(share, 0.0, 1.0) * rows[order], axis=1)
        return (np.arange(len(count)) == np.argmin(count)).astype(np.float64)

    def bound(self, choice: FloatArray, rows: IntArray, alpha: float) -> Most:
        """Return the bound on hits that follows from probabilities v of the rules: (rules,)."""
        budget = -np.log(alpha) + choice @ self.offset
        budget += scipy.special.rel_entr(choice, self.weight).sum()
        slope = choice @ self.slope
        count = fill(slope, float(budget), rows)
        return Most(float(count.sum()), count, float(budget), slope, rows, float(choice @ self.bet))


def fill(slope: FloatArray, budget: float, rows: IntArray) -> FloatArray:
    """Return the hits K of largest sum with slope . K <= budget and 0 <= K <= rows: (cells,)."""
    order = np.argsort(slope, kind="stable")
    cost = slope[order] * rows[order]
    free = max(budget, 0.0) - (np.cumsum(cost) - cost)
    share = np.divide(free, cost, out=np.ones_like(cost), where=cost > 0)
    count = np.zeros(len(rows))
    count[order] = np.clip(share, 0.0, 1.0) * rows[order]
    return count


def _normalised(logs: FloatArray) -> FloatArray:
    """Return logarithms of probabilities from those of numbers in proportion to them."""
    logs = logs - logs.max()
    return logs - np.log(np.exp(logs).sum())
