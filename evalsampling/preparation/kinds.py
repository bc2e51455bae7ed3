"""What the scores of a pool are, and where the probabilities of each system come from."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import EVEN, NO_PROBABILITY, RANKS
from evalsampling.measures.build import OrderedScoreError, build_measures
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.numbers import near
from evalsampling.spec import PoolSpec, ReadingPlan
from evalsampling.stats.score_kinds import BEYOND, ScoreSums


def kinds_of(pool: PoolSpec, scores: Sequence[ScoreSums]) -> list[str | None]:
    """Return what the scores of each system are, then the one that drives the strata.

    Returns:
        Kinds of `stats.score_kinds`; None where there is no score, or it need not be told.
    """
    return [
        None if part.score is None else part.score_is or sums.kind
        for part, sums in zip(pool.scored, scores, strict=True)
    ]


def rules_of(plan: ReadingPlan, scores: Sequence[ScoreSums]) -> tuple[tuple[str, ...], str]:
    """Return where the probabilities of each system come from, and the prior."""
    rule = plan.labels.space.prior_rule
    *rules, prior = (
        rule(part.probability, kind)
        for part, kind in zip(plan.pool.scored, kinds_of(plan.pool, scores), strict=True)
    )
    # A score that is an order gives no probabilities, but where it is what the prior comes from,
    # this stands for them, so that a row has no second set.
    own = tuple(
        NO_PROBABILITY if one == RANKS and (prior, part.score) != (RANKS, plan.pool.score) else one
        for one, part in zip(rules, plan.pool.systems, strict=True)
    )
    return own, EVEN if prior == NO_PROBABILITY else prior


def decided(pool: PoolSpec, scores: Sequence[ScoreSums]) -> PoolSpec:
    """Return a pool that states what its scores are."""
    *kinds, driving = kinds_of(pool, scores)
    systems = tuple(
        dataclasses.replace(system, score_is=kind)
        for system, kind in zip(pool.systems, kinds, strict=True)
    )
    return dataclasses.replace(pool, systems=systems, score_is=driving)


def check_probabilities(plan: ReadingPlan, scores: Sequence[ScoreSums]) -> None:
    """Check that measures need no probabilities of scores that are an order."""
    try:
        stated = dataclasses.replace(plan, pool=decided(plan.pool, scores))
        build_measures(stated, [sums.ends for sums in scores[:-1]])
    except OrderedScoreError as error:
        why = scores[error.system].why_order
        raise InputError(
            f"{error}: {why}. Name a column of probabilities, or say by score_is what it is"
        ) from error


_MOST_THRESHOLDS = 16
"""Thresholds listed by a spec beyond which only those of predictions are looked at."""


@dataclasses.dataclass(frozen=True)
class ScoreRemarks:
    """Counts of rows of which something is to be said: a mergeable state."""

    # by column and threshold how many are within one rounding of it: below it, and reaching it.
    # Rows with an infinite score are at a threshold of -inf or inf.
    rows: Mapping[tuple[str, float], tuple[int, int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        batch: PoolBatch,
        plan: ReadingPlan,
        scores: Mapping[str, npt.NDArray[np.floating]],
    ) -> "ScoreRemarks":
        """Return the counts of a batch."""
        own = {(str(s.score), s.threshold) for s in plan.pool.systems if s.threshold is not None}
        if len(plan.thresholds) <= _MOST_THRESHOLDS:
            own |= {(name, threshold) for name in scores for threshold in plan.thresholds}
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
