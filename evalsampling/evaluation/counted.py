"""Estimates from counts of labelled rows, and what a next round would draw by them.

The one step that a combine over labels ends in: counts of any number of labels in, estimates out,
the same to the last digit as from the labels one by one.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.cautions import cautions
from evalsampling.evaluation.graded import empty_history
from evalsampling.labels.tally import Awaited
from evalsampling.parts.records import finite
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.report.numbers import Number
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.history import History
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.round_chances import RoundChances
from evalsampling.stats.slices import SliceCounts


@dataclasses.dataclass(frozen=True)
class CountedPool:
    """A pool of which only the sums over its cells are known: see `analysis.Pool`."""

    stratification: Stratification
    table: CellTable
    slices: Slices = Slices()
    clusters: SharedClusters | None = None

    def of_rows(self, sums: CellSums, counts: SliceCounts | None = None) -> "CountedPool":
        """Return the pool of other rows, cut likewise, by their sums over cells and slices."""
        table = self.stratification.table(sums)
        slices = Slices() if counts is None else self.slices.of_rows(counts, table)
        return CountedPool(self.stratification, table, slices, self.clusters)

    def numbers(self) -> PermanentNumbers:
        """Return the permanent random numbers that are known: none."""
        return PermanentNumbers(np.zeros(0, dtype=np.int64), np.zeros(0), self.table.count)


def analysis_of(
    analysis: Analysis,
    counts: LabelledCounts,
    rounds: Sequence[RoundChances],
    drawn: History | None = None,
) -> Analysis:
    """Return the analysis of a pool before its first round with the rounds and labels of counts.

    ``drawn`` has the rounds without labels, where the order of draws counts: then each count has
    the number of its question. A `ValueError` is that of `LabelledCounts.history`.
    """
    if drawn is not None:
        return analysis.with_history(counts.labels_of(drawn))
    nothing = empty_history(analysis.reading, analysis.table)
    return analysis.with_history(counts.history(analysis.table, rounds, nothing))


def next_chances(
    analysis: Analysis, new_rows: int, budget: int | None = None, begin: FloatArray | None = None
) -> RoundChances:
    """Return the chances of the next round, as `sample` would draw it now.

    The order of questions decides nothing, so those of `sample` may differ in their last digit.
    """
    table = analysis.table
    ordered = dataclasses.replace(analysis, numbers=None, history=analysis.history.ordered)
    asked = new_rows if budget is None else min(new_rows, budget)
    last = ordered.with_round(asked).history.rounds[-1]
    assert last.cell_probability is not None
    wanted = asked if last.wanted is None else last.wanted
    return RoundChances.of_pool(
        table.code, table.count, last.cell_probability, wanted, last.posterior, begin
    )


def estimated(
    analysis: Analysis, rejects: int = 0, outside: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the estimates of an analysis as plain values: numbers are finite or None.

    They are ``rows`` of the pool, those ``drawn``, those with ``labels``, ``rejects``: answers that
    do not count, ``measures`` as those of `estimate --json`, and ``warnings``. ``outside`` has the
    rows that are in no slice, by the column of slices (`Slices.outside`).
    """
    estimates, history = analysis.estimate(), analysis.history
    drawn, labels = len(history), len(history.labelled)
    in_no_slice = (
        f"{rows} {'row has' if rows == 1 else 'rows have'} a value of {column} that no row had "
        "when the workspace was prepared: no slice is reported for it"
        for column, rows in outside.items()
        if rows
    )
    told = {
        "rows": analysis.table.rows,
        "drawn": drawn,
        "labels": labels,
        "rejects": rejects,
        "measures": [dataclasses.asdict(Number.of(estimate)) for estimate in estimates],
        "warnings": [*cautions(analysis, estimates, Awaited(drawn - labels)), *in_no_slice],
    }
    return dict(finite(told))
