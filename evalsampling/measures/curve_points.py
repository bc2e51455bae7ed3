"""Single points of curves, chosen by one of their values instead of by a threshold.

At such a point systems can be compared whose scores are on different scales.
"""

import dataclasses

import numpy as np

from evalsampling.measures.base import set_own
from evalsampling.measures.binary import ROUNDING
from evalsampling.measures.curves import Area
from evalsampling.stats.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class PrecisionAtRecall(Area):
    """Precision at the threshold where recall has a given value r.

    g(R) = T* / F* with T* = r P; F*, the share of rows that reach the threshold where T* positives
    do, is interpolated between the two neighbouring thresholds. All rows reach a threshold below
    the first, none one above the last. Undefined without positives.

    Attributes:
        recall: r, in (0, 1].

    Raises:
        ValueError: `recall` is not such a number.
    """

    scale_free = True

    recall: float = 0.9
    usual_thresholds = 128

    def __post_init__(self) -> None:
        """Check the recall, which is part of the name."""
        if isinstance(self.recall, bool) or not isinstance(self.recall, int | float):
            raise ValueError(f"recall must be a number, got {self.recall!r}")
        if not 0 < self.recall <= 1:
            raise ValueError(f"recall must be above 0 and at most 1, got {self.recall}")
        set_own(self, name=f"precision_at_recall({self.recall:g})")
        super().__post_init__()

    def value(self, risk: FloatArray) -> FloatArray:
        """Return the precision, shape (1,)."""
        if not np.real(risk[-1]) > 0:
            return np.full(1, np.nan)
        wanted = self.recall * risk[-1]
        return np.array([wanted / self._reached(risk)[0]])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg, shape (1, 2 L + 1): NaN without positives."""
        if not risk[-1] > 0:
            return np.full((1, len(risk)), np.nan)
        rows, place, share, slope = self._reached(risk)
        by_rows, by_hits = np.zeros((2, len(self.thresholds) + 2))
        by_rows[place : place + 2] = share, 1 - share
        by_hits[place : place + 2] = -slope * share, -slope * (1 - share)
        by_positives = by_hits[0] + slope * self.recall
        gradient = np.concatenate([by_rows[1:-1], by_hits[1:-1], [by_positives]])
        gradient *= -self.recall * risk[-1] / rows**2
        gradient[-1] += self.recall / rows
        return gradient[None]

    def _reached(self, risk: FloatArray) -> tuple[float, int, float, float]:
        """Return F*, the index of the threshold below it, the weight of that one, and dF / dT."""
        passed, hits, positives = self._parts(risk)
        passed, hits = np.concatenate([[1], passed, [0]]), np.concatenate([[positives], hits, [0]])
        wanted = self.recall * positives
        enough = np.real(hits) >= np.real(wanted) * (1 - ROUNDING)
        place = int(np.flatnonzero(enough)[-1])
        slope = (passed[place] - passed[place + 1]) / (hits[place] - hits[place + 1])
        share = (wanted - hits[place + 1]) / (hits[place] - hits[place + 1])
        rows = passed[place + 1] + slope * (wanted - hits[place + 1])
        return rows, place, share, slope
