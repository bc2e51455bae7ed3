"""Estimates of curves from the precision at every rank."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.curve_estimates import curve_estimates, with_envelope
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.intervals import Interval
from evalsampling.inference.precision_curve import Bounded, Guarantee, PrecisionCurve
from evalsampling.inference.results import Estimate, Target, widest_half
from evalsampling.measures import (
    Accuracy,
    AveragePrecision,
    FalsePositiveRate,
    FBeta,
    Measure,
    PRCurve,
    Precision,
    Prevalence,
    Recall,
    ROCArea,
    ROCCurve,
    Specificity,
)
from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked, labels
from tests.samplers.pools import one_each

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


@pytest.mark.parametrize(("kind", "positive"), [(PRCurve, 0), (ROCCurve, 0), (ROCCurve, 1)])
def test_share_of_no_rows_is_undefined_beyond_the_highest_score_too(
    kind: type, positive: int
) -> None:
    """Labels that are all alike: what a threshold's measure is of them by hand, 0/0 or 0."""
    alike = Ranked.of_labels(np.full(90, positive), bins=30, first=5)
    precision = np.full(len(alike.precision), float(positive))
    ranked = RankedList.of_cells(alike.known.table)
    curve = PrecisionCurve(ranked, Bounded(precision, precision, precision), CURVE.guarantee)
    measure = kind(thresholds=(0.0, 40.0))
    found = [
        np.nan if one.value is None else one.value for one in curve_estimates(measure, curve, SCOPE)
    ]
    np.testing.assert_allclose(found, alike.known.value(measure))


def test_what_the_curve_says_nothing_of() -> None:
    for measure in (FBeta(), ROCArea(thresholds=(1.0,)), PRCurve(thresholds=(1.0,), system=1)):
        assert curve_estimates(measure, CURVE, SCOPE) is None


def test_the_last_group_that_reaches_a_threshold() -> None:
    place = RANKED.reaching(np.array(THRESHOLDS))
    score = 29 - np.arange(30)
    assert place.tolist() == [int(np.sum(score >= one)) - 1 for one in THRESHOLDS]


CALLED = LIST.known.table.kinds.score[:, 0] >= 12
TABLE = dataclasses.replace(
    LIST.known.table,
    kinds=dataclasses.replace(LIST.known.table.kinds, prediction=CALLED.astype(np.int64)[:, None]),
)
KNOWN = dataclasses.replace(
    LIST.known, table=TABLE, outputs=TABLE.kinds.take(LIST.known.cell)
)  # fmt: skip


def estimate_of(measure: Measure) -> Estimate:
    confidence = 0.95
    first = Interval(0.2, 0.8, "design-based", "wald")
    return Estimate(Target(measure.name), 0.5, 0.1, confidence, (first,))


@pytest.mark.parametrize(
    "measure",
    [
        Precision(), Recall(), Specificity(), FalsePositiveRate(), Accuracy(), FBeta(),
        FBeta(beta=2.0), FBeta(alpha=0.3), ROCArea(thresholds=(3.0, 12.0, 25.0)),
    ],
    ids=lambda one: one.name,
)  # fmt: skip
def test_numbers_at_a_threshold_have_the_bounds_of_the_envelope(measure: Measure) -> None:
    [one] = with_envelope([estimate_of(measure)], measure, CURVE, TABLE)
    [_, beside] = one.intervals
    assert (beside.kind, beside.method) == ("simultaneous", "envelope")
    assert beside.low <= KNOWN.value(measure)[0] <= beside.high
    assert beside.high - beside.low < 0.35


def test_a_threshold_within_a_bin_has_bounds_too() -> None:
    """Two signatures of one bin: the rows above the threshold and those below it."""
    table = TABLE
    split = int(np.flatnonzero(table.kinds.score[:, 0] == 11)[0])
    twice = np.insert(np.arange(30), split, split)
    kinds = one_each(table.kinds.take(twice))
    kinds.prediction[split + 1] = 1
    count = table.count[twice]
    count[split : split + 2] = [count[split] - count[split] // 3, count[split] // 3]
    both = dataclasses.replace(
        table, code=np.arange(31), leaf=twice, count=count, prior=table.prior[twice], kinds=kinds
    )
    curve = dataclasses.replace(CURVE, ranked=RankedList.of_cells(both))
    [one] = with_envelope([estimate_of(FBeta())], FBeta(), curve, both)
    [whole] = with_envelope([estimate_of(FBeta())], FBeta(), CURVE, TABLE)
    found, wanted = one.intervals[1], whole.intervals[1]
    assert found.method == "envelope"
    assert found.low == pytest.approx(wanted.low, abs=0.1)
    assert found.high == pytest.approx(wanted.high, abs=0.1)


@pytest.mark.parametrize("kind", [PRCurve, ROCCurve, AveragePrecision])
def test_without_a_guarantee_nothing_is_claimed(kind: type) -> None:
    """The interval is the whole range, with the reasons; other estimates get none beside theirs."""
    told = dataclasses.replace(CURVE.guarantee, factor=None, warnings=("adastrat: a word",))
    curve = dataclasses.replace(CURVE, guarantee=told)
    measure = kind(thresholds=THRESHOLDS)
    found = curve_estimates(measure, curve, SCOPE)
    sure = curve_estimates(measure, CURVE, SCOPE)
    assert [one.value for one in found] == [one.value for one in sure]
    for one in found:
        assert (one.low, one.high) == (0.0, 1.0)
        assert not one.reliable
        assert one.value is None or one.warnings == ("adastrat: a word",)
    assert widest_half(found) is None
    beside = estimate_of(FBeta())
    assert with_envelope([beside], FBeta(), curve, TABLE) == [beside]


def test_what_has_no_bounds_is_left_as_it_is() -> None:
    """Predictions of no threshold, other measures, parts of the pool, a higher confidence."""
    one = estimate_of(FBeta())
    scattered = (np.arange(30) % 2)[:, None]
    mixed = dataclasses.replace(TABLE.kinds, prediction=scattered)
    table = dataclasses.replace(TABLE, kinds=mixed)
    assert with_envelope([one], FBeta(), CURVE, table) == [one]
    assert with_envelope([one], Prevalence(), CURVE, TABLE) == [one]
    assert with_envelope([one], FBeta(system=1), CURVE, TABLE) == [one]
    part = dataclasses.replace(one, target=dataclasses.replace(one.target, slice="city=A"))
    surer = dataclasses.replace(one, confidence=0.99)
    assert with_envelope([part, surer], FBeta(), CURVE, TABLE) == [part, surer]
