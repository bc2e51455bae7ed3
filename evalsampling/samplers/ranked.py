"""Samplers that query the precision of a ranked list: waves of queries, and the curve.

References:
    [SX] A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
    UAI 2018: algorithm 1, section 4.3, theorem 8.
    A. Sabharwal and H. Sedghi, *How good are my predictions? Efficiently approximating
    precision-recall curves for massive datasets*, UAI 2017; as stated in [SX] theorem 1.
"""

import abc
import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from evalsampling.errors import InputError
from evalsampling.inference.curve_estimates import curve_estimates, with_envelope
from evalsampling.inference.domains import WHOLE_POOL, ReportedDomains
from evalsampling.inference.precision_curve import Bounded, Guarantee, PrecisionCurve
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.measures.curves import Thresholded
from evalsampling.parts.records import finite
from evalsampling.samplers.base import Rng, Sampler, no_rounds
from evalsampling.samplers.wave import Wave
from evalsampling.spec.values import Count, Fraction, Meta, Number, UpToOne
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.envelope import Envelope
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen
from evalsampling.stats.precision_queries import (
    QueryBound,
    anytime_deviation,
    head_rank,
    logarithmic_ranks,
    most_m,
    votes_of_head,
)
from evalsampling.stats.ranked_list import RankedList, RankStrata

LEAST_PRECISION_UNDER_NOISE = 1 / 3
"""Where eta is above 0 the paper takes the precision to be at least this."""

_ROUNDING = 1e-9
"""Rounding error allowed in a ratio of precisions."""

_ENDLESS = 1 << 20
"""Population of answers of a row under a stochastic oracle, too large to be exhausted."""


@dataclasses.dataclass(frozen=True)
class RankedSampler(Sampler):
    """Labels all rows of the head of a ranked list, then a sample for each rank that it queries.

    A round is one wave of queries, whatever number of rows is wanted; it follows from the labels
    alone. A query at rank r needs s answers spread evenly over the ranks up to r. Answers for other
    queries count by their density, the answers per row, in each stratum of ranks. As the number K
    of queries grows, s grows, and all queries get more answers. Rows are drawn without replacement,
    which by Hoeffding is at least as good.

    Attributes:
        epsilon: the curve is within beta (1 + epsilon) of the truth at every rank.
        delta: chance that it is not.
        beta: factor within which each query is answered.
        eta: chance that an answer is wrong.
        p_min: least precision of the list; None to bound it from the labels ([SX] footnote 5).
        m: of the weak monotonicity of the precision, see `stats.envelope`.
        first: r~, from which rank on it is weakly monotone.
    """

    needs = frozenset({"score"})
    keeps_order = True
    by_row = False
    epsilon: UpToOne = 0.03
    delta: Fraction = 0.05
    beta: Number = 1.05
    eta: Annotated[float, Meta(ge=0, lt=0.5, description="at least 0 and below 1/2")] = 0.0
    p_min: Number | None = None
    m: Count = 100
    first: Count = 1

    def __post_init__(self) -> None:
        if not isinstance(self.measure, Thresholded):
            raise ValueError(
                f"{self.name} ranks rows by score, so a curve or an average precision comes first, "
                f"not {self.measure.name}"
            )
        super().__post_init__()
        if self.beta <= 1 / (1 - self.eta):
            raise ValueError(
                f"beta must be above 1 / (1 - eta) = {1 / (1 - self.eta):.4g}, got {self.beta:g}"
            )
        least = LEAST_PRECISION_UNDER_NOISE if self.eta else 0.0
        if self.p_min is not None and not least < self.p_min <= 1:
            raise ValueError(
                f"p_min must be above {least:.3g} and at most 1"
                f"{', as eta is above 0' * bool(self.eta)}, got {self.p_min:g}"
            )
        if self.eta and not self.stochastic:
            raise ValueError(
                "eta above 0 means that asking again may bring another answer: it needs "
                "labels.oracle stochastic"
            )

    # --- what a published system decides

    @abc.abstractmethod
    def head_and_queries(self, ranked: RankedList) -> tuple[int, IntArray]:
        """Return the last group of the head, and the groups queried whatever the labels are."""

    @abc.abstractmethod
    def next_queries(self, wave: Wave, envelope: Envelope) -> IntArray:
        """Return groups to query beside those of a complete wave; none to stop."""

    # --- rounds

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        *_, wave = self._waves(table, history)
        strata, most = wave.strata, self._most_answers(wave)
        extra, left = self._affordable(wave, budget), strata.rows * most - strata.questions
        chance = np.divide(extra, left, out=np.zeros(len(extra)), where=left > 0)
        stratum = strata.stratum[wave.ranked.group]
        return draw_unseen(table, history, chance[stratum], rng, group=stratum, answers=most)

    def first_wave(self, table: CellTable) -> tuple[int, int]:
        """Return the answers that the first round takes: for the head, and for queries."""
        wave = next(self._waves(table, no_rounds(table)))
        in_head = wave.strata.last <= wave.head
        return int(wave.extra[in_head].sum()), int(wave.extra[~in_head].sum())

    def _affordable(self, wave: Wave, budget: int | None) -> FloatArray:
        """Return the answers of a wave that a budget leaves room for, shape (strata,)."""
        in_head = wave.strata.last <= wave.head
        head = int(wave.extra[in_head].sum())
        total = int(wave.extra.sum())
        if budget is None or total <= budget:
            return wave.extra.astype(np.float64)
        if head > budget:
            rank = int(wave.ranked.rank[wave.head])
            raise InputError(
                f"sampler {self.name}: the first {rank:,} ranks are labelled throughout, which "
                f"takes {head:,} answers. The budget leaves {budget:,}: raise it, or lower m "
                "or first (rows that share a bin of the score share a rank)"
            )
        share = (budget - head) / (total - head)
        return np.where(in_head, wave.extra, wave.extra * share)

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether the curve is as good as was asked for."""
        *_, wave = self._waves(table, history)
        return wave.complete

    def _waves(self, table: CellTable, history: History, anew: bool = False) -> Iterator[Wave]:
        """Yield the waves that labels lead to, ``anew`` without the queries of earlier rounds."""
        try:
            ranked = RankedList.of_cells(table)
        except ValueError as error:
            raise InputError(f"sampler {self.name}: {error}") from error
        head, queried = self.head_and_queries(ranked)
        if not anew:
            # Where the chances of a round change, there was a query.
            ends = self._strata(ranked, head, queried, history).last
            queried = np.union1d(queried, ends[(ends > head)])
        while True:
            wave = self._wave(ranked, head, queried, history)
            yield wave
            if not wave.complete:
                return
            more = self.next_queries(wave, wave.envelope(self.m, self.first))
            if not len(more):
                return
            queried = np.union1d(queried, more)

    def _strata(
        self, ranked: RankedList, head: int, queried: IntArray, history: History
    ) -> RankStrata:
        positive: int = getattr(self.measure, "positive")  # noqa: B009
        return RankStrata.of_history(ranked, head, queried, history, positive, self.stochastic)

    def _wave(self, ranked: RankedList, head: int, queried: IntArray, history: History) -> Wave:
        strata = self._strata(ranked, head, queried, history)
        none_wanted: IntArray = np.zeros(len(strata.rows), dtype=np.int64)
        wave = Wave(strata, queried, none_wanted, self._least_precision(strata))
        if not self._missing(wave, 1.0).any():
            return wave
        # A bound on p_min moves a little with each answer: a bit more saves rounds of a few rows.
        margin = 1.03 if self.p_min is None else 1.0
        return dataclasses.replace(wave, extra=self._missing(wave, margin))

    def _missing(self, wave: Wave, margin: float) -> IntArray:
        """Return the answers wanted in each stratum for ``margin`` times what the queries need."""
        strata, most = wave.strata, self._most_answers(wave)
        wanted = strata.rows * float(self._votes(wave))
        beyond = strata.last > wave.head
        query = wave.queried[np.searchsorted(wave.queried, strata.last[beyond])]
        density = np.minimum(margin * self._draws(wave) / wave.ranked.rank[query], most)
        wanted[beyond] = np.ceil(strata.rows[beyond] * density - 1e-6)
        missing = np.minimum(wanted - strata.answers, strata.rows * most - strata.questions)
        return np.maximum(missing, 0).astype(np.int64)

    def _draws(self, wave: Wave) -> float:
        """Return s, the answers of each query; without p_min at most twice those so far."""
        queries = max(len(wave.queried), 1)
        if self.p_min is not None:
            return self._bound.draws(self.p_min, queries)
        so_far = float(wave.strata.least_density[-1] * wave.ranked.rank[-1])
        enough = self._bound.draws(wave.p_min, queries) if wave.p_min > 0 else math.inf
        return min(enough, max(self._bound.published(1.0, 1), 2 * so_far))

    # --- bounds

    @property
    def _parts(self) -> int:
        """Number of bounds that share delta: queries, head and least precision."""
        return 1 + (self.eta > 0) + (self.p_min is None)

    @property
    def _bound(self) -> QueryBound:
        return QueryBound(self.beta, self.eta, self.delta / self._parts)

    def _votes(self, wave: Wave) -> int:
        """Return the answers that each row of the head needs (footnote 3)."""
        if not self.eta:
            return 1
        rows = int(wave.ranked.rank[wave.head])
        return votes_of_head(rows, self.eta, self.delta / self._parts)

    def _most_answers(self, wave: Wave) -> int:
        """Return how often a row may be asked about."""
        votes = self._votes(wave)
        if not self.stochastic or not len(wave.queried):
            return votes
        return max(votes, math.ceil(self._draws(wave) / wave.ranked.rank[wave.queried[0]]))

    def _least_precision(self, strata: RankStrata) -> float:
        """Return p_min, or an anytime bound (footnote 5) on the precision of the whole list."""
        if self.p_min is not None:
            return self.p_min
        density, hits = float(strata.least_density[-1]), strata.hits
        rows, of_head = float(strata.ranked.rank[-1]), hits[strata.head]
        behind = rows - float(strata.ranked.rank[strata.head])
        if np.isnan(hits[-1]) or density * behind < 1:
            return 0.0
        if math.isinf(density):
            return float(hits[-1]) / rows
        share = (hits[-1] - of_head) / behind
        share -= anytime_deviation(density * behind, self.delta / self._parts)
        share = (share - self.eta) / (1 - 2 * self.eta)
        return float(of_head + max(share, 0.0) * behind) / rows

    def curve(self, table: CellTable, history: History) -> PrecisionCurve | None:
        """Return the precision at every rank, with its guarantee; None before there is any.

        Of an incomplete wave it is the best curve with or without the open queries; if some show
        that the precision is not weakly monotone, the best of these.
        """
        waves = list(self._waves(table, history))
        settled = waves[-1].complete
        if not settled:
            waves += self._waves(table, history, anew=True)
        labelled = [wave for wave in waves if not np.isnan(wave.strata.hits).any()]
        labelled = labelled[-1:] if settled else labelled
        # A contradiction among some queries stands, even if other queries do not show it.
        labelled = [wave for wave in labelled if self._is_contradicted(wave)] or labelled
        curves = [self._curve_of(wave, settled) for wave in labelled]
        guarantees = [curve.guarantee for curve in curves]
        order = [(each.factor or math.inf, each.beta or math.inf) for each in guarantees]
        return curves[order.index(min(order))] if curves else None

    def _curve_of(self, wave: Wave, settled: bool) -> PrecisionCurve:
        """Return the precision at every rank that follows from the queries of a wave."""
        strata, ranked, envelope = wave.strata, wave.ranked, wave.envelope(self.m, self.first)
        at = ranked.rank[strata.known :]
        factor = self._factor(wave)
        height = float(np.max(envelope.height(at), initial=1.0))
        value, low, high = envelope.middle(at), np.zeros(len(at)), np.ones(len(at))
        if self._is_contradicted(wave):
            value, low, high = envelope.points_alone(at, factor)
        elif math.isfinite(factor):
            low, high = envelope.bounds(at, factor)
        searched = strata.hits[: strata.known] / ranked.rank[: strata.known]
        curve = Bounded(*(np.append(searched, end) for end in (value, low, high)))
        return PrecisionCurve(ranked, curve, self._guarantee(wave, factor, height, settled))

    def _is_contradicted(self, wave: Wave) -> bool:
        """Return whether the precision rises by more than the errors of two queries."""
        return self._rises_by(wave, self._factor(wave) ** 2)

    def _factor(self, wave: Wave) -> float:
        """Return the greatest factor by which a query is off, infinite if there is no bound."""
        if wave.strata.known == len(wave.ranked):
            return 1.0
        return self._bound.supported(wave.draws, wave.p_min, max(len(wave.queried), 1))

    def _rises_by(self, wave: Wave, factor: float) -> bool:
        """Whether the precision rises by more than a factor from one point to a later one."""
        if wave.strata.known == len(wave.ranked) or not math.isfinite(factor):
            return False
        _, before, after = wave.envelope(self.m, self.first).rise()
        return after > before * factor * (1 + _ROUNDING)

    def _guarantee(self, wave: Wave, factor: float, height: float, settled: bool) -> Guarantee:
        rank, wanted = wave.ranked.rank, self._bound.beta * (1 + self.epsilon)
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
            total = math.inf if self._is_contradicted(wave) else total
        if self.p_min is not None and least * factor < self.p_min:
            warnings.append(
                f"p_min is {self.p_min:g}, but the labels say that the precision falls to "
                f"{least:.3g}: nothing is guaranteed"
            )
            total = math.inf
        if self._bound.eta and least < LEAST_PRECISION_UNDER_NOISE:
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
        if self._is_contradicted(wave):
            conclusion = "so it is not weakly monotone: nothing is guaranteed"
        return (
            f"the precision rises from {before:.3g} to {after:.3g} behind rank {rank:,}, "
            f"{conclusion}; raise sampler.first or sampler.m"
        )

    # --- estimates

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows, weighted to represent the rows of their stratum of ranks.

        A stratum without a label is joined with the nearest that has some, but for the head.
        """
        ranked = RankedList.of_cells(table)
        head, queried = self.head_and_queries(ranked)
        strata = self._strata(ranked, head, queried, history)
        labelled = history.labelled
        stratum = strata.stratum[ranked.group[history.cell[labelled]]]
        rows = strata.rows * (_ENDLESS if self.stochastic else 1)
        joined = strata.joined
        if joined is None:
            empty = WeightedSample.stratified(labelled[:0], stratum[:0], rows)
            rank = int(ranked.rank[head])
            reason = (
                f"no row behind the first {rank:,} ranks has a label, and these do not stand for "
                "the rest"
            )
            return dataclasses.replace(empty, empty_because=reason if len(labelled) else None)
        return WeightedSample.stratified(
            labelled, joined[stratum], np.bincount(joined, rows).astype(np.int64)
        )

    def value(
        self, table: CellTable, history: History, measure: Measure, confidence: float
    ) -> FloatArray:
        curve = self.curve(table, history)
        estimates = None if curve is None else curve_estimates(measure, curve, WHOLE_POOL)
        if estimates is None:
            return super().value(table, history, measure, confidence)
        return np.array([np.nan if each.value is None else each.value for each in estimates])

    def estimate(
        self,
        table: CellTable,
        history: History,
        measures: Sequence[Measure],
        confidence: float,
        scope: ReportedDomains = WHOLE_POOL,
        model: LabelModel | None = None,
    ) -> list[Estimate]:
        curve = self.curve(table, history)
        slices = tuple(domain for domain in scope.domains if domain.count is not None)
        estimates: list[Estimate] = []
        for measure in measures:
            of_curve = None if curve is None else curve_estimates(measure, curve, scope)
            remaining = scope if of_curve is None else dataclasses.replace(scope, domains=slices)
            estimates += of_curve or []
            if remaining.domains:
                weighted = super().estimate(table, history, [measure], confidence, remaining, model)
                if curve is not None:
                    weighted = with_envelope(weighted, measure, curve, table)
                estimates += weighted
        return estimates


@dataclasses.dataclass(frozen=True)
class AdaStrat(RankedSampler):
    """Queries the last rank, then bisects wherever the envelope is higher than (1 + epsilon)^2.

    An interval (l, r) of queried ranks is left alone if the envelope is so low within it, or if
    r / l is at most (1 + epsilon)^2, or if no rank lies between; else the rank nearest to sqrt(l r)
    is queried. A wave has one query in each interval that is not left alone, where the paper has
    one at all: no query of a wave bears on another but for those right beside it.

    Attributes:
        levels: number of bisections in one wave, at least 1. With 2 a wave also queries the
            quarters, needed or not: half as many rounds, and more queries.
    """

    name = "adastrat"
    levels: Count = 1

    def head_and_queries(self, ranked: RankedList) -> tuple[int, IntArray]:
        # The head is up to l~ (section 4).
        head = ranked.at_rank(head_rank(self.epsilon, self.m, self.first))
        last = len(ranked) - 1
        return head, np.array([last][: last - head], dtype=np.int64)

    def next_queries(self, wave: Wave, envelope: Envelope) -> IntArray:
        ranked, squared = wave.ranked, (1 + self.epsilon) ** 2
        ends = np.append(wave.head, wave.queried)
        middles: list[int] = []
        for start, high in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            low = max(start, wave.strata.known - 1)
            inside = ranked.rank[low + 1 : high]
            if len(inside) and envelope.height(inside).max() > squared * (1 + 1e-12):
                middles += self._middles(ranked, low, high, self.levels)
        return np.array(sorted(middles), dtype=np.int64)

    def _middles(self, ranked: RankedList, low: int, high: int, levels: int) -> list[int]:
        """Return the groups that bisect an interval, and its parts, down to some level."""
        lowest, highest = int(ranked.rank[low]), int(ranked.rank[high])
        if not levels or high - low < 2 or highest <= lowest * (1 + self.epsilon) ** 2:
            return []
        middle = ranked.nearest(round((lowest * highest) ** 0.5), low, high)
        return [
            middle,
            *self._middles(ranked, low, middle, levels - 1),
            *self._middles(ranked, middle, high, levels - 1),
        ]


@dataclasses.dataclass(frozen=True)
class LogStrat(RankedSampler):
    """Queries the precision at the ranks (1 + epsilon)^i, all in one wave.

    Between those ranks the curve is the middle of the envelope, which is no worse than the steps of
    the paper.
    """

    name = "logstrat"
    first: int = 3500

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = most_m(self.first, self.epsilon)
        if self.m > allowed:
            raise ValueError(
                f"m is {self.m}, and theorem 1 allows at most floor(e (1+e)^l - 1) = {allowed} for "
                f"e = {self.epsilon:g} and first = {self.first}: raise first, or lower m"
            )

    def head_and_queries(self, ranked: RankedList) -> tuple[int, IntArray]:
        rows = int(ranked.rank[-1])
        exact, wanted = logarithmic_ranks(rows, min(self.first, rows), self.epsilon)
        head = ranked.at_rank(exact)
        ends = len(ranked)
        between = [rank for rank in wanted if rank > ranked.rank[head]]
        near = {ranked.nearest(rank, head, ends) for rank in between if head + 1 < ends}
        return head, np.array(sorted(near), dtype=np.int64)

    def next_queries(self, wave: Wave, envelope: Envelope) -> IntArray:
        return np.zeros(0, dtype=np.int64)
