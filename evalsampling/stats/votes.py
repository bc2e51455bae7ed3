"""Answers to questions; one question may have several answers that differ."""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class Votes:
    """The answers to n questions: one entry for each class among the answers to a question.

    The mean loss over the answers to a question counts as one draw of a stochastic oracle: they
    are about the same row, so they are not independent of each other.

    Attributes:
        row: shape (v,): which of the n questions; ascending.
        label: shape (v,): class code.
        share: shape (v,): share of the question's answers that are this class, in (0, 1].
        rows: n.
        answers: shape (n,): number of answers to each question; None if there is one to each.
    """

    row: IntArray
    label: IntArray
    share: FloatArray
    rows: int
    answers: IntArray | None = None

    @classmethod
    def of_labels(
        cls,
        label: IntArray,
        shares: FloatArray | None = None,
        answers: IntArray | None = None,
    ) -> "Votes":
        """Return the answers to questions.

        Args:
            label: shape (n,): class codes.
            shares: shape (n, classes): share of each class among the answers; a row of zeros where
                all answers are the label; None if that is so everywhere.
            answers: shape (n,): number of answers to each question; None if one to each.
        """
        n = len(label)
        if shares is None:
            return cls(np.arange(n), label, np.ones(n), n, answers)
        spread = shares.copy()
        alone = np.flatnonzero(~spread.any(axis=1))
        spread[alone, label[alone]] = 1.0
        row, code = np.nonzero(spread)
        return cls(row, code, spread[row, code], n, answers)

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
