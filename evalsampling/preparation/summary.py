"""The first pass over a pool: histograms, ranges and counts from which it is stratified."""

import dataclasses
import functools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.build import (
    MOST_LEVELS,
    build_driver,
    leveled_scores,
    most_bins,
    needs_ranges,
    needs_signature_counts,
    thresholded_parts,
)
from evalsampling.parts.references import load_object
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import (
    hash_ids,
    label_columns,
    read_features,
    read_magnitudes,
    read_named_slices,
    read_partition,
    read_predictions,
    read_scores,
    with_chances,
    with_slices,
)
from evalsampling.pool.lists import list_columns
from evalsampling.pool.source import keeps_nothing
from evalsampling.preparation.compared_numbers import ComparedSystems
from evalsampling.preparation.queries import ExpectedQueries
from evalsampling.preparation.scores import ScoreRemarks
from evalsampling.spec import MAX_CELLS, ReadingPlan
from evalsampling.spec.id_columns import columns_of
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.strata import BY_RANK, CUT_METHODS
from evalsampling.stats.kdtree import FeatureSample
from evalsampling.stats.partition import Paths
from evalsampling.stats.score_counts import ScoreCounts
from evalsampling.stats.score_kinds import CONFIDENCE, ORDER, ScoreSums
from evalsampling.stats.signatures import SignatureCounts, signature_codes
from evalsampling.stats.strata import LOGIT_RANK, CutMethod

FEW_SIGNATURES = 8
"""Most signatures that scores are counted apart for."""

_RANKED_BINS = 4096
"""Bins of the histogram that ranks are told by, where no strata are cut from it."""

_COUNTED_PER_BIN = 16
_MOST_COUNTED = 1 << 16
"""Bins of the histogram for each bin of cells, so that few of them are cut by an edge."""

FEATURE_SAMPLE = 1 << 16
"""Rows that a k-d tree is fitted to."""


@dataclasses.dataclass(frozen=True)
class PoolSummary:
    """Histograms, ranges and counts of a pool: a mergeable state."""

    rows: int  # of the pool
    # of the score that drives the strata, if there is one: of the rows of each signature if these
    # are few, so that rows can be counted by cell; else of all rows
    histograms: tuple[ScoreCounts, ...]
    # ends and sums of the finite scores of each system, then of the score that drives the strata;
    # without rows where they are not looked at
    scores: tuple[ScoreSums, ...]
    # counted if there may be too many of them for the cells, else None
    signatures: SignatureCounts | None
    # of the rows of least hash, if the strata are cut from features, else None. Of queries these
    # are their expected gains.
    features: FeatureSample | None
    # least and greatest cost of a label, and weight of a row, by the names of those in which rows
    # differ
    magnitudes: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    paths: Paths | None = None  # leaves that columns of the pool name, else None
    remarks: ScoreRemarks = ScoreRemarks()  # what is to be said of scores
    # histogram of each score of `Wanted.ranked`, by its column
    ranked: Mapping[str | None, ScoreCounts] = dataclasses.field(default_factory=dict)

    def __add__(self, other: "PoolSummary") -> "PoolSummary":
        """Return the summary of both parts of the pool together."""
        return PoolSummary(
            self.rows + other.rows,
            tuple(a + b for a, b in zip(self.histograms, other.histograms, strict=True)),
            tuple(a + b for a, b in zip(self.scores, other.scores, strict=True)),
            _add(self.signatures, other.signatures),
            _add(self.features, other.features),
            {name: _union(each, other.magnitudes[name]) for name, each in self.magnitudes.items()},
            _add(self.paths, other.paths),
            self.remarks + other.remarks,
            {column: each + other.ranked[column] for column, each in self.ranked.items()},
        )

    def counts(self, driving: str | None) -> dict[str | None, ScoreCounts]:
        """Return the histograms of scores by column, given the column that drives the strata."""
        counts = dict(self.ranked)
        if self.histograms:
            counts[driving] = functools.reduce(operator.add, self.histograms)
        return counts


def _union(first: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(first[0], other[0]), max(first[1], other[1])


def _add(first: Any, other: Any) -> Any:
    return None if first is None else first + other


def summarize(batch: PoolBatch, plan: ReadingPlan, wants: "Wanted") -> PoolSummary:
    """Return the summary of a batch: the statistics that the plan wants of it."""
    if plan.pool.lists is not None:
        return _of_queries(batch, plan)
    batch = with_chances(batch, plan)
    histograms: tuple[ScoreCounts, ...] = ()
    signatures = features = codes = keys = predictions = None
    scored = [*(system.score for system in plan.pool.systems), plan.pool.score]
    wanted = scored if wants.ranges else [plan.pool.score] if wants.histogram_bins else []
    if wants.predictions:
        wanted = [*wanted, *thresholded_columns(plan.pool)]
    scores = {column: read_scores(batch, plan, column) for column in wanted if column is not None}
    if wants.predictions:
        predictions = read_predictions(batch, plan)
    if predictions is not None and wants.codes:
        signature = with_slices(predictions, read_named_slices(batch, plan.named_slices))
        codes = signature_codes(plan.signature_shape, signature, plan.signature_order)
    ranked: dict[str | None, ScoreCounts] = {}
    for name in wants.ranked:
        score = scores[name] if name in scores else read_scores(batch, plan, name)
        ranked[name] = ScoreCounts.from_scores(score, wants.histogram_bins)
    if wants.driving:
        compared = ComparedSystems.of(plan)
        score = scores[str(plan.pool.score)] if compared is None else compared.score_of(batch, plan)
        groups = [score]
        if wants.by_signature:
            groups = [score[codes == code] for code in range(math.prod(plan.signature_shape))]
        histograms = tuple(ScoreCounts.from_scores(s, wants.histogram_bins) for s in groups)
    if wants.hashes:
        keys = hash_ids(batch.ids(plan.pool.id), plan.seed)
    if wants.signatures:
        assert codes is not None
        assert keys is not None
        signatures = SignatureCounts.from_codes(codes.astype(np.int64, copy=False), keys)
    if wants.features:
        assert keys is not None
        features = FeatureSample.from_rows(keys, read_features(batch, plan), FEATURE_SAMPLE)
    sums: list[ScoreSums] = []
    for place, column in enumerate(scored):
        values = scores[column] if wants.ranges and column is not None else None
        of = place % len(plan.pool.systems)  # The first system's predictions stand with the last.
        if place > of and column == scored[of] and wants.counted[place] == wants.counted[of]:
            sums.append(sums[of])
        elif predictions is not None and wants.counted[place]:
            sums.append(ScoreSums.of(values, predictions[:, of] == plan.labels.positive))
        else:
            sums.append(ScoreSums.of(values, None))
    magnitudes = {name: _range(each) for name, each in read_magnitudes(batch, plan.pool).items()}
    paths = None
    if plan.strata.columns:
        paths = Paths.from_rows(read_partition(batch, plan.strata.columns), plan.strata.leaves)
        check_paths(paths, plan.strata.columns)
    remarks = ScoreRemarks.of(batch, plan, scores)
    return PoolSummary(
        len(batch.rows),
        histograms,
        tuple(sums),
        signatures,
        features,
        magnitudes,
        paths,
        remarks,
        ranked,
    )


def check_paths(paths: Paths, names: Sequence[str]) -> None:
    """Check that a partition has no more leaves than are possible."""
    if paths.are_too_many:
        columns = ", ".join(names)
        raise InputError(
            f"strata.columns: {columns}: more than {paths.most} leaves; coarser clusters, or a "
            f"greater strata.leaves, of at most {MAX_CELLS // 2}"
        )


def _of_queries(batch: PoolBatch, plan: ReadingPlan) -> PoolSummary:
    """Return the summary of queries: expected gains, and the range of the costs."""
    expected = ExpectedQueries.read(batch, plan)
    keys = hash_ids(batch.ids(plan.pool.id), plan.seed)
    features = FeatureSample.from_rows(keys, expected.features, FEATURE_SAMPLE)
    magnitudes = {name: _range(values) for name, values in expected.magnitudes.items()}
    sums = tuple(ScoreSums() for _ in (*plan.pool.systems, plan.pool.score))
    return PoolSummary(len(batch.rows), (), sums, None, features, magnitudes)


def _range(scores: npt.NDArray[np.floating] | None) -> tuple[float, float]:
    if scores is None or not len(scores):
        return (math.inf, -math.inf)
    return float(scores.min()) + 0.0, float(scores.max()) + 0.0


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Which statistics the first pass has to make."""

    histogram_bins: int  # of each histogram, 0 for none
    driving: bool  # whether the histogram of the score that drives the strata is made by itself
    # whether scores' ranges are needed: for thresholds, or to tell what the scores are
    ranges: bool
    # of which scores the positives are counted that they expect and that are predicted: those of
    # each system, then the one that drives the strata
    counted: tuple[bool, ...]
    by_signature: bool  # whether the histogram is made for each signature
    signatures: bool  # whether signatures must be counted
    features: bool  # whether features must be sampled
    # whether all rows are looked at: rows differ in magnitudes, or columns name leaves
    of_all: bool
    # scores of which one histogram each is made: `ranked_columns`, and those of `leveled_scores`
    ranked: tuple[str, ...]

    @classmethod
    def of(cls, plan: ReadingPlan) -> "Wanted":
        """Return the statistics that a plan needs."""
        strata = plan.strata
        by_score = strata.edges is None and strata.by_score
        ranked = ranked_columns(plan)
        by_signature = by_score and not ranked and math.prod(plan.signature_shape) <= FEW_SIGNATURES
        bins = cut_method(plan).bins(strata.leaves) if by_score else 0
        if by_signature:
            bins = max(bins, min(_COUNTED_PER_BIN * most_bins(plan), _MOST_COUNTED))
        counted = _counted(plan)
        if counted[-1] and plan.pool.score_is in (None, ORDER):
            bins = bins or _RANKED_BINS
        driving = bool(bins) and not ranked
        if leveled := leveled_scores(plan):
            bins = max(bins, LOGIT_RANK.bins(MOST_LEVELS))
            has_own = (*ranked, plan.pool.score) if driving else ranked
            ranked += tuple(column for column in leveled if column not in has_own)
        return cls(
            histogram_bins=bins,
            driving=driving,
            ranges=needs_ranges(plan),
            counted=counted,
            by_signature=by_signature,
            signatures=needs_signature_counts(plan),
            features=strata.by_features,
            of_all=bool(plan.pool.magnitudes or strata.columns),
            ranked=ranked,
        )

    @property
    def codes(self) -> bool:
        """Whether signatures are read."""
        return self.by_signature or self.signatures

    @property
    def predictions(self) -> bool:
        """Whether predictions are read."""
        return self.codes or any(self.counted)

    @property
    def hashes(self) -> bool:
        """Whether rows are sampled by the hashes of their ids."""
        return self.signatures or self.features

    @property
    def anything(self) -> bool:
        """Whether a first pass is needed at all."""
        return bool(self.histogram_bins or self.ranges or self.hashes or self.of_all)


def _counted(plan: ReadingPlan) -> tuple[bool, ...]:
    """Return `Wanted.counted`: scores of two classes, without a column of probabilities."""
    space = plan.labels.space
    binary = space.is_binary and not space.needs_columns and plan.pool.lists is None
    return tuple(
        binary and part.score is not None and part.probability is None for part in plan.pool.scored
    )


def cut_method(plan: ReadingPlan) -> CutMethod:
    """Return the way in which leaves are cut from scores."""
    method = CUT_METHODS.get(plan.strata.method, plan.strata.method)
    return load_object("strata.method", method, plan.pool.directory, CutMethod)


def ranked_columns(plan: ReadingPlan) -> tuple[str, ...]:
    """Return the columns whose greatest rank makes the strata; none where one score does.

    They are the scores of several systems, of two classes, or their probabilities if they have no
    scores; first the one that the prior comes from. A score that is of no system makes the strata
    alone, and so does one whose thresholds the first measure looks at.
    """
    pool, strata = plan.pool, plan.strata
    named = [pool.score, *(each.score or each.probability for each in pool.systems)]
    columns = tuple(dict.fromkeys(column for column in named if isinstance(column, str)))
    by_rank = strata.method == BY_RANK and strata.by_score and strata.edges is None
    of_systems = pool.score in [system.score for system in pool.systems]
    if not (by_rank and of_systems and plan.labels.space.is_binary and len(columns) > 1):
        return ()
    return () if thresholded_parts(build_driver(plan)) else columns


def thresholded_columns(pool: PoolSpec) -> list[str]:
    """Return the scores that a threshold makes predictions of."""
    return [str(system.score) for system in pool.systems if system.threshold is not None]


def summary_columns(plan: ReadingPlan) -> list[str]:
    """Return the columns of the pool that the first pass reads, each once."""
    wants, pool = Wanted.of(plan), plan.pool
    if pool.lists is not None:
        magnitudes = pool.magnitudes.values()
        return list(dict.fromkeys([*columns_of(pool.id), *list_columns(pool), *magnitudes]))
    named: list[str | None] = [pool.score] if wants.histogram_bins else []
    named += wants.ranked
    named += [system.prediction for system in pool.systems if system.score_is == CONFIDENCE]
    if wants.ranges or wants.signatures:
        named += [pool.score, *(system.score for system in pool.systems)]
    if wants.predictions or not plan.labels.space.has_score:
        named += thresholded_columns(plan.pool)
        for system in pool.systems:
            named += [system.prediction, *system.by_label.values()]
        named += plan.named_slices if wants.codes else ()
    if wants.hashes:
        named += columns_of(pool.id)
    if wants.features:
        named += pool.features or label_columns(pool)
    named += [*plan.strata.columns, *pool.magnitudes.values()]
    return list(dict.fromkeys(name for name in named if name is not None))


def check_not_empty(rows: int, pool: PoolSpec | None = None) -> None:
    """Check that a pool has rows."""
    if not rows and pool is not None and pool.condition is not None:
        raise keeps_nothing(pool)
    if not rows:
        raise InputError("the pool is empty")
