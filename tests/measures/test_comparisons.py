"""Differences and ratios of two systems against the two values and influences by themselves."""

from typing import Any

import numpy as np
import pytest

from evalsampling.label_spaces.numbers import Numbers
from evalsampling.measures import (
    BY_NAME,
    Accuracy,
    AveragePrecision,
    Brier,
    Difference,
    FBeta,
    Joint,
    MeanDifference,
    Measure,
    PRCurve,
    Precision,
    Prevalence,
    Quotient,
    difference,
)
from evalsampling.measures.comparisons import GUARD, are_comparable, is_aimed_at, is_nil, pairs_of
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, risk_of, value_of

MEANS = [(Accuracy(), Accuracy(system=1)), (Brier(), Brier(system=1))]
OTHERS = [
    (FBeta(), FBeta(system=1)),
    (Precision(), Precision(system=1)),
    (AveragePrecision((-0.7, 0.0, 0.4)), AveragePrecision((-0.7, 0.0, 0.4), system=1)),
]


def name_of(pair: tuple[Measure, Measure]) -> str:
    return pair[0].name


@pytest.mark.parametrize("pair", MEANS + OTHERS, ids=name_of)
def test_difference_is_that_of_the_values_and_of_the_influences(
    pair: tuple[Measure, Measure],
) -> None:
    outputs, label = make_pool(3)
    measure = difference(*pair)
    values = [value_of(part, outputs, label) for part in pair]
    np.testing.assert_allclose(value_of(measure, outputs, label), values[0] - values[1], atol=1e-15)
    influences = [part.influence(outputs, label, risk_of(part, outputs, label)) for part in pair]
    found = measure.influence(outputs, label, risk_of(measure, outputs, label))
    np.testing.assert_allclose(found, influences[0] - influences[1], atol=1e-14)
    (component,) = measure.components
    assert (component.name, component.system, component.against) == (pair[0].name, 0, 1)
    assert measure.systems == (0, 1)
    assert pair[1].systems == (1,)
    assert measure.name == f"difference({pair[0].name})"


@pytest.mark.parametrize("pair", MEANS, ids=name_of)
def test_means_need_nothing_of_rows_that_favour_nobody(pair: tuple[Measure, Measure]) -> None:
    outputs, label = make_pool(4)
    measure = difference(*pair)
    assert isinstance(measure, MeanDifference)
    losses = [part.loss(outputs, label)[:, 0] for part in pair]
    np.testing.assert_array_equal(measure.adds(outputs, label), losses[0] != losses[1])
    assert measure.size == 1
    assert len(measure.shares(outputs, label)) == 1 + sum(
        len(part.shares(outputs, label)) for part in pair
    )
    np.testing.assert_array_equal(
        measure.shares(outputs, label)[-1].rows, measure.evidence(outputs, label)
    )


def test_bounds_of_differences_and_ratios() -> None:
    assert Difference(FBeta(), FBeta(system=1)).components[0].bounds == (-1, 1)
    assert difference(Brier(), Brier(system=1)).components[0].bounds == (-2, 2)
    (ratio,) = Quotient(FBeta(), FBeta(system=1)).components
    assert (ratio.name, ratio.bounds, ratio.against) == ("ratio(f1)", (0, np.inf), 1)


def test_ratio_is_that_of_the_values() -> None:
    outputs, label = make_pool(5)
    measure = Quotient(FBeta(), FBeta(system=1))
    one, other = (value_of(part, outputs, label)[0] for part in measure.both.parts)
    assert value_of(measure, outputs, label) == pytest.approx(one / other, rel=1e-14)
    nothing = outputs.take(outputs.prediction[:, 1] != 1)
    rest = label[outputs.prediction[:, 1] != 1]
    assert np.isnan(value_of(measure, nothing, rest)).all(), "the other value is 0"


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        ("mcc", {}, "can be negative, so it has no ratio"),
        ("mean_error", {"numbers": Numbers(0, 50)}, "cannot be compared: the difference is that"),
    ],
)
def test_measures_that_can_be_negative_have_no_ratio(
    name: str, known: dict[str, Any], words: str
) -> None:
    """Their ratio was cut at 0, whatever its sign."""
    first, other = (BY_NAME[name](system=system, **known) for system in (0, 1))
    with pytest.raises(ValueError, match=f"^{name} {words}"):
        Quotient(first, other)


def test_rows_of_agreement_keep_a_size_where_both_values_are_alike() -> None:
    """Their influence cancels if both systems are as good; the size is a share of both losses'."""
    outputs, label = make_pool(6)
    swapped = Outputs(
        np.concatenate([outputs.prediction, outputs.prediction[:, ::-1]]),
        np.concatenate([outputs.score, outputs.score[:, ::-1]]),
        np.concatenate([outputs.probability, outputs.probability[:, ::-1]]),
    )
    label = np.tile(label, 2)
    measure = Difference(FBeta(), FBeta(system=1))
    risk = risk_of(measure, swapped, label)
    assert measure.value(risk) == pytest.approx(0, abs=1e-15)
    same = measure.agrees(swapped) & (label == 1) & (swapped.prediction[:, 0] == 1)
    np.testing.assert_allclose(measure.influence(swapped, label, risk)[same], 0, atol=1e-14)
    both = np.sqrt(measure.both.squared_norm(swapped, label, risk))
    size = measure.proposal_norm(swapped, label, risk)
    np.testing.assert_allclose(size[same], GUARD * both[same], rtol=1e-12)
    assert np.all(size >= GUARD * both)


def test_pairs_of_a_joint_measure() -> None:
    three = [Accuracy(system=one) for one in range(3)]
    pairs = pairs_of(Joint((*three, FBeta())))
    assert [pair.systems for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    listed = difference(three[2], three[0])
    assert pairs_of(listed) == (listed,)
    assert pairs_of(FBeta()) == ()
    driver = Joint((three[0], three[1]))
    assert is_aimed_at(pairs[0], driver)
    assert not is_aimed_at(pairs[1], driver)
    assert not is_aimed_at(three[0], listed)


def test_systems_that_say_the_same_do_not_differ() -> None:
    outputs, _ = make_pool(7)
    same = outputs.take(outputs.prediction[:, 0] == outputs.prediction[:, 1])
    measure = Difference(FBeta(), FBeta(system=1))
    assert is_nil(measure, same)
    assert not is_nil(measure, outputs)
    assert not is_nil(difference(Brier(), Brier(system=1)), same)
    assert not is_nil(FBeta(), same)


@pytest.mark.parametrize(
    ("first", "other", "words"),
    [
        (FBeta(), FBeta(), "one measure of two systems"),
        (FBeta(), Precision(system=1), "one measure of two systems"),
        (FBeta(), FBeta(system=1, beta=2.0), "one measure of two systems"),
        (Prevalence(), Prevalence(system=1), "it is of no system"),
        (PRCurve((0.0,)), PRCurve((0.5,), system=1), "other thresholds of each system's score"),
    ],
)
def test_what_cannot_be_compared(first: Measure, other: Measure, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        difference(first, other)


def test_points_of_curves_at_the_same_thresholds_differ_point_by_point() -> None:
    outputs, label = make_pool(3)
    pair = PRCurve((-0.5, 0.5)), PRCurve((-0.5, 0.5), system=1)
    compared = difference(*pair)
    values = [value_of(one, outputs, label) for one in pair]
    assert value_of(compared, outputs, label) == pytest.approx(values[0] - values[1])
    names = [(one.name, one.threshold, one.against) for one in compared.components]
    assert names[1] == ("pr_curve.precision", 0.5, 1)
    assert compared.components[0].bounds == (-1, 1)


def test_which_measures_have_a_difference() -> None:
    assert are_comparable(FBeta(), FBeta(system=1))
    assert not are_comparable(FBeta(), FBeta(system=1, beta=2.0))
    assert not are_comparable(Prevalence(), Prevalence(system=1))
    assert not are_comparable(PRCurve((0.0,)), PRCurve((0.5,), system=1))
    with pytest.raises(ValueError, match="not affine"):
        MeanDifference(FBeta(), FBeta(system=1))
