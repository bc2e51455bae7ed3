"""Numbers of rows that measures of classes are functions of, such as false negatives."""

import dataclasses
from collections.abc import Callable

import numpy as np

from evalsampling.stats.arrays import BoolArray, IntArray


@dataclasses.dataclass(frozen=True)
class Tally:
    """A number of rows, counted by prediction and label, that a measure is monotone in.

    This holds at all values of the measure's other tallies, wherever it is defined.

    Attributes:
        name: what is counted, in words: "false negatives".
        among: the rows that may count, in words: "rows predicted negative".
        may_count: returns, for predicted class codes, shape (n,), which rows may count.
        counts: returns, for these and labels, shape (n,) each, which rows count; all may count.
        rises: whether the measure rises with the number; otherwise it falls.
        missed: code of the class whose rows it counts that are predicted as another; None if it
            counts other rows.
    """

    name: str
    among: str
    may_count: Callable[[IntArray], BoolArray]
    counts: Callable[[IntArray, IntArray], BoolArray]
    rises: bool = True
    missed: int | None = None


def true_positives(positive: int, of_class: str = "") -> Tally:
    """Return the tally of rows of a class that are predicted as that class.

    Args:
        positive: code of the class.
        of_class: words for the class if there are several, " of class 2".
    """
    return Tally(
        f"true positives{of_class}",
        f"rows predicted positive{of_class}",
        lambda prediction: prediction == positive,
        lambda prediction, label: (prediction == positive) & (label == positive),
    )


def false_negatives(positive: int, of_class: str = "") -> Tally:
    """Return the tally of rows of a class that are predicted as another; see `true_positives`."""
    return Tally(
        f"false negatives{of_class}",
        f"rows predicted negative{of_class}",
        lambda prediction: prediction != positive,
        lambda prediction, label: (prediction != positive) & (label == positive),
        rises=False,
        missed=positive,
    )


def positives(positive: int) -> Tally:
    """Return the tally of all rows of a class."""
    return Tally("positives", "rows", _all, lambda prediction, label: label == positive)


def errors(rises: bool = False) -> Tally:
    """Return the tally of wrong predictions, with which the measure rises if ``rises``."""
    return Tally("errors", "rows", _all, lambda prediction, label: prediction != label, rises)


def right_predictions(codes: IntArray) -> Tally:
    """Return the tally of right predictions of some classes."""
    return Tally(
        "right predictions",
        "rows predicted one of the averaged classes",
        lambda prediction: np.isin(prediction, codes),
        lambda prediction, label: (prediction == label) & np.isin(label, codes),
    )


def wrongly_predicted(codes: IntArray) -> Tally:
    """Return the tally of rows of some classes that are predicted as another class."""
    return Tally(
        "rows of the averaged classes predicted wrong",
        "rows",
        _all,
        lambda prediction, label: (prediction != label) & np.isin(label, codes),
        rises=False,
    )


def _all(prediction: IntArray) -> BoolArray:
    return np.ones(len(prediction), dtype=bool)
