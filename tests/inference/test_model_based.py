"""Model-based intervals: what they hold, and other shares of hidden positives."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from evalsampling import Evaluation
from evalsampling.inference import model_based
from evalsampling.inference.domains import Domain
from evalsampling.inference.drawn_range import DrawnRange, shortest_interval, simultaneous
from evalsampling.inference.estimates import choose
from evalsampling.inference.evidence import Evidence
from evalsampling.inference.intervals import Interval, whole_range
from evalsampling.inference.model_based import (
    DRAWS_ERR,
    FULL_EVIDENCE,
    DrawnNumber,
    between,
    by_model,
    share_held,
    weight_of_draws,
)
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.significance import Significance
from evalsampling.measures import FBeta, PRCurve, Recall
from evalsampling.measures.base import Measure
from evalsampling.spec.hidden import HiddenPrior
from tests.samplers.pools import make_pool
from tests.slow import slowly
from tests.stats.histories import labelled_at_random

TARGET = Target("f1", (0.0, 1.0))


def drawn_of(*values: float) -> DrawnRange:
    return DrawnRange(np.array(values), np.array(values))


def found(value: float | None, low: float, high: float, error: float | None = 0.1) -> Estimate:
    design = Interval(low, high, "design-based", "korn-graubard")
    return Estimate(TARGET, value, error, 0.95, (design,))


def combined(one: Estimate, drawn: DrawnRange) -> DrawnNumber:
    return DrawnNumber(one, drawn, pull=weight_of_draws(one.standard_error, drawn))


def chosen(one: Estimate, drawn: DrawnRange, met: float) -> Estimate:
    """The estimate with an interval of draws alone, of enough labelled rows."""
    return choose(one, DrawnNumber(one, drawn, evidence=25, observed=met))


def averaged(one: Estimate, low: float, high: float, weight: float) -> Interval:
    """The interval of a number whose draws lie evenly between two ends."""
    interval = DrawnNumber(one, drawn_of(*np.linspace(low, high, 11)), weight=weight).interval
    assert interval is not None
    return interval


def estimates_of(
    design: list[Estimate],
    measure: Measure,
    model: LabelModel,
    expected: float | None = None,
    combine: bool = False,
    band: bool = False,
) -> list[Estimate]:
    """Estimates with their model-based intervals, of enough labelled rows."""
    errors = [one.standard_error if expected is None else expected for one in design]
    estimand = SimpleNamespace(
        measure=measure,
        inputs=SimpleNamespace(model=model, history=model.history, combine=combine),
        domain=Domain(),
        is_pool=True,
        linearisation=SimpleNamespace(measure=measure),
        evidence=[Evidence("rows")] * len(design),
        fewest_rows=lambda _: np.full(len(design), FULL_EVIDENCE),
        expected_error=lambda _: np.array(errors, dtype=np.float64),
    )
    return list(map(choose, design, by_model(design, estimand, band)))  # type: ignore[arg-type]


def test_estimate_and_median_are_weighted_by_standard_deviations() -> None:
    drawn = drawn_of(0.2, 0.3, 0.7, np.nan)
    spread = np.std([0.2, 0.3, 0.7])
    one = combined(found(0.5, 0.1, 0.9, 0.4), drawn)
    share = 0.4 / np.hypot(0.4, spread)
    assert one.value == pytest.approx((1 - share) * 0.5 + share * 0.3)
    assert one.error == pytest.approx((1 - share) * 0.4 + share * spread)
    certain = drawn_of(*[0.1] * 9)
    assert combined(found(0.5, 0.0, 1.0), certain).value == pytest.approx(0.1)
    assert combined(found(0.5, 0.4, 0.6, 0.0), certain).value == 0.5
    assert combined(found(None, 0, 1, None), drawn).value is None
    undefined = drawn_of(*[np.nan] * 9)
    assert combined(found(0.5, 0.4, 0.6), undefined).value == 0.5


def test_median_stands_alone_where_the_design_met_nothing_against_its_value() -> None:
    """Its variance is then not 0 but unknown."""
    drawn = drawn_of(0.2, 0.3, 0.7)
    one = combined(found(1.0, 0.0, 1.0, 0.0), drawn)
    assert one.value == 0.3
    assert one.error == pytest.approx(np.std([0.2, 0.3, 0.7]))


@pytest.mark.parametrize(("low", "high", "value"), [(0.4, 0.6, 0.4), (0.0, 1.0, 0.1)])
def test_value_stays_within_what_the_design_claims(low: float, high: float, value: float) -> None:
    one = combined(found(0.5, low, high), drawn_of(*[0.1] * 9))
    assert one.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("met", "low", "high"), [(1.0, 0.235, 1.0), (0.0, 0.0, 0.865), (0.7, 0.235, 0.865)]
)
def test_interval_holds_a_bound_that_no_labelled_row_excludes(
    met: float, low: float, high: float
) -> None:
    middle = np.linspace(0.235, 0.865, 1940)  # .97 of the draws, the others far apart
    drawn = drawn_of(*middle, *np.linspace(0.0, 0.2, 30), *np.linspace(0.9, 1.0, 30))
    one = chosen(found(0.5, 0.0, 1.0), drawn, met)
    assert one.low == pytest.approx(low, abs=0.01)
    assert one.high == pytest.approx(high, abs=0.01)


def test_model_that_labels_contradict_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of()
    monkeypatch.setitem(model.__dict__, "contradiction", "of 60 labelled rows 0 are positive")
    design = found(0.5, 0.4, 0.6)
    (one,) = estimates_of([design], FBeta(), model, combine=True)
    assert one.intervals == design.intervals
    assert one.value == 0.5
    assert not one.warnings
    (words,) = one.notes
    assert words.startswith("f1: scores and labels do not fit a curve")
    assert words.endswith("of 60 labelled rows 0 are positive")


def test_value_of_too_few_rows_far_from_what_scores_say_is_told() -> None:
    """No false negative was met, so recall comes out as 1, whatever the scores say."""
    drawn = drawn_of(*np.linspace(0.2, 0.9, 2000))
    far = chosen(found(1.0, 0.0, 1.0, 0.0), drawn, 1.0)
    assert not far.warnings  # the interval is right
    (words,) = far.notes
    assert words.startswith("f1: 1 is the value of the labelled rows")
    assert not chosen(found(0.6, 0.0, 1.0, 0.0), drawn, 0.6).notes


def test_interval_that_labels_only_just_suffice_for_holds_more_draws() -> None:
    held = [share_held(0.95, evidence) for evidence in range(60)]
    assert held[:11] == pytest.approx([1 - 0.005 * DRAWS_ERR] * 11)
    assert held[25:] == pytest.approx([1 - 0.05 * DRAWS_ERR] * 35)
    error = 1 - np.array(held[10:26])
    np.testing.assert_allclose(error[1:] / error[:-1], 10 ** (1 / 15), rtol=1e-9)


@pytest.mark.parametrize(("others", "labels", "scarce"), [(0, 150, False), (200, 30, True)])
def test_rows_of_a_share_are_few_only_if_more_have_no_label(
    others: int, labels: int, scarce: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positives with great scores are met at once, the 200 others with less hardly."""
    rng = np.random.default_rng(3)
    match = np.arange(5000) < 16 + others
    mean = np.repeat([3.0, -2.5, -6.0], [16, others, 5000 - 16 - others])
    score = rng.normal(mean, np.repeat([1.5, 0.5, 1.0], [16, others, 5000 - 16 - others]))
    pool = {"score": score, "says": score > 2.5}
    evaluation = Evaluation.from_frame(
        pool, score="score", prediction="says", measure=["recall"], seed=7
    )
    ids = evaluation.sample(labels)
    evaluation.label(ids, match[ids])
    asked: list[int] = []

    def share_recorded(confidence: float, evidence: int) -> float:
        asked.append(evidence)
        return share_held(confidence, evidence)

    monkeypatch.setattr(model_based, "share_held", share_recorded)
    evaluation.estimate()
    met = int(match[ids].sum())
    assert 10 <= met < 25
    assert {*asked} == {met if scarce else labels}


def test_median_counts_for_less_where_cells_leave_the_number_open() -> None:
    """Its variance is that of a number that is as likely anywhere between the ends."""
    ends = np.array([0.2, 0.4])
    drawn = DrawnRange(ends, ends + 0.3)
    inside = (ends[:, None] + 0.3 * np.linspace(0, 1, 10_001)).ravel()
    assert drawn.variance == pytest.approx(np.var(inside), rel=1e-3)
    one = combined(found(0.9, 0.0, 1.0, 0.2), drawn)
    share = 0.2 / np.sqrt(0.2**2 + drawn.variance)
    assert 0.7 < share < 0.2 / np.sqrt(0.2**2 + np.var(ends))
    assert one.value == pytest.approx((1 - share) * 0.9 + share * 0.45)


def test_median_counts_for_nothing_where_cells_leave_more_open_than_labels() -> None:
    ends = np.array([0.2, 0.4])
    assert DrawnRange(ends, ends + 0.39).is_informative
    drawn = DrawnRange(ends, ends + 0.41)
    assert not drawn.is_informative
    assert combined(found(0.9, 0.8, 1.0), drawn).value == 0.9


def test_interval_is_the_mean_of_those_of_draws_and_design() -> None:
    one = averaged(found(0.5, 0.4, 0.9), 0.3, 0.55, 0.6)
    assert one.low == pytest.approx(0.4 * 0.4 + 0.6 * 0.3)
    assert one.high == pytest.approx(0.4 * 0.9 + 0.6 * 0.55)


@pytest.mark.parametrize(
    ("error", "expected", "least", "wanted"),
    [
        (0.1, 0.4, 0.0, 0.2),
        (0.4, 0.1, 0.0, 0.2),
        (0.1, 0.0, 0.0, 0.1),
        (0.1, np.nan, 0.0, 0.1),
        (0.14, np.inf, 0.0, np.inf),
        (0.16, 1.0, 0.15, 0.4),
        (0.14, 1.0, 0.15, 1.0),  # so far below the predicted one it counts for nothing
        (0.0, 1.0, 0.15, 0.0),  # no labelled row contradicts the value
    ],
)
def test_intervals_go_by_an_error_between_the_two(
    error: float, expected: float, least: float, wanted: float
) -> None:
    assert between(error, expected, least) == pytest.approx(wanted)
    assert between(None, expected) is None


def test_expected_error_weighs_the_interval_and_not_the_value() -> None:
    """Where the design met nothing of what matters, draws count for more in the interval alone."""
    model = model_of()
    design = [found(0.5, 0.45, 0.55, 0.01)]
    (alone,) = estimates_of(design, FBeta(), model, combine=True)
    (other,) = estimates_of(design, FBeta(), model, expected=1.0, combine=True)
    assert other.value == alone.value
    assert other.high - other.low > alone.high - alone.low


def test_interval_is_of_draws_alone_where_the_design_claims_nothing() -> None:
    one = averaged(found(0.5, 0.0, 1.0, 0.1), 0.6, 0.75, 0.3)
    assert (one.low, one.high) == (0.5, 0.75)
    assert averaged(found(None, 0.0, 1.0), 0.6, 0.7, 0.3).high == 0.7


def test_band_is_the_mean_of_both_bands_and_holds_the_estimate() -> None:
    one = found(0.5, 0.4, 0.9)
    (band,) = DrawnNumber(one, weight=0.3, ends_of_band=(0.6, 0.7)).band
    assert (band.low, band.high) == (0.5, 0.7), "the design has none"
    of_design = Interval(0.2, 1.0, "simultaneous", "bootstrap")
    one = dataclasses.replace(one, intervals=(*one.intervals, of_design))
    (band,) = DrawnNumber(one, weight=0.3, ends_of_band=(0.6, 0.7)).band
    assert (band.low, band.high) == (pytest.approx(0.32), pytest.approx(0.91))


@pytest.mark.parametrize("value", [0.05, 0.3, 0.95])
def test_interval_holds_an_estimate_that_was_moved_out_of_the_design_based_one(
    value: float,
) -> None:
    one = averaged(found(value, 0.5, 0.7), 0.45, 0.6, 0.5)
    assert one.low <= value <= one.high


def model_of(
    hidden: HiddenPrior = HiddenPrior(),  # noqa: B008
    seed: int = 1,
    labels: int = 400,
) -> LabelModel:
    pool = make_pool(4000, 12, seed=3, positive=0.03)
    history = labelled_at_random(pool, labels, seed=4)
    return LabelModel.fit(pool.table, history, (seed,), hidden)


@pytest.mark.parametrize("hidden", [HiddenPrior(0.1, 0.2), *slowly(HiddenPrior())])
def test_other_shares_are_those_of_a_new_fit(hidden: HiddenPrior) -> None:
    """By weighting, or by a fit with that share: ends to .04, of intervals .2 to .6 wide."""
    model = model_of(hidden)
    values = Recall().values(model.everywhere.risks(Recall()))[:, 0]
    nothing = Estimate(TARGET, None, None, 0.95, (whole_range((0.0, 1.0), "no labels"),))
    (one,) = estimates_of([nothing], Recall(), model)
    held = share_held(0.95, 25)
    assert (one.intervals[0].low, one.intervals[0].high) == shortest_interval(values, held)
    assert [s.share / hidden.share for s in one.sensitivity] == pytest.approx([0.5, 2.0])
    for told in one.sensitivity:
        anew = hidden.with_share(told.share)
        drawn = [
            Recall().values(model_of(anew, seed).everywhere.risks(Recall()))[:, 0]
            for seed in (2, 3, 4)
        ]
        low, high = shortest_interval(np.concatenate(drawn), held)
        assert told.low == pytest.approx(low, abs=0.05)
        assert told.high == pytest.approx(high, abs=0.05)


@pytest.mark.parametrize("observed", [0.0, 0.5, 1.0])
def test_a_bound_that_labels_attain_holds_under_any_share(observed: float) -> None:
    """With twice as many hidden positives thought likely, no interval has a lower upper end."""
    drawn = drawn_of(*np.linspace(0.6, 0.9, 200))
    one = DrawnNumber(
        found(0.8, 0.5, 0.95), drawn, evidence=25, observed=observed, other_shares={0.1: drawn}
    )
    (told,), interval = one.sensitivity, one.interval
    assert interval is not None
    assert (told.low, told.high) == (interval.low, interval.high)


def compared(low: float, high: float, *drawn: float, weight: float = 1.0) -> DrawnNumber:
    """A difference by draws, and an interval of the design."""
    target = Target("f1", (-1.0, 1.0), against="old")
    design = dataclasses.replace(found(None, low, high), target=target)
    return DrawnNumber(design, drawn_of(*drawn), weight=weight, evidence=25)


def test_draws_that_tie_but_for_rounding_tell_of_no_difference() -> None:
    """Numbers added in another order differ by 1e-17 where two systems are equal."""
    number = compared(-0.2, 0.2, *[1e-17] * 95, *[-1e-17] * 105)
    assert number.test == Significance(1.0, chance_above=0.5)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_p_value_and_chance_of_a_comparison_go_with_its_interval(weight: float) -> None:
    rng = np.random.default_rng(8)
    sides = set()
    for shift in np.linspace(-0.4, 0.4, 41):
        number = compared(shift - 0.2, shift + 0.25, *rng.normal(shift, 0.1, 400), weight=weight)
        interval, tested = number.interval, number.test
        above, below = interval.low > 0, interval.high < 0
        assert (tested.p_value <= 0.05) == (above or below)
        assert (tested.chance_above >= 0.975) == above
        assert (tested.chance_above <= 0.025) == below
        sides.add((above, below))
    assert len(sides) == 3


def test_a_p_value_of_draws_is_twice_the_share_beyond_no_difference() -> None:
    """But for the factor by which their interval is wider than one of a right curve."""
    drawn = stats.norm.ppf((np.arange(1000) + 0.5) / 1000) / 10
    number = compared(-1.0, 1.0, *(drawn + 0.15))
    assert number.test.p_value == pytest.approx(2 * stats.norm.sf(1.5) / DRAWS_ERR, rel=0.05)
    beyond = compared(-1.0, 1.0, *(drawn + 0.5))
    assert beyond.test.p_value == pytest.approx(2 * stats.norm.sf(5), rel=3)
    assert beyond.test.chance_above == 1 - beyond.test.p_value / 2


def test_draws_that_all_tell_of_one_difference_leave_no_chance_of_none() -> None:
    number = compared(0.2, 0.2, *[0.2] * 200)
    assert number.test == Significance(0.0, chance_above=1.0)


def test_without_draws_in_front_the_test_is_that_of_the_design() -> None:
    number = compared(0.1, 0.3, *np.linspace(-0.12, -0.04, 400))
    tested = Significance(0.002, degrees=40.0)
    design = dataclasses.replace(number.design, significance=tested)
    in_front = choose(design, dataclasses.replace(number, design=design, evidence=0))
    assert in_front.intervals[0].kind == "design-based"
    assert in_front.significance == tested
    by_draws = choose(design, dataclasses.replace(number, design=design)).significance
    assert by_draws.chance_above < 1 / 800


def test_assisted_interval_stands_before_the_others() -> None:
    model = model_of()
    (one,) = estimates_of([found(0.5, 0.4, 0.6)], FBeta(), model)
    assert [i.kind for i in one.intervals] == ["model-based", "design-based"]
    assert one.intervals[0].method == "calibration-curve"
    assert one.intervals[0].low <= 0.5 <= one.intervals[0].high
    assert one.value == 0.5
    assert one.reliable


def test_band_holds_under_half_and_twice_the_share_too() -> None:
    model, curve = model_of(), PRCurve(thresholds=(0.2, 0.5, 0.8))
    one = [found(0.5, 0.4, 0.6)] * len(curve.components)
    combined = estimates_of(one, curve, model, band=True)
    for factor in (0.5, 1.0, 2.0):
        ends = model.with_share(model.hidden.share * factor).everywhere.bounds(curve)
        low, high = simultaneous(ends[0], 0.95)[0], simultaneous(ends[1], 0.95)[1]
        for each, a, b in zip(combined, low, high, strict=True):
            band = each.intervals[-1]
            assert band.method == "calibration-curve, simultaneous"
            assert band.low <= max(a, 0)
            assert band.high >= min(b, 1)
            assert 0 <= band.low <= band.high <= 1


def test_band_holds_what_the_design_says_of_each_point() -> None:
    """Far out the draws make recall less than 1 however many positives were met."""
    model, curve = model_of(), PRCurve(thresholds=(0.2, 0.5, 0.8))
    one = [found(1.0, 0.9, 1.0)] * len(curve.components)
    combined = estimates_of(one, curve, model, band=True, combine=True)
    assert [each.intervals[-1].high for each in combined] == [1.0] * len(one)
    assert min(each.value for each in combined) < 1.0


def test_words_about_the_value_stay() -> None:
    """Words about the design-based interval go with it; that the value was cut is still true."""
    model = model_of()
    words = "f1: the weighted estimate 1.2 lies outside its range and was cut"
    one = dataclasses.replace(found(1.0, 0.7, 1.0), warnings=("f1: few rows",), notes=(words,))
    (combined,) = estimates_of([one], FBeta(), model)
    assert combined.intervals[0].kind == "model-based"
    assert combined.notes[0] == words
    assert "f1: few rows" not in combined.warnings


def test_what_is_left_without_unmet_positives_is_part_of_the_interval() -> None:
    """Without them a measure is higher in each draw, so its draws alone would reach beyond."""
    model = model_of()
    for value, low, high in ((0.5, 0.4, 0.6), (0.1, 0.05, 0.2), (1.0, 0.9, 1.0)):
        (one,) = estimates_of([found(value, low, high)], FBeta(), model)
        assert one.low <= one.without_unmet.low <= one.without_unmet.high <= one.high


def test_intervals_that_do_not_meet_leave_nothing() -> None:
    number = DrawnNumber(found(None, 0.0, 1.0), drawn_of(0.3, 0.4), aside=drawn_of(0.1, 0.2))
    assert number.without_unmet is None
    reaching = dataclasses.replace(number, aside=drawn_of(0.1, 0.35))
    part = Interval(0.3, 0.35, "model-based", "calibration-curve")
    assert reaching.without_unmet == part


def test_draws_of_which_cells_leave_all_open_have_no_interval() -> None:
    low, high = np.array([0.0, 0.1]), np.array([1.0, 0.9])
    assert DrawnNumber(found(0.5, 0.0, 1.0), DrawnRange(low, high)).interval is None
    assert DrawnNumber(found(0.5, 0.0, 1.0), drawn_of(0.0, 1.0)).interval is not None


@pytest.mark.slow
def test_what_another_system_found_does_not_narrow_a_recall() -> None:
    """Of 93 positives both find 45, a 15 more, b 25. By .95, less than 10 of 12 hold in .02.

    By a mean of both intervals in place of all that draws hold, recall of b holds in 7 of 12.
    """
    a, b = np.random.default_rng(12).normal(-5, 1, (2, 60_000))
    a[:85] += np.repeat([8, 2.5], [60, 25])
    b[:85] += np.repeat([8, 2.5, 8], [45, 15, 25])
    label, pool = (np.arange(60_000) < 93).astype(int), {"id": np.arange(60_000)}
    pool |= {"a": a.round(1), "b": b.round(1), "of_a": a > 0, "of_b": b > 0}
    both = {system: {"score": system, "prediction": f"of_{system}"} for system in "ab"}
    truth, held = [pool[f"of_{system}"][:93].mean() for system in "ab"], np.zeros(2)
    for seed in range(12):
        evaluation = Evaluation.from_frame(pool, id="id", measure="recall", seed=seed, systems=both)
        for _ in range(4):
            ids = np.asarray(evaluation.sample(50))
            evaluation.label(ids, label[ids])
        of_each = evaluation.estimate()[:2]
        held += [one.low <= right <= one.high for one, right in zip(of_each, truth, strict=True)]
    assert held.min() >= 10


def test_runs_that_met_many_by_chance_are_right_as_often_as_told() -> None:
    """Rare positives of a known rate: what is claimed with 10 or more covers the mean number.

    Draws of the mean given the number met are gamma ones, those of a flat prior. Where one run of
    twenty claims, the interval of .95 of them holds it in .54 of the claims.
    """
    rng = np.random.default_rng(5)
    draws = rng.gamma(1, size=2000)  # of each number met, the same uniforms
    level = stats.gamma.cdf(draws, 1)
    for mean, least in ((5.4, 0.85), (9.0, 0.93), (20.0, 0.94)):
        met = np.arange(10, 80)
        chance = stats.poisson.pmf(met, mean)
        covered = []
        for number in met:
            values = stats.gamma.ppf(level, number + 1)
            low, high = DrawnRange(values, values).interval(share_held(0.95, int(number)))
            covered.append(low <= mean <= high)
        assert chance @ covered / chance.sum() >= least


@pytest.mark.parametrize("seed", [4, *slowly(18, 20, 21)])
def test_where_labels_decide_the_threshold_the_interval_holds_that_of_the_draws(seed: int) -> None:
    """Labels that met no positive in low ranks put it too high, by a slope that is too small."""
    rng = np.random.default_rng([seed, 78])
    truth = rng.random(20_000) < 0.01
    score = 3 * (rng.normal(size=20_000) + 3 * truth) - 4.5 + np.log(1 / 99)
    chance = 1 / (1 + np.exp(-score))
    one = Evaluation.from_arrays(
        chance, chance >= np.quantile(chance, 0.99), budget=300, seed=seed,
        measure=["f1", "precision", "recall", "precision_at_recall"],
    )  # fmt: skip
    for _ in range(3):
        ids = one.sample(100)
        one.label(ids, truth[ids])
    found = np.sort(chance[truth])[len(chance[truth]) // 10]
    estimate = one.estimate()["precision_at_recall(0.9)"]
    assert estimate.low < truth[chance >= found].mean() < estimate.high
