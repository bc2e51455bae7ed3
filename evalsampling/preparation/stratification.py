"""The stratification of a pool: leaves, score bins and cells, decided after the first pass."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import EVEN, LOG_ODDS, NO_PROBABILITY
from evalsampling.measures.build import driving_thresholds
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_features, read_partition, read_scores
from evalsampling.preparation.compared_numbers import ComparedSystems
from evalsampling.preparation.slices import check_named
from evalsampling.preparation.summary import (
    PoolSummary,
    Wanted,
    check_not_empty,
    check_paths,
    cut_method,
)
from evalsampling.spec import MAX_CELLS, EvaluationSpec
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellGrid, CellSums, CellTable
from evalsampling.stats.costs import MOST_CLASSES, CostClasses
from evalsampling.stats.kdtree import KdTree
from evalsampling.stats.named_slices import Named
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Partition
from evalsampling.stats.score_summary import ScoreSummary
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.strata import LeafTable, cut_edges, cut_parting

FEW_LEAVES = 4
"""A warning comes where fewer than one in this many of the leaves asked for come out."""


_CERTAIN = 1e-6
"""Most that the prior of a row may lack of 1 for the row to be as good as surely positive."""

_MATCH_WEIGHT = "match_weight"
"""In the name of a column of scores that Splink made: log2 odds."""

_FAR = 30.0
"""Greatest log-odds that are plausible in a pool that has no row below even odds."""

WORTH_A_WORD = 0.01
"""Share of the money lost to classes of costs above which a warning says so."""


@dataclasses.dataclass(frozen=True)
class Stratification:
    """How a pool is cut into leaves, bins and cells, and where prior probabilities come from.

    Attributes:
        edges: interior edges of the leaves, strictly increasing; none for leaves of features.
        bin_edges: interior edges of the score bins, a superset of `edges`: leaves are groups of
            adjacent bins.
        tree: leaves of features, or None.
        partition: leaves that columns name, or None.
        parting: hierarchy of the leaves of their own: see `CellTable`; None for none.
        prior: where prior probabilities come from: "column", "score", "expit(score)",
            "even" or "normal".
        rules: where the probabilities of each system come from: these, or "none".
        ranges: least and greatest score of each system, None where it was not looked for.
        signatures: slots of the cells.
        binned_by_score: whether bins are bins of the first system's score.
        has_system_probabilities: whether systems have probabilities that are not the prior's.
        min_rows: shape (cells,): rows that each cell has at least, as far as the first pass tells;
            None if there was none.
        costs: classes of costs, None if all labels cost the same.
        named: slices that are part of the signatures.
        compared: what is made of several systems that predict numbers, None for all others.
        labels: number of the labels of which a row may have many; 0 for classes.
        remarks: sentences of `ScoreRemarks`.
        infinite: whether some scores are infinite, so that `ranges` are of the others.
    """

    edges: FloatArray
    bin_edges: FloatArray
    tree: KdTree | None
    prior: str
    rules: tuple[str, ...]
    ranges: tuple[tuple[float, float] | None, ...]
    signatures: Signatures
    binned_by_score: bool
    has_system_probabilities: bool
    min_rows: IntArray | None = None
    costs: CostClasses | None = None
    partition: Partition | None = None
    parting: IntArray | None = None
    named: Named = dataclasses.field(default_factory=dict)
    compared: ComparedSystems | None = None
    labels: int = 0
    remarks: tuple[str, ...] = ()
    infinite: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields to pickle, without cached properties."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def given(cls, spec: EvaluationSpec) -> "Stratification | None":
        """Return the stratification of a spec that needs no first pass, else None."""
        if Wanted.from_spec(spec).anything:
            return None
        none = ((math.inf, -math.inf),) * (len(spec.pool.systems) + 1)
        return cls._of(spec, PoolSummary(0, (), none, None, None))

    @classmethod
    def from_summary(cls, summary: PoolSummary | None, spec: EvaluationSpec) -> "Stratification":
        """Return the stratification that follows from the first pass.

        Raises:
            InputError: if there are no rows, or the scores do not allow the strata asked for.
        """
        check_not_empty(0 if summary is None else summary.rows, spec.pool)
        assert summary is not None
        stratification = cls._of(spec, summary)
        return dataclasses.replace(stratification, min_rows=stratification.known_rows(summary))

    @classmethod
    def _of(cls, spec: EvaluationSpec, summary: PoolSummary) -> "Stratification":
        *ranges, driving = (r if r[0] <= r[1] else None for r in summary.ranges)
        grouped, edges, parting = _grouped_leaves(spec, summary), np.zeros(0), None
        if grouped is None:
            edges, parting = _intervals(spec, summary)
        elif spec.strata.has_own_hierarchy:
            parting = grouped.parting
        thresholds = driving_thresholds(spec, ranges)
        bin_edges = np.union1d(edges, thresholds) if len(thresholds) else edges
        bins = len(bin_edges) + 1 if grouped is None else grouped.leaves
        slots = MAX_CELLS // bins
        if slots < 2:
            raise InputError(
                f"strata.leaves and thresholds make {bins} bins, at most {MAX_CELLS // 2} are "
                "possible"
            )
        if summary.signatures is None:
            signatures = Signatures.every(spec.signature_shape)
        else:
            signatures = Signatures.most_common(
                spec.signature_shape, summary.signatures, slots, len(spec.named_slices)
            )
        rule = spec.labels.space.prior_rule
        rules = tuple(
            rule(system.probability, system.score, bounds)
            for system, bounds in zip(spec.pool.systems, ranges, strict=True)
        )
        prior = rule(spec.pool.probability, spec.pool.score, driving)
        prior = EVEN if prior == NO_PROBABILITY else prior
        first, costs = spec.pool.systems[0], None
        if spec.pool.cost is not None:
            room = max(MAX_CELLS // (bins * signatures.slots), 1)
            costs = CostClasses.spanning(*summary.costs, classes=min(room, MOST_CLASSES))
        return cls(
            edges=edges,
            bin_edges=bin_edges,
            tree=grouped if isinstance(grouped, KdTree) else None,
            prior=prior,
            rules=rules,
            ranges=tuple(ranges),
            signatures=signatures,
            binned_by_score=grouped is None and spec.pool.score == first.score,
            has_system_probabilities=len(rules) > 1
            or (first.probability, rules[0]) != (spec.pool.probability, prior),
            costs=costs,
            partition=grouped if isinstance(grouped, Partition) else None,
            parting=parting,
            remarks=summary.remarks.words,
            infinite=summary.remarks.infinite,
            **_by_spec(spec),
        )

    @property
    def _grouped(self) -> KdTree | Partition | None:
        """Leaves that are no intervals of a score, or None."""
        return self.tree or self.partition

    @functools.cached_property
    def grid(self) -> CellGrid:
        """All cells that rows may fall into."""
        if self._grouped is not None:
            leaf = np.arange(self._grouped.leaves)
        else:
            leaf = np.append(0, np.searchsorted(self.edges, self.bin_edges, side="right"))
        low, high = np.full(len(leaf), -np.inf), np.full(len(leaf), np.inf)
        if self.binned_by_score:
            low[1:], high[:-1] = self.bin_edges, np.nextafter(self.bin_edges, -np.inf)
            if self.ranges[0] is not None and not self.infinite:
                low[0], high[-1] = min(self.ranges[0][0], high[0]), max(self.ranges[0][1], low[-1])
        leaves = len(self.edges) + 1 if self._grouped is None else self._grouped.leaves
        return CellGrid(
            leaf,
            low,
            leaves,
            self.signatures,
            high,
            self.costs,
            self.parting,
            self.named,
            self.labels,
        )

    def warnings(self, spec: EvaluationSpec, table: CellTable) -> list[str]:
        """Return warnings of few leaves, few classes of costs, and of scores: none, or no log-odds.

        Leaves are few if far fewer came out than were asked for.
        """
        of_cells = self._about_leaves(spec, table) + self._about_costs()
        return of_cells + self.about_scores(spec, table) + self.about_features(spec)

    def about_features(self, spec: EvaluationSpec) -> list[str]:
        """Return a warning if features stand in for scores, and nothing for probabilities."""
        if self.tree is None or self.prior != EVEN or spec.pool.lists is not None:
            return []
        return [
            "strata.method: kd: features do not say which rows are likely positive. Where it was "
            "measured, errors were two to four times those with a score. Learn one from features "
            "and predictions if you can, and name it pool.score"
        ]

    def about_scores(self, spec: EvaluationSpec, table: CellTable) -> list[str]:
        """Return a warning if scores read as log-odds are none by their name or their values.

        Those that make nearly all rows positive are none. Rare positives have very negative
        log-odds, and these are fine.
        """
        if self.prior != LOG_ODDS:
            return []
        if _MATCH_WEIGHT in str(spec.pool.score):
            return [
                f"pool.score: {spec.pool.score!r} is a match weight of Splink by its name: log2 "
                "odds, read here as natural log-odds, which makes probabilities too extreme. Name "
                "Splink's column of probabilities, pool.probability: match_probability, or "
                "multiply the weights by ln 2 = 0.6931"
            ]
        positive = table.prior[:, spec.labels.positive]
        certain = table.count[positive > 1 - _CERTAIN].sum() / table.rows
        of_score = [
            bounds
            for system, bounds in zip(spec.pool.systems, self.ranges, strict=True)
            if system.score == spec.pool.score and bounds is not None
        ]
        none_below_even = any(low >= 0 and high > _FAR for low, high in of_score)
        if certain <= 0.5 and not none_below_even:
            return []
        ends = "".join(f" from {low:g} to {high:g}" for low, high in of_score[:1])
        expected = table.count @ positive / table.rows
        return [
            f"pool.score: {spec.pool.score!r}{ends} is read as log-odds, by which "
            f"{100 * expected:.0f} % of the rows are positive, {100 * certain:.0f} % as good as "
            "surely: calibrate the scores, or name a column of probabilities, pool.probability"
        ]

    def _about_costs(self) -> list[str]:
        if self.costs is None or self.costs.loss <= WORTH_A_WORD:
            return []
        return [
            f"pool.cost: {self.costs.classes} classes of costs from {self.costs.edges[0]:.3g} to "
            f"{self.costs.edges[-1]:.3g} cost about {100 * self.costs.loss:.1f} % more than costs "
            "row by row would: fewer strata.leaves leave room for more classes"
        ]

    def _about_leaves(self, spec: EvaluationSpec, table: CellTable) -> list[str]:
        strata = spec.strata
        if strata.columns or strata.edges is not None:
            return []
        if table.leaves * FEW_LEAVES >= min(strata.leaves, table.rows):
            return []
        largest = table.leaf_count.max() / table.rows
        what = "the score takes" if self.tree is None else "the features take"
        return [
            f"strata.leaves: {table.leaves} of {strata.leaves} leaves came out, the largest with "
            f"{100 * largest:.0f} % of the rows: {what} few values, or most "
            "rows lie in a small part of the range"
        ]

    def table(self, sums: CellSums | None) -> CellTable:
        """Return the cells of rows that were summed up.

        Raises:
            InputError: if there were none, or none of a slice that the spec names.
        """
        check_not_empty(0 if sums is None else sums.count.sum())
        assert sums is not None
        return self.table_of_means(*sums.means())

    def table_of_means(self, code: IntArray, count: IntArray, mean: FloatArray) -> CellTable:
        """Return the cells that hold rows, given the means of what they sum up.

        Args:
            code: shape (cells,), ascending.
            count: shape (cells,): rows.
            mean: shape (cells, columns): see `CellGrid.table` and `ComparedSystems.table`.

        Raises:
            InputError: if no row has a slice that the spec names.
        """
        if self.compared is not None:
            table = self.compared.table(self.grid, code, count, mean)
        else:
            table = self.grid.table(
                code, count, mean, classes=self.labels or self.signatures.shape[0]
            )
        check_named(table)
        return table

    @functools.cached_property
    def _bins(self) -> LeafTable:
        return LeafTable(self.bin_edges)

    def bins(self, batch: PoolBatch, spec: EvaluationSpec, outputs: Outputs) -> IntArray:
        """Return the bin of each row, shape (n,).

        Args:
            batch: the rows.
            spec: names the score, the features or the columns of a partition.
            outputs: of the systems, whose first one's score may be it.
        """
        if self.tree is not None:
            return self.tree.find(read_features(batch, spec))
        if self.partition is not None:
            return self.partition.find(read_partition(batch, spec))
        if self.compared is not None:
            return self._bins.find(self.compared.score(outputs))
        if self.binned_by_score:
            return self._bins.find(outputs.score[:, 0])
        assert spec.pool.score is not None
        return self._bins.find(read_scores(batch, spec, spec.pool.score))

    def known_rows(self, summary: PoolSummary) -> IntArray:
        """Return how many rows each cell has at least, as far as a first pass tells.

        Rows of one signature are counted by score. A histogram's bin without an edge inside lies
        in one cell; what is in other bins may be in either of two.

        Returns:
            Shape (cells,): 0 for cells of which nothing is known, as where costs divide them.
        """
        if self.costs is not None and self.costs.classes > 1:
            return np.zeros(self.grid.cells, dtype=np.int64)
        least = np.zeros((len(self.grid.leaf), self.signatures.slots), dtype=np.int64)
        if self._grouped is None and len(summary.histograms) == math.prod(self.signatures.shape):
            for code, histogram in enumerate(summary.histograms):
                if histogram.rows:
                    prediction = np.stack(np.unravel_index([code], self.signatures.shape), axis=1)
                    bins = histogram.bins()
                    low, high = bins.lower_ends, bins.upper_ends
                    first = np.searchsorted(self.bin_edges, low, side="right")
                    whole = first == np.searchsorted(self.bin_edges, high, side="left")
                    slot = int(self.signatures.slot(prediction)[0])
                    np.add.at(least[:, slot], first[whole], bins.counts[whole])
        return least.ravel()

    def to_mapping(self) -> dict[str, Any]:
        """Return what `from_mapping` takes, for JSON: all but `min_rows`."""
        newer: dict[str, Any] = {}  # Workspaces that do without lack the keys.
        if self.costs is not None:
            newer["costs"] = self.costs.edges.tolist()
        if self.partition is not None:
            newer["paths"] = self.partition.to_list()
        if self.parting is not None:
            newer["parting"] = self.parting.tolist()
        if self.remarks:
            newer["remarks"] = list(self.remarks)
        if self.infinite:
            newer["infinite"] = True
        return newer | {
            "edges": self.edges.tolist(),
            "bin_edges": self.bin_edges.tolist(),
            "tree": None if self.tree is None else self.tree.to_mapping(),
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
    def from_mapping(cls, content: dict[str, Any], spec: EvaluationSpec) -> "Stratification":
        """Return the stratification that `to_mapping` described, for the spec it belongs to."""
        slots = content["signatures"]
        return cls(
            edges=np.array(content["edges"], dtype=np.float64),
            bin_edges=np.array(content["bin_edges"], dtype=np.float64),
            tree=None if content["tree"] is None else KdTree.from_mapping(content["tree"]),
            prior=content["prior"],
            rules=tuple(content["rules"]),
            ranges=tuple(None if r is None else (r[0], r[1]) for r in content["ranges"]),
            signatures=Signatures(
                shape=spec.signature_shape,
                kept=np.array(slots["kept"], dtype=np.int64),
                pooled=np.array(slots["pooled"], dtype=np.int64),
                pooled_share=np.array(slots["pooled_share"], dtype=np.float64),
            ),
            binned_by_score=content["scored"],
            has_system_probabilities=content["own"],
            costs=CostClasses(np.array(content["costs"])) if "costs" in content else None,
            partition=Partition.from_list(content["paths"]) if "paths" in content else None,
            parting=np.array(content["parting"], np.int64) if "parting" in content else None,
            remarks=tuple(content.get("remarks", ())),
            infinite=content.get("infinite", False),
            **_by_spec(spec),
        )


def _by_spec(spec: EvaluationSpec) -> dict[str, Any]:
    """Return the fields that follow from the spec alone, so that no workspace keeps them."""
    space = spec.labels.space
    return {
        "named": spec.named_slices,
        "compared": ComparedSystems.of(spec),
        "labels": space.row_classes if space.tagged else 0,
    }


def _grouped_leaves(spec: EvaluationSpec, summary: PoolSummary) -> KdTree | Partition | None:
    """Return leaves that are no intervals of a score, None if they are."""
    if spec.strata.edges is not None:
        return None
    if summary.paths is not None:
        check_paths(summary.paths, spec)
        return Partition(summary.paths.first)
    if summary.features is not None:
        return KdTree.fit(summary.features.features, spec.strata.leaves)
    return None


def _intervals(spec: EvaluationSpec, summary: PoolSummary) -> tuple[FloatArray, IntArray | None]:
    """Return the edges of leaves of a score, and their own hierarchy if one is asked for."""
    strata = spec.strata
    if strata.edges is not None:
        return np.array(strata.edges), None
    assert summary.histogram is not None
    cut = cut_method(spec), summary.histogram, strata.leaves
    try:
        edges = cut_edges(*cut)
        return edges, cut_parting(*cut, edges) if strata.has_own_hierarchy else None
    except ValueError as error:
        raise InputError(f"strata.method: {strata.method}: {error}") from error


def scores_of_classes(
    spec: EvaluationSpec, table: CellTable, stratification: Stratification
) -> ScoreSummary | None:
    """Return what was made of the scores of a pool; None where labels are not of classes."""
    if not spec.has_classes:
        return None
    return ScoreSummary.of_class(table, spec.labels.positive, stratification.remarks)


def what_scores_say(
    spec: EvaluationSpec, table: CellTable, stratification: Stratification
) -> str | None:
    """Return what was made of the scores of a pool in a sentence, None as `scores_of_classes`."""
    summary = scores_of_classes(spec, table, stratification)
    return None if summary is None else summary.words
