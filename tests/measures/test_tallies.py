"""Measures as functions of numbers of rows."""

import itertools

import numpy as np
import pytest

from evalsampling.measures import FBeta, Measure, Prevalence
from evalsampling.measures.tallies import Tally
from tests.measures.pools import CLASSES, SCALAR, build, make_pool, value_of

TALLIED = {name: measure for name, measure in SCALAR.items() if measure.tallies}


def counts_of(measure: Measure, prediction: np.ndarray, label: np.ndarray) -> list[float]:
    own = prediction[:, measure.system]
    return [float(tally.counts(own, label).sum()) for tally in measure.tallies]


def test_measures_of_classes_have_tallies_and_others_none() -> None:
    without = {name for name in SCALAR if name not in TALLIED}
    of_tables = {name for name in SCALAR if "risk, " in name or "generalized_risk" in name}
    of_scores = {name for name in SCALAR if SCALAR[name].looks_at != {"prediction"}}
    assert without == of_tables | of_scores | {"weighted_f1"}, "which is monotone in none"
    with pytest.raises(NotImplementedError, match="brier has no tallies"):
        build("brier").risk_at([], np.ones(2))


@pytest.mark.parametrize("name", TALLIED)
@pytest.mark.parametrize("seed", range(3))
def test_value_at_the_tallies_is_the_value(name: str, seed: int) -> None:
    measure = TALLIED[name]
    outputs, label = make_pool(seed)
    predicted = np.bincount(outputs.prediction[:, measure.system], minlength=CLASSES)
    risk = measure.risk_at(counts_of(measure, outputs.prediction, label), predicted)
    assert risk.shape == (measure.size,)
    np.testing.assert_allclose(measure.value(risk), value_of(measure, outputs, label), rtol=1e-12)


@pytest.mark.parametrize("name", TALLIED)
@pytest.mark.parametrize("predicted", [(5, 6, 4), (1, 2, 9), (9, 1, 3)])
def test_values_rise_or_fall_with_each_tally_wherever_the_others_are(
    name: str, predicted: tuple[int, ...]
) -> None:
    """All numbers of true positives and false negatives; of averages, of two classes at a time."""
    measure, rows = TALLIED[name], np.array(predicted)
    rng = np.random.default_rng(1)
    tallies = measure.tallies
    most = [rows[tally.may_count(np.arange(CLASSES))].sum() for tally in tallies]
    for pair in itertools.combinations(range(len(tallies)), min(2, len(tallies))):
        others = [float(rng.integers(1, m)) if m > 1 else 1.0 for m in most]
        places = [np.arange(most[i] + 1.0) for i in pair]
        values = np.full([len(place) for place in places], np.nan)
        for at in np.ndindex(*values.shape):
            counts = list(others)
            for i, place, number in zip(pair, places, at, strict=True):
                counts[i] = place[number]
            values[at] = measure.value(measure.risk_at(counts, rows))[0]
        for axis, i in enumerate(pair):
            steps = np.diff(values, axis=axis) * (1 if tallies[i].rises else -1)
            assert np.nanmin(steps) >= -1e-12, (name, tallies[i].name)


def test_tallies_count_only_rows_that_may_count() -> None:
    prediction, label = (
        np.array(one) for one in zip(*itertools.product(range(3), range(3)), strict=True)
    )
    for measure in TALLIED.values():
        for tally in measure.tallies:
            counts = tally.counts(prediction, label)
            assert np.all(tally.may_count(prediction) | ~counts)
            assert 0 < counts.sum() < len(counts)


def test_words() -> None:
    def words(tallies: tuple[Tally, ...]) -> list[tuple[str, str, bool]]:
        return [(tally.name, tally.among, tally.rises) for tally in tallies]

    assert words(FBeta().tallies) == [
        ("true positives", "rows predicted positive", True),
        ("false negatives", "rows predicted negative", False),
    ]
    assert words(Prevalence().tallies) == [("positives", "rows", True)]
    assert words(build("macro_f1", over=(2,)).tallies)[1][:2] == (
        "false negatives of class 2",
        "rows predicted negative of class 2",
    )
