"""A way to cut strata from scores: ``strata: {method: "outside_parts.cut_method:HALVING"}``."""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.score_counts import ScoreBins


class Halving:
    """Cuts leaves of a half of the rows, a quarter, an eighth and so on, from low scores to high.

    Where positives are rare and have high scores, these are cut finely.
    """

    def bins(self, leaves: int) -> int:
        """Return into how many bins scores are counted."""
        return max(1024, 64 * leaves)

    def cut(self, scores: ScoreBins, leaves: int) -> npt.NDArray[np.float64]:
        """Return interior edges: lower ends of the bins where so many rows are below."""
        below = np.cumsum(scores.counts) - scores.counts
        wanted = scores.counts.sum() * (1 - 0.5 ** np.arange(1, leaves))
        places = np.unique(np.searchsorted(below, wanted))
        return scores.lower_ends[places[(places > 0) & (places < len(below))]]


HALVING = Halving()
