"""The answers to questions, of which one may have several that differ."""

import dataclasses

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Votes:
    """The answers to n questions: an entry for each class that a question was given.

    What is the mean of a loss over the answers to a question is one draw of a stochastic oracle:
    answers to one question are not independent of each other, for they are about the same row.

    Attributes:
        row: shape (v,): which of the n questions; ascending.
        label: shape (v,): class code.
        share: shape (v,): of the answers to the question, in (0, 1], that name the class.
        rows: n.
    """

    row: IntArray
    label: IntArray
    share: FloatArray
    rows: int

    @classmethod
    def of_labels(cls, label: IntArray, shares: FloatArray | None = None) -> "Votes":
        """Return the answers to questions.

        Args:
            label: shape (n,): a class code each.
            shares: shape (n, classes): share of each class among the answers; a row of zeros where
                the label tells all. None if it does everywhere.
        """
        n = len(label)
        if shares is None:
            return cls(np.arange(n), label, np.ones(n), n)
        spread = shares.copy()
        alone = np.flatnonzero(~spread.any(axis=1))
        spread[alone, label[alone]] = 1.0
        row, code = np.nonzero(spread)
        return cls(row, code, spread[row, code], n)

    def spread(self, weight: FloatArray) -> FloatArray:
        """Return the weight of each entry, shape (v,), from that of the questions, shape (n,)."""
        return weight if self.rows == len(self.row) else weight[self.row] * self.share

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of values over the answers to each question, shape (n, ...).

        Args:
            values: shape (v, ...).
        """
        if self.rows == len(self.row):
            return values
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        return np.add.reduceat(share * values, np.searchsorted(self.row, np.arange(self.rows)))
