"""What a measure is at least, unless many positives have lower scores than all that were met.

Where positives are rare, hardly any of the rows with low scores is drawn, and the assumption-light
interval, which allows for any labels there, is often too wide to be of use. One event, which has
its confidence, bounds the positives of all cells at once (`inference.undetected`). It bounds those
of the rows with higher scores, too; so it says what the measure is at least if no more than a
share of all positives is among the rows below. Of N rows with n even labels and no positive,
N ln(1 / alpha) / n may be positives.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from evalsampling.inference.undetected import Undetected
from evalsampling.stats.arrays import BoolArray, IntArray
from evalsampling.stats.cells import CellTable

SHARE = 0.1
"""Share of all positives that is supposed to have lower scores than all that were met, at most."""


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """What a measure is at least, or else many positives have lower scores than all that were met.

    One of the two holds, with the confidence of the assumption-light interval beside it.

    Attributes:
        least: lower bound of the measure.
        share: of all positives, in (0, 1): more are among the rows below, or the bound holds.
        rows: rows predicted negative with a lower score than every positive that was met.
        labelled: number of these that have a label; none of them is positive.
        labels: further labels among them that would rule it out if they brought no positive,
            approximately.
        confidence: in (0, 1).
    """

    least: float
    share: float
    rows: int
    labelled: int
    labels: int
    confidence: float


def below_all_met(table: CellTable, positive: int, met: IntArray) -> BoolArray:
    """Return whether a cell's prior probability is below that of all labelled positives: (cells,).

    No cell's is if no positive has a label.

    Args:
        table: the cells.
        positive: code of the class.
        met: shape (n,): cells of the labelled positives.
    """
    prior = table.prior[:, positive]
    return prior < prior[met].min(initial=np.inf if len(met) else 0.0)


def breakdown(
    undetected: Undetected,
    unsearched: BoolArray,
    labelled: IntArray,
    counts: tuple[float, int],
    least_at: Callable[[float], float],
    confidence: float,
) -> Breakdown | None:
    """Return what a measure is at least unless positives hide, None if there is no such statement.

    There is none if no row has a lower score than all positives that were met, or if the same
    event rules out that more than `SHARE` of the positives are among them.

    Args:
        undetected: the event behind the bounds on positives among the rows predicted negative.
        unsearched: shape (cells,): `below_all_met`.
        labelled: shape (cells,): labelled rows predicted negative.
        counts: least number of positives among the rows predicted positive, and number of those
            met among the rows predicted negative.
        least_at: returns the least value of the measure given the number of positives among the
            rows predicted negative.
        confidence: of the event, in (0, 1).
    """
    positives, met = counts
    below = undetected.most(unsearched)
    others = met + float(np.floor(undetected.most(~unsearched).count))
    least = least_at(others + SHARE / (1 - SHARE) * (positives + others))
    surely_fewer = SHARE / (1 - SHARE) * (positives + met)  # of however many others there are
    if below.count <= surely_fewer or not np.isfinite(least):
        return None
    labels = below.exposure_for(surely_fewer)
    return Breakdown(
        least=least,
        share=SHARE,
        rows=int(below.rows.sum() + labelled[unsearched].sum()),
        labelled=int(labelled[unsearched].sum()),
        labels=int(np.ceil(labels)),
        confidence=confidence,
    )
