"""Estimates of curves from the precision at every rank."""

import numpy as np
import pytest

from evalsampling.inference.curve_estimates import curve_estimates, places_on
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.precision_curve import Bounded, Guarantee, PrecisionCurve
from evalsampling.measures import AveragePrecision, FBeta, PRCurve, ROCArea, ROCCurve
from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked, labels

LIST = Ranked.of_labels(labels(900, seed=7), bins=30, first=5)
RANKED = RankedList.of_cells(LIST.known.table)
CURVE = PrecisionCurve(
    RANKED,
    Bounded(LIST.precision, LIST.precision * 0.9, np.minimum(LIST.precision * 1.1, 1)),
    Guarantee(1.1, 0.97, 1.2, 1.05, 1.1, 1, (900,), 500, 0.3, 5, True),
)
SCOPE = ReportedDomains(systems=("old",))
THRESHOLDS = (-2.0, 0.0, 3.5, 10.0, 27.0, 40.0)


@pytest.mark.parametrize("kind", [PRCurve, ROCCurve, AveragePrecision])
def test_values_are_those_of_the_measure_on_the_pool(kind: type) -> None:
    """Where the curve is the truth, row by row; beyond the highest score there is no precision."""
    measure = kind(thresholds=THRESHOLDS)
    found = curve_estimates(measure, CURVE, SCOPE)
    truth = LIST.known.value(measure)
    assert len(found) == len(truth) == len(measure.components)
    for one, true, component in zip(found, truth.tolist(), measure.components, strict=True):
        assert (one.measure, one.target.threshold) == (component.name, component.threshold)
        assert one.target.system == "old"
        assert one.confidence == 0.97
        if np.isnan(true):
            assert one.value is None
            assert one.warnings
        else:
            assert one.value == pytest.approx(true)
            [interval] = one.intervals
            assert interval.low <= true + 1e-12
            assert interval.high >= true - 1e-12


def test_what_the_curve_says_nothing_of() -> None:
    assert places_on(RANKED, FBeta()) is None
    assert places_on(RANKED, ROCArea(thresholds=(1.0,))) is None
    assert places_on(RANKED, PRCurve(thresholds=(1.0,), system=1)) is None
    place = places_on(RANKED, PRCurve(thresholds=THRESHOLDS))
    assert place is not None
    score = 29 - np.arange(30)
    assert place.tolist() == [int(np.sum(score >= one)) - 1 for one in THRESHOLDS]
