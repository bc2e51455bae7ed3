"""What a measure is at least, unless many positives score lower than all that were met."""

import dataclasses
import math

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.inference.breakdown import SHARE, Breakdown, below_all_met, breakdown
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.undetected import Rules, Undetected
from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from tests.inference.tail_pools import tail_pool
from tests.samplers.pools import Pool
from tests.slow import fast

LIGHT = ReportedDomains(assumption_light=True)


def estimated(pool: Pool, measure: Measure, seed: int, rounds: int = 4):  # type: ignore[no-untyped-def]
    """Return the light part of an estimate by importance sampling, and the history."""
    sampler = samplers.AdaptiveImportance(FBeta(), delta=0.1)
    history, _ = pool.run(sampler, rounds, 60, seed)
    (estimate,) = sampler.estimate(pool.table, history, [measure], 0.95, LIGHT)
    return estimate, history


def breakdown_of(pool: Pool, sampler, history) -> Breakdown | None:  # type: ignore[no-untyped-def]
    (estimate,) = sampler.estimate(pool.table, history, [Recall()], 0.95, LIGHT)
    return estimate.light.breakdown


def positives_below(pool: Pool, history) -> float:  # type: ignore[no-untyped-def]
    """Return the share of all positives that score lower than all that were met."""
    met = history.cell[history.label == 1]
    below = below_all_met(pool.table, 1, met)
    return float(pool.truth[below, 1].sum() / pool.truth[:, 1].sum())


SIZES = [
    (3000, 0),
    (3000, 10),
    (30_000, 200),
    (30_000, 600),
]
"""Rows of a pool, and its positives that no score shows."""


@pytest.mark.parametrize("measure", [Recall(), FBeta()], ids=["recall", "f1"])
@pytest.mark.parametrize(("rows", "hidden"), fast(1, SIZES))
def test_one_of_the_two_holds(measure: Measure, rows: int, hidden: int) -> None:
    """In 25 runs at a level of .95 more than 4 are wrong with a chance below .01; none is here."""
    pool = tail_pool(rows, hidden)
    truth, stated, wrong = pool.value(measure), 0, 0
    for seed in range(25):
        estimate, history = estimated(pool, measure, seed)
        part = estimate.light.breakdown
        if part is None:
            continue
        stated += 1
        wrong += truth < part.least and positives_below(pool, history) <= part.share
    assert stated >= 3
    assert wrong == 0


@pytest.mark.slow
def test_it_follows_from_the_event() -> None:
    """Wherever the event holds, recall is at least the bound, or the share below is greater.

    Random rules and positives of four cells, with as large an alpha as the event allows: about half
    of the cases have a smaller share below, and some a recall below the bound.
    """
    rng, few, beneath = np.random.default_rng(1), 0, 0
    for _ in range(400):
        hidden = rng.integers(0, 12, 4)
        rows = hidden + rng.integers(1, 200, 4)
        rules = Rules(
            rng.uniform(0, 1, (3, 4)), rng.uniform(-1, 1, 3), np.full(3, 1 / 3), np.ones(3)
        )
        process = np.mean(np.exp(rules.slope @ hidden - rules.offset))
        alpha = min(1 / process, 0.999)
        unsearched = np.array([True, True, False, False])
        found, met = float(rng.integers(5, 60)), int(rng.integers(0, 5))
        part = breakdown(
            Undetected(rules, rows, alpha),
            unsearched,
            np.zeros(4, dtype=np.int64),
            (found, met),
            lambda missed, found=found: found / (found + missed),  # type: ignore[misc]
            1 - alpha,
        )
        if part is None:
            continue
        below, positives = hidden[:2].sum(), found + met + hidden.sum()
        is_beneath, is_few = found / positives < part.least - 1e-12, below <= SHARE * positives
        assert not (is_beneath and is_few)
        few, beneath = few + is_few, beneath + is_beneath
    assert few >= 20
    assert beneath >= 20


def test_even_labels_of_a_tail_follow_the_rule_of_three() -> None:
    """With n even labels of N rows and no positive, N ln(1 / alpha) / n may be positives."""
    rows, alpha, positives = 100_000, 0.05, 90.0
    bet = Rules(np.array([[500 / rows, 1e9]]), np.zeros(1), np.ones(1), np.ones(1))
    part = breakdown(
        Undetected(bet, np.array([rows, 10]), alpha),
        np.array([True, False]),
        np.array([500, 0]),
        (positives, 0),
        lambda missed: positives / (positives + missed),
        0.95,
    )
    assert part is not None
    assert part.least == pytest.approx(1 - SHARE)
    hidden = SHARE / (1 - SHARE) * positives
    assert part.labels + 500 == pytest.approx(rows * math.log(1 / alpha) / hidden, rel=0.01)
    assert (part.rows, part.labelled) == (rows + 500, 500)


def test_the_labels_that_it_names_rule_it_out() -> None:
    """With a quarter more of them, even and without a positive, nothing is left to suppose."""
    pool = tail_pool(100_000, 0)
    pool = dataclasses.replace(pool, label=np.where(pool.leaf < 15, 0, pool.label))
    sampler = samplers.AdaptiveImportance(FBeta(), delta=0.1)
    history, order = pool.run(sampler, 4, 60, seed=1)
    part = breakdown_of(pool, sampler, history)
    assert part is not None
    below = below_all_met(pool.table, 1, history.cell[history.label == 1])
    even = samplers.Given(FBeta(), weights=lambda table, _: np.where(below, 1.0, 1e-9))

    def after(factor: float) -> Breakdown | None:
        labels, rng = int(factor * part.labels), np.random.default_rng(5)
        more = even.design(pool.table, history, labels, rng)
        return breakdown_of(pool, sampler, pool.answer(more, order))

    half = after(0.5)
    assert half is not None
    assert half.labels == pytest.approx(part.labels / 2, rel=0.25)
    assert after(1.25) is None


@pytest.mark.parametrize("measure", [Precision(), Accuracy()], ids=["precision", "accuracy"])
def test_measures_that_hidden_positives_do_not_lower_by_recall_have_none(measure: Measure) -> None:
    estimate, _ = estimated(tail_pool(), measure, 1)
    assert estimate.light.breakdown is None


def test_there_is_none_without_a_positive() -> None:
    pool = tail_pool()
    nothing = dataclasses.replace(pool, label=np.zeros_like(pool.label))
    estimate, history = estimated(nothing, Recall(), 1)
    assert not below_all_met(pool.table, 1, history.cell[history.label == 1]).any()
    assert estimate.light is None or estimate.light.breakdown is None


def test_it_claims_no_more_than_the_interval_beside_it() -> None:
    """Its bound is at most the lower end of the default interval without such positives."""
    sampler = samplers.CalibratedDesign(FBeta())
    pool = tail_pool()
    for seed in range(5):
        history, _ = pool.run(sampler, 4, 60, seed)
        (estimate,) = sampler.estimate(pool.table, history, [FBeta()], 0.95, LIGHT)
        part: Breakdown | None = estimate.light.breakdown
        if part is not None and estimate.without_unmet is not None:
            assert part.least <= estimate.without_unmet.low
