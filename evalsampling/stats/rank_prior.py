"""Prior probabilities of scores that are an order: a function of a row's rank in the pool."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.score_counts import ScoreBins

STEEPNESS = 2.0
"""By so many times the logarithm of the odds of a rank the log-odds of a positive fall."""

ONE_CLASS = 0.1
"""Share of the rows that are taken to be of a class that is never predicted."""

_STEPS = 1024
"""Most distinct probabilities."""

_FAR = 1e3


@dataclasses.dataclass(frozen=True)
class RankPrior:
    """The probability of a positive by score: it rises in steps with the rank.

    A row with a share u of the pool above it, half of those with its own score among them, is
    positive with odds c ((1 - u) / u)^2. The number c makes as many positives expected as are
    predicted.

    Attributes:
        edges: shape (steps - 1,), strictly increasing: a score at an edge is above it.
        rates: shape (steps,), increasing: probability between the edges.
    """

    edges: FloatArray
    rates: FloatArray

    @classmethod
    def of(cls, bins: ScoreBins, predicted: int) -> "RankPrior":
        """Return the prior of a pool.

        Args:
            bins: of its scores.
            predicted: rows that are predicted positive. Of a class that is never predicted
                `ONE_CLASS` of the rows are taken to be.
        """
        rows = int(bins.counts.sum())
        share = predicted / rows
        if share in (0, 1):
            share = abs(share - ONE_CLASS)
        above = rows - np.cumsum(bins.counts) + bins.counts / 2
        slope = -STEEPNESS * np.log(above / (rows - above))

        def excess(shift: float) -> float:
            return float(bins.counts @ scipy.special.expit(slope + shift)) / rows - share

        log_odds = slope + scipy.optimize.brentq(excess, -_FAR, _FAR, xtol=1e-9)
        width = np.ptp(log_odds) / _STEPS
        step = np.floor((log_odds - log_odds[0]) / width).astype(np.int64) if width else None
        first = np.flatnonzero(np.diff(step, prepend=-1)) if step is not None else np.zeros(1, int)
        rates = np.add.reduceat(bins.counts * scipy.special.expit(log_odds), first)
        return cls(bins.lower_ends[first[1:]], rates / np.add.reduceat(bins.counts, first))

    def find(self, scores: npt.NDArray[np.floating]) -> FloatArray:
        """Return the probability of a positive of each score, shape (n,)."""
        return self.rates[np.searchsorted(self.edges, scores, side="right")]

    def to_mapping(self) -> dict[str, Any]:
        """Return what `from_mapping` takes, for JSON."""
        return {"edges": self.edges.tolist(), "rates": self.rates.tolist()}

    @classmethod
    def from_mapping(cls, content: dict[str, Any]) -> "RankPrior":
        """Return the prior that `to_mapping` described."""
        return cls(np.array(content["edges"], np.float64), np.array(content["rates"], np.float64))
