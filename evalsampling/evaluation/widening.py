"""Why an interval became wider although there are more labels."""

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.statement import display_name
from evalsampling.inference.results import Estimate
from evalsampling.report.numbers import decimals, shown

WIDER = 1.1
"""Ratio of the widths of two intervals from which the later one is said to be wider."""


def why_wider(
    before: Analysis, now: Analysis, earlier: Estimate, later: Estimate, round: int
) -> str:
    """Return in a sentence that an interval became wider, and why; empty if it did not."""
    widths = earlier.high - earlier.low, later.high - later.low
    if not (earlier.claims and later.claims and widths[1] > WIDER * widths[0] > 0):
        return ""
    digits = decimals(0.0, widths[1])
    wide = [shown(width, digits) for width in widths]
    return (
        f"With round {round} the interval of {display_name(later)} became wider, {wide[1]} after "
        f"{wide[0]}: {_reason(before, now, earlier, later)}."
    )


def _reason(before: Analysis, now: Analysis, earlier: Estimate, later: Estimate) -> str:
    kinds = earlier.intervals[0].kind, later.intervals[0].kind
    if kinds[0] != kinds[1]:
        return f"it is {kinds[1]} now and was {kinds[0]}"
    if _lowest_positive(now) < _lowest_positive(before):
        return "a positive scores lower than all that were labelled before, so more may hide there"
    return "its labels fit the scores and the earlier labels less well than was to be expected"


def _lowest_positive(analysis: Analysis) -> float:
    """Return the least prior probability of a labelled positive; infinite without one."""
    table, history = analysis.table, analysis.history
    if table.classes != 2:
        return np.inf
    labelled = history.labelled
    positive = history.cell[labelled[history.label[labelled] == 1]]
    return float(table.prior[positive, 1].min(initial=np.inf))
