"""Rounds for a promise of the rows above a threshold: labels go where it is not decided yet."""

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from evalsampling.inference.bets import Outlook
from evalsampling.inference.class_rates import expected_rates
from evalsampling.measures.curves import PRCurve
from evalsampling.samplers.base import Rng
from evalsampling.samplers.calibrated import EVEN_SHARE, CalibratedDesign
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_simply

_AHEAD = 4
"""Most labels in all that a round plans for, as a multiple of the labels after it."""


@dataclasses.dataclass(frozen=True)
class CertifyingDesign(CalibratedDesign):
    """The calibrated design, aimed at the threshold down to which a promise may be proved.

    The first round is that of the calibrated design. Before each other the threshold is the lowest
    (for recall alone the highest) at which the labels of the budget are expected to prove the
    promise; where there is none, as many rows are above it as positives are expected. For a promise
    of precision or accuracy nine tenths of a round are a simple random sample of the rows above it
    (for accuracy of all rows), the rest one of the others: they can be bet on one by one
    (`inference.bets`). For others it is the calibrated design for precision and recall there.

    Attributes:
        goals: least value of each measure, by its name.
        planned: labels of the budget.
        level: greatest probability with which the promise may be broken.
        positive: code of the positive class.
    """

    goals: Mapping[str, float] = dataclasses.field(default_factory=dict)
    planned: int = 1
    level: float = 0.05
    positive: int = 1

    def aim(self, table: CellTable, rate: FloatArray, labels: int) -> float:
        """Return the threshold that a round is for, given the rate of positives: (cells,)."""
        score = table.kinds.score[table.kinds.first, 0]
        outlooks = [
            Outlook.of(name, goal, score, rate, table.count) for name, goal in self.goals.items()
        ]
        won = [each.won * np.minimum(labels / np.maximum(each.rows, 1), 1.0) for each in outlooks]
        threshold = outlooks[0].threshold
        enough = np.flatnonzero(np.min(won, axis=0) >= math.log(1 / self.level))
        if len(enough):
            return float(threshold[enough[0 if [*self.goals] == ["recall"] else -1]])
        rows = (score >= threshold[:, None]) @ table.count
        place = int(np.searchsorted(rows, float(table.count @ rate)))
        return float(threshold[min(place, len(threshold) - 1)])

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether all rows have been drawn: any may be above some threshold."""
        return not (table.count - history.drawn_by_cell(len(table))).any()

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        if not len(history.labelled):
            return super().design(table, history, new_rows, rng, budget)
        left = table.count - history.drawn_by_cell(len(table))
        wanted = min(new_rows, int(left.sum()), new_rows if budget is None else budget)
        rate = expected_rates(table, history.as_if_drawn, self.hidden)
        labels = min(self.planned, _AHEAD * (len(history) + wanted))
        threshold = self.aim(table, rate[:, self.positive], labels)
        if not {*self.goals} <= {"precision", "accuracy"}:
            curve = PRCurve((threshold,), self.positive)
            weights = (float("precision" in self.goals or "f1" in self.goals), 1.0, 0.0)
            inner = CalibratedDesign(curve, hidden=self.hidden, importance=weights)
            return inner.design(table, history, new_rows, rng, budget)
        above = table.kinds.score[table.kinds.first, 0] >= threshold
        above |= "accuracy" in self.goals
        few = min(round(EVEN_SHARE * wanted), int(left[~above].sum()))
        sizes = {True: min(wanted - few, int(left[above].sum()))}
        sizes[False] = min(wanted - sizes[True], int(left[~above].sum()))
        return draw_simply(table, history, above, sizes, rng, table.mean_by_leaf(rate))
