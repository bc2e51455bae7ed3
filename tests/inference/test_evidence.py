"""What labels must hold before an interval is given."""

import dataclasses

import numpy as np
import pytest

from evalsampling.inference.evidence import FEWEST_EVIDENCE, Gap, SharesSeen, find_missing_weight
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import (
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    Brier,
    FBeta,
    FowlkesMallows,
    Joint,
    LogLoss,
    MacroF,
    MatthewsCorrelation,
    Measure,
    MicroF,
    PRCurve,
    Precision,
    Prevalence,
    Recall,
    ROCCurve,
    Specificity,
)
from evalsampling.samplers import AdaptiveImportance, Importance, Oasis, Passive, Sampler
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import make_pool
from tests.slow import fast


def rows(tp: int, fp: int, fn: int, tn: int) -> tuple[Outputs, np.ndarray]:
    """So many rows of each kind; the score is 1 for predicted positives, else 0."""
    prediction = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    label = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    probability = np.full((len(label), 1, 2), 0.5)
    return Outputs(prediction[:, None], prediction[:, None].astype(float), probability), label


UNKNOWN = rows(1, 1, 1, 1)
"""Rows without a label: they may be anything."""


def gaps_of(
    measure: Measure,
    seen: tuple[Outputs, np.ndarray],
    unlabelled: tuple[Outputs, np.ndarray] = UNKNOWN,
    row: np.ndarray | None = None,
) -> list[Gap | None]:
    row = np.arange(len(seen[1])) if row is None else row
    size = len(measure.components)
    return SharesSeen(size, measure.shares(*seen), measure.shares(*unlabelled), row).gaps()


@pytest.mark.parametrize(
    ("open_rows", "expected", "fewest"),
    [
        (UNKNOWN, 100, 8),
        (rows(0, 0, 1, 1), 100, 25),
        (rows(1, 1, 0, 0), 100, 8),
        (rows(0, 0, 0, 0), 100, 128),
        (rows(0, 0, 1, 1), 25, 128),
        (rows(0, 0, 1, 1), 25.1, 25),
        (rows(1, 1, 0, 0), 1, 8),
    ],
)
def test_share_most_of_whose_rows_have_a_label_is_not_scarce(
    open_rows: tuple[Outputs, np.ndarray], expected: float, fewest: int
) -> None:
    """F1 by 8 predicted positives and 25 positives, of which so many others are expected, or none.

    Fewer than 10 rows are scarce unless there are no others.
    """
    measure, seen = FBeta(), rows(5, 3, 20, 100)
    shares, unlabelled = measure.shares(*seen), measure.shares(*open_rows)
    each = np.where(unlabelled[0].rows | unlabelled[1].rows, expected, 0.0)
    found = SharesSeen(1, shares, unlabelled, np.arange(128)).fewest_rows(each)
    assert found.tolist() == [fewest]


NO_FALSE_NEGATIVE, NO_FALSE_POSITIVE = rows(20, 9, 0, 90), rows(20, 0, 9, 90)


@pytest.mark.parametrize(
    ("measure", "blind_to_misses", "blind_to_false_alarms"),
    [
        (FBeta(), True, True),
        (FBeta(beta=2), True, True),
        (FowlkesMallows(), True, True),
        (MatthewsCorrelation(), True, True),
        (BalancedAccuracy(), True, True),
        (MacroF(2), True, True),
        (MacroF(2, over=(1,)), True, True),
        (Recall(), True, False),
        (Precision(), False, True),
        (Specificity(), False, True),
        (MicroF(2, over=(1,)), True, True),
        (MicroF(2), False, False),
        (Accuracy(), False, False),
        (Prevalence(), False, False),
        (Brier(), False, False),
    ],
    ids=lambda value: value.name if isinstance(value, Measure) else "",
)
def test_a_composite_is_as_blind_as_what_it_is_made_of(
    measure: Measure, blind_to_misses: bool, blind_to_false_alarms: bool
) -> None:
    assert gaps_of(measure, rows(20, 9, 9, 90)) == [None]
    assert (gaps_of(measure, NO_FALSE_NEGATIVE) != [None]) == blind_to_misses
    assert (gaps_of(measure, NO_FALSE_POSITIVE) != [None]) == blind_to_false_alarms


def test_the_missing_part_is_named() -> None:
    (gap,) = gaps_of(FBeta(), NO_FALSE_NEGATIVE)
    assert gap == Gap(
        "no false negative",
        "no false negative among 20 positives seen, so recall could be anything",
    )
    (gap,) = gaps_of(FBeta(), rows(0, 30, 20, 30))
    assert gap.words == "no true positive among 20 positives seen, so recall could be anything"
    (gap,) = gaps_of(MacroF(2, over=(1,)), NO_FALSE_POSITIVE)
    assert "so precision of class 1 could be anything" in gap.words


@pytest.mark.parametrize("positives", [0, 1, FEWEST_EVIDENCE - 1])
def test_few_rows(positives: int) -> None:
    seen = rows(positives // 2, 20, positives - positives // 2, 90)
    for measure in (Recall(), FBeta(), Prevalence()):
        (gap,) = gaps_of(measure, seen)
        seen_words = {0: "no", 1: "only one of the"}.get(positives, f"only {positives}")
        assert gap.words == f"{seen_words} positives seen, fewer than 10"
        assert gap.method == "few positives"


def test_probabilities_need_the_rarest_class() -> None:
    """However many labels there are, for nine of them the loss of positives is not known."""
    for measure in (Brier(), LogLoss(), AveragePrecision((0.5,))):
        assert gaps_of(measure, rows(5, 0, 4, 500)) != [None]
        assert gaps_of(measure, rows(6, 0, 4, 500)) == [None]
        assert gaps_of(measure, rows(500, 0, 500, 9)) != [None]


def test_every_point_of_a_curve_has_its_own_evidence() -> None:
    """At .5 as F1's parts; at 0 all positives are reached; at 2 no row is."""
    curve = PRCurve((0.0, 0.5, 2.0))
    names = [gap and gap.method for gap in gaps_of(curve, rows(20, 9, 9, 90))]
    # No row at all reaches 2, so precision there is undefined, and nothing of it is missing.
    assert names[:6] == [None, None, None, "no positive below", None, "no positive above"]
    assert names[6:] == ["no positive below", None, "no positive above"], "F1 needs both"
    names = [gap and gap.method for gap in gaps_of(ROCCurve((0.5, 2.0)), rows(20, 9, 0, 90))]
    assert names == ["no positive below", "no positive above", None, "no negative above"]


def test_parts_of_a_joint_measure_stand_alone() -> None:
    both = Joint((Precision(), PRCurve((0.5,)), Recall()))
    names = [gap and gap.method for gap in gaps_of(both, NO_FALSE_NEGATIVE)]
    assert names == [None, None, *2 * ["no positive below"], "no false negative"]


def test_what_is_labelled_throughout_lacks_nothing() -> None:
    """Three predicted positives, all labelled, all right: precision is known, so F1 may claim."""
    seen = rows(3, 0, 17, 90)
    assert gaps_of(FBeta(), seen) != [None]
    negatives_alone = rows(0, 0, 1, 1)
    assert gaps_of(Precision(), seen, negatives_alone) == [None]
    assert gaps_of(FBeta(), seen, negatives_alone) == [None]


def test_rows_asked_about_again_count_once() -> None:
    outputs, label = rows(6, 5, 6, 30)
    thrice = np.tile(np.arange(len(label)), 3)
    seen = outputs.take(thrice), label[thrice]
    assert gaps_of(FBeta(), seen, row=thrice) == [None]
    few = rows(3, 5, 3, 30)
    thrice = np.tile(np.arange(len(few[1])), 3)
    (gap,) = gaps_of(Recall(), (few[0].take(thrice), few[1][thrice]), row=thrice)
    assert "only 6 positives" in gap.words


def weighted(weight: float, heavy: float, draws: int = 400) -> WeightedSample:
    """Draws of equal weight but for one in a hundred."""
    weights = np.full(draws, weight)
    weights[::100] = heavy
    return WeightedSample.with_replacement(np.arange(draws), weights, draws)


@pytest.mark.parametrize(
    ("weight", "heavy", "missing"),
    [
        (1.0, 1.0, False),
        (0.05, 0.05, True),  # nothing tells of the rest
        (0.05, 60.0, False),  # .65 in all, half of it from four draws
        (0.05, 30.0, True),  # .35 with a standard error of .15
        (0.05, 44.0, False),  # .49 with one of .22
        (0.6, 0.6, False),  # more than half is accounted for
        (0.4, 0.5, True),
    ],
)
def test_weights_that_do_not_add_up(weight: float, heavy: float, missing: bool) -> None:
    sample = weighted(weight, heavy)
    gap = find_missing_weight(sample, np.ones(400, dtype=bool), 1.0)
    assert (gap is not None) == missing
    if gap is not None:
        assert f"sum to {0.99 * weight + 0.01 * heavy:.2f} and not to 1" in gap.words


def test_weights_are_those_of_the_rows_that_may_add() -> None:
    """A tenth of the pool, met as often as its share: nothing is missing of it."""
    sample = weighted(0.2, 0.2)
    inside = np.arange(400) < 200
    assert find_missing_weight(sample, inside, 0.1) is None
    assert find_missing_weight(sample, inside, 0.5) is not None


class OwnF1(Measure):
    """F1 as a user would write it, who says nothing of what it depends on."""

    name = "own_f1"

    def loss(self, outputs: Outputs, label: np.ndarray) -> np.ndarray:
        f, y = outputs.prediction[:, 0] == 1, label == 1
        return np.stack([f & y, y, f], axis=1).astype(float)

    def value(self, risk: np.ndarray) -> np.ndarray:
        return 2 * risk[:1] / (risk[1] + risk[2])


def test_a_measure_of_ones_own_is_cautious() -> None:
    assert gaps_of(OwnF1(), rows(20, 9, 9, 90)) == [None]
    assert gaps_of(OwnF1(), NO_FALSE_NEGATIVE) != [None]
    assert gaps_of(OwnF1(), NO_FALSE_POSITIVE) != [None]
    assert gaps_of(OwnF1(), rows(5, 9, 4, 90)) != [None]


@pytest.mark.parametrize(
    "sampler",
    fast(
        1,
        [
            AdaptiveImportance(FBeta()),
            Oasis(FBeta()),
            Importance(FBeta()),
            Passive(FBeta()),
            AdaptiveImportance(Precision(), delta=0.1),
        ],
    ),
    ids=lambda sampler: f"{sampler.name}-{sampler.measure.name}",
)
def test_no_composite_claims_more_than_recall(sampler: Sampler) -> None:
    """25 positives that the scores do not find, none where they look: 40 runs of 60 labels."""
    pool = make_pool(2000, 8, seed=4, positive=0.01, strength=4)
    label = pool.label * pool.prediction
    hidden = np.flatnonzero((pool.leaf < 4) & (pool.prediction == 0))[:25]
    label[hidden] = 1
    pool = dataclasses.replace(pool, label=label)
    composites = [FBeta(), FBeta(beta=2), FowlkesMallows(), MatthewsCorrelation(), OwnF1()]
    composites = [one for one in composites if sampler.can_estimate(pool.table, one)]
    silent = 0
    for seed in range(40):
        history, _ = pool.run(sampler, 1, 60, seed)
        measures = [Recall(), *composites]
        recall, *found = sampler.estimate(pool.table, history, measures, 0.95)
        if not recall.claims:
            silent += 1
            assert not any(one.claims for one in found)
            assert all(one.warnings or one.value is None for one in found)
    assert silent >= 10
