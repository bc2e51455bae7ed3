"""What AdaStrat and LogStrat share: waves, strata, labels that are missing or wrong, budgets."""

import re
from typing import Any

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.inference.results import widest_half
from evalsampling.measures import AveragePrecision, FBeta, PRCurve, Prevalence, ROCCurve
from evalsampling.samplers import AdaStrat, LogStrat, RankedSampler
from evalsampling.stats.history import History
from evalsampling.stats.precision_queries import (
    QueryBound,
    head_rank,
    logarithmic_ranks,
    votes_of_head,
)
from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked, finish, labels, next_round

CURVE = PRCurve(thresholds=(0.0,))
LIST = Ranked.of_labels(labels(12_000, seed=1), bins=200, first=20)


def ada(**parameters: Any) -> AdaStrat:
    known = {"epsilon": 0.1, "beta": 1.2, "p_min": 0.28, "m": 10}
    return AdaStrat(**{"measure": CURVE, **known, **parameters})


def log(**parameters: Any) -> LogStrat:
    known = {"epsilon": 0.1, "beta": 1.2, "p_min": 0.28, "m": 10, "first": 130}
    return LogStrat(**{"measure": CURVE, **known, **parameters})


BOTH = [ada(), log()]


@pytest.mark.parametrize("sampler", BOTH, ids=lambda one: one.name)
def test_first_round_is_the_head_and_the_queries_that_are_asked_anyway(
    sampler: RankedSampler,
) -> None:
    known = LIST.known
    head, queried = sampler.first_wave(known.table)
    history = next_round(sampler, known, History.start(), seed=1)
    group = len(LIST.rows) - 1 - history.cell
    exact = LIST.rank[np.unique(group[group <= np.searchsorted(LIST.rank, head)])][-1]
    assert head == exact
    assert len(history) == head + queried
    assert len(np.unique(np.stack([history.cell, history.rank]), axis=1).T) == len(history)


@pytest.mark.parametrize("sampler", BOTH, ids=lambda one: one.name)
def test_every_query_has_the_answers_of_theorem_8_and_no_more(sampler: RankedSampler) -> None:
    """Density s / r_i in the stratum that ends at r_i, s that of all K; but for top-ups by chance.

    Labels of other strata are within 5 % of the sum of theorem 8: a stratum that a later query cuts
    in two may have got more by chance than the upper part needs.
    """
    known = LIST.known
    history = finish(sampler, known, seed=2)
    curve = sampler.curve(known.table, history)
    told = curve.guarantee
    s = QueryBound(1.2, 0.0, 0.05).draws(0.28, told.queries)
    assert told.draws >= s - 1
    ends = np.array([told.head, *told.ranks])
    theorem = np.sum(np.ceil(np.diff(ends) * np.minimum(1, s / ends[1:])))
    assert theorem <= len(history) - told.head <= 1.05 * theorem + 10
    group = len(LIST.rows) - 1 - history.cell
    asked = np.cumsum(np.bincount(group, minlength=len(LIST.rows)))
    counts = np.diff(asked[np.searchsorted(LIST.rank, ends)])
    assert np.all(counts >= np.floor(np.diff(ends) * np.minimum(1, s / ends[1:])) - 1)


@pytest.mark.parametrize("sampler", BOTH, ids=lambda one: one.name)
def test_the_next_question_follows_from_labels_alone(sampler: RankedSampler) -> None:
    """Rounds and labels read anew, as a process that starts from files has them."""
    known = LIST.known
    one = next_round(sampler, known, History.start(), seed=3)
    two = next_round(sampler, known, one, seed=3)
    again = History(two.cell, two.rank, two.label, two.outputs, two.slice, two.rounds)
    here, there = (next_round(sampler, known, h, seed=4) for h in (two, again))
    assert np.array_equal(here.cell, there.cell)
    assert np.array_equal(here.rank, there.rank)


def test_budget_is_kept_and_the_curve_has_the_factor_it_supports() -> None:
    """Half a first query supports a larger beta; later waves go on where it ended."""
    known, sampler = LIST.known, ada()
    head, query = sampler.first_wave(known.table)
    history = next_round(sampler, known, History.start(), budget=head + query // 2)
    assert len(history) == head + query // 2
    curve = sampler.curve(known.table, history)
    half = QueryBound(1.2, 0.0, 0.05).supported(curve.guarantee.draws or 0, 0.28, 1)
    assert curve.guarantee.beta == pytest.approx(half, rel=1e-3), "draws are told in whole numbers"
    assert half > 1.25
    assert not curve.guarantee.settled
    assert "1.32 was asked for" in curve.guarantee.warnings[0]
    rest = next_round(sampler, known, history)
    assert len(rest) == pytest.approx(head + query, abs=3)


def test_a_budget_below_the_head_is_refused() -> None:
    head = ada().first_wave(LIST.known.table)[0]
    with pytest.raises(InputError, match=rf"takes {head} answers\. The budget leaves {head - 1}"):
        next_round(ada(), LIST.known, History.start(), budget=head - 1)


def test_missing_labels_beyond_the_head_are_made_up_for() -> None:
    """A quarter is never answered; others are asked until each query has its answers."""
    known, sampler, rng = LIST.known, ada(), np.random.default_rng(5)
    history = History.start()
    for _ in range(60):
        if sampler.exhausted(known.table, history):
            break
        before = len(history)
        history = next_round(sampler, known, history, seed=5)
        label = history.label.copy()
        tail = np.arange(len(label)) >= max(before, head_rank(0.1, 10, 1) + 40)
        group = len(LIST.rows) - 1 - history.cell
        label[tail & (LIST.rank[group] > 4000) & (rng.random(len(label)) < 0.25)] = -1
        history = history.with_labels(label)
    assert sampler.exhausted(known.table, history)
    curve = sampler.curve(known.table, history)
    assert curve.guarantee.factor <= 1.32


def test_a_head_without_all_labels_guarantees_nothing() -> None:
    known, sampler = LIST.known, ada()
    history = finish(sampler, known, seed=6)
    label = history.label.copy()
    label[np.argmax(history.cell)] = -1
    curve = sampler.curve(known.table, history.with_labels(label))
    assert curve.guarantee.factor is None
    assert "rows of the head have no label" in curve.guarantee.warnings[0]


def test_a_p_min_that_the_labels_contradict_is_told_of() -> None:
    known, sampler = LIST.known, ada(p_min=0.6)
    curve = sampler.curve(known.table, finish(sampler, known, seed=7))
    assert curve.guarantee.factor is None
    assert "p_min is 0.6, but the labels say" in curve.guarantee.warnings[-1]


def rising(first: float, seed: int = 0, top: int = 120) -> Ranked:
    """The first rows are worse than what follows, where the rate is .7."""
    rng = np.random.default_rng(seed)
    label = rng.random(6_000) < np.where(np.arange(6_000) < top, first, 0.7)
    return Ranked.of_labels(label.astype(np.int64), bins=150, first=20)


RISING = {"p_min": 0.4, "first": 60, "m": 5}


@pytest.mark.parametrize(
    ("sampler", "top"),
    [(ada(**RISING), 120), (log(**RISING, beta=1.15), 1_500)],
    ids=["ada", "log"],
)
def test_labels_that_contradict_weak_monotonicity_are_told_of(
    sampler: RankedSampler, top: int
) -> None:
    """Nothing is guaranteed; the queries' own estimates stand, and no interval is inverted."""
    one = rising(0.2, top=top)
    history = finish(sampler, one.known, seed=1)
    curve = sampler.curve(one.known.table, history)
    told = curve.guarantee
    assert told.factor is None
    [words] = told.warnings
    assert re.search(r"precision rises from 0\.\d+ to 0\.\d+ behind rank [\d,]+, so it is", words)
    assert "raise sampler.first or sampler.m" in words
    p = curve.precision
    assert np.all((p.low <= one.precision + 1e-12) & (one.precision <= p.high + 1e-12))
    assert np.all((p.low <= p.value + 1e-12) & (p.value <= p.high + 1e-12))
    at = np.searchsorted(one.rank, told.ranks)
    ratio = p.value[at] / one.precision[at]
    assert 1 / told.beta <= ratio.min() <= ratio.max() <= told.beta
    found = sampler.estimate(one.known.table, history, [PRCurve(thresholds=(0.0, 50.0))], 0.95)
    assert not any(each.reliable or each.half_width < 0.5 for each in found)
    assert widest_half(found) is None


def test_a_rise_that_beta_can_spare_is_warned_of() -> None:
    """By more than a query is off, and less than two: bounds are from the one to the other."""
    one = rising(0.55, seed=2)
    sampler = ada(**RISING, beta=1.15)
    curve = sampler.curve(one.known.table, finish(sampler, one.known, seed=1))
    assert curve.guarantee.factor is not None
    assert "it may not be weakly monotone; raise sampler.first" in curve.guarantee.warnings[0]
    p = curve.precision
    assert np.all((p.low <= one.precision + 1e-12) & (one.precision <= p.high + 1e-12))
    assert np.all((p.low <= p.value) & (p.value <= p.high))
    beyond = one.rank > curve.guarantee.head
    assert np.all(p.high[beyond] > p.low[beyond] * 1.15)


def test_a_contradiction_is_told_in_the_middle_of_a_wave_too() -> None:
    """Queries just begun are too vague to contradict anything, and do not hide that others do."""
    one, sampler = rising(0.2), ada(**RISING, epsilon=0.02)
    history = History.start()
    while not sampler.exhausted(one.known.table, history):
        before = len(history)
        history = next_round(sampler, one.known, history, seed=1)
        begun = history.label.copy()
        begun[before + 3 * (len(begun) - before) // 4 :] = -1
        for part in (history.with_labels(begun), history):
            curve = sampler.curve(one.known.table, part)
            assert curve is None or curve.guarantee.factor is None


def test_p_min_is_bounded_by_the_labels_if_it_is_not_given() -> None:
    """In rounds that double until they suffice for what they show; below the true precision."""
    known, sampler = LIST.known, ada(p_min=None)
    history = finish(sampler, known, seed=8)
    curve = sampler.curve(known.table, history)
    told = curve.guarantee
    assert 0.2 < told.p_min < LIST.precision[-1]
    assert told.factor <= 1.32
    assert told.draws >= QueryBound(1.2, 0.0, 0.025).draws(told.p_min, told.queries) - 1


def test_a_list_labelled_throughout_is_known() -> None:
    """Less rows than a query takes: each is asked about once, and the curve is the truth."""
    short = Ranked.of_labels(labels(300, seed=2), bins=40, first=5)
    sampler = ada()
    history = finish(sampler, short.known, seed=1)
    assert len(history) == 300
    curve = sampler.curve(short.known.table, history)
    assert curve.precision.value == pytest.approx(short.precision)
    assert curve.precision.low == pytest.approx(short.precision)
    assert curve.guarantee.factor == pytest.approx(1)


@pytest.mark.parametrize("answers", [1, 0])
def test_a_list_of_one_class(answers: int) -> None:
    rows = np.full(60, 20)
    one = Ranked(rows, rows * answers)
    sampler = ada(p_min=None)
    history = finish(sampler, one.known, seed=1)
    curve = sampler.curve(one.known.table, history)
    if not answers:
        assert len(history) == 1200, "nothing is found until all is labelled"
    assert curve.precision.value == pytest.approx(np.full(60, answers), abs=1e-9)


def test_wrong_answers_are_outvoted_in_the_head_and_allowed_for_beyond() -> None:
    """eta = .1: each row of the head is asked about until all majorities are right."""
    steep = Ranked.of_labels(labels(6_000, seed=3, last=0.5), bins=200, first=20)
    sampler = AdaStrat(
        measure=CURVE, oracle="stochastic", epsilon=0.1, beta=1.5, eta=0.1, p_min=0.45, m=5
    )
    history = finish(sampler, steep.known, seed=9, eta=0.1)
    curve = sampler.curve(steep.known.table, history)
    head = curve.guarantee.head
    votes = votes_of_head(head, 0.1, 0.025)
    assert votes > 1
    inside = len(steep.rows) - 1 - history.cell < np.searchsorted(steep.rank, head) + 1
    assert inside.sum() == head * votes
    known = steep.rank <= head
    assert curve.precision.value[known] == pytest.approx(steep.precision[known])
    ratio = curve.precision.value / steep.precision
    assert 1 / 1.65 <= ratio.min() <= ratio.max() <= 1.65
    assert np.all(curve.precision.low <= steep.precision + 1e-12)
    assert np.all(curve.precision.high >= steep.precision - 1e-12)


def test_other_measures_are_estimated_from_the_same_labels() -> None:
    """By strata of ranks, unbiased: within 4 standard errors in each of 3 runs."""
    known = LIST.known
    for seed in range(3):
        sampler = ada()
        history = finish(sampler, known, seed=seed)
        share = Prevalence()
        [one] = sampler.estimate(known.table, history, [share], 0.95)
        assert abs(one.value - known.value(share)[0]) < 4 * one.standard_error


@pytest.mark.parametrize("sampler", BOTH, ids=lambda one: one.name)
def test_nothing_behind_the_head_is_told_from_the_head(sampler: RankedSampler) -> None:
    """With labels of the head alone the pool's measures have no value, but a reason."""
    known = LIST.known
    history = next_round(sampler, known, History.start(), seed=1)
    head = sampler.head_and_queries(RankedList.of_cells(known.table))[0]
    inside = len(LIST.rows) - 1 - history.cell <= head
    part = history.with_labels(np.where(inside, history.label, -1))
    [one, two] = sampler.estimate(known.table, part, [Prevalence(), FBeta()], 0.95)
    for found in (one, two):
        assert found.value is None
        assert "no row behind the first" in str(found.reason)
        assert (found.low, found.high) == (0.0, 1.0)
    assert np.isnan(sampler.value(known.table, part, Prevalence(), 0.95)).all()
    [none] = sampler.estimate(known.table, part.with_labels(part.label * 0 - 1), [FBeta()], 0.95)
    assert none.reason == "no labels yet"


@pytest.mark.parametrize("sampler", BOTH, ids=lambda one: one.name)
def test_labels_of_the_head_weigh_what_the_head_is_whatever_else_has_none(
    sampler: RankedSampler,
) -> None:
    """With a hundredth of the labels behind it, so that many strata of ranks have none."""
    known, rng = LIST.known, np.random.default_rng(1)
    history = finish(sampler, known, seed=1)
    head = sampler.head_and_queries(RankedList.of_cells(known.table))[0]
    inside = len(LIST.rows) - 1 - history.cell <= head
    kept = inside | (rng.random(len(history)) < 0.01)
    part = history.with_labels(np.where(kept, history.label, -1))
    sample = sampler.weigh(known.table, part)
    assert sample.weight.sum() == pytest.approx(1)
    assert sample.weight[inside[sample.question]].sum() == pytest.approx(LIST.rank[head] / 12_000)


def test_curves_have_the_bounds_of_the_envelope() -> None:
    known, sampler = LIST.known, ada()
    history = finish(sampler, known, seed=1)
    thresholds = (0.0, 30.0, 100.0, 250.0, 400.0)
    for kind in (PRCurve, ROCCurve, AveragePrecision):
        measure = kind(thresholds=thresholds)
        found = sampler.estimate(known.table, history, [measure], 0.9)
        truth = known.value(measure)
        assert len(found) == len(truth)
        for one, true in zip(found, truth.tolist(), strict=True):
            if np.isfinite(true):
                [interval] = one.intervals
                assert interval.low - 1e-12 <= true <= interval.high + 1e-12
                assert (interval.kind, interval.method) == ("simultaneous", "envelope")
                assert one.confidence == 0.95, "that of delta"
            else:
                assert one.value is None
        told = [np.nan if one.value is None else one.value for one in found]
        got = sampler.value(known.table, history, measure, 0.9)
        assert got.tolist() == pytest.approx(told, nan_ok=True)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"measure": FBeta()}, "ranks rows by score, so a curve or an average precision comes"),
        ({"epsilon": 0}, "epsilon must be above 0 and at most 1, got 0"),
        ({"delta": 1}, "delta must be between 0 and 1, got 1"),
        ({"eta": 0.5}, "eta must be at least 0 and below 1/2"),
        ({"beta": 1}, "beta must be above 1 / \\(1 - eta\\) = 1, got 1"),
        ({"eta": 0.1, "beta": 1.1, "oracle": "stochastic"}, "= 1.111, got 1.1"),
        ({"eta": 0.1, "p_min": 0.4}, "eta above 0 .* needs labels.oracle stochastic"),
        ({"eta": 0.1, "p_min": 0.3, "oracle": "stochastic"}, "p_min must be above 0.333"),
        ({"p_min": 0}, "p_min must be above 0 and at most 1, got 0"),
        ({"p_min": "low"}, "p_min must be a number, got 'low'"),
        ({"m": 0}, "m must be a whole number of at least 1, got 0"),
        ({"first": 2.5}, "first must be a whole number of at least 1, got 2.5"),
        ({"beta": float("nan")}, "beta must be a number, got nan"),
        ({"levels": 0}, "levels must be a whole number of at least 1, got 0"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ada(**parameters)


def test_it_queries_the_nearest_ranks_to_powers() -> None:
    one = Ranked(np.ones(2000, dtype=np.int64), np.zeros(2000, dtype=np.int64))
    sampler = LogStrat(CURVE, epsilon=0.1, first=150, m=10)
    ranked = RankedList.of_cells(one.known.table)
    head, queried = sampler.head_and_queries(ranked)
    exact, wanted = logarithmic_ranks(2000, 150, 0.1)
    assert ranked.rank[head] == exact
    assert ranked.rank[queried] == pytest.approx(wanted, abs=0.51)


def test_one_wave_is_all_and_the_curve_is_within_its_factor() -> None:
    one = Ranked.of_labels(labels(30_000, 2), bins=400, first=200)
    sampler = LogStrat(CURVE, epsilon=0.1, beta=1.15, p_min=0.28, first=250, m=20)
    history = next_round(sampler, one.known, History.start())
    assert sampler.exhausted(one.known.table, history)
    curve = sampler.curve(one.known.table, history)
    assert curve.guarantee.factor <= 1.15 * 1.1
    ratio = curve.precision.value / one.precision
    assert max(ratio.max(), 1 / ratio.min()) <= curve.guarantee.factor
    assert len(finish(sampler, one.known)) == len(history)


def test_pool_shorter_than_the_head_is_known_throughout() -> None:
    """With the defaults any pool of fewer than 3,500 rows is all head."""
    one = Ranked.of_labels(labels(1_000, 2), bins=100)
    sampler = LogStrat(CURVE)
    history = finish(sampler, one.known)
    assert len(history) == 1_000
    curve = sampler.curve(one.known.table, history)
    assert curve.guarantee.factor == 1
    assert curve.precision.value == pytest.approx(one.precision)


def test_m_beyond_theorem_1_is_refused() -> None:
    LogStrat(CURVE, first=3550, m=106)
    with pytest.raises(ValueError, match=r"m is 107, and theorem 1 allows at most .* = 106"):
        LogStrat(CURVE, first=3550, m=107)
