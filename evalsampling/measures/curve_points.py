"""Single points of curves that are told by one of their values, not by a threshold.

So systems whose scores are on different scales can be compared at such a point.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import FloatArray
from evalsampling.measures.curves import Area


@dataclasses.dataclass(frozen=True)
class PrecisionAtRecall(Area):
    """Precision where the threshold is so low that a given share of the positives is found.

    With T* = r P, g(R) = T* / F*, F* being the share of rows reached where T* is: interpolated
    between the two thresholds that T* lies between, beyond the last of which nothing is reached.
    Undefined without positives, and where fewer reach the lowest threshold.

    Attributes:
        recall: r, in (0, 1].

    Raises:
        ValueError: it is no such number.
    """

    recall: float = 0.9
    usual_thresholds = 128

    def __post_init__(self) -> None:
        """Check the recall, which is part of the name."""
        if isinstance(self.recall, bool) or not isinstance(self.recall, int | float):
            raise ValueError(f"recall must be a number, got {self.recall!r}")
        if not 0 < self.recall <= 1:
            raise ValueError(f"recall must be above 0 and at most 1, got {self.recall}")
        object.__setattr__(self, "name", f"precision_at_recall({self.recall:g})")
        super().__post_init__()

    def value(self, risk: FloatArray) -> FloatArray:
        """Return the precision, shape (1,)."""
        passed, hits, positives = self._parts(risk)
        place = self._last_reaching(hits, positives)
        if place is None:
            return np.full(1, np.nan)
        (hit, further), (row, less) = _ends(hits, place), _ends(passed, place)
        wanted = self.recall * positives
        rows = less + (row - less) * (wanted - further) / (hit - further)
        return np.array([wanted / rows])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg, shape (1, 2 L + 1): NaN where undefined."""
        passed, hits, positives = self._parts(risk)
        place = self._last_reaching(hits, positives)
        if place is None:
            return np.full((1, len(risk)), np.nan)
        (hit, further), (row, less) = _ends(hits, place), _ends(passed, place)
        wanted = self.recall * positives
        share = (wanted - further) / (hit - further)
        slope = (row - less) / (hit - further)
        rows = less + (row - less) * share
        length = len(hits)
        by = np.zeros(2 * length + 3)  # one threshold more, which nothing reaches
        by[[place, place + 1]] = share, 1 - share
        by[[length + 1 + place, length + 2 + place]] = -slope * share, -slope * (1 - share)
        by[-1] = slope * self.recall
        by *= -wanted / rows**2
        by[-1] += self.recall / rows
        return np.delete(by, [length, 2 * length + 1])[None]

    def _last_reaching(self, hits: FloatArray, positives: float) -> int | None:
        """Return the highest threshold that enough positives reach; None if there is none."""
        share = float(np.real(positives))
        if not share > 0:
            return None
        enough = np.flatnonzero(np.real(hits) >= self.recall * share * (1 - _ROUNDING))
        return int(enough[-1]) if len(enough) else None


_ROUNDING = 1e-12
"""By how much positives may fall short: all of them are the sum of others in another order."""


def _ends(shares: FloatArray, place: int) -> tuple[float, float]:
    """Return the share that reaches a threshold, and the one that reaches the next."""
    return shares[place], shares[place + 1] if place + 1 < len(shares) else 0.0
