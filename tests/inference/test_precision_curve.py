"""Measures of a precision curve against counts row by row, and their bounds by search."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from evalsampling.inference.precision_curve import Bounded, Guarantee, PrecisionCurve
from evalsampling.measures import ROCArea
from evalsampling.parts.records import read_record
from evalsampling.stats.ranked_list import RankedList
from tests.ranked_lists import Ranked, labels

LABEL = labels(600, seed=4)
LIST = Ranked.of_labels(LABEL, bins=25, first=4)
GUARANTEE = Guarantee(
    1.1, 0.95, 1.2, 1.05, 1.1, 2, (300, 600), 500, 0.3, 40, True, ("adastrat: a word",)
)


def curve(low: np.ndarray, high: np.ndarray, value: np.ndarray | None = None) -> PrecisionCurve:
    ranked = RankedList.of_cells(LIST.known.table)
    precision = Bounded(LIST.precision if value is None else value, low, high)
    return PrecisionCurve(ranked, precision, GUARANTEE)


def by_rows(rank: int, label: np.ndarray) -> dict[str, float]:
    """Measures of the classifier that calls the first rows positive, by its confusion matrix."""
    called = np.arange(len(label)) < rank
    tp, fp = np.sum(called & (label == 1)), np.sum(called & (label == 0))
    fn, tn = np.sum(~called & (label == 1)), np.sum(~called & (label == 0))
    return {
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "false_positive_rate": fp / (fp + tn),
        "specificity": tn / (fp + tn),
        "accuracy": (tp + tn) / len(label),
        "gain": float(tp),
    }


def test_values_are_those_of_the_rows() -> None:
    exact = curve(LIST.precision, LIST.precision)
    for place, rank in enumerate(LIST.rank.tolist()):
        expected = by_rows(rank, LABEL)
        assert set(expected) == set(exact.measures)
        for name, one in exact.measures.items():
            for end in (one.value, one.low, one.high):
                assert end[place] == pytest.approx(expected[name]), name


def test_average_precision_is_that_of_the_sum() -> None:
    """sum_j (recall_j - recall_(j-1)) p_j; over single rows scikit-learn's definition."""
    one = Ranked(np.ones(600, dtype=np.int64), LABEL)
    ranked = RankedList.of_cells(one.known.table)
    exact = Bounded(one.precision, one.precision, one.precision)
    rows = PrecisionCurve(ranked, exact, GUARANTEE)
    hits = np.flatnonzero(LABEL)
    expected = np.mean((np.arange(len(hits)) + 1) / (hits + 1))
    assert rows.average_precision().value[0] == pytest.approx(expected)
    some = np.array([3, 9, 20])
    groups = curve(LIST.precision, LIST.precision).average_precision(some)
    recall = np.cumsum(LIST.hits)[some] / LIST.hits.sum()
    steps = np.diff(recall, prepend=0) * LIST.precision[some]
    assert groups.value[0] == pytest.approx(steps.sum())


def test_area_below_the_roc_curve_is_that_of_the_rows() -> None:
    """Over single rows, scikit-learn's; of groups, of the ROC measure with their thresholds."""
    one = Ranked(np.ones(600, dtype=np.int64), LABEL)
    exact = Bounded(one.precision, one.precision, one.precision)
    rows = PrecisionCurve(RankedList.of_cells(one.known.table), exact, GUARANTEE)
    for found in (rows.roc_area().value, rows.roc_area().low, rows.roc_area().high):
        assert found[0] == pytest.approx(roc_auc_score(LABEL, -np.arange(600)))
    measure = ROCArea(thresholds=(2.0, 9.0, 17.0))
    place = RankedList.of_cells(LIST.known.table).reaching(np.array(measure.thresholds))
    assert place is not None
    groups = curve(LIST.precision, LIST.precision).roc_area(np.unique(place))
    assert groups.value == pytest.approx(LIST.known.value(measure))
    none = np.zeros(25)
    assert np.isnan(curve(none, none, none).roc_area().value[0])


def test_f_alpha_is_a_family() -> None:
    one = curve(LIST.precision * 0.9, np.minimum(LIST.precision * 1.1, 1))
    for alpha, wanted in ((1.0, one.precision), (0.0, one.recall), (0.5, one.measures["f1"])):
        found = one.f_alpha(alpha)
        for end in ("value", "low", "high"):
            assert getattr(found, end)[:-1] == pytest.approx(getattr(wanted, end)[:-1])
    harmonic = 1 / (0.2 / one.precision.value + 0.8 / one.recall.value)
    assert one.f_alpha(0.2).value == pytest.approx(harmonic)


def test_bounds_hold_for_all_lists_between_the_bounds_of_the_precision() -> None:
    """2,000 random lists: whatever precision lies between its bounds, so do all measures."""
    rng = np.random.default_rng(5)
    ends = LIST.rank
    factor = 1.15
    low, high = LIST.precision / factor, np.minimum(LIST.precision * factor, 1)
    bounds = curve(low, high).measures
    area, roc = curve(low, high).average_precision(), curve(low, high).roc_area()
    tried = 0
    while tried < 2000:
        tilt = rng.normal(0, 0.1)
        hits = np.clip(LIST.hits + np.round(rng.normal(0, 1, 25) + tilt * LIST.rows), 0, LIST.rows)
        precision = np.cumsum(hits) / ends
        tried += 1
        if np.any((precision < low) | (precision > high)):
            continue
        label = np.concatenate(
            [np.repeat([1, 0], [int(h), int(r - h)]) for h, r in zip(hits, LIST.rows, strict=True)]
        )
        for place in (2, 12, 23, 24):
            for name, true in by_rows(int(ends[place]), label).items():
                one = bounds[name]
                assert one.low[place] - 1e-9 <= true <= one.high[place] + 1e-9, name
        recall = np.cumsum(hits) / hits.sum()
        true = np.sum(np.diff(recall, prepend=0) * precision)
        assert area.low[0] <= true <= area.high[0]
        rate = (ends - np.cumsum(hits)) / (600 - hits.sum())
        under = np.trapezoid(np.append(0, recall), np.append(0, rate))
        assert roc.low[0] - 1e-9 <= under <= roc.high[0] + 1e-9


def test_a_group_that_is_cut_is_bounded_by_its_neighbours() -> None:
    """Whichever of its rows come first: all measures of 200 orders lie between the bounds."""
    low, high = LIST.precision / 1.05, np.minimum(LIST.precision * 1.05, 1)
    place, rng = 14, np.random.default_rng(3)
    begin, end = int(LIST.rank[place - 1]), int(LIST.rank[place])
    rows = (end - begin) // 3
    one = curve(low, high).cut(place, rows)
    assert one.rank[place - 1 : place + 2].tolist() == [begin, begin + rows, end]
    assert one.ranked.rows.sum() == 600
    assert np.all(np.diff(one.rank) == one.ranked.rows[1:])
    bounds = one.measures
    for _ in range(200):
        order = np.arange(600)
        order[begin:end] = rng.permutation(order[begin:end])
        for name, true in by_rows(begin + rows, LABEL[order]).items():
            found = bounds[name]
            assert found.low[place] - 1e-9 <= true <= found.high[place] + 1e-9, name
    first = curve(low, high).cut(0, 1)
    assert first.gain.low[0] >= 0
    assert first.gain.high[0] <= 1


def test_all_rows_have_all_of_recall() -> None:
    one = curve(LIST.precision / 1.3, np.minimum(LIST.precision * 1.3, 1))
    for measure in (one.recall, one.false_positive_rate):
        assert (measure.low[-1], measure.high[-1]) == (1, 1)


def test_a_list_without_positives_has_no_recall() -> None:
    none = np.zeros(25)
    one = curve(none, none, none)
    assert np.isnan(one.recall.value).all()
    assert one.measures["specificity"].value[3] == pytest.approx(1 - LIST.rank[3] / 600)


@pytest.mark.parametrize("positives", [0.0, 1.0])
def test_ends_are_numbers_wherever_the_value_is(positives: float) -> None:
    """There may be no positives, or no negatives: some ends are 0/0, of shares that are defined.

    The first half is known to be of one class.
    """
    first = np.arange(25) < 12
    low, high = np.zeros(25), np.ones(25)
    low[first] = high[first] = positives
    value = np.where(first, positives, 0.5)
    for name, one in curve(low, high, value).measures.items():
        assert np.isfinite(one.value).all(), name
        assert np.all(one.low <= one.value + 1e-12), name
        assert np.all(one.value <= one.high + 1e-12), name
        assert np.all((one.low[:-1] < one.high[:-1])[~first[:-1]]), name
    none = curve(low, high, np.full(25, positives))
    undefined = none.false_positive_rate if positives else none.recall
    assert np.isnan([undefined.value, undefined.low, undefined.high]).all()


def test_a_rank_is_told_with_all_measures() -> None:
    one = curve(LIST.precision, LIST.precision)
    told = one.at(100)
    assert told["rank"] == LIST.rank[LIST.rank >= 100][0]
    assert told["precision"] == pytest.approx(by_rows(int(told["rank"]), LABEL)["precision"])
    assert told["f1.low"] == told["f1.high"] == pytest.approx(told["f1"])


def test_guarantee_in_words_and_back_from_json() -> None:
    content = {**vars(GUARANTEE), "ranks": [300, 600], "warnings": ["adastrat: a word"]}
    assert read_record(Guarantee, content) == GUARANTEE
    assert "within a factor of 1.1, with confidence 0.95 (2 queries" in GUARANTEE.words
    nothing = read_record(Guarantee, {**content, "factor": None})
    assert nothing.words == "no precision is guaranteed", "and more labels do not help"
    unsettled = read_record(Guarantee, {**content, "factor": None, "settled": False})
    assert unsettled.words == "no precision is guaranteed yet"
    assert math.isclose(GUARANTEE.wanted, 1.2)
