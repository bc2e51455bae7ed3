"""Tests of whether the labels suffice to estimate the error of an estimate."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Share
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.counted import counted

FEWEST_EVIDENCE = 10
"""Labelled rows that a share must have before an interval narrower than its range is given.

Rows in clusters count as equal clusters do. With fewer, the variance estimated from labels is not
reliable, and a model's interval depends mostly on its prior."""

NARROW = 0.15
"""Share of the error predicted from scores below which one estimated from labels is too small."""

FAR = 3.0
"""Most standard errors by which a sum of weights may fall short of its expected value."""

FEWEST_CLUSTERS = 20
"""Clusters, equally large ones, below which a warning says that there are few."""

LARGEST_SHARE = 0.2
"""Share of a variance above which a warning names the one cluster that makes it up."""

_ROUNDING = 1e-9

LEAST_WEIGHT = 0.5
"""Least share of the rows that weights must sum to if they fall short of all rows."""


@dataclasses.dataclass(frozen=True)
class Gap:
    """The reason why the labels allow no claim about a number."""

    method: str  # in short, in place of the method of an interval: "few positives"
    words: str  # as a sentence: "only 2 positives seen, fewer than 10"


@dataclasses.dataclass(frozen=True)
class UnseenSide:
    """Rows that one of two compared systems alone predicts, of which labels hardly tell."""

    words: str  # as a sentence
    reach: float  # how far their share of positives may move the number, above 0


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Support for an estimate, or doubts about it, besides the weighted rows."""

    name: str  # rows without which the number is undefined, in words: "positives"
    gap: Gap | None = None  # why the labels allow no claim; None if they do
    # standard error predicted from scores and labels; None if it is unknown
    expected_error: float | None = None
    bias: Bias | None = None  # bias of the value; None if it is unknown, or zero by design
    is_hopeless: bool = False  # whether the number is undefined whatever the labels of the pool
    unseen: UnseenSide | None = None  # rows whose share of positives its interval leaves open


@dataclasses.dataclass(frozen=True)
class SharesSeen:
    """The shares that a measure depends on (`Measure.shares`), among labelled and other rows."""

    components: int  # number of components of the measure
    labelled: Sequence[Share]  # among n labelled rows
    unlabelled: Sequence[Share]  # the same among unlabelled rows, or what they may be
    row: IntArray  # (n,): a number of the row, or its cluster, 0 and up
    has_clusters: bool = False

    def gaps(self, fewest_of_each: int = 1) -> list[Gap | None]:
        """Return, for each component, why its labels allow no claim; None if they do.

        Of each share `FEWEST_EVIDENCE` distinct rows must have a label, among them `fewest_of_each`
        hits and misses: if either is missing, the estimated variance does not reflect it. A share
        all of whose rows have a label is known.
        """
        gaps: list[Gap | None] = [None] * self.components
        for share, unlabelled in zip(self.labelled, self.unlabelled, strict=True):
            places = range(*(share.components or (0, self.components)))
            is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), len(places)) > 0
            count = hits = misses = _spread(self._count(share.rows), len(places))
            if share.hits is not None:
                hits = _spread(self._count(share.rows & share.hits), len(places))
                misses = _spread(self._count(share.rows & ~share.hits), len(places))
            scarce = np.minimum(hits, misses) < fewest_of_each
            blind = is_open & ((count < FEWEST_EVIDENCE) | scarce)
            for i in np.flatnonzero(blind).tolist():
                gap = _gap(share, int(count[i]), int(hits[i]), int(misses[i]), self.has_clusters)
                gaps[places[i]] = gaps[places[i]] or gap
        return gaps

    def fewest_rows(self, expected: FloatArray) -> IntArray:
        """Return the number of labelled rows of the scarcest share of each component, shape (m,).

        A share is not scarce if it is known, or has `FEWEST_EVIDENCE` labelled rows and at least
        half of the ``expected`` number of rows. If none is scarce, all labelled rows count.
        """
        fewest = np.full(self.components, len(self.row))
        for share, unlabelled in zip(self.labelled, self.unlabelled, strict=True):
            places = slice(*(share.components or (0, self.components)))
            number = len(fewest[places])
            is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), number) > 0
            count = _spread(self._count(share.rows), number)
            left = np.broadcast_to(expected @ unlabelled.rows, (number,))
            is_scarce = is_open & (count < np.maximum(left, FEWEST_EVIDENCE))
            found = np.where(is_scarce, count, len(self.row))
            fewest[places] = np.minimum(fewest[places], found)
        return fewest

    def _count(self, chosen: BoolArray) -> IntArray:
        """Return the number of distinct rows, or of equal clusters (Kish): () or (c,)."""
        row = self.row
        if self.has_clusters:
            rows = np.zeros((int(row.max(initial=0)) + 1, *chosen.shape[1:]))
            np.add.at(rows, row, chosen)
            worth = rows.sum(axis=0) ** 2 / np.maximum((rows**2).sum(axis=0), 1)
            return np.asarray(np.floor(worth + _ROUNDING), dtype=np.int64)
        if len(row) and row.max() + 1 < len(row):  # a row was asked about again
            order = np.argsort(row, kind="stable")
            first = np.flatnonzero(np.diff(row[order], prepend=-1))
            chosen = np.logical_or.reduceat(chosen[order], first, axis=0)
        return np.asarray(chosen.sum(axis=0), dtype=np.int64)


def find_missing_weight(sample: WeightedSample, inside: BoolArray, share: float) -> Gap | None:
    """Return the gap of a sample whose weights sum to far fewer rows than they represent, or None.

    If every row can be drawn, weights of the rows that may add to a measure sum to their share but
    for an error that the weights show. If they fall short by more than `FAR` standard errors, and
    of `LEAST_WEIGHT` of the share, most rows had hardly a chance. Draws aimed at a measure neglect
    the rows that matter least to it, so the check is meant for other measures.
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
    """Return the gap of a share, given its numbers of labelled rows, or clusters, and hits."""
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
    of_clusters = f"the {share.rows_name} of {count} clusters"
    where = of_clusters if has_clusters else f"{count} {share.rows_name}"
    words = f"{number} {missing} among {where} seen"
    return Gap(f"{number} {missing}", f"{words}, so {share.name} could be anything")


def _spread(numbers: npt.ArrayLike, places: int) -> IntArray:
    """Return one number for each component; a single number is repeated."""
    return np.broadcast_to(np.asarray(numbers, dtype=np.int64), (places,))


def doubts_about_clusters(sample: WeightedSample, estimates: Sequence[Estimate]) -> list[str]:
    """Return warnings where few clusters, or one, decide how wide intervals are."""
    if sample.cluster is None:
        return []
    worth, doubts = sample.units, []
    as_pool = ", as sizes vary in the pool" * (sample.together is not None)
    if worth < FEWEST_CLUSTERS:
        doubts.append(
            f"pool.cluster: the labels are of {counted(sample.clusters, 'cluster')}, worth {worth} "
            f"of equal size{as_pool}; with fewer than {FEWEST_CLUSTERS} intervals are rough"
        )
    shares = [(one.largest_share or 0.0, one.target.title) for one in estimates if one.claims]
    share, title = max(shares, default=(0.0, ""))
    if share > LARGEST_SHARE:
        doubts.append(
            f"pool.cluster: one cluster makes up {100 * share:.0f} % of the variance of {title}"
        )
    return doubts
