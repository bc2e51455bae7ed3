"""A summary of the probabilities that a pool's scores stand for, in numbers and in a sentence."""

import dataclasses

import numpy as np

from evalsampling.stats.cells import CellTable
from evalsampling.stats.counted import counted
from evalsampling.stats.score_kinds import ORDER

_FEW = 20
"""Most distinct probabilities at which the sentence mentions ties."""

_MOSTLY = 0.5
"""Share of the rows with the same probability above which the sentence mentions it."""


@dataclasses.dataclass(frozen=True)
class ScoreSummary:
    """The prior probabilities of the positive class in the cells of a pool, summed up."""

    rows: int
    cells: int
    values: int  # distinct probabilities of cells; rows may have more
    least: float
    greatest: float
    expected: float  # expected number of positive rows if the probabilities are right
    predicted: float  # rows that the first system predicts positive
    tied: float  # share of the rows that have the most frequent probability
    # what the score is that they come from: `stats.score_kinds`; None if none is
    kind: str | None = None
    read_as: tuple[str, ...] = ()  # what was made of the score of each system, in sentences
    # rows of each stratum if there are no scores and these are what is predicted; then
    # probabilities are only what is expected of verdicts. Else empty
    strata: tuple[int, ...] = ()
    # what else is to be said of them, in sentences without a full stop
    remarks: tuple[str, ...] = ()
    # expected number of rows whose prediction is right, of more than two classes; else None
    right: float | None = None

    @classmethod
    def of_class(cls, table: CellTable, positive: int) -> "ScoreSummary":
        """Return the summary of a pool."""
        prior = table.prior[:, positive]
        values, place = np.unique(prior, return_inverse=True)
        rows = np.bincount(place, table.count)
        classes = range(table.prior.shape[1])
        right = sum(table.prior[:, code] * table.kinds.predicted(code) for code in classes)
        return cls(
            rows=table.rows,
            cells=len(table),
            values=len(values),
            least=float(values[0]),
            greatest=float(values[-1]),
            expected=float(table.count @ prior),
            predicted=float(table.count @ table.kinds.predicted(positive)),
            tied=float(rows.max() / table.rows),
            strata=tuple(table.leaf_count.tolist()) if table.leaves.exchangeable else (),
            right=float(table.count @ right) if len(classes) > 2 else None,
        )

    @property
    def words(self) -> str:
        """The summary in sentences."""
        if self.strata:
            least, most = min(self.strata), max(self.strata)
            sizes = f"{counted(least, 'row')}" if least == most else f"{least:,} to {most:,} rows"
            strata = "1 stratum" if len(self.strata) == 1 else f"{len(self.strata)} strata"
            positive = f"; {self.predicted:,.0f} rows are predicted positive"
            return (
                f"{counted(self.rows, 'row')} and no scores: what is predicted makes {strata} of "
                f"{sizes}{positive * (self.right is None)}. Rows of a stratum are drawn alike"
            )
        read = "".join(f"{sentence}. " for sentence in self.read_as if sentence)
        if self.right is not None:
            rows = counted(self.rows, "row")
            text = f"{read}{rows}. If the probabilities are right, {_rows(self.right)} rows are "
            return ". ".join([f"{text}predicted right", *self.remarks])
        if self.kind == ORDER:
            rows = counted(self.rows, "row")
            text = f"{read}{rows}, of which {self.predicted:,.0f} are predicted positive"
            return ". ".join([text, *self.remarks])
        text = read + (
            f"{counted(self.rows, 'row')}, probability of a positive {self.least:.3g} to "
            f"{self.greatest:.3g} in {counted(self.values, 'step')}. If it is right, "
            f"{_rows(self.expected)} rows are positive; {self.predicted:,.0f} are predicted so"
        )
        if self.tied > _MOSTLY and self.values < self.rows:
            is_near = 0.995 <= self.tied < 1
            percent = "More than 99 %" if is_near else f"{100 * self.tied:.0f} %"
            text += f". {percent} of the rows have the same probability"
        elif self.values <= _FEW and self.values < self.rows:
            text += ". Rows with the same probability are drawn alike"
        return ". ".join([text, *self.remarks])


def _rows(expected: float) -> str:
    """Return an expected number of rows, of a few not in whole ones."""
    return f"{expected:,.0f}" if expected >= 1000 else f"{expected:.4g}"
