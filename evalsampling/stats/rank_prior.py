"""Prior probabilities of scores that are an order: a function of a row's rank in the pool."""

import dataclasses

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.log_odds import expit, log_odds_of_rank
from evalsampling.stats.score_counts import ScoreBins

STEEPNESS = 1.5
"""By so many times the logarithm of the odds of a rank the log-odds of a positive fall: of the rows
that are predicted positive about half are expected to be, as of a middling model."""

ONE_CLASS = 0.1
"""Share of the rows that are taken to be of a class that is never predicted."""

_STEPS = 1024
"""Most distinct probabilities."""

_FAR = 1e3


@dataclasses.dataclass(frozen=True)
class RankPrior:
    """The probability of a positive by score: it rises in steps with the rank.

    A row with a share u of the pool above it, half of those with its own score among them, is
    positive with odds c ((1 - u) / u)^1.5. The number c makes as many positives expected as are
    predicted.
    """

    edges: FloatArray  # (steps - 1,), strictly increasing: a score at an edge is above it
    rates: FloatArray  # (steps,), increasing: probability between the edges

    @classmethod
    def of(cls, bins: ScoreBins, predicted: int) -> "RankPrior":
        """Return the prior of a pool."""
        log_odds = log_odds_by_rank(bins.counts, predicted)
        width = float(np.ptp(log_odds)) / _STEPS
        step = np.zeros(len(log_odds)) if not width else np.floor((log_odds - log_odds[0]) / width)
        first = np.flatnonzero(np.diff(step, prepend=-1))
        mass, rows = (
            np.add.reduceat(each, first) for each in (bins.counts * expit(log_odds), bins.counts)
        )
        return cls(bins.lower_ends[first[1:]], mass / rows)

    def find(self, scores: npt.NDArray[np.floating]) -> FloatArray:
        """Return the probability of a positive of each score, shape (n,)."""
        return self.rates[np.searchsorted(self.edges, scores, side="right")]


def log_odds_by_rank(counts: IntArray, predicted: float) -> FloatArray:
    """Return the log-odds of a positive in runs of rows of equal rank, shape (n,)."""
    rows = int(counts.sum())
    share = predicted / rows
    if share in (0, 1):
        share = abs(share - ONE_CLASS)
    slope = STEEPNESS * log_odds_of_rank(np.arange(len(counts), dtype=np.float64), counts)

    def excess(shift: float) -> float:
        return float(counts @ expit(slope + shift)) / rows - share

    return np.asarray(slope + scipy.optimize.brentq(excess, -_FAR, _FAR, xtol=1e-9))
