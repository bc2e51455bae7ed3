"""Precision at a recall, by counting and by its limits."""

import numpy as np
import pytest

from evalsampling.measures import PRCurve, PrecisionAtRecall
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of

SCORE = np.array([9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0])
LABEL = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 0])


def precision(recall: float, thresholds: tuple[float, ...]) -> float:
    outputs = Outputs(np.zeros((10, 1), int), SCORE[:, None], np.zeros((10, 1, 2)))
    return float(value_of(PrecisionAtRecall(thresholds, recall=recall), outputs, LABEL)[0])


@pytest.mark.parametrize(("recall", "expected"), [(0.25, 1), (0.5, 1), (0.75, 3 / 4), (1.0, 4 / 7)])
def test_of_all_scores_it_is_counted(recall: float, expected: float) -> None:
    """The rows down to the positive that makes the recall."""
    assert precision(recall, tuple(range(10))) == pytest.approx(expected)


def test_between_thresholds_rows_are_interpolated() -> None:
    """Of the rows 6 to 2.5, with 1 positive among 4, half a positive takes two rows."""
    assert precision(0.875, (2.5, 6.0)) == pytest.approx(3.5 / (4 + 3 / 2))
    # Beyond the last threshold nothing is reached: 1 of 3 positives among 4 rows.
    assert precision(0.25, (2.5, 6.0)) == pytest.approx(3 / 4)


def test_it_is_the_curves_precision_where_a_threshold_has_the_recall() -> None:
    outputs, label = make_pool(5, rows=90)
    curve = PRCurve((-1.0, 0.0, 0.6, 1.2))
    precisions, recalls = np.split(value_of(curve, outputs, label), 2)
    for one, recall in zip(precisions, recalls, strict=True):
        at = PrecisionAtRecall(curve.thresholds, recall=float(recall))
        assert value_of(at, outputs, label)[0] == pytest.approx(one)


def test_below_the_first_threshold_are_all_rows() -> None:
    """2 of 4 positives among the 3 rows from 6.5 on, the others among the other 7."""
    assert precision(0.75, (6.5, 8.0)) == pytest.approx(3 / (3 + 7 / 2))
    assert precision(1.0, (6.5, 8.0)) == pytest.approx(4 / 10)


def test_it_is_undefined_without_positives() -> None:
    nobody = PrecisionAtRecall((0.0,)).value(np.array([0.5, 0.0, 0.0]))
    assert np.isnan(nobody).all()


@pytest.mark.parametrize("recall", [0, 1.5, "much", True])
def test_wrong_recalls(recall: object) -> None:
    with pytest.raises(ValueError, match="recall must be"):
        PrecisionAtRecall((0.0,), recall=recall)  # type: ignore[arg-type]
