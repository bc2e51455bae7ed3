"""Pictures of an evaluation, for notebooks: those of the report."""

from collections.abc import Mapping, Sequence

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.convergence import convergence
from evalsampling.inference.domains import WHOLE_POOL
from evalsampling.inference.results import as_json
from evalsampling.inference.score_bands import score_bands
from evalsampling.measures.binary import Prevalence
from evalsampling.parts.records import read_record
from evalsampling.report.bands_chart import LabelledBands, calibration_chart, effort_chart
from evalsampling.report.convergence_chart import convergence_chart
from evalsampling.report.curve_chart import curve_chart
from evalsampling.report.interval_rows import IntervalRow, interval_rows
from evalsampling.report.numbers import Number, pretty
from evalsampling.report.svg import Picture
from evalsampling.report.thresholds import ROC_CURVE, ScoreCurve, cheapest, curves_of

PICTURES = ("intervals", "slices", "convergence", "curve", "effort", "calibration")
"""What can be drawn of an evaluation."""

MOST_ROWS = 40
"""Numbers in a picture of intervals."""


def picture(analysis: Analysis, what: str, system: str | None, label: str) -> Picture:
    """Return a picture of an evaluation.

    Args:
        analysis: to draw.
        what: one of `PICTURES`.
        system: whose curve is drawn; None for the first.
        label: what the class is called that rates are about.

    Raises:
        InputError: if there is no such picture, or nothing to draw in it.
    """
    if what not in PICTURES:
        raise InputError(f"picture: must be one of {', '.join(PICTURES)}, got {what!r}")
    if not len(analysis.history.labelled):
        raise InputError("there is nothing to draw before the first label")
    if what in ("effort", "calibration"):
        [bands] = labelled_bands(analysis, {label: _positives(analysis)})
        return effort_chart(bands.bands) if what == "effort" else calibration_chart(bands)
    if what == "convergence":
        return _convergence(analysis)
    numbers = [read_record(Number, as_json(one)) for one in analysis.estimate()]
    if what == "curve":
        found = [one for one in curves_of(numbers) if system in (None, one.system)]
        if not found:
            raise InputError("no curve was estimated" + (f" of {system!r}" if system else ""))
        return curve_chart(found[0], cheapest(found[0], prevalence(analysis, found[:1])))
    rows = [
        IntervalRow.of(one, pretty(one) + (f", {one.slice}" if one.slice else ""))
        for one in numbers
        if not one.is_point and (one.slice is None or what == "slices")
    ][:MOST_ROWS]
    if not rows:
        raise InputError("all that was estimated are points of curves: draw the curve")
    return interval_rows(rows, "Estimates and intervals")


def _positives(analysis: Analysis) -> list[int]:
    """Return the codes of positives: where rows have several labels, of all sets but the empty."""
    if any(getattr(one, "sets", False) for one in analysis.measures):
        return list(range(1, analysis.table.classes))
    return [_positive(analysis)]


def _positive(analysis: Analysis) -> int:
    """Return the code of the class that the measures call positive, or else of the second."""
    return next((int(one.positive) for one in analysis.measures if hasattr(one, "positive")), 1)


def _convergence(analysis: Analysis) -> Picture:
    rounds = convergence(analysis)
    if not rounds:
        raise InputError("all that was estimated are points of curves: draw the curve")
    numbers = [[read_record(Number, as_json(one)) for one in now.estimates] for now in rounds]
    return convergence_chart([now.labels for now in rounds], numbers)


def prevalence(analysis: Analysis, curves: Sequence[ScoreCurve]) -> float | None:
    """Return the estimated share of positives, by which a ROC curve tells what errors cost.

    Args:
        analysis: with labels.
        curves: of it.

    Returns:
        None if no curve needs it, or the draws say nothing about it.
    """
    if not any(one.name == ROC_CURVE for one in curves):
        return None
    [found] = analysis.estimate([Prevalence(_positive(analysis))], scope=WHOLE_POOL)
    return found.value


def labelled_bands(analysis: Analysis, labels: Mapping[str, Sequence[int]]) -> list[LabelledBands]:
    """Return bands of scores with the rates of some classes.

    Args:
        analysis: of its history.
        labels: codes of each class wanted, by its name; see `score_bands`.
    """
    model = analysis.label_model
    table, history = analysis.table, analysis.history
    return [
        LabelledBands(label, tuple(score_bands(table, history, codes, analysis.confidence, model)))
        for label, codes in labels.items()
    ]
