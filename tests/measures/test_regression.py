"""Measures of predicted numbers, against scikit-learn and what the normal distribution expects."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from evalsampling.errors import InputError
from evalsampling.label_spaces.numbers import CHANCES, ComparedNumbers, Numbers
from evalsampling.measures import (
    BY_NAME,
    CoefficientOfDetermination,
    MeanAbsoluteError,
    MeanError,
    MeanSquaredError,
    Measure,
    RootMeanSquaredError,
    difference,
)
from evalsampling.measures.build import build_measures, check_measures
from evalsampling.stats.derivatives import jacobian
from evalsampling.stats.outputs import Outputs
from tests.spec.specs import parse

KNOWN = Numbers(0, 50)
NAMED: dict[str, Measure] = {
    one.name: one
    for one in (
        MeanSquaredError(KNOWN),
        RootMeanSquaredError(KNOWN),
        MeanAbsoluteError(KNOWN),
        MeanError(KNOWN),
        CoefficientOfDetermination(KNOWN),
    )
}


def rows(seed: int, count: int = 200) -> tuple[Outputs, np.ndarray, np.ndarray, np.ndarray]:
    """Outputs, labels as codes, predictions and labels as numbers."""
    rng = np.random.default_rng(seed)
    label, variance = rng.uniform(0, 50, count), rng.gamma(2, 2, count)
    predicted = label + np.sqrt(variance) * rng.normal(size=count)
    outputs = Outputs(
        KNOWN.encode(predicted)[:, None], variance[:, None], np.tile(CHANCES, (count, 1, 1))
    )
    return outputs, KNOWN.encode(label), predicted, label


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("mse", metrics.mean_squared_error),
        ("rmse", metrics.root_mean_squared_error),
        ("mae", metrics.mean_absolute_error),
        ("r2", metrics.r2_score),
        ("mean_error", lambda label, predicted: np.mean(predicted - label)),
    ],
)
def test_values_equal_those_of_scikit_learn(name: str, reference: Any) -> None:
    outputs, codes, predicted, label = rows(1)
    measure = NAMED[name]
    risk = measure.mean_loss(outputs, codes, np.full(len(codes), 1 / len(codes)))
    assert measure.value(risk)[0] == pytest.approx(reference(label, predicted), abs=1e-9)
    assert BY_NAME[name] is type(measure)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "loss"), [("mse", np.square), ("mae", np.abs), ("mean_error", lambda error: error)]
)
def test_expected_losses_are_the_normal_distribution_s(name: str, loss: Any) -> None:
    """E l and E l^2 of each row, by quadrature."""
    outputs, _, _, _ = rows(2, 20)
    found = np.stack(
        [NAMED[name].loss(outputs, np.full(20, code))[:, 0] for code in range(4)], axis=1
    )
    for place, deviation in enumerate(np.sqrt(outputs.score[:, 0])):
        for power in (1, 2):
            expected = stats.norm(0, deviation).expect(
                lambda error, power=power: loss(error) ** power
            )
            assert CHANCES @ found[place] ** power == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_root_mean_square_has_its_derivative() -> None:
    measure = NAMED["rmse"]
    risk = np.array([7.0])
    np.testing.assert_allclose(measure.jacobian(risk), jacobian(measure.value, risk))
    assert np.isnan(measure.jacobian(np.zeros(1))).all()


# --- R^2


def r2_risk(seed: int, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """The risk of weighted rows, and their R^2 by scikit-learn."""
    outputs, codes, predicted, label = rows(seed, len(weight))
    risk = NAMED["r2"].mean_loss(outputs, codes, weight)
    return risk, metrics.r2_score(label, predicted, sample_weight=weight)


def test_r2_is_that_of_weighted_rows_whatever_the_sum_of_their_weights() -> None:
    weight = np.random.default_rng(8).gamma(0.5, 1.0, 300)
    for scale in (1.0, 1e-3, 7.0):
        risk, expected = r2_risk(9, scale * weight)
        assert NAMED["r2"].value(risk)[0] == pytest.approx(expected, abs=1e-9)


def test_r2_does_not_change_where_numbers_are_far_from_0() -> None:
    far = CoefficientOfDetermination(Numbers(1e9, 1e9 + 50))
    outputs, codes, _, _ = rows(10)
    weight = np.full(len(codes), 1 / len(codes))
    values = [
        measure.value(measure.mean_loss(outputs, codes, weight)) for measure in (far, NAMED["r2"])
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-5)  # a step is 1e-11 in 1e9


def test_r2_has_its_influence() -> None:
    """-(e^2 - (1 - r2) (y - m)^2) / S of each row."""
    measure = NAMED["r2"]
    outputs, codes, predicted, label = rows(11)
    risk = measure.mean_loss(outputs, codes, np.full(len(codes), 1 / len(codes)))
    residual = (label - label.mean()) ** 2
    r2 = metrics.r2_score(label, predicted)
    expected = -((predicted - label) ** 2 - (1 - r2) * residual) / residual.mean()
    np.testing.assert_allclose(measure.influence(outputs, codes, risk)[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize("number", [0.0, 0.3, 17.7, 50.0])
def test_r2_is_undefined_without_labels_that_differ(number: float) -> None:
    measure, weight = NAMED["r2"], np.random.default_rng(12).gamma(1.0, 1.0, 50)
    outputs, _, _, _ = rows(12, 50)
    codes = KNOWN.encode(np.full(50, number))
    for held in (weight, np.eye(50)[0]):
        risk = measure.mean_loss(outputs, codes, held)
        assert np.isnan(measure.value(risk)).all()
        assert np.isnan(measure.jacobian(risk)).all()
    codes[0] += 1 << 30  # a thousandth of the range
    assert np.isfinite(measure.value(measure.mean_loss(outputs, codes, weight))).all()


def test_r2_knows_the_error_alone_of_a_label_that_is_expected() -> None:
    outputs, _, _, _ = rows(13, 20)
    for code in range(4):
        label = np.full(20, code)
        expected = np.zeros((20, 4))
        expected[:, 0] = NAMED["mse"].loss(outputs, label)[:, 0]
        np.testing.assert_array_equal(NAMED["r2"].loss(outputs, label), expected)


def test_r2_of_rows_drawn_for_mse_errs_as_the_delta_method_says() -> None:
    """400 samples of 300 draws by sqrt(h) of eq. 4.23: bias, and spread by predicted error."""
    measure = NAMED["r2"]
    outputs, codes, predicted, label = rows(14, 2000)
    square = outputs.score[:, 0]
    chance = np.sqrt((3 * square - 2 * square.mean()) * square + square.mean() ** 2)
    chance /= chance.sum()
    rng, errors, deviations = np.random.default_rng(15), [], []
    for _ in range(400):
        drawn = rng.choice(2000, 300, p=chance)
        held, weight = outputs.take(drawn), 1 / chance[drawn]
        weight /= weight.sum()
        risk = measure.mean_loss(held, codes[drawn], weight)
        influence = measure.influence(held, codes[drawn], risk)[:, 0]
        errors.append(measure.value(risk)[0] - metrics.r2_score(label, predicted))
        deviations.append(np.sqrt(np.sum((weight * influence) ** 2)))
    spread = np.std(errors)
    # The mean of 400 has a standard error of 0.05 of the spread, the spread itself one of 0.035.
    assert abs(np.mean(errors)) < 0.2 * spread
    assert np.sqrt(np.mean(np.square(deviations))) == pytest.approx(spread, rel=0.14)


@pytest.mark.parametrize(
    "first",
    [
        "r2",
        {"joint": ["mse", "r2"]},
        {"name": "r2", "where": {"country": "IS"}},
        {"least": "r2", "over": {"country": ["DE", "FR"]}},
    ],
)
def test_r2_does_not_come_first(first: Any) -> None:
    words = "r2 cannot come first, since no label is expected .* list mse first"
    with pytest.raises(InputError, match=words):
        check_measures(spec([first, "mae"], range=[0, 50]))
    check_measures(spec(["mae", first], range=[0, 50]))


def test_losses_of_rows_between_two_variances_are_not_settled() -> None:
    outputs, codes, _, _ = rows(3)
    for measure in NAMED.values():
        assert not measure.is_settled(outputs, outputs)
        assert measure.may_add(outputs, outputs, codes).all()


def spec(measure: Any, **labels: Any) -> Any:
    return parse(pool={"path": "x"}, labels=labels, measure=measure)


def test_built_from_a_spec() -> None:
    (built,) = build_measures(spec("mae", range=[0, 50]).reading)
    assert built == NAMED["mae"]


@pytest.mark.parametrize(
    ("measure", "labels", "words"),
    [
        ("f1", {"range": [0, 50]}, "f1 is about classes; with labels.range there are mse"),
        ("mse", {}, "mse: it is about numbers: labels.range is missing"),
    ],
)
def test_measures_go_with_labels(measure: str, labels: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        build_measures(spec(measure, **labels).reading)


@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_r2_is_not_compared(kind: str) -> None:
    systems = {name: {"prediction": name, "variance": f"{name}_v"} for name in ("old", "new")}
    asked = parse(
        pool={"path": "x", "systems": systems},
        labels={"range": [0, 50]},
        measure=["mse", {kind: "r2"}],
    )
    words = "r2 cannot be compared: systems have the same labels, so compare mse"
    with pytest.raises(InputError, match=words):
        build_measures(asked.reading)


# --- several systems

TWO = ComparedNumbers(0, 50, 2)
DIFFERENCES = {
    name: difference(maker(TWO), maker(TWO, system=1))
    for name, maker in {"mse": MeanSquaredError, "mae": MeanAbsoluteError}.items()
}


def two_rows(seed: int, count: int) -> Outputs:
    rng = np.random.default_rng(seed)
    predicted, variance = rng.uniform(0, 50, (count, 2)), rng.gamma(2, 2, (count, 2))
    return Outputs(TWO.encode(predicted), variance, np.tile(TWO.own_probabilities(), (count, 1, 1)))


@pytest.mark.slow
def test_expected_differences_of_squared_errors_are_those_of_the_mixture() -> None:
    """E d and E d^2 of each row under either system and under both, by quadrature."""
    outputs = two_rows(3, 8)
    loss = np.stack(
        [DIFFERENCES["mse"].loss(outputs, np.full(8, y))[:, 0] for y in range(8)], axis=1
    )
    f = TWO.decode(outputs.prediction)
    for systems in ((0,), (1,), (0, 1)):
        chance = TWO.mixture(systems)
        for row in range(8):
            for power in (1, 2):
                expected = np.mean([
                    stats.norm(f[row, k], np.sqrt(outputs.score[row, k])).expect(
                        lambda y, row=row, power=power: (
                            (f[row, 0] - y) ** 2 - (f[row, 1] - y) ** 2
                        ) ** power
                    )
                    for k in systems
                ])  # fmt: skip
                assert chance @ loss[row] ** power == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "reference"),
    [("mse", metrics.mean_squared_error), ("mae", metrics.mean_absolute_error)],
)
def test_differences_equal_those_of_scikit_learn(name: str, reference: Any) -> None:
    outputs, label = two_rows(4, 300), np.random.default_rng(5).uniform(0, 50, 300)
    measure, f = DIFFERENCES[name], TWO.decode(outputs.prediction)
    risk = measure.mean_loss(outputs, TWO.encode(label), np.full(300, 1 / 300))
    expected = reference(label, f[:, 0]) - reference(label, f[:, 1])
    assert measure.value(risk)[0] == pytest.approx(expected, abs=1e-8)


def test_rows_with_equal_predictions_add_to_no_difference_whatever_their_variances() -> None:
    outputs = two_rows(6, 10)
    outputs.prediction[::2, 1] = outputs.prediction[::2, 0]
    for measure in DIFFERENCES.values():
        may = np.any([measure.may_add(outputs, outputs, np.full(10, y)) for y in range(8)], axis=0)
        np.testing.assert_array_equal(may, np.arange(10) % 2 == 1)
        np.testing.assert_array_equal(measure.agrees(outputs), np.arange(10) % 2 == 0)
    for own in DIFFERENCES["mse"].both.parts:  # also where a variance of 0 expects no error
        sure = Outputs(outputs.prediction, np.zeros((10, 2)), outputs.probability)
        assert own.may_add(sure, sure, np.zeros(10, dtype=np.int64)).all()
