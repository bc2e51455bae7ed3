"""Pictures of an evaluation for notebooks, drawn as in the report."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate
from evalsampling.inference.score_bands import score_bands
from evalsampling.report import charts
from evalsampling.report.charts import LabelledBands, calibration_chart, curve_chart, effort_chart
from evalsampling.report.numbers import Number, pretty
from evalsampling.report.score_curves import curves_of
from evalsampling.report.svg import Picture
from evalsampling.stats.cells import named_verdicts
from evalsampling.stats.score_kinds import ORDER

PICTURES = ("intervals", "slices", "convergence", "curve", "effort", "calibration")
"""Names of the pictures that can be drawn of an evaluation."""

MOST_ROWS = 40
"""Most numbers in a picture of intervals."""

_ONLY_POINTS = "all that was estimated are points of curves: draw the curve"

MOST_ROUNDS = 12
"""Most rounds that are looked at; of more rounds, evenly spaced ones are taken."""


def picture(analysis: Analysis, what: str, system: str | None, label: str) -> Picture:
    """Return a picture of an evaluation."""
    if what not in PICTURES:
        raise InputError(f"picture: must be one of {', '.join(PICTURES)}, got {what!r}")
    if not len(analysis.history.labelled):
        raise InputError("there is nothing to draw before the first label")
    if what in ("effort", "calibration"):
        if not analysis.reading.has_classes:
            are = analysis.reading.labels.space.in_spec.are
            raise InputError(f"picture: {what}: it shows rates of classes, and here {are}")
        # The class that measures call positive, else the second one.
        named = (one.plain.positive for one in analysis.measures if hasattr(one.plain, "positive"))
        positives = [int(next(named, 1))]
        if any(getattr(measure.plain, "sets", False) for measure in analysis.measures):
            positives = list(range(1, analysis.table.classes))  # All sets of labels but the empty.
        [bands] = labelled_bands(analysis, {label: positives})
        return effort_chart(bands.bands) if what == "effort" else calibration_chart(bands)
    if what == "convergence":
        rounds = convergence(analysis)
        if not rounds:
            raise InputError(_ONLY_POINTS)
        estimated = [[Number.of(estimate) for estimate in after.estimates] for after in rounds]
        return charts.convergence_chart([after.labels for after in rounds], estimated)
    numbers = [Number.of(estimate) for estimate in analysis.estimate()]
    if what == "curve":
        curves = [curve for curve in curves_of(numbers) if system in (None, curve.system)]
        if not curves:
            raise InputError("no curve was estimated" + (f" of {system!r}" if system else ""))
        return curve_chart(curves[0])
    rows = [
        (pretty(number) + (f", {number.slice}" if number.slice else ""), number)
        for number in numbers
        if not number.is_point and (number.slice is None or what == "slices")
    ][:MOST_ROWS]
    if not rows:
        raise InputError(_ONLY_POINTS)
    return charts.interval_rows(rows, "Estimates and intervals")


@dataclasses.dataclass(frozen=True)
class RoundEstimates:
    """Number of a round, labels by then, and estimates of one number on the whole pool."""

    round: int
    labels: int
    estimates: tuple[Estimate, ...]


def convergence(analysis: Analysis, most: int = MOST_ROUNDS) -> list[RoundEstimates]:
    """Return the estimates after each round, in order; the last round is always among them.

    Each entry is what `estimate` returns for the rounds up to that one. An answer that came late
    counts for the round that asked for it. Curves and rounds without any answer are left out.
    """
    single = [measure for measure in analysis.measures if len(measure.components) == 1]
    rounds = len(analysis.history.rounds)
    if not single or not rounds:
        return []
    numbers = np.unique(np.linspace(rounds, 1, min(most, rounds)).round().astype(int)).tolist()
    scope = ReportedDomains(systems=analysis.scope.systems)
    by_round = []
    for number in numbers:
        then = analysis.with_history(analysis.history.first(number))
        if labels := len(then.history.labelled):
            estimates = tuple(then.estimate(single, scope=scope))
            by_round.append(RoundEstimates(number, labels, estimates))
    return by_round


def labelled_bands(analysis: Analysis, labels: Mapping[str, Sequence[int]]) -> list[LabelledBands]:
    """Return bands of scores with the rates of some classes."""
    model = analysis.label_model
    table, history, reading = analysis.table, analysis.history, analysis.reading
    pool, named = reading.pool, {}
    if table.leaves.exchangeable:
        verdicts = named_verdicts(table, [str(name) for name in reading.labels.classes])
        named = {leaf: ", ".join(verdict) for leaf, verdict in enumerate(verdicts)}
    labelled = []
    for label, codes in labels.items():
        bands = score_bands(table, history, codes, analysis.confidence, model)
        is_of_ranks = pool.probability is None and pool.score_is == ORDER
        for place, band in enumerate(bands):
            title = named.get(band.first_leaf) if band.first_leaf == band.last_leaf else None
            prior = None if is_of_ranks else band.prior
            bands[place] = dataclasses.replace(band, title=title, prior=prior)
        labelled.append(LabelledBands(label, tuple(bands)))
    return labelled
