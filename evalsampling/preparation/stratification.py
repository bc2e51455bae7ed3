"""The stratification of a pool: leaves, score bins and cells, decided after the first pass."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import EVEN, LOG_ODDS, NO_PROBABILITY, RANKS, SCORE
from evalsampling.measures.build import driving_thresholds
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_features, read_partition, read_scores
from evalsampling.preparation.compared_numbers import ComparedSystems
from evalsampling.preparation.kinds import check_probabilities, decided, kinds_of, rules_of
from evalsampling.preparation.slices import check_named
from evalsampling.preparation.summary import (
    PoolSummary,
    Wanted,
    check_not_empty,
    check_paths,
    cut_method,
    ranked_columns,
)
from evalsampling.spec import MAX_CELLS, PoolSpec, ReadingPlan
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import BY_LEAF, GUESSED, CellGrid, CellSums, CellTable, by_verdict
from evalsampling.stats.greatest_rank import GreatestRank
from evalsampling.stats.kdtree import KdTree
from evalsampling.stats.magnitudes import MOST_CLASSES, POWERS, MagnitudeClasses
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Partition
from evalsampling.stats.rank_prior import RankPrior
from evalsampling.stats.score_kinds import LOG_ODDS as ODDS
from evalsampling.stats.score_kinds import (
    ORDER,
    PROBABILITY,
    ScoreSums,
    chance_of_order,
    contradicts,
    count_text,
)
from evalsampling.stats.score_summary import ScoreSummary
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.slices import Named
from evalsampling.stats.strata import LeafTable, cut_edges, cut_parting

FEW_LEAVES = 4
"""A warning comes where fewer than one in this many of the leaves asked for come out."""


_MATCH_WEIGHT = "match_weight"
"""In the name of a column of scores that Splink made: log2 odds."""

WORTH_A_WORD = 0.01
"""Share of the money lost to classes of costs above which a warning says so."""


_TURNED = 0.25
"""Chance that a predicted positive scores above a predicted negative, below which scores are turned
round."""


@dataclasses.dataclass(frozen=True)
class Stratification:
    """How a pool is cut into leaves, bins and cells, and where prior probabilities come from."""

    # interior edges of the leaves, strictly increasing; none for leaves of features
    edges: FloatArray
    # interior edges of the score bins, a superset of `edges`: leaves are groups of adjacent bins
    bin_edges: FloatArray
    # leaves that are no intervals of one score: of features, those that columns name, or by the
    # greatest rank of several scores; else None
    grouped: KdTree | Partition | GreatestRank | None
    # where prior probabilities come from: "column", "score", "expit(score)", "ranks(score)", "even"
    # or "normal"
    prior: str
    rules: tuple[str, ...]  # where the probabilities of each system come from: these, or "none"
    # ends and sums of the scores of each system, then of the one that drives the strata
    scores: tuple[ScoreSums, ...]
    signatures: Signatures  # slots of the cells
    binned_by_score: bool  # whether bins are bins of the first system's score
    has_system_probabilities: bool  # whether systems have probabilities that are not the prior's
    # shape (cells,): rows that each cell has at least, as far as the first pass tells; None if
    # there was none
    min_rows: IntArray | None = None
    # classes of costs and of weights, by the names of those in which rows differ
    magnitudes: Mapping[str, MagnitudeClasses] = dataclasses.field(default_factory=dict)
    # hierarchy of the leaves of their own: see `CellTable`; None for none
    parting: IntArray | None = None
    named: Named = dataclasses.field(default_factory=dict)  # slices that are part of the signatures
    # what is made of several systems that predict numbers, None for all others
    compared: ComparedSystems | None = None
    labels: int = 0  # number of the labels of which a row may have many; 0 for classes
    ranks: RankPrior | None = None  # the prior of scores that are an order, None for all others
    # whether leaves are what the systems predict: then there is one bin
    by_predictions: bool = False
    remarks: tuple[str, ...] = ()  # sentences of `ScoreRemarks`
    infinite: bool = False  # whether some scores are infinite, so that `ranges` are of the others

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields to pickle, without cached properties."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def given(cls, plan: ReadingPlan) -> "Stratification | None":
        """Return the stratification of a plan that needs no first pass, else None."""
        if Wanted.of(plan).anything:
            return None
        none = (ScoreSums(),) * (len(plan.pool.systems) + 1)
        return cls._of(plan, PoolSummary(0, (), none, None, None))

    @classmethod
    def from_summary(cls, summary: PoolSummary | None, plan: ReadingPlan) -> "Stratification":
        """Return the stratification that follows from the first pass."""
        check_not_empty(0 if summary is None else summary.rows, plan.pool)
        assert summary is not None
        stratification = cls._of(plan, summary)
        return dataclasses.replace(stratification, min_rows=stratification.known_rows(summary))

    @classmethod
    def _of(cls, plan: ReadingPlan, summary: PoolSummary) -> "Stratification":
        ranges = [sums.ends for sums in summary.scores[:-1]]
        grouped, edges, parting = _grouped_leaves(plan, summary), np.zeros(0), None
        if grouped is None:
            edges, parting = _intervals(plan, summary)
        elif plan.strata.has_own_hierarchy and not isinstance(grouped, GreatestRank):
            parting = grouped.parting
        thresholds = driving_thresholds(plan, ranges)
        bin_edges = np.union1d(edges, thresholds) if len(thresholds) else edges
        bins = len(bin_edges) + 1 if grouped is None else grouped.leaves
        slots = MAX_CELLS // bins
        if slots < 2:
            raise InputError(
                f"strata.leaves and thresholds make {bins} bins, at most {MAX_CELLS // 2} are "
                "possible"
            )
        if summary.signatures is None:
            signatures = Signatures.every(plan.signature_shape, plan.signature_order)
        else:
            signatures = Signatures.most_common(
                plan.signature_shape,
                summary.signatures,
                slots,
                len(plan.named_slices),
                plan.signature_order,
            )
        rules, prior = rules_of(plan, summary.scores)
        check_probabilities(plan, summary.scores)
        ranks = None
        if prior == RANKS:
            assert summary.histogram is not None
            ranks = RankPrior.of(summary.histogram.bins(), summary.scores[-1].predicted)
        first, room = plan.pool.systems[0], max(MAX_CELLS // (bins * signatures.slots), 1)
        of_each = min(room if len(summary.magnitudes) < 2 else math.isqrt(room), MOST_CLASSES)
        magnitudes = {
            name: MagnitudeClasses.spanning(*ends, of_each, POWERS[name])
            for name, ends in summary.magnitudes.items()
        }
        return cls(
            edges=edges,
            bin_edges=bin_edges,
            grouped=grouped,
            prior=prior,
            rules=rules,
            scores=summary.scores,
            signatures=signatures,
            binned_by_score=grouped is None
            and plan.strata.by_score
            and plan.pool.score == first.score,
            has_system_probabilities=len(rules) > 1
            or (first.probability, rules[0]) != (plan.pool.probability, prior),
            magnitudes=magnitudes,
            parting=parting,
            ranks=ranks,
            remarks=summary.remarks.words,
            infinite=summary.remarks.infinite,
            **_by_plan(plan),
        )

    @property
    def ranges(self) -> tuple[tuple[float, float] | None, ...]:
        """Least and greatest score of each system, None where it was not looked for."""
        return tuple(sums.ends for sums in self.scores[:-1])

    @property
    def kind(self) -> str | None:
        """What the score is that the prior comes from; None if a column of probabilities is it."""
        return {SCORE: PROBABILITY, LOG_ODDS: ODDS, RANKS: ORDER}.get(self.prior)

    @property
    def expects_guesses(self) -> bool:
        """Whether nothing tells what labels to expect but the verdicts: see `stats.cells`."""
        return self.by_predictions and self.prior == EVEN

    def decided(self, pool: PoolSpec) -> PoolSpec:
        """Return its pool, in which each system says what its score is."""
        return decided(pool, self.scores)

    @functools.cached_property
    def grid(self) -> CellGrid:
        """All cells that rows may fall into."""
        if self.grouped is not None:
            leaf = np.arange(self.grouped.leaves)
        else:
            leaf = np.append(0, np.searchsorted(self.edges, self.bin_edges, side="right"))
        low, high = np.full(len(leaf), -np.inf), np.full(len(leaf), np.inf)
        if self.binned_by_score:
            low[1:], high[:-1] = self.bin_edges, np.nextafter(self.bin_edges, -np.inf)
            if self.ranges[0] is not None and not self.infinite:
                low[0], high[-1] = min(self.ranges[0][0], high[0]), max(self.ranges[0][1], low[-1])
        leaves = len(self.edges) + 1 if self.grouped is None else self.grouped.leaves
        return CellGrid(
            leaf,
            low,
            leaves,
            self.signatures,
            high,
            self.magnitudes,
            self.parting,
            self.named,
            self.labels,
        )

    def warnings(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of few leaves, few classes of magnitudes, and of scores that do not fit.

        Leaves are few if far fewer came out than were asked for.
        """
        of_cells = self._about_leaves(plan, table) + self._about_magnitudes()
        return of_cells + self.about_scores(plan, table) + self.about_features(plan)

    def about_features(self, plan: ReadingPlan) -> list[str]:
        """Return a warning if features stand in for scores, and nothing for probabilities."""
        by_features = isinstance(self.grouped, KdTree)
        if not by_features or self.prior != EVEN or plan.pool.lists is not None:
            return []
        return [
            "strata.method: kd: features do not say which rows are likely positive. Where it was "
            "measured, errors were two to four times those with a score. Learn one from features "
            "and predictions if you can, and name it pool.score"
        ]

    def about_scores(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of scores: match weights, and those that predictions contradict."""
        if not plan.has_classes or not plan.labels.space.is_binary or plan.pool.lists is not None:
            return []
        warnings = []
        read_as = {
            LOG_ODDS: "natural log-odds, which makes probabilities too extreme",
            RANKS: "an order, which leaves their probabilities out",
        }.get(self.prior)
        if read_as and plan.pool.score_is != ORDER and _MATCH_WEIGHT in str(plan.pool.score):
            warnings.append(
                f"pool.score: {plan.pool.score!r} is a match weight of Splink by its name: log2 "
                f"odds, read here as {read_as}. Name "
                "Splink's column of probabilities, pool.probability: match_probability, or "
                "multiply the weights by ln 2 = 0.6931"
            )
        return warnings + self._about_systems(plan, table)

    def _about_systems(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        """Return warnings of systems whose scores expect far other positives than are predicted.

        Then warnings of those that predict positives where their score is low.
        """
        positive, outputs = plan.labels.positive, table.outputs
        contradictions, turned = [], []
        for place, (system, rule) in enumerate(zip(plan.pool.systems, self.rules, strict=True)):
            predicted = table.mean_by_cell((outputs.prediction[:, place] == positive) * 1.0)
            own = table.mean_by_cell(np.nan_to_num(outputs.probability[:, place, positive]))
            sums = float(table.count @ own), float(table.count @ predicted)
            columns = {"score": system.score, "probability": system.probability}
            whose = "pool" if system.name is None else f"pool.systems.{system.name}"
            if rule not in (NO_PROBABILITY, RANKS) and contradicts(*sums):
                key = "score" if system.probability is None else "probability"
                way_out = {
                    "score": f"say {whose}.score_is: order if it is but an order",
                    "probability": "leave it out if it is none",
                }[key]
                contradictions.append(
                    f"{whose}.{key}: {columns[key]!r} expects {count_text(sums[0])} positives "
                    f"where {sums[1]:,.0f} are predicted, ten times apart or more: calibrate it, "
                    f"or {way_out}"
                )
            key = "probability" if system.score is None else "score"
            score = table.mean_by_cell(outputs.score[:, place])
            if columns[key] and chance_of_order(score, table.count, predicted) < _TURNED:
                turned.append(
                    f"{whose}.{key}: {columns[key]!r} is lower where positives are predicted. A "
                    "score is to rise with the chance of a positive: is it that of the other "
                    "class? Then turn it round"
                )
        return contradictions + turned

    def _about_magnitudes(self) -> list[str]:
        return [
            f"pool.{name}: {each.classes} classes of {name}s from {each.edges[0]:.3g} to "
            f"{each.edges[-1]:.3g} cost about {100 * each.loss:.1f} % more than {name}s "
            "row by row would: fewer strata.leaves leave room for more classes"
            for name, each in self.magnitudes.items()
            if each.loss > WORTH_A_WORD and each.classes < MOST_CLASSES
        ]

    def _about_leaves(self, plan: ReadingPlan, table: CellTable) -> list[str]:
        strata = plan.strata
        if strata.columns or strata.by_predictions or strata.edges is not None:
            return []
        if table.leaves * FEW_LEAVES >= min(strata.leaves, table.rows):
            return []
        largest = table.leaf_count.max() / table.rows
        by_features = isinstance(self.grouped, KdTree)
        what = "the features take" if by_features else "the score takes"
        return [
            f"strata.leaves: {table.leaves} of {strata.leaves} leaves came out, the largest with "
            f"{100 * largest:.0f} % of the rows: {what} few values, or most "
            "rows lie in a small part of the range"
        ]

    def table(self, sums: CellSums | None) -> CellTable:
        """Return the cells of rows that were summed up."""
        check_not_empty(0 if sums is None else sums.count.sum())
        assert sums is not None
        return self.table_of_means(*sums.means())

    def table_of_means(self, code: IntArray, count: IntArray, mean: FloatArray) -> CellTable:
        """Return the cells that hold rows, given the means of what they sum up."""
        if self.by_predictions:
            table = self.grid.table(code, count, mean, classes=self.signatures.shape[0])
            table = by_verdict(table, GUESSED if self.expects_guesses else None)
        elif self.compared is not None:
            table = self.compared.table(self.grid, code, count, mean)
        else:
            table = self.grid.table(
                code, count, mean, classes=self.labels or self.signatures.shape[0]
            )
        if isinstance(self.grouped, GreatestRank):
            table = dataclasses.replace(table, ordered_by=BY_LEAF)
        check_named(table)
        return table

    @functools.cached_property
    def _bins(self) -> LeafTable:
        return LeafTable(self.bin_edges)

    def bins(self, batch: PoolBatch, plan: ReadingPlan, outputs: Outputs) -> IntArray:
        """Return the bin of each row, shape (n,)."""
        if isinstance(self.grouped, KdTree):
            return self.grouped.find(read_features(batch, plan))
        if isinstance(self.grouped, Partition):
            return self.grouped.find(read_partition(batch, plan.strata.columns))
        if self.grouped is not None:
            columns = self.grouped.columns
            return self.grouped.find([read_scores(batch, plan, column) for column in columns])
        if self.compared is not None:
            return self._bins.find(self.compared.score(outputs))
        if self.by_predictions:
            return np.zeros(len(outputs), dtype=np.int64)
        if self.binned_by_score:
            return self._bins.find(outputs.score[:, 0])
        assert plan.pool.score is not None
        return self._bins.find(read_scores(batch, plan, plan.pool.score))

    def known_rows(self, summary: PoolSummary) -> IntArray:
        """Return how many rows each cell has at least, as far as a first pass tells.

        Rows of one signature are counted by score. A histogram's bin without an edge inside lies
        in one cell; what is in other bins may be in either of two.

        Returns:
            Shape (cells,): 0 for cells of which nothing is known, as where magnitudes divide them.
        """
        if any(each.classes > 1 for each in self.magnitudes.values()):
            return np.zeros(self.grid.cells, dtype=np.int64)
        least = np.zeros((len(self.grid.leaf), self.signatures.slots), dtype=np.int64)
        if self.grouped is None and len(summary.histograms) == math.prod(self.signatures.shape):
            for code, histogram in enumerate(summary.histograms):
                if histogram.rows:
                    every = Signatures.every(self.signatures.shape, self.signatures.order)
                    prediction = every.predictions(code)[0]
                    bins = histogram.bins()
                    low, high = bins.lower_ends, bins.upper_ends
                    first = np.searchsorted(self.bin_edges, low, side="right")
                    whole = first == np.searchsorted(self.bin_edges, high, side="left")
                    slot = int(self.signatures.slot(prediction)[0])
                    np.add.at(least[:, slot], first[whole], bins.counts[whole])
        return least.ravel()

    def to_mapping(self) -> dict[str, Any]:
        """Return what `from_mapping` takes, for JSON: all but `min_rows`."""
        own: dict[str, Any] = {}  # Pools that do without lack the keys.
        for name, each in self.magnitudes.items():
            own[f"{name}s"] = each.edges.tolist()
        if isinstance(self.grouped, Partition):
            own["paths"] = self.grouped.to_list()
        if isinstance(self.grouped, GreatestRank):
            own["ranked"] = self.grouped.to_mapping()
        if self.parting is not None:
            own["parting"] = self.parting.tolist()
        if self.ranks is not None:
            own["ranks"] = self.ranks.to_mapping()
        if any(sums.rows for sums in self.scores):
            own["counted"] = [sums.to_mapping() for sums in self.scores]
            own["driving"] = list(self.scores[-1].ends or ())
        if self.remarks:
            own["remarks"] = list(self.remarks)
        if self.infinite:
            own["infinite"] = True
        return own | {
            "edges": self.edges.tolist(),
            "bin_edges": self.bin_edges.tolist(),
            "tree": self.grouped.to_mapping() if isinstance(self.grouped, KdTree) else None,
            "prior": self.prior,
            "rules": list(self.rules),
            "ranges": [None if r is None else list(r) for r in self.ranges],
            "signatures": {
                "kept": self.signatures.kept.tolist(),
                "pooled": self.signatures.pooled.tolist(),
                "pooled_share": self.signatures.pooled_share.tolist(),
            },
            "scored": self.binned_by_score,
            "own": self.has_system_probabilities,
        }

    @classmethod
    def from_mapping(cls, content: dict[str, Any], plan: ReadingPlan) -> "Stratification":
        """Return the stratification that `to_mapping` described, for the plan it belongs to."""
        slots = content["signatures"]
        return cls(
            edges=np.array(content["edges"], dtype=np.float64),
            bin_edges=np.array(content["bin_edges"], dtype=np.float64),
            grouped=_grouped_from(content),
            prior=content["prior"],
            rules=tuple(content["rules"]),
            scores=tuple(
                ScoreSums.from_mapping(ends, counts)
                for ends, counts in zip(
                    [*content["ranges"], content.get("driving")],
                    content.get("counted", [{}] * (len(content["ranges"]) + 1)),
                    strict=True,
                )
            ),
            ranks=RankPrior.from_mapping(content["ranks"]) if "ranks" in content else None,
            signatures=Signatures(
                shape=plan.signature_shape,
                order=plan.signature_order,
                kept=np.array(slots["kept"], dtype=np.int64),
                pooled=np.array(slots["pooled"], dtype=np.int64),
                pooled_share=np.array(slots["pooled_share"], dtype=np.float64),
            ),
            binned_by_score=content["scored"],
            has_system_probabilities=content["own"],
            magnitudes={
                name: MagnitudeClasses(np.array(content[f"{name}s"]), power)
                for name, power in POWERS.items()
                if f"{name}s" in content
            },
            parting=np.array(content["parting"], np.int64) if "parting" in content else None,
            remarks=tuple(content.get("remarks", ())),
            infinite=content.get("infinite", False),
            **_by_plan(plan),
        )


def _by_plan(plan: ReadingPlan) -> dict[str, Any]:
    """Return the fields that follow from the plan alone, so that no workspace keeps them."""
    space = plan.labels.space
    return {
        "named": plan.named_slices,
        "compared": ComparedSystems.of(plan),
        "labels": len(space.outcomes) if space.tagged else 0,
        "by_predictions": plan.strata.by_predictions,
    }


def _grouped_from(content: Mapping[str, Any]) -> KdTree | Partition | GreatestRank | None:
    """Return `Stratification.grouped` of what its `to_mapping` returned."""
    if "paths" in content:
        return Partition.from_list(content["paths"])
    if "ranked" in content:
        return GreatestRank.from_mapping(content["ranked"])
    return None if content["tree"] is None else KdTree.from_mapping(content["tree"])


def _grouped_leaves(
    plan: ReadingPlan, summary: PoolSummary
) -> KdTree | Partition | GreatestRank | None:
    """Return leaves that are no intervals of one score, None if they are."""
    if plan.strata.edges is not None:
        return None
    if summary.paths is not None:
        check_paths(summary.paths, plan.strata.columns)
        return Partition(summary.paths.first)
    if summary.features is not None:
        return KdTree.fit(summary.features.features, plan.strata.leaves)
    if summary.ranked:
        return GreatestRank.cut(ranked_columns(plan), summary.ranked, plan.strata.leaves)
    return None


def _intervals(plan: ReadingPlan, summary: PoolSummary) -> tuple[FloatArray, IntArray | None]:
    """Return the edges of leaves of a score, and their own hierarchy if one is asked for."""
    strata = plan.strata
    if strata.edges is not None:
        return np.array(strata.edges), None
    if strata.by_predictions:
        return np.zeros(0), None
    assert summary.histogram is not None
    cut = cut_method(plan), summary.histogram, strata.leaves
    try:
        edges = cut_edges(*cut)
        return edges, cut_parting(*cut, edges) if strata.has_own_hierarchy else None
    except ValueError as error:
        raise InputError(f"strata.method: {strata.method}: {error}") from error


def scores_of_classes(
    plan: ReadingPlan, stratification: Stratification, table: CellTable
) -> ScoreSummary | None:
    """Return what was made of the scores of a pool; None where labels are not of classes."""
    if not plan.has_classes:
        return None
    scores, read = stratification.scores, dict[str, str]()
    for part, sums, kind in zip(plan.pool.scored, scores, kinds_of(plan.pool, scores), strict=True):
        if kind is not None and part.probability is None and not plan.labels.space.needs_columns:
            stated = part.score_is is not None
            read.setdefault(str(part.score), sums.words(str(part.score), kind, stated))
    summary = ScoreSummary.of_class(table, plan.labels.positive)
    return dataclasses.replace(
        summary,
        kind=stratification.kind,
        read_as=tuple(read.values()),
        remarks=stratification.remarks,
    )


def what_scores_say(
    plan: ReadingPlan, stratification: Stratification, table: CellTable
) -> str | None:
    """Return what was made of the scores of a pool in a sentence, None as `scores_of_classes`."""
    summary = scores_of_classes(plan, stratification, table)
    return None if summary is None else summary.words
