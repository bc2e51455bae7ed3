"""The stratification of a pool: leaves, score bins and cells, decided after the first pass."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import EVEN
from evalsampling.measures.build import thresholds_cut_at
from evalsampling.parts.records import as_plain, read_record
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_features, read_partition, read_scores
from evalsampling.preparation.compared_numbers import ComparedSystems
from evalsampling.preparation.scores import PoolScores
from evalsampling.preparation.slices import unmet_values
from evalsampling.preparation.summary import (
    PoolSummary,
    Wanted,
    check_not_empty,
    check_paths,
    cut_method,
    ranked_columns,
)
from evalsampling.spec import MAX_CELLS, AnalysisPlan, ReadingPlan
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import GUESSED, CellGrid, CellSums, CellTable, Leaves, by_verdict
from evalsampling.stats.kdtree import KdTree
from evalsampling.stats.magnitudes import MOST_CLASSES, POWERS, MagnitudeClasses
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Partition
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.score_kinds import ScoreSums
from evalsampling.stats.score_summary import ScoreSummary
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.strata import GreatestRank, LeafTable, cut_edges, cut_parting

FEW_LEAVES = 4
"""A warning comes where fewer than one in this many of the leaves asked for come out."""


WORTH_A_WORD = 0.01
"""Share of the money lost to classes of costs above which a warning says so."""

_OF_SLOTS = ("kept", "pooled", "pooled_share")
"""What is stored of the signatures; all else follows from the plan."""


@dataclasses.dataclass(frozen=True)
class Stratification:
    """How a pool is cut into leaves, bins and cells, and where prior probabilities come from."""

    plan: ReadingPlan  # what is read of the pool
    # interior edges of the leaves, strictly increasing; none for leaves of features
    edges: FloatArray
    # interior edges of the score bins, a superset of `edges`: leaves are groups of adjacent bins
    bin_edges: FloatArray
    # leaves that are no intervals of one score: of features, those that columns name, or by the
    # greatest rank of several scores; else None
    grouped: KdTree | Partition | GreatestRank | None
    scores: PoolScores  # what they are, and what probabilities follow
    signatures: Signatures  # slots of the cells
    # shape (cells,): rows that each cell has at least, as far as the first pass tells; None if
    # there was none
    min_rows: IntArray | None = None
    # classes of costs and of weights, by the names of those in which rows differ
    magnitudes: Mapping[str, MagnitudeClasses] = dataclasses.field(default_factory=dict)
    # hierarchy of the leaves of their own: see `Leaves`; None for none
    parting: IntArray | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields to pickle, without cached properties."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_summary(cls, summary: PoolSummary | None, plan: ReadingPlan) -> "Stratification":
        """Return the stratification that follows from the first pass, if a plan needs one."""
        if not Wanted.of(plan).anything:
            none = (ScoreSums(),) * (len(plan.pool.systems) + 1)
            return cls._of(plan, PoolSummary(0, (), none, None, None))
        check_not_empty(0 if summary is None else summary.rows, plan.pool)
        assert summary is not None
        stratification = cls._of(plan, summary)
        return dataclasses.replace(stratification, min_rows=stratification.known_rows(summary))

    @classmethod
    def _of(cls, plan: ReadingPlan, summary: PoolSummary) -> "Stratification":
        counts = summary.counts(plan.pool.score)
        grouped, edges, parting = _grouped_leaves(plan, summary), np.zeros(0), None
        if grouped is None:
            edges, parting = _intervals(plan, counts.get(plan.pool.score))
        elif plan.strata.has_own_hierarchy and not isinstance(grouped, GreatestRank):
            parting = grouped.parting
        scores = PoolScores.of(plan, summary.scores, counts, summary.remarks)
        bin_edges = np.union1d(edges, thresholds_cut_at(scores.stated(plan)))
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
        room = max(MAX_CELLS // (bins * signatures.slots), 1)
        of_each = min(room if len(summary.magnitudes) < 2 else math.isqrt(room), MOST_CLASSES)
        magnitudes = {
            name: MagnitudeClasses.spanning(*ends, of_each, POWERS[name])
            for name, ends in summary.magnitudes.items()
        }
        return cls(
            plan=plan,
            edges=edges,
            bin_edges=bin_edges,
            grouped=grouped,
            scores=scores,
            signatures=signatures,
            magnitudes=magnitudes,
            parting=parting,
        )

    @property
    def ranges(self) -> tuple[tuple[float, float] | None, ...]:
        """Least and greatest score of each system, None where it was not looked for."""
        return self.scores.ranges

    @functools.cached_property
    def compared(self) -> ComparedSystems | None:
        """The compared systems, if several predict numbers; else None."""
        return ComparedSystems.of(self.plan)

    @property
    def labels(self) -> int:
        """Number of the labels of which a row may have many; 0 for classes."""
        space = self.plan.labels.space
        return len(space.outcomes) if space.tagged else 0

    @property
    def binned_by_score(self) -> bool:
        """Whether bins are bins of the first system's score."""
        pool, of_score = self.plan.pool, self.plan.strata.by_score
        return self.grouped is None and of_score and pool.score == pool.systems[0].score

    @property
    def has_system_probabilities(self) -> bool:
        """Whether systems have probabilities that are not the prior's."""
        pool, rules = self.plan.pool, self.scores.rules
        own = pool.systems[0].probability, rules[0]
        return len(rules) > 1 or own != (pool.probability, self.scores.prior)

    @property
    def expects_guesses(self) -> bool:
        """Whether labels are expected from the verdicts alone: see `stats.cells`."""
        return self.plan.strata.by_predictions and self.scores.prior == EVEN

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
            if self.ranges[0] is not None and not self.scores.infinite:
                low[0], high[-1] = min(self.ranges[0][0], high[0]), max(self.ranges[0][1], low[-1])
        number = len(self.edges) + 1 if self.grouped is None else self.grouped.leaves
        return CellGrid(
            leaf,
            low,
            Leaves(number, self.parting, in_order=isinstance(self.grouped, GreatestRank)),
            self.signatures,
            high,
            self.magnitudes,
            self.plan.named_slices,
            self.labels,
        )

    def warnings(self, table: CellTable) -> list[str]:
        """Return warnings of few leaves, few classes of magnitudes, and of scores that do not fit.

        Leaves are few if far fewer came out than were asked for.
        """
        of_cells = self._about_leaves(table) + self._about_magnitudes()
        return of_cells + self.about_scores(table) + self.about_features()

    def about_features(self) -> list[str]:
        """Return a warning if features stand in for scores, and nothing for probabilities."""
        by_features = isinstance(self.grouped, KdTree)
        if not by_features or self.scores.prior != EVEN or self.plan.pool.lists is not None:
            return []
        return [
            "strata.method: kd: features do not say which rows are likely positive. Where it was "
            "measured, errors were two to four times those with a score. Learn one from features "
            "and predictions if you can, and name it pool.score"
        ]

    def about_scores(self, table: CellTable, whole: bool = True) -> list[str]:
        """Return warnings of scores: of match weights, and of scores that predictions contradict.

        Of the whole pool also those of classes that are never predicted, or always.
        """
        alike = self.scores.about_predictions(self.plan, table) if whole else []
        return alike + self.scores.warnings(self.plan, table)

    def decided(self, plan: AnalysisPlan) -> AnalysisPlan:
        """Return a plan with what the scores of the pool are, and their levels."""
        return dataclasses.replace(plan, reading=self.scores.stated(plan.reading))

    def score_summary(self, table: CellTable) -> ScoreSummary | None:
        """Return a summary of how the scores were read; None where labels are not of classes."""
        return self.scores.summary(self.plan, table)

    def said_of_scores(self, table: CellTable) -> str | None:
        """Return `score_summary` in a sentence, None as there."""
        summary = self.score_summary(table)
        return None if summary is None else summary.words

    def _about_magnitudes(self) -> list[str]:
        return [
            f"pool.{name}: {each.classes} classes of {name}s from {each.edges[0]:.3g} to "
            f"{each.edges[-1]:.3g} cost about {100 * each.loss:.1f} % more than {name}s "
            "row by row would: fewer strata.leaves leave room for more classes"
            for name, each in self.magnitudes.items()
            if each.loss > WORTH_A_WORD and each.classes < MOST_CLASSES
        ]

    def _about_leaves(self, table: CellTable) -> list[str]:
        strata = self.plan.strata
        if strata.columns or strata.by_predictions or strata.edges is not None:
            return []
        leaves = len(table.leaves)
        if leaves * FEW_LEAVES >= min(strata.leaves, table.rows):
            return []
        largest = table.leaf_count.max() / table.rows
        by_features = isinstance(self.grouped, KdTree)
        what = "the features take" if by_features else "the score takes"
        return [
            f"strata.leaves: {leaves} of {strata.leaves} leaves came out, the largest with "
            f"{100 * largest:.0f} % of the rows: {what} few values, or most "
            "rows lie in a small part of the range"
        ]

    def table(self, sums: CellSums | None, whole: bool = True) -> CellTable:
        """Return the cells of rows, of a whole pool or a part, given their sums."""
        check_not_empty(0 if sums is None else sums.count.sum())
        assert sums is not None
        table = self.table_of_means(*sums.means())
        for problem in unmet_values(table, "no row of the pool") if whole else ():
            raise InputError(problem)
        return table

    def table_of_means(self, code: IntArray, count: IntArray, mean: FloatArray) -> CellTable:
        """Return the cells that hold rows, given the means of their sums."""
        if self.plan.strata.by_predictions:
            table = self.grid.table(code, count, mean, classes=self.signatures.shape[0])
            table = by_verdict(table, GUESSED if self.expects_guesses else None)
        elif self.compared is not None:
            table = self.compared.table(self.grid, code, count, mean)
        else:
            table = self.grid.table(
                code, count, mean, classes=self.labels or self.signatures.shape[0]
            )
        return table

    @functools.cached_property
    def _bins(self) -> LeafTable:
        return LeafTable(self.bin_edges)

    def bins(self, batch: PoolBatch, outputs: Outputs) -> IntArray:
        """Return the bin of each row, shape (n,)."""
        plan = self.plan
        if isinstance(self.grouped, KdTree):
            return self.grouped.find(read_features(batch, plan))
        if isinstance(self.grouped, Partition):
            return self.grouped.find(read_partition(batch, plan.strata.columns))
        if self.grouped is not None:
            columns = self.grouped.columns
            return self.grouped.find([read_scores(batch, plan, column) for column in columns])
        if self.compared is not None:
            return self._bins.find(self.compared.score(outputs))
        if plan.strata.by_predictions:
            return np.zeros(len(outputs), dtype=np.int64)
        if self.binned_by_score:
            return self._bins.find(outputs.score[:, 0])
        return self._bins.find(read_scores(batch, plan, str(plan.pool.score)))

    def known_rows(self, summary: PoolSummary) -> IntArray:
        """Return how many rows each cell has at least, as far as a first pass tells: (cells,).

        Rows of one signature are counted by score. A histogram's bin without an edge inside lies
        in one cell; rows of other bins may be in either of two cells, and count in neither. Where
        magnitudes divide cells, nothing is known.
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
        """Return the argument of `from_mapping`, for JSON: all but `min_rows`."""
        own: dict[str, Any] = {}  # Pools that do without lack the keys.
        for name, each in self.magnitudes.items():
            own[f"{name}s"] = each.edges.tolist()
        if isinstance(self.grouped, Partition):
            own |= as_plain(self.grouped)
        if isinstance(self.grouped, GreatestRank):
            own["ranked"] = as_plain(self.grouped)
        if self.parting is not None:
            own["parting"] = self.parting.tolist()
        return own | {
            **self.scores.to_mapping(),
            "edges": self.edges.tolist(),
            "bin_edges": self.bin_edges.tolist(),
            "tree": as_plain(self.grouped) if isinstance(self.grouped, KdTree) else None,
            "signatures": {key: getattr(self.signatures, key).tolist() for key in _OF_SLOTS},
            "scored": self.binned_by_score,
            "own": self.has_system_probabilities,
        }

    @classmethod
    def from_mapping(cls, content: dict[str, Any], plan: ReadingPlan) -> "Stratification":
        """Return the stratification that `to_mapping` described, for the plan it belongs to."""
        of_plan = {"shape": plan.signature_shape, "order": plan.signature_order}
        return cls(
            plan=plan,
            edges=np.array(content["edges"], dtype=np.float64),
            bin_edges=np.array(content["bin_edges"], dtype=np.float64),
            grouped=_grouped_from(content),
            scores=PoolScores.from_mapping(content),
            signatures=read_record(Signatures, content["signatures"] | of_plan),
            magnitudes={
                name: MagnitudeClasses(np.array(content[f"{name}s"]), power)
                for name, power in POWERS.items()
                if f"{name}s" in content
            },
            parting=np.array(content["parting"], np.int64) if "parting" in content else None,
        )


def _grouped_from(content: Mapping[str, Any]) -> KdTree | Partition | GreatestRank | None:
    """Return `Stratification.grouped`, read from the mapping that `to_mapping` returned."""
    if "paths" in content:
        return read_record(Partition, content)
    if "ranked" in content:
        return read_record(GreatestRank, content["ranked"])
    return None if content["tree"] is None else read_record(KdTree, content["tree"])


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
    if columns := ranked_columns(plan):
        counts = [summary.ranked[column] for column in columns]
        return GreatestRank.cut(columns, counts, plan.strata.leaves)
    return None


def _intervals(plan: ReadingPlan, counts: ScoreCounts | None) -> tuple[FloatArray, IntArray | None]:
    """Return the edges of leaves of a score, and their own hierarchy if one is asked for."""
    strata = plan.strata
    if strata.edges is not None:
        return np.array(strata.edges), None
    if strata.by_predictions:
        return np.zeros(0), None
    assert counts is not None
    cut = cut_method(plan), counts, strata.leaves
    try:
        edges = cut_edges(*cut)
        return edges, cut_parting(*cut, edges) if strata.has_own_hierarchy else None
    except ValueError as error:
        raise InputError(f"strata.method: {strata.method}: {error}") from error
