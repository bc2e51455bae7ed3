"""Rows that score lower than every labelled positive, and how many of them labels let be positive.

Let x_i be the sum over rounds of row i's chance of a label. The probability that no round finds any
of some positives is at most exp(-sum x_i) over them, since draws of a round are negatively
associated. So with confidence 1 - alpha the sum over positives that were not found is below
log(1 / alpha), and their number is greatest if they are the rows of least chance. Of N rows with n
labels, drawn evenly, it is N log(1 / alpha) / n: at 95 % the rule of three.

A default interval without the value that a measure would have then goes by more than labels.
"""

import dataclasses
import math

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History


@dataclasses.dataclass(frozen=True)
class Unsearched:
    """The rows that score lower than every labelled positive, for one measure."""

    met: int  # labelled positives in the pool; with none all rows count
    rows: int  # the number of those that score lower
    labelled: int  # number of these that have a label; none of them is positive
    positives: int  # most positives that labels leave room for among them
    value: float  # the measure if there are so many


def chances_of_labels(
    table: CellTable, history: History, with_replacement: bool
) -> FloatArray | None:
    """Return the sum over rounds of a row's chance of a label, shape (cells,); None if not kept.

    Within a round a row's label is taken to be missing whatever row it is.
    """
    total = np.zeros(len(table))
    for drawn in history.rounds:
        answered = history.label[drawn.question] != NO_LABEL
        if not answered.any():
            continue
        if drawn.cell_probability is None:
            return None
        total += drawn.cell_probability * (answered.sum() if with_replacement else answered.mean())
    return total


def most_positives(chance: FloatArray, rows: IntArray, alpha: float) -> FloatArray:
    """Return the most positives that unlabelled rows have but for a chance of alpha: (cells,)."""
    order = np.argsort(chance, kind="stable")
    cost = chance[order] * rows[order]
    free = math.log(1 / alpha) - (np.cumsum(cost) - cost)
    share = np.divide(free, cost, out=np.ones_like(cost), where=cost > 0)
    most = np.zeros(len(rows))
    most[order] = np.clip(share, 0.0, 1.0) * rows[order]
    return most
