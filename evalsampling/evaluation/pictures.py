"""Pictures of an evaluation, for notebooks: those of the report."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalsampling.errors import InputError
from evalsampling.evaluation.convergence import convergence
from evalsampling.inference.results import as_json
from evalsampling.inference.score_bands import score_bands
from evalsampling.report.bands_chart import LabelledBands, calibration_chart, effort_chart
from evalsampling.report.convergence_chart import convergence_chart
from evalsampling.report.curve_chart import curve_chart
from evalsampling.report.interval_rows import IntervalRow, interval_rows
from evalsampling.report.numbers import Number, pretty
from evalsampling.report.svg import Picture
from evalsampling.report.thresholds import PR_CURVE, cheapest, curves_of

if TYPE_CHECKING:
    from evalsampling.evaluation.evaluation import Evaluation

PICTURES = ("intervals", "slices", "convergence", "curve", "effort", "calibration")
"""What can be drawn of an evaluation."""

MOST_ROWS = 40
"""Numbers in a picture of intervals."""


def picture(evaluation: "Evaluation", what: str, system: str | None, label: str) -> Picture:
    """Return a picture of an evaluation.

    Args:
        evaluation: to draw.
        what: one of `PICTURES`.
        system: whose curve is drawn; None for the first.
        label: what the class is called that rates are about.

    Raises:
        InputError: if there is no such picture, or nothing to draw in it.
    """
    if what not in PICTURES:
        raise InputError(f"picture: must be one of {', '.join(PICTURES)}, got {what!r}")
    if not len(evaluation.history.labelled):
        raise InputError("there is nothing to draw before the first label")
    if what in ("effort", "calibration"):
        [bands] = labelled_bands(evaluation, {_positive(evaluation): label})
        return effort_chart(bands.bands) if what == "effort" else calibration_chart(bands)
    if what == "convergence":
        return _convergence(evaluation)
    numbers = [Number.from_json(as_json(one)) for one in evaluation.estimate()]
    if what == "curve":
        found = [one for one in curves_of(numbers) if system in (None, one.system)]
        if not found:
            raise InputError("no curve was estimated" + (f" of {system!r}" if system else ""))
        choices = cheapest(found[0]) if found[0].name == PR_CURVE else []
        return curve_chart(found[0], choices)
    rows = [
        IntervalRow.of(one, pretty(one) + (f", {one.slice}" if one.slice else ""))
        for one in numbers
        if not one.is_point and (one.slice is None or what == "slices")
    ][:MOST_ROWS]
    if not rows:
        raise InputError("all that was estimated are points of curves: draw the curve")
    return interval_rows(rows, "Estimates and intervals")


def _positive(evaluation: "Evaluation") -> int:
    """Return the code of the class that the measures call positive, or else of the second."""
    return next((int(one.positive) for one in evaluation.measures if hasattr(one, "positive")), 1)


def _convergence(evaluation: "Evaluation") -> Picture:
    rounds = convergence(evaluation)
    if not rounds:
        raise InputError("all that was estimated are points of curves: draw the curve")
    numbers = [[Number.from_json(as_json(one)) for one in now.estimates] for now in rounds]
    return convergence_chart([now.labels for now in rounds], numbers)


def labelled_bands(evaluation: "Evaluation", labels: Mapping[int, str]) -> list[LabelledBands]:
    """Return bands of scores with the rates of some classes.

    Args:
        evaluation: with its history.
        labels: name of each class wanted, by its code.
    """
    model = evaluation.label_model()
    table, history = evaluation.table, evaluation.history
    return [
        LabelledBands(label, tuple(score_bands(table, history, code, evaluation.confidence, model)))
        for code, label in labels.items()
    ]
