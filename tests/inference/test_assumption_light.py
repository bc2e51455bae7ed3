"""The assumption-light interval of measures, for every sampler."""

import dataclasses

import numpy as np
import pytest

from evalsampling import samplers
from evalsampling.inference.assumption_light import KIND, METHOD
from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import Estimate, as_json
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    MacroF1,
    Measure,
    PRCurve,
    Precision,
    Recall,
)
from evalsampling.samplers import Sampler
from evalsampling.stats.history import NO_LABEL
from tests.inference.tail_pools import tail_pool
from tests.samplers.pools import make_pool

POOL = tail_pool()
LIGHT = ReportedDomains(assumption_light=True)
TWO = ReportedDomains(systems=("a", "b"), assumption_light=True)


def by_leaf(table, history):  # type: ignore[no-untyped-def]
    """Weights that answer to labels: twice as much for each leaf where a positive was met."""
    met = np.bincount(history.cell[history.label == 1], minlength=len(table))
    return 1.0 + np.minimum(2 * met, 30)


SAMPLERS: dict[str, Sampler] = {
    "passive": samplers.Passive(FBeta()),
    "stratified": samplers.Stratified(FBeta()),
    "importance": samplers.Importance(FBeta()),
    "oasis": samplers.Oasis(FBeta()),
    "ais": samplers.AdaptiveImportance(FBeta()),
    "ais, mixed": samplers.AdaptiveImportance(FBeta(), delta=0.1),
    "given": samplers.Given(FBeta(), weights=by_leaf),
    "calibrated": samplers.CalibratedDesign(FBeta()),
}


def light_of(found: Estimate) -> Interval:
    (interval,) = [one for one in found.intervals if one.kind == KIND]
    assert interval.method == METHOD
    assert found.intervals[0] is not interval, "it is not the default"
    return interval


def test_labels_from_the_top_alone_contradict_it() -> None:
    """Nearly all labelled rows are positive, and most rows are not: no interval is inverted."""
    sampler = samplers.Passive(FBeta())
    history = sampler.design(POOL.table, POOL.start(), 1500, np.random.default_rng(1))
    history = POOL.answer(history, POOL.order(1))
    top = history.cell >= len(POOL.table) - 2
    part = history.with_labels(np.where(top, history.label, NO_LABEL))
    for measure in (FBeta(), Recall(), Accuracy()):
        [found] = sampler.estimate(POOL.table, part, [measure], 0.95, LIGHT)
        assert all(one.low <= one.high for one in found.intervals)
        assert found.light is not None
        assert found.light.reason is None or "no random part of those drawn" in found.light.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("passive", "ais", "oasis") else [pytest.mark.slow])
        for name in SAMPLERS
    ],
)
def test_it_holds_the_truth_though_positives_hide_in_the_tail(name: str) -> None:
    """20 runs of 3 rounds of 40: with a level of .95 more than 4 miss with a chance below .003."""
    sampler, measures = SAMPLERS[name], [FBeta(), Recall()]
    truth = [POOL.value(measure) for measure in measures]
    missed = np.zeros(len(measures))
    for seed in range(20):
        history, _ = POOL.run(sampler, 3, 40, seed)
        for place, found in enumerate(sampler.estimate(POOL.table, history, measures, 0.95, LIGHT)):
            interval = light_of(found)
            missed[place] += not interval.low <= truth[place] <= interval.high
    assert missed.max() <= 4


def test_the_default_misses_where_it_holds() -> None:
    """Importance sampling as the scores have it never meets the tail."""
    sampler = SAMPLERS["importance"]
    missed = np.zeros(2)
    for seed in range(20):
        history, _ = POOL.run(sampler, 2, 60, seed)
        (found,) = sampler.estimate(POOL.table, history, [Recall()], 0.95, LIGHT)
        for place, interval in enumerate((found.intervals[0], light_of(found))):
            missed[place] += not interval.low <= POOL.value(Recall()) <= interval.high
    assert missed[0] >= 5
    assert missed[1] == 0


def test_it_narrows_to_the_truth_as_the_pool_is_labelled() -> None:
    pool = tail_pool(400, 5)
    sampler = samplers.Stratified(FBeta())
    widths = []
    for rounds in (1, 3, 7):
        history, _ = pool.run(sampler, rounds, 50, seed=2)
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95, LIGHT)
        interval = light_of(found)
        assert interval.low <= pool.value(FBeta()) <= interval.high
        widths.append(interval.high - interval.low)
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.2


def test_regions_that_are_labelled_are_known_exactly() -> None:
    """Every predicted positive has a label: bounds of true positives are their number."""
    everything = np.flatnonzero(POOL.prediction == 1)
    sampler = samplers.Importance(FBeta())
    history, _ = POOL.run(sampler, 10, 60, seed=1)
    found = sampler.estimate(POOL.table, history, [FBeta()], 0.95, LIGHT)[0]
    assert found.light is not None
    hits = found.light.counts[0]
    assert (hits.rows, hits.labelled) == (len(everything), len(everything))
    assert hits.low == hits.high == hits.met == POOL.label[everything].sum()


def test_words_tell_what_could_hide() -> None:
    sampler = SAMPLERS["ais"]
    history, _ = POOL.run(sampler, 6, 50, seed=3)
    (found,) = sampler.estimate(POOL.table, history, [FBeta()], 0.95, LIGHT)
    assert found.light is not None
    counts, told = found.light.counts[1], found.light.words
    assert f"up to {counts.high:,.0f} false negatives could be among {counts.rows:,} rows" in told
    assert f"the {counts.labelled:,} of these that have a label show {counts.met}" in told
    content = as_json(found)["undetected"]
    assert content["words"] == told
    assert "whatever labels the other rows have" in content["assumes"]
    assert content["counts"][1]["high"] == counts.high


def test_slices_count_their_own_rows() -> None:
    """Complement and total by slice; the truth of each slice is held."""
    rng = np.random.default_rng(1)
    pool = dataclasses.replace(POOL, slice=rng.integers(0, 2, (len(POOL), 1)))
    domains = (Domain(), pool.domain(0, 0), pool.domain(0, 1))
    scope = ReportedDomains(domains, assumption_light=True)
    sampler = samplers.Passive(FBeta())
    history, _ = pool.run(sampler, 5, 120, seed=1)
    found = sampler.estimate(pool.table, history, [Accuracy()], 0.95, scope)
    assert [one.target.slice for one in found] == [None, "column-0=0", "column-0=1"]
    for one, rows in zip(
        found, (POOL.leaf >= 0, *(pool.slices[:, 0] == v for v in (0, 1))), strict=True
    ):
        assert one.light is not None
        errors = int(np.sum((pool.prediction != pool.label)[rows]))
        assert one.light.counts[0].rows == rows.sum()
        assert one.light.counts[0].low <= errors <= one.light.counts[0].high
        assert one.light.counts[0].high < 0.3 * rows.sum()


def test_several_classes() -> None:
    pool = make_pool(600, 6, seed=3, classes=3)
    sampler = samplers.Passive(Accuracy())
    history, _ = pool.run(sampler, 5, 100, seed=1)
    measure = MacroF1(3)
    (found,) = sampler.estimate(pool.table, history, [measure], 0.95, LIGHT)
    interval = light_of(found)
    assert 0 < interval.low <= pool.value(measure) <= interval.high < 1


def test_stochastic_oracle_bounds_sums_of_probabilities() -> None:
    """30 runs; what is estimated is the mean over rows and labels."""
    chance = np.where(POOL.leaf[:, None] >= 17, [0.2, 0.8], [0.99, 0.01])
    sampler = samplers.Passive(Accuracy(), "stochastic")
    right = np.where(POOL.prediction == 1, chance[:, 1], chance[:, 0]).mean()
    missed, widths = 0, []
    for seed in range(30):
        history, _ = POOL.run_stochastic(sampler, chance, 3, 150, seed)
        (found,) = sampler.estimate(POOL.table, history, [Accuracy()], 0.95, LIGHT)
        interval = light_of(found)
        missed += not interval.low <= right <= interval.high
        widths.append(interval.high - interval.low)
    assert missed <= 5
    assert np.median(widths) < 0.2


def test_missing_labels_are_left_out() -> None:
    """A third without a label, whatever the row: wider than with all, and the truth is held."""
    sampler = samplers.Passive(FBeta())
    rng = np.random.default_rng(1)
    missed, wider = 0, 0
    for seed in range(15):
        history, _ = POOL.run(sampler, 4, 100, seed)
        some = np.where(rng.random(len(history)) < 1 / 3, NO_LABEL, history.label)
        highs = []
        for one in (history, history.with_labels(some)):
            (found,) = sampler.estimate(POOL.table, one, [Accuracy()], 0.95, LIGHT)
            highs.append(light_of(found))
        missed += not highs[1].low <= POOL.value(Accuracy()) <= highs[1].high
        wider += highs[1].high - highs[1].low > highs[0].high - highs[0].low
    assert missed <= 3
    assert wider >= 13


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (Brier(), "brier is not a function of numbers of rows by prediction and label"),
        (Precision(), None),
    ],
)
def test_measures_of_scores_have_none_and_say_so(measure: Measure, words: str | None) -> None:
    sampler = samplers.Passive(FBeta())
    history, _ = POOL.run(sampler, 2, 100, seed=1)
    (found,) = sampler.estimate(POOL.table, history, [measure], 0.95, LIGHT)
    assert found.light is not None
    if words is None:
        light_of(found)
        return
    assert words in found.light.words
    assert found.light.interval is None
    assert not [one for one in found.intervals if one.kind == KIND]
    assert as_json(found)["undetected"]["assumes"] is None


def test_curves_have_none() -> None:
    sampler = samplers.Passive(FBeta())
    history, _ = POOL.run(sampler, 2, 100, seed=1)
    found = sampler.estimate(POOL.table, history, [PRCurve((3.0, 10.0))], 0.95, LIGHT)
    assert all(one.light is None for one in found)


def test_rounds_of_before_and_cells_of_several_predictions_are_refused() -> None:
    sampler = samplers.Passive(FBeta())
    history, _ = POOL.run(sampler, 1, 100, seed=1)
    old = tuple(dataclasses.replace(one, cell_probability=None) for one in history.rounds)
    (found,) = sampler.estimate(
        POOL.table, dataclasses.replace(history, rounds=old), [FBeta()], 0.95, LIGHT
    )
    assert found.light is not None
    assert "before the chances of all cells were kept" in found.light.words

    rng = np.random.default_rng(1)
    prediction = np.stack([POOL.prediction, rng.integers(0, 2, len(POOL))], axis=1)
    mixed = dataclasses.replace(POOL, prediction=prediction, slots=2)
    history, _ = mixed.run(sampler, 1, 100, seed=1)
    (found,) = sampler.estimate(mixed.table, history, [FBeta(system=1)], 0.95, TWO)
    assert found.light is not None
    assert "some cells hold rows of different predictions" in found.light.words


def test_it_is_left_out_unless_it_is_asked_for() -> None:
    sampler = samplers.Passive(FBeta())
    history, _ = POOL.run(sampler, 1, 100, seed=1)
    (found,) = sampler.estimate(POOL.table, history, [FBeta()], 0.95)
    assert found.light is None
    assert KIND not in [one.kind for one in found.intervals]
