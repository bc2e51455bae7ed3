"""What an estimate rests on: whether its labels say anything of its error."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import BoolArray, FloatArray, IntArray
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Share

FEWEST_EVIDENCE = 10
"""Labelled rows that a share must have before an interval narrower than its range is given.

With fewer, the design has met next to none of them, and of a model it is the prior that speaks."""

FAR = 3.0
"""Standard errors that a sum of weights may fall short by."""

LEAST_WEIGHT = 0.5
"""Share of the rows that must be accounted for, once the sum of the weights is off."""


@dataclasses.dataclass(frozen=True)
class Gap:
    """Why the labels allow no claim about a number.

    Attributes:
        method: short, in place of the method of an interval: "few positives".
        words: "only 2 positives seen, fewer than 10".
    """

    method: str
    words: str


def find_gaps(
    shares: Sequence[Share],
    row: IntArray,
    components: int,
    open_shares: Sequence[Share],
    fewest_of_each: int = 1,
) -> list[Gap | None]:
    """Return, for each component of a measure, what its labels lack; None if nothing.

    A measure may claim no more than the shares it depends on (`Measure.shares`). Of each, at
    least `FEWEST_EVIDENCE` distinct rows must have a label, and both hits and misses must have
    been met: with one of them missing, the variance estimated from the labels is blind to it. A
    share all of whose rows have a label is known, so it lacks nothing.

    Args:
        shares: of the labelled rows that count.
        row: shape (n,): numbers that tell the rows of the pool apart, 0 and up.
        components: how many the measure has.
        open_shares: the same shares of rows without a label, or of what they may be.
        fewest_of_each: hits, and misses, that must have been met.
    """
    gaps: list[Gap | None] = [None] * components
    for share, unlabelled in zip(shares, open_shares, strict=True):
        places = range(*(share.components or (0, components)))
        is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), len(places)) > 0
        count = _spread(_distinct(share.rows, row), len(places))
        hits = misses = count
        if share.hits is not None:
            hits = _spread(_distinct(share.rows & share.hits, row), len(places))
            misses = _spread(_distinct(share.rows & ~share.hits, row), len(places))
        scarce = np.minimum(hits, misses) < fewest_of_each
        blind = is_open & ((count < FEWEST_EVIDENCE) | scarce)
        for i in np.flatnonzero(blind).tolist():
            gap = _gap(share, int(count[i]), int(hits[i]), int(misses[i]))
            gaps[places[i]] = gaps[places[i]] or gap
    return gaps


def fewest_rows(
    shares: Sequence[Share],
    row: IntArray,
    components: int,
    open_shares: Sequence[Share],
    expected: FloatArray,
) -> IntArray:
    """Return, for each component of a measure, the labelled rows of its scarcest share: (m,).

    A share all of whose rows have a label is known, so it is not scarce. Neither is one with
    `FEWEST_EVIDENCE` labelled rows if these are as many as are expected to be without a label: how
    many are met varies little then. All labelled rows count where no share is scarce.

    Args:
        shares: of the labelled rows that count.
        row: shape (n,): numbers that tell the rows of the pool apart, 0 and up.
        components: m.
        open_shares: the same shares of what rows without a label may be.
        expected: shape of the rows of ``open_shares``: how many of each are expected.
    """
    fewest = np.full(components, len(row))
    for share, unlabelled in zip(shares, open_shares, strict=True):
        places = slice(*(share.components or (0, components)))
        number = len(fewest[places])
        is_open = _spread(np.count_nonzero(unlabelled.rows, axis=0), number) > 0
        count = _spread(_distinct(share.rows, row), number)
        left = np.broadcast_to(expected @ unlabelled.rows, (number,))
        is_scarce = is_open & (count < np.maximum(left, FEWEST_EVIDENCE))
        fewest[places] = np.minimum(fewest[places], np.where(is_scarce, count, len(row)))
    return fewest


def find_missing_weight(sample: WeightedSample, inside: BoolArray, share: float) -> Gap | None:
    """Return the gap of a sample whose weights do not add up to the rows they stand for.

    Where every row always has a chance, the weights of the rows that may add to a measure sum to
    the share of such rows, but for an error whose variance the weights themselves show. If the sum
    falls short by more than `FAR` standard errors, and of more than half, most rows were never met.
    Draws aimed at a measure leave out what matters least to it, so this is for other measures.

    Args:
        sample: the weighted rows.
        inside: shape (n,): whether a row is of those that may add to the measure.
        share: of the pool, that such rows have.
    """
    flag = inside.astype(np.float64)
    total = float(sample.mean(flag))
    error = float(np.sqrt(max(sample.variance(flag[:, None])[0], 0.0)))
    if total >= LEAST_WEIGHT * share or share - total <= FAR * error:
        return None
    words = (
        f"the weights of its rows sum to {total / share:.2f} and not to 1, further off than their "
        "variance allows: most rows had next to no chance to be met"
    )
    return Gap("missing weight", words)


def _gap(share: Share, count: int, hits: int, misses: int) -> Gap:
    if count < FEWEST_EVIDENCE:
        words = f"only {count} {share.rows_name} seen, fewer than {FEWEST_EVIDENCE}"
        return Gap(f"few {share.rows_name}", words)
    missing = share.hit_name if hits < misses else share.miss_name
    number = min(hits, misses) or "no"
    words = f"{number} {missing} among {count} {share.rows_name} seen"
    return Gap(f"{number} {missing}", f"{words}, so {share.name} could be anything")


def _distinct(chosen: BoolArray, row: IntArray) -> IntArray:
    """Return how many rows of the pool are behind the chosen questions: shape () or (c,)."""
    if len(row) and row.max() + 1 < len(row):  # a row was asked about again
        order = np.argsort(row, kind="stable")
        first = np.flatnonzero(np.diff(row[order], prepend=-1))
        chosen = np.logical_or.reduceat(chosen[order], first, axis=0)
    return np.asarray(chosen.sum(axis=0), dtype=np.int64)


def _spread(numbers: npt.ArrayLike, places: int) -> IntArray:
    """Return one number for each place, where one may stand for all."""
    return np.broadcast_to(np.asarray(numbers, dtype=np.int64), (places,))
