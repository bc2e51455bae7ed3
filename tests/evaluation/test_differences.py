"""Differences of several systems, in memory."""

import numpy as np
import pytest

from evalsampling import Evaluation
from tests.evaluation.systems import three_systems
from tests.slow import fast


def test_differences_of_three_systems() -> None:
    """From rows on which some systems differ, though no system's own value is known."""
    evaluation, label = three_systems(seed=2)
    ids = evaluation.sample(400)
    evaluation.label(ids, label[ids])
    found = {(e.target.system, e.target.against): e for e in evaluation.estimate()}
    assert found["a", None].intervals[0].method == "no support"
    for pair, true in ((("a", "b"), 0.1), (("a", "c"), 0.3)):
        design = next(one for one in found[pair].intervals if one.kind == "design-based")
        assert design.low < true < design.high
    assert found["a", "b"].significance.chance_above > 0.95


@pytest.mark.slow
def test_points_of_curves_of_two_systems_differ() -> None:
    """At listed thresholds each point, at a recall each system's own threshold."""
    rng = np.random.default_rng(9)
    label = rng.integers(0, 2, 1500)
    scores = {name: label + noise * rng.normal(size=1500) for name, noise in (("a", 1), ("b", 2))}
    evaluation = Evaluation.from_arrays(
        None, None, columns=scores, seed=3, sampler="passive", strata={"leaves": 8},
        pool={"score": "a", "systems": {name: {"score": name, "prediction": {"threshold": 0.5}}
                                        for name in scores}},
        measure=["accuracy", "roc_curve", {"name": "pr_curve", "thresholds": [0, 0.5]},
                 {"name": "precision_at_recall", "recall": 0.8, "thresholds": [-1, 0, 0.5, 1]}],
    )  # fmt: skip
    ids = evaluation.sample(500)
    evaluation.label(ids, label[ids])
    told = {
        (one.measure, one.target.threshold): one
        for one in evaluation.estimate()
        if one.target.against is not None
    }
    assert [key for key in told if key[0].startswith("roc")] == [], "at other thresholds each"
    at = {name: scores[name] >= 0.5 for name in "ab"}
    recall = {name: at[name][label == 1].mean() for name in "ab"}
    one = told["pr_curve.recall", 0.5]
    assert one.value == pytest.approx(recall["a"] - recall["b"], abs=4 * one.standard_error)
    assert one.intervals[0].low < recall["a"] - recall["b"] < one.intervals[0].high
    assert [i.kind for i in one.intervals].count("simultaneous") == 1
    assert one.significance.p_value is not None
    point = told["precision_at_recall(0.8)", None]
    assert point.intervals[0].method == "student", "cells do not tell where the second score lies"
    assert point.intervals[0].low > 0, "of the better score"
    beside = next(one for one in point.intervals if one.method == "calibration-curve")
    assert beside.low < point.intervals[0].low
    assert beside.high > point.intervals[0].high


def test_a_difference_of_two_of_three_systems() -> None:
    evaluation, label = three_systems(measure={"difference": "accuracy", "of": "a", "against": "c"})
    ids = evaluation.sample(100)
    evaluation.label(ids, label[ids])
    (found,) = evaluation.estimate()
    assert (found.target.system, found.target.against) == ("a", "c")
    assert found.intervals[0].low < 0.3 < found.intervals[0].high


MEASURES = ["f1", "precision", "recall", "accuracy", {"ratio": "f1", "of": "a", "against": "b"}]


@pytest.mark.parametrize(
    ("sampler", "seeds"), fast(1, [("calibrated", 2), ("calibrated", 6), ("ais", 20)])
)
def test_interval_chance_and_test_of_a_difference_never_contradict_each_other(
    sampler: str, seeds: int
) -> None:
    """Of over 200 comparisons, the slow ones too: what is said first is of one method."""
    seen = []
    for seed in range(seeds):
        evaluation, label = three_systems(0.85, seed=seed, sampler=sampler, measure=MEASURES)
        ids = evaluation.sample(60 + 40 * (seed % 5))
        evaluation.label(ids, label[ids])
        for one in evaluation.estimate():
            tested, null = one.significance, one.target.null
            if null is None or tested is None or tested.p_value is None:
                continue
            above, below = one.low > null, one.high < null
            assert (tested.p_value <= 0.05) == (above or below), (seed, one)
            if tested.chance_above is not None:
                assert (tested.chance_above >= 0.975, tested.chance_above <= 0.025) == (
                    above,
                    below,
                )
            seen.append(above or below)
    assert len(seen) >= 9 * seeds
    assert {*seen} == {True, False}
