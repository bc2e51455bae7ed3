"""Queries of the precision at ranks: waves of them, the accuracy requested, the curve attained."""

import dataclasses
import math

import numpy as np

from evalsampling.inference.precision_curve import Bounded, Guarantee, PrecisionCurve
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.finite import finite
from evalsampling.stats.precision_queries import QueryBound
from evalsampling.stats.ranked_list import RankedList, RankStrata

LEAST_PRECISION_UNDER_NOISE = 1 / 3
"""Where eta is above 0 the paper takes the precision to be at least this."""

_ROUNDING = 1e-9
"""Rounding error allowed in a ratio of precisions."""


@dataclasses.dataclass(frozen=True)
class Wave:
    """Queries of the precision at some ranks, with their labels and the answers still wanted.

    Attributes:
        strata: strata of the list, cut behind the head and the queries.
        queried: groups whose ranks are queried, ascending.
        extra: shape (strata,): number of answers still wanted.
        p_min: least precision assumed, 0 if it is unknown.
    """

    strata: RankStrata
    queried: IntArray
    extra: IntArray
    p_min: float

    @property
    def draws(self) -> float:
        """Least number of answers of a query, as if spread evenly; infinite if all are known."""
        draws = self.strata.least_density[self.queried] * self.ranked.rank[self.queried]
        return float(np.min(draws, initial=math.inf))

    @property
    def ranked(self) -> RankedList:
        """The list."""
        return self.strata.ranked

    @property
    def head(self) -> int:
        """Last group of the head, whose rows are all to be labelled."""
        return self.strata.head

    @property
    def complete(self) -> bool:
        """Whether these queries have all the answers they need."""
        return not self.extra.any()

    @property
    def head_known(self) -> bool:
        """Whether every row of the head has its answers."""
        return self.strata.known > self.head

    def envelope(self, m: int, first: int) -> Envelope:
        """Return the envelope through the queries and the last ranks whose precision is known.

        Args:
            m: parameter of the weak monotonicity.
            first: rank r~ from which it holds; a list that ends before it is all head.
        """
        strata, rank = self.strata, self.ranked.rank
        end = max(strata.known - 1, self.head)
        near = np.flatnonzero((rank > rank[end] - m) & (rank >= min(first, rank[end])))
        points = np.union1d(near[(near <= end) & (near < strata.known)], self.queried)
        points = np.union1d(points[points >= near[0]], [end])
        return Envelope(
            rank=rank[points],
            precision=strata.hits[points] / rank[points],
            exact=points < strata.known,
            m=m,
            rows=int(rank[-1]),
        )


@dataclasses.dataclass(frozen=True)
class Terms:
    """The accuracy requested; see also the attributes of `samplers.ranked.RankedSampler`.

    Attributes:
        bound: bound of the errors of queries, with their share of delta.
    """

    name: str
    bound: QueryBound
    epsilon: float
    delta: float
    p_min: float | None
    m: int
    first: int

    def curve(self, wave: Wave, settled: bool) -> PrecisionCurve:
        """Return the precision at every rank that follows from the queries of a wave."""
        strata, ranked, envelope = wave.strata, wave.ranked, wave.envelope(self.m, self.first)
        at = ranked.rank[strata.known :]
        factor = self._factor(wave)
        height = float(np.max(envelope.height(at), initial=1.0))
        value, low, high = envelope.middle(at), np.zeros(len(at)), np.ones(len(at))
        if self.is_contradicted(wave):
            value, low, high = envelope.points_alone(at, factor)
        elif math.isfinite(factor):
            low, high = envelope.bounds(at, factor)
        searched = strata.hits[: strata.known] / ranked.rank[: strata.known]
        curve = Bounded(*(np.append(searched, end) for end in (value, low, high)))
        return PrecisionCurve(ranked, curve, self._guarantee(wave, factor, height, settled))

    def is_contradicted(self, wave: Wave) -> bool:
        """Return whether the precision rises by more than the errors of two queries."""
        return self._rises_by(wave, self._factor(wave) ** 2)

    def _factor(self, wave: Wave) -> float:
        """Return the greatest factor by which a query is off, infinite if there is no bound."""
        if wave.strata.known == len(wave.ranked):
            return 1.0
        return self.bound.supported(wave.draws, wave.p_min, max(len(wave.queried), 1))

    def _rises_by(self, wave: Wave, factor: float) -> bool:
        """Whether the precision rises by more than a factor from one point to a later one."""
        if wave.strata.known == len(wave.ranked) or not math.isfinite(factor):
            return False
        _, before, after = wave.envelope(self.m, self.first).rise()
        return after > before * factor * (1 + _ROUNDING)

    def _guarantee(self, wave: Wave, factor: float, height: float, settled: bool) -> Guarantee:
        rank, wanted = wave.ranked.rank, self.bound.beta * (1 + self.epsilon)
        total = factor * math.sqrt(height) if wave.head_known else math.inf
        least = float(wave.strata.hits[-1] / rank[-1])
        warnings = []
        if not wave.head_known:
            warnings.append("rows of the head have no label: nothing is guaranteed")
        elif total > wanted * (1 + 1e-9):
            attained = f"within a factor of {total:.4g}" if math.isfinite(total) else "not bounded"
            warnings.append(f"the precision is {attained}, {wanted:.4g} was asked for")
        if self._rises_by(wave, factor):
            warnings.append(self._words_of_rise(wave))
            total = math.inf if self.is_contradicted(wave) else total
        if self.p_min is not None and least * factor < self.p_min:
            warnings.append(
                f"p_min is {self.p_min:g}, but the labels say that the precision falls to "
                f"{least:.3g}: nothing is guaranteed"
            )
            total = math.inf
        if self.bound.eta and least < LEAST_PRECISION_UNDER_NOISE:
            warnings.append("the precision falls below 1/3, where wrong answers bias it by more")
        return Guarantee(
            factor=finite(total),
            confidence=1 - self.delta,
            wanted=wanted,
            beta=finite(factor),
            height=finite(height),
            queries=len(wave.queried),
            ranks=tuple(rank[wave.queried].tolist()),
            draws=int(wave.draws) if math.isfinite(wave.draws) else None,
            p_min=wave.p_min or None,
            head=int(rank[wave.head]),
            settled=settled,
            warnings=tuple(f"{self.name}: {warning}" for warning in warnings),
        )

    def _words_of_rise(self, wave: Wave) -> str:
        """Return the warning of a rise of the precision that contradicts its monotonicity."""
        rank, before, after = wave.envelope(self.m, self.first).rise()
        conclusion = "which is more than a query is off: it may not be weakly monotone"
        if self.is_contradicted(wave):
            conclusion = "so it is not weakly monotone: nothing is guaranteed"
        return (
            f"the precision rises from {before:.3g} to {after:.3g} behind rank {rank:,}, "
            f"{conclusion}; raise sampler.first or sampler.m"
        )
