"""Tests of whether the labels suffice to estimate the error of an estimate."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Share
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

FEWEST_EVIDENCE = 10
"""Labelled rows that a share must have before an interval narrower than its range is given.

Rows in clusters count as `_count` says. With fewer, the variance estimated from labels is not
reliable, and a model's interval depends mostly on its prior."""

NARROW = 0.15
"""Share of the error predicted from scores below which one estimated from labels is too small."""

FAR = 3.0
"""Most standard errors by which a sum of weights may fall short of its expected value."""

_ROUNDING = 1e-9

LEAST_WEIGHT = 0.5
"""Least share of the rows that weights must sum to if they fall short of all rows."""


@dataclasses.dataclass(frozen=True)
class Gap:
    """The reason why the labels allow no claim about a number."""

    method: str  # in short, in place of the method of an interval: "few positives"
    words: str  # as a sentence: "only 2 positives seen, fewer than 10"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Support for an estimate, or doubts about it, besides the weighted rows."""

    name: str  # rows without which the number is undefined, in words: "positives"
    gap: Gap | None = None  # why the labels allow no claim; None if they do
    # standard error predicted from scores and labels; None if it is unknown
    expected_error: float | None = None
    bias: Bias | None = None  # bias of the value; None if it is unknown, or zero by design
    is_hopeless: bool = False  # whether the number is undefined whatever the labels of the pool


def find_gaps(
    shares: Sequence[Share],
    row: IntArray,
    components: int,
    open_shares: Sequence[Share],
    fewest_of_each: int = 1,
    has_clusters: bool = False,
) -> list[Gap | None]:
    """Return, for each component of a measure, why its labels allow no claim; None if they do.

    A measure is as uncertain as the shares it depends on (`Measure.shares`). Of each share, at
    least `FEWEST_EVIDENCE` distinct rows must have a label, and both hits and misses must be among
    them: if either is missing, the variance estimated from the labels does not reflect it. A share
    all of whose rows have a label is known, so it has no gap.

    `row`: shape (n,): a number that identifies the row of the pool, or its cluster, 0 and up.
    `open_shares`: the same shares of unlabelled rows, or of what they may be.
    `fewest_of_each`: least number of labelled hits, and of labelled misses.
    `has_clusters`: whether clusters are counted, not rows.
    """
    gaps: list[Gap | None] = [None] * components
    for share, unlabelled in zip(shares, open_shares, strict=True):
        places = range(*(share.components or (0, components)))
        is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), len(places)) > 0
        count = hits = misses = _spread(_count(share.rows, row, has_clusters), len(places))
        if share.hits is not None:
            hits = _spread(_count(share.rows & share.hits, row, has_clusters), len(places))
            misses = _spread(_count(share.rows & ~share.hits, row, has_clusters), len(places))
        scarce = np.minimum(hits, misses) < fewest_of_each
        blind = is_open & ((count < FEWEST_EVIDENCE) | scarce)
        for i in np.flatnonzero(blind).tolist():
            gap = _gap(share, int(count[i]), int(hits[i]), int(misses[i]), has_clusters)
            gaps[places[i]] = gaps[places[i]] or gap
    return gaps


def fewest_rows(
    shares: Sequence[Share],
    row: IntArray,
    components: int,
    open_shares: Sequence[Share],
    expected: FloatArray,
    has_clusters: bool = False,
) -> IntArray:
    """Return the number of labelled rows of the scarcest share of each component, shape (m,).

    Rows in clusters, as ``row`` numbers them, count as `_count` says. A share all of whose rows
    have a label is known, so it is not scarce. Neither is a share with `FEWEST_EVIDENCE` labelled
    rows if at least half of its expected rows are labelled: the number of labelled rows varies
    little then. If no share is scarce, all labelled rows count.

    `expected`: expected number of each of the rows of ``open_shares``.
    """
    fewest = np.full(components, len(row))
    for share, unlabelled in zip(shares, open_shares, strict=True):
        places = slice(*(share.components or (0, components)))
        number = len(fewest[places])
        is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), number) > 0
        count = _spread(_count(share.rows, row, has_clusters), number)
        left = np.broadcast_to(expected @ unlabelled.rows, (number,))
        is_scarce = is_open & (count < np.maximum(left, FEWEST_EVIDENCE))
        fewest[places] = np.minimum(fewest[places], np.where(is_scarce, count, len(row)))
    return fewest


def find_missing_weight(sample: WeightedSample, inside: BoolArray, share: float) -> Gap | None:
    """Return the gap of a sample whose weights sum to far fewer rows than they represent, or None.

    If every row can always be drawn, the weights of the rows that may add to a measure sum to the
    share of such rows, apart from an error whose variance the weights themselves show. If the sum
    falls short by more than `FAR` standard errors, and is less than `LEAST_WEIGHT` of that share,
    most rows had hardly a chance. Draws aimed at a measure neglect the rows that matter least to
    it, so the check is meant for other measures.
    """
    flag = inside.astype(np.float64)
    total = float(sample.mean(flag))
    error = float(np.sqrt(max(sample.variance(flag[:, None])[0], 0.0)))
    if total >= LEAST_WEIGHT * share or share - total <= FAR * error:
        return None
    words = (
        f"the weights of its rows sum to {total / share:.2f} and not to 1, further off than their "
        "variance allows: most rows had next to no chance to be drawn"
    )
    return Gap("missing weight", words)


def _gap(share: Share, count: int, hits: int, misses: int, has_clusters: bool) -> Gap:
    """Return the gap of a share, given its numbers of labelled rows, hits and misses.

    They are numbers of clusters of such rows, where there are clusters.
    """
    if count < FEWEST_EVIDENCE:
        seen = {0: "no", 1: "only one of the"}.get(count, f"only {count}")
        words = f"{seen} {share.rows_name} seen, fewer than {FEWEST_EVIDENCE}"
        if has_clusters and count:
            words = (
                f"the {share.rows_name} seen are of clusters worth {count} equal ones, fewer than "
                f"{FEWEST_EVIDENCE}"
            )
        return Gap(f"few {share.rows_name}", words)
    missing = share.hit_name if hits < misses else share.miss_name
    number = min(hits, misses) or "no"
    where = (
        f"the {share.rows_name} of {count} clusters"
        if has_clusters
        else (f"{count} {share.rows_name}")
    )
    words = f"{number} {missing} among {where} seen"
    return Gap(f"{number} {missing}", f"{words}, so {share.name} could be anything")


def _count(chosen: BoolArray, row: IntArray, has_clusters: bool) -> IntArray:
    """Return the number of distinct rows of the chosen questions: shape () or (c,).

    Of clusters it is the number of equally large ones that would be worth as much (Kish).
    """
    if has_clusters:
        rows = np.zeros((int(row.max(initial=0)) + 1, *chosen.shape[1:]))
        np.add.at(rows, row, chosen)
        worth = rows.sum(axis=0) ** 2 / np.maximum((rows**2).sum(axis=0), 1)
        return np.asarray(np.floor(worth + _ROUNDING), dtype=np.int64)
    if len(row) and row.max() + 1 < len(row):  # a row was asked about again
        order = np.argsort(row, kind="stable")
        first = np.flatnonzero(np.diff(row[order], prepend=-1))
        chosen = np.logical_or.reduceat(chosen[order], first, axis=0)
    return np.asarray(chosen.sum(axis=0), dtype=np.int64)


def _spread(numbers: npt.ArrayLike, places: int) -> IntArray:
    """Return one number for each component; a single number is repeated."""
    return np.broadcast_to(np.asarray(numbers, dtype=np.int64), (places,))
