"""A model of the labels: ``model: "outside_parts.label_model:by_prediction"`` of `ais`."""

import numpy as np
import numpy.typing as npt

from evalsampling.stats.cells import CellTable

WORTH = 20.0
"""How many labels of each class the scores count as."""


def by_prediction(cells: CellTable, labels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return P(label | cell): the score's, moved by the labels of cells of the same prediction.

    Args:
        cells: the cells of the pool; `prior` is the mean probability of each class by the scores.
        labels: labels of each class in each cell so far, shape (cells, classes).
    """
    predicted = cells.kinds.prediction[cells.kinds.first, 0]
    same = predicted[:, None] == predicted
    drawn = labels.sum(axis=1)
    expected = same @ (drawn[:, None] * cells.prior)
    odds = cells.prior * (WORTH + same @ labels) / (WORTH + expected)
    return odds / odds.sum(axis=1, keepdims=True)
