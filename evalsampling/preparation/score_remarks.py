"""What is to be said of scores: how many are infinite, or within one rounding of a threshold."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.numbers import near
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.score_kinds import BEYOND

_MOST_THRESHOLDS = 16
"""Thresholds listed by a spec beyond which only those of predictions are looked at."""


@dataclasses.dataclass(frozen=True)
class ScoreRemarks:
    """Counts of rows of which something is to be said: a mergeable state.

    Attributes:
        rows: by column and threshold how many are within one rounding of it: below it, and
            reaching it. Rows with an infinite score are at a threshold of -inf or inf.
    """

    rows: Mapping[tuple[str, float], tuple[int, int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        batch: PoolBatch,
        spec: EvaluationSpec,
        scores: Mapping[str, npt.NDArray[np.floating]],
    ) -> "ScoreRemarks":
        """Return the counts of a batch."""
        own = {(str(s.score), s.threshold) for s in spec.pool.systems if s.threshold is not None}
        if len(spec.thresholds) <= _MOST_THRESHOLDS:
            own |= {(name, threshold) for name in scores for threshold in spec.thresholds}
        rows = {}
        for name, values in scores.items():
            kind = batch.any_column(name).type
            for sign in (-1, 1) if values.dtype == np.float64 else ():  # Others have none.
                rows[name, sign * math.inf] = 0, int((values == sign * BEYOND).sum())
            for threshold in (t for column, t in own if column == name):
                rows[name, threshold] = near(values, kind, threshold)
        return cls({place: both for place, both in rows.items() if any(both)})

    def __add__(self, other: "ScoreRemarks") -> "ScoreRemarks":
        """Return the counts of both parts of the pool together."""
        total = dict(self.rows)
        for place, (below, reaching) in other.rows.items():
            first = total.get(place, (0, 0))
            total[place] = first[0] + below, first[1] + reaching
        return ScoreRemarks(total)

    @property
    def infinite(self) -> bool:
        """Whether a score is infinite."""
        return any(math.isinf(threshold) for _, threshold in self.rows)

    @property
    def words(self) -> tuple[str, ...]:
        """A sentence for each column and threshold of which something is to be said."""
        return tuple(
            _words(name, threshold, *self.rows[name, threshold])
            for name, threshold in sorted(self.rows)
        )


def _words(name: str, threshold: float, below: int, reaching: int) -> str:
    rows = below + reaching
    some = f"{name}: 1 row" if rows == 1 else f"{name}: {rows:,} rows"
    if math.isinf(threshold):
        place = "lowest" if threshold < 0 else "highest"
        return f"{some} with {threshold:g}, taken as the {place} score of all"
    return (
        f"{some} within one rounding of {threshold:.15g}: {reaching:,} counted as reaching it, "
        f"{below:,} as below"
    )
