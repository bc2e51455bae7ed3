"""What the scores of a pool are, and where the probabilities of each system come from."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import COLUMN, EVEN, LOG_ODDS, NO_PROBABILITY, RANKS, SCORE
from evalsampling.measures.build import MOST_LEVELS, OrderedScoreError, build_measures
from evalsampling.parts.records import as_plain, read_record
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.numbers import near
from evalsampling.spec import PoolSpec, ReadingPlan, SystemSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.rank_prior import RankPrior
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.score_kinds import (
    BEYOND,
    CONFIDENCE,
    ORDER,
    PROBABILITY,
    ROUNDING,
    ScoreSums,
    chance_of_order,
    contradicts,
    count_text,
)
from evalsampling.stats.score_kinds import LOG_ODDS as ODDS
from evalsampling.stats.score_summary import ScoreSummary
from evalsampling.stats.strata import LOGIT_RANK

_MATCH_WEIGHT = "match_weight"
"""In the name of a column of scores that Splink made: log2 odds."""

_TURNED = 0.25
"""Chance that a predicted positive scores above a predicted negative, below which scores are turned
round."""

_BY_THRESHOLD = 0.99
"""That chance from which a threshold may have made the predictions."""

_UNRELATED, _FEWEST = 0.05, 100
"""Distance of that chance from 1/2 within which predictions have nothing to do with scores, and
fewest rows of either prediction of which that is said."""

_NEARLY_ALL = 0.9
"""Share of rows predicted positive from which a threshold may be on another scale than scores."""

_MOST_THRESHOLDS = 16
"""Thresholds listed by a spec beyond which only those of predictions are looked at."""


@dataclasses.dataclass(frozen=True)
class ScoreRemarks:
    """Counts of rows that a warning may be about: a mergeable state."""

    # by column and threshold how many are within one rounding of it: below it, and reaching it.
    # Rows with an infinite score are at a threshold of -inf or inf.
    rows: Mapping[tuple[str, float], tuple[int, int]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls, batch: PoolBatch, plan: ReadingPlan, scores: Mapping[str, npt.NDArray[np.floating]]
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
        """A warning for each column and threshold with such rows."""
        return tuple(
            _words(name, threshold, *self.rows[name, threshold])
            for name, threshold in sorted(self.rows)
        )


def _whose(system: SystemSpec) -> str:
    """Return the part of a spec that is about a system."""
    return "pool" if system.name is None else f"pool.systems.{system.name}"


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


@dataclasses.dataclass(frozen=True)
class PoolScores:
    """What the scores of a pool are, decided from sums over all of it."""

    # ends and sums of the scores of each system, then of the one that drives the strata
    sums: tuple[ScoreSums, ...]
    rules: tuple[str, ...]  # where the probabilities of each system come from: `prior`, or "none"
    # where prior probabilities come from: "column", "score", "expit(score)", "ranks(score)", "even"
    # or "normal"
    prior: str
    levels: tuple[tuple[float, ...] | None, ...]  # of each system: see `_levels`
    ranks: RankPrior | None = None  # the prior of scores that are an order, None for all others
    remarks: tuple[str, ...] = ()  # sentences of `ScoreRemarks`
    infinite: bool = False  # whether some scores are infinite, so that `ranges` are of the others

    @classmethod
    def of(
        cls,
        plan: ReadingPlan,
        sums: tuple[ScoreSums, ...],
        counts: Mapping[str | None, ScoreCounts],
        remarks: ScoreRemarks,
    ) -> "PoolScores":
        """Return the kind of the scores, by their sums and by histograms of each column."""
        rule = plan.labels.space.prior_rule
        *rules, prior = (
            rule(part.probability, kind)
            for part, kind in zip(plan.pool.scored, _kinds(plan.pool, sums), strict=True)
        )
        # A score that is an order gives no probabilities, but where it is what the prior comes
        # from, this stands for them, so that a row has no second set.
        driving = RANKS, plan.pool.score
        own = tuple(
            NO_PROBABILITY if one == RANKS and (prior, part.score) != driving else one
            for one, part in zip(rules, plan.pool.systems, strict=True)
        )
        ranks = None
        if prior == RANKS:
            ranks = RankPrior.of(counts[plan.pool.score].bins(), sums[-1].predicted)
        prior = EVEN if prior == NO_PROBABILITY else prior
        levels = tuple(_levels(counts.get(system.score)) for system in plan.pool.systems)
        scores = cls(sums, own, prior, levels, ranks, remarks.words, remarks.infinite)
        try:
            build_measures(scores.stated(plan))
        except OrderedScoreError as error:
            why = sums[error.system].why_order
            raise InputError(
                f"{error}: {why}. Name a column of probabilities, or say by score_is what it is"
            ) from error
        return scores

    @property
    def ranges(self) -> tuple[tuple[float, float] | None, ...]:
        """Least and greatest score of each system, None where it was not looked for."""
        return tuple(sums.ends for sums in self.sums[:-1])

    @property
    def kind(self) -> str | None:
        """Kind of the score that gives the prior; None if a column of probabilities does."""
        return {SCORE: PROBABILITY, LOG_ODDS: ODDS, RANKS: ORDER}.get(self.prior)

    def stated(self, plan: ReadingPlan) -> ReadingPlan:
        """Return a plan with what the pool's scores are, and the levels of each system's."""
        pool = plan.pool
        *kinds, driving = _kinds(pool, self.sums)
        systems = tuple(
            dataclasses.replace(system, score_is=kind)
            for system, kind in zip(pool.systems, kinds, strict=True)
        )
        pool = dataclasses.replace(pool, systems=systems, score_is=driving)
        return dataclasses.replace(plan, pool=pool, levels=self.levels)

    def summary(self, plan: ReadingPlan, table: CellTable) -> ScoreSummary | None:
        """Return a summary of how the scores were read; None where labels are not of classes."""
        if not plan.has_classes:
            return None
        read, pool = dict[str, str](), plan.pool
        kinds, rules = _kinds(pool, self.sums), (*self.rules, self.prior)
        for part, sums, kind, rule in zip(pool.scored, self.sums, kinds, rules, strict=True):
            of_two = part.probability is None and not plan.labels.space.needs_columns
            if kind and (of_two or rule == CONFIDENCE):
                name = str(part.score)
                read.setdefault(name, sums.words(name, kind, part.score_is is not None))
        return dataclasses.replace(
            ScoreSummary.of_class(table, plan.labels.positive),
            kind=self.kind,
            read_as=tuple(read.values()),
            remarks=self.remarks,
        )

    def warnings(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of match weights, and of scores that predictions contradict."""
        space = plan.labels.space
        if not (space.has_classes and space.is_binary) or plan.pool.lists is not None:
            return []
        read_as = {
            LOG_ODDS: "natural log-odds, which makes probabilities too extreme",
            RANKS: "an order, which leaves their probabilities out",
        }.get(self.prior)
        of_systems = self._about_systems(plan, table)
        name, is_stated = str(plan.pool.score), plan.pool.score_is == ORDER
        if read_as is None or is_stated or _MATCH_WEIGHT not in name:
            return of_systems
        return [
            f"pool.score: {name!r} is a match weight of Splink by its name: log2 odds, read here "
            f"as {read_as}. Name Splink's column of probabilities, pool.probability: "
            "match_probability, or multiply the weights by ln 2 = 0.6931",
            *of_systems,
        ]

    def about_predictions(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of systems that predict no row positive, or nearly all by a threshold.

        A column that predicts all may be that of links that were found, of which precision is
        asked. Of these recall and F1 say nothing of links that were missed.
        """
        space = plan.labels.space
        if not (space.has_classes and space.is_binary) or plan.pool.lists is not None:
            return []
        told, of_missed = [], {"f1", "f_beta", "recall"} & {one.name for one in plan.measures}
        for place, system in enumerate(plan.pool.systems):
            predicted = float(table.count @ table.kinds.predicted(plan.labels.positive, place))
            limit, ends = system.threshold, self.sums[place].ends
            is_cut = limit is not None and ends is not None
            leaves_out = bool(of_missed) and predicted == table.rows
            are_few = predicted < _NEARLY_ALL * table.rows or not is_cut
            if predicted and are_few and not leaves_out:
                continue
            said = "no row is predicted positive, and F1 and recall are 0 whatever the labels"
            if predicted == table.rows:
                said = "all rows are predicted positive, and recall is 1 whatever the labels"
            elif predicted:
                said = f"{predicted:,.0f} of {table.rows:,} rows are predicted positive"
            if limit is not None and ends is not None:
                said = (
                    f"by the threshold {limit:g} {said}. Scores go from {ends[0]:.6g} "
                    f"to {ends[1]:.6g}: is it on their scale?"
                )
            elif not predicted:
                said += f". Is {space.text(plan.labels.positive)} the class you ask about?"
            if leaves_out:
                said += (
                    f"{'' if is_cut else '.'} If the pool has only rows that were predicted "
                    "positive, recall and F1 leave out all positives that were missed"
                )
            told.append(f"{_whose(system)}.prediction: {said}")
        return told

    def _about_systems(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of systems whose scores expect far other positives than are predicted.

        Or have nothing to do with them. Then of those that predict positives where scores are low.
        """
        positive, kinds = plan.labels.positive, table.kinds
        other = plan.labels.space.text(1 - positive)
        contradictions, turned = [], []
        for place, (system, rule) in enumerate(zip(plan.pool.systems, self.rules, strict=True)):
            predicted = kinds.predicted(positive, place)
            own = kinds.by_cell(np.nan_to_num(kinds.probability[:, place, positive]))
            sums = float(table.count @ own), float(table.count @ predicted)
            columns = {"score": system.score, "probability": system.probability}
            whose, key = _whose(system), "score" if system.probability is None else "probability"
            score = kinds.by_cell(kinds.score[:, place])
            has_score = np.isfinite(score).any()  # Cells of several systems lack it.
            score = score if has_score else own
            in_percent = rule == RANKS and system.score_is is None
            half, sure = (50, score) if in_percent else (0.5, own)
            in_half = half - ROUNDING <= sure.min() and sure.max() <= 2 * half + ROUNDING
            is_asked = in_half and (in_percent or rule in (SCORE, COLUMN)) and sums[1] < table.rows
            if is_asked and chance_of_order(sure, table.count, predicted) < _BY_THRESHOLD:
                contradictions.append(
                    f"{whose}.{key}: {columns[key]!r} is {half} or more in every row, also where "
                    f"{other} is predicted. Is it the confidence in the class predicted? Then say "
                    f"{whose}.score: {columns[key]}{', divided by 100,' if in_percent else ''} and "
                    f"{whose}.score_is: confidence"
                )
                continue
            if rule not in (NO_PROBABILITY, RANKS) and contradicts(*sums):
                way_out = {
                    "score": f"say {whose}.score_is: order if it is but an order",
                    "probability": "leave it out if it is none",
                }[key]
                contradictions.append(
                    f"{whose}.{key}: {columns[key]!r} expects {count_text(sums[0])} positives "
                    f"where {sums[1]:,.0f} are predicted, ten times apart or more: calibrate it, "
                    f"or {way_out}"
                )
            key = "score" if has_score or system.probability is None else "probability"
            in_order = chance_of_order(score, table.count, predicted)
            are_enough = _FEWEST <= sums[1] <= table.rows - _FEWEST and len(plan.pool.systems) == 1
            differ = np.isfinite(score).all() and score.min() < score.max()
            unrelated = differ and are_enough and abs(in_order - 0.5) < _UNRELATED
            if unrelated and system.prediction is not None:
                contradictions.append(
                    f"{whose}.prediction: {system.prediction!r} has nothing to do with "
                    f"{columns[key]!r}, which is as high where it predicts positives as elsewhere: "
                    "is it a prediction?"
                )
            orders = {key: in_order}
            if key == "score" and system.probability is not None:
                orders["probability"] = chance_of_order(own, table.count, predicted)
            turned += [
                f"{whose}.{key}: {columns[key]!r} is lower where positives are predicted. A "
                f"{key} is to rise with the chance of a positive: turn it round, or say "
                f"labels.positive: {other} if that is the class you ask about"
                for key, order in orders.items()
                if columns[key] and order < _TURNED
            ]
        return contradictions + turned

    def to_mapping(self) -> dict[str, Any]:
        """Return the argument of `from_mapping`, for JSON."""
        own: dict[str, Any] = {}  # Pools that do without lack the keys.
        if self.ranks is not None:
            own["ranks"] = as_plain(self.ranks)
        if any(sums.rows for sums in self.sums):
            own["counted"] = [sums.to_mapping() for sums in self.sums]
            own["driving"] = list(self.sums[-1].ends or ())
        if self.remarks:
            own["remarks"] = list(self.remarks)
        if self.infinite:
            own["infinite"] = True
        return own | {
            "prior": self.prior,
            "rules": list(self.rules),
            "ranges": [None if ends is None else list(ends) for ends in self.ranges],
            "levels": [None if each is None else list(each) for each in self.levels],
        }

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> "PoolScores":
        """Return the scores that `to_mapping` described."""
        ends = [*content["ranges"], content.get("driving")]
        counts = content.get("counted", [{}] * len(ends))
        return cls(
            sums=tuple(map(ScoreSums.from_mapping, ends, counts)),
            rules=tuple(content["rules"]),
            prior=content["prior"],
            levels=tuple(None if each is None else tuple(each) for each in content["levels"]),
            ranks=read_record(RankPrior, content["ranks"]) if "ranks" in content else None,
            remarks=tuple(content.get("remarks", ())),
            infinite=content.get("infinite", False),
        )


def _levels(counts: ScoreCounts | None) -> tuple[float, ...] | None:
    """Return at most `MOST_LEVELS` levels of a score: the least one, then evenly by rank.

    Steps are even in the log-odds of the rank, so no increasing change of the scores moves a row
    across one, as far as the histogram tells scores apart.
    """
    if counts is None or not counts.rows:
        return None
    bins = counts.bins(min(LOGIT_RANK.bins(MOST_LEVELS), counts.bulk.limit))
    return (bins.minimum, *LOGIT_RANK.cut(bins, MOST_LEVELS).tolist())


def _kinds(pool: PoolSpec, sums: Sequence[ScoreSums]) -> list[str | None]:
    """Return the kind of each system's score, then of the driving one; None without any."""
    return [
        None if part.score is None else part.score_is or own.kind
        for part, own in zip(pool.scored, sums, strict=True)
    ]
