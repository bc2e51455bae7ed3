"""Kappa and the correlation of several classes, by hand, by scikit-learn and by enumeration;
the confusion matrix."""

import itertools

import numpy as np
import pytest
from sklearn import metrics

from evalsampling import Evaluation, InputError
from evalsampling.measures import ConfusionMatrix, Kappa, MatthewsCorrelation, MulticlassMatthews
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, risk_of, value_of


def rows(prediction: list[int], classes: int) -> Outputs:
    guess = np.array(prediction)[:, None]
    return Outputs(guess, guess * 1.0, np.zeros((len(guess), 1, classes)))


def counted(counts: list[list[int]]) -> tuple[Outputs, np.ndarray]:
    """Rows of a table of counts, by label and prediction."""
    cells = [
        cell
        for label, row in enumerate(counts)
        for guess, n in enumerate(row)
        for cell in [(label, guess)] * n
    ]
    label, guess = np.array(cells).T
    return rows(guess.tolist(), len(counts)), label


def test_kappa_is_that_of_the_papers() -> None:
    """Cohen 1960: .492. Cohen 1968, with weights of his own for the same table: .348."""
    outputs, label = counted([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    assert value_of(Kappa(3), outputs, label) == pytest.approx(0.492, abs=5e-4)
    weighted = Kappa(3)
    weighted.__dict__["table"] = np.array([[0, 1, 3], [1, 0, 6], [3, 6, 0]]) / 6
    assert value_of(weighted, outputs, label) == pytest.approx(0.348, abs=5e-4)


@pytest.mark.parametrize("rest", range(3))
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_values_equal_those_of_scikit_learn(weights: str | None, rest: int) -> None:
    outputs, label = make_pool(0)
    found = value_of(Kappa(3, 1, rest=rest, weights=weights), outputs, label)
    other = metrics.cohen_kappa_score(label, outputs.prediction[:, 1], weights=weights)
    assert found == pytest.approx(other, rel=1e-12)
    found = value_of(MulticlassMatthews(3, 1, rest=rest), outputs, label)
    other = metrics.matthews_corrcoef(label, outputs.prediction[:, 1])
    assert found == pytest.approx(other, rel=1e-12)


def test_distances_are_of_numbers_or_of_places() -> None:
    numbers = Kappa(3, titles=("10", "0", "2"), weights="linear")
    np.testing.assert_allclose(numbers.table, [[0, 1, 0.8], [1, 0, 0.2], [0.8, 0.2, 0]])
    words = Kappa(3, titles=("bad", "fair", "good"), weights="quadratic")
    np.testing.assert_allclose(words.table, [[0, 0.25, 1], [0.25, 0, 0.25], [1, 0.25, 0]])
    assert words.name == "kappa(weights=quadratic)"


@pytest.mark.parametrize("rest", [0, 1])
def test_of_two_classes_rows_of_the_rest_add_nothing(rest: int) -> None:
    """So kappa can be estimated from rows drawn for F1; and R_K is the Matthews correlation."""
    for label in itertools.product([0, 1], repeat=4):
        for guess in ([0, 0, 1, 1], [1, 0, 0, 0]):
            outputs, truth = rows(guess, 2), np.array(label)
            mcc = MatthewsCorrelation(1 - rest)
            for measure in (Kappa(2, rest=rest), MulticlassMatthews(2, rest=rest)):
                adds, known = measure.adds(outputs, truth), mcc.adds(outputs, truth)
                np.testing.assert_array_equal(adds, known)
                assert measure.shares(outputs, truth)[3].name == "npv"
            found = value_of(MulticlassMatthews(2, rest=rest), outputs, truth)
            np.testing.assert_allclose(found, value_of(mcc, outputs, truth), atol=1e-15)


def test_claims_need_rows_beside_the_commonest_class_and_no_row_of_each() -> None:
    outputs, label = counted([[90, 0, 0], [2, 6, 0], [0, 1, 0]])
    shares = Kappa(3, titles=("a", "b", "c")).shares(outputs, label)
    told = [
        (each.rows_name, int(each.rows.sum()), int(each.hits[each.rows].sum())) for each in shares
    ]
    assert told[:2] == [("labels other than a", 9, 6), ("predictions other than a", 7, 6)]
    assert told[4:] == [("labels other than c", 98, 96), ("predictions other than c", 99, 96)]


@pytest.mark.parametrize("code", range(3))
def test_it_is_undefined_where_chance_agrees_always(code: int) -> None:
    """Forty-nine times 1/49 is less than 1, so margins are 0 and 1 but for rounding."""
    outputs, label = rows([code] * 49, 3), np.full(49, code)
    for measure in (Kappa(3), Kappa(3, weights="linear"), MulticlassMatthews(3)):
        risk = measure.mean_loss(outputs, label, np.full(49, 1 / 49))
        assert np.isnan(measure.value(risk)).all()
        assert np.isnan(measure.jacobian(risk)).all()
    label[0] = (code + 1) % 3  # Chance agrees as often as people do.
    assert value_of(Kappa(3), outputs, label) == pytest.approx(0, abs=1e-12)
    assert np.isnan(value_of(MulticlassMatthews(3), outputs, label)).all()


MEASURES = ["kappa", {"name": "kappa", "weights": "quadratic"}, "multiclass_mcc"]


def of(label: np.ndarray, guess: np.ndarray) -> list[float]:
    """What scikit-learn says of these."""
    weighted = metrics.cohen_kappa_score(label, guess, weights="quadratic")
    kappa = metrics.cohen_kappa_score(label, guess)
    return [kappa, weighted, metrics.matthews_corrcoef(label, guess)]


def evaluated(label: np.ndarray, guess: np.ndarray, n: int, **keys: object) -> Evaluation:
    """Rows of an evaluation that n labels were given to, by chance alone."""
    pool = {"prediction": guess, "score": np.arange(len(guess)) / len(guess)}
    keys = {"measure": MEASURES, "sampler": "passive", "labels": {"classes": [0, 1, 2]}, **keys}
    evaluation = Evaluation.from_frame(pool, **keys)
    ids = evaluation.sample(n)
    evaluation.label(ids, label[ids])
    return evaluation


def test_it_is_exact_where_every_row_has_a_label() -> None:
    label, guess = np.array([0, 1, 2, 2, 1, 0, 2]), np.array([0, 1, 1, 2, 1, 2, 2])
    told = evaluated(label, guess, 7, sampler="stratified").estimate()
    assert [each.intervals[0].method for each in told] == ["census"] * 3
    assert [each.value for each in told] == pytest.approx(of(label, guess), rel=1e-12)
    assert told["kappa"].statement.startswith("Kappa is exactly ")


def test_linear_part_is_unbiased_over_all_samples_and_its_variance_is_known() -> None:
    """All samples of 4 of 8 rows: the mean of Dg R^ is Dg R, its variance (1 - 4/8) S^2 / 4."""
    outputs, label = rows([0, 1, 2, 2, 0, 1, 0, 0], 3), np.array([0, 1, 2, 1, 0, 1, 2, 0])
    for measure in (Kappa(3, weights="linear"), MulticlassMatthews(3)):
        risk, loss = risk_of(measure, outputs, label), measure.loss(outputs, label)
        samples = [list(each) for each in itertools.combinations(range(8), 4)]
        linear = np.array([loss[each].mean(axis=0) for each in samples]) @ measure.jacobian(risk)[0]
        influence = measure.influence(outputs, label, risk)[:, 0]
        assert linear.mean() == pytest.approx(influence.mean(), rel=1e-12)
        assert linear.var() == pytest.approx(0.5 * influence.var(ddof=1) / 4, rel=1e-12)
        # The whole estimate is off by the second order, 1 / n.
        values = measure.values(np.array([loss[each].mean(axis=0) for each in samples]))
        assert np.nanmean(values) == pytest.approx(measure.value(risk)[0], abs=0.1)


def test_spec_names_what_is_wrong() -> None:
    def build(measure: object, **labels: object) -> Evaluation:
        return Evaluation.from_arrays([0.1, 0.9], [0, 1], measure=measure, labels=labels)

    with pytest.raises(InputError, match="weights must be linear or quadratic, got 'cubic'"):
        build({"kappa": {"weights": "cubic"}})
    with pytest.raises(InputError, match=r"unknown key measure\.rest of kappa"):
        build({"kappa": {"rest": 1}})
    assert build("kappa", positive=0).analysis.measures == [Kappa(2, titles=("1", "0"))]


def test_shares_are_those_of_a_table() -> None:
    outputs, label = make_pool(seed=1, rows=90)
    counts = np.zeros((3, 3))
    np.add.at(counts, (label, outputs.prediction[:, 1]), 1)
    measure = ConfusionMatrix(3, system=1, titles=("a", "b", "c"))
    np.testing.assert_allclose(value_of(measure, outputs, label), counts.ravel() / 90)
    names = [component.name for component in measure.components]
    assert (names[1], len(names)) == ("confusion_matrix[a as b]", 9)


def test_shares_of_a_table_are_called_by_the_titles_of_the_classes() -> None:
    outputs, label = make_pool(seed=1, rows=90)
    told = ConfusionMatrix(3, titles=("1", "2", "3")).shares(outputs, label)
    assert told[1].name == "share of class 1 among rows predicted 2"
    assert (told[1].rows_name, told[5].hit_name) == ("rows predicted 2", "row of class 2")
    assert ConfusionMatrix(3).shares(outputs, label)[1].rows_name == "rows predicted 1"


def test_cells_have_intervals_and_sum_to_one() -> None:
    """Those of a class's column sum to the known share of its predictions."""
    rng = np.random.default_rng(3)
    truth = rng.choice(["no", "maybe", "yes"], size=2000, p=[0.6, 0.3, 0.1])
    guess = np.where(rng.random(2000) < 0.7, truth, rng.choice(["no", "maybe", "yes"], size=2000))
    chance = {name: np.where(guess == name, 0.8, 0.1) for name in ("no", "maybe", "yes")}
    evaluation = Evaluation.from_frame(
        {"score": rng.random(2000), "prediction": guess, **chance},
        probability={name: name for name in chance},
        labels={"classes": list(chance)}, measure=["accuracy", "confusion_matrix"], seed=1,
        sampler="passive", strata={"leaves": 4},
    )  # fmt: skip
    ids = evaluation.sample(400)
    evaluation.label(ids, truth[ids])
    told = evaluation.estimate("confusion_matrix")
    assert len(told) == 9
    assert sum(one.value for one in told) == 1 or abs(sum(one.value for one in told) - 1) < 1e-9
    covered = 0
    for label in chance:
        for prediction in chance:
            one = told[f"confusion_matrix[{label} as {prediction}]"]
            true = np.mean((truth == label) & (guess == prediction))
            covered += one.low <= true <= one.high
    assert covered >= 7  # of nine 95 % intervals: fewer has a chance below 1 in 1000


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Of 400 nominal 95 % intervals 92 %: two standard errors of 1.1 %, 1 % for 200 labels."""
    rng = np.random.default_rng(5)
    label = rng.choice(3, 5000, p=[0.6, 0.3, 0.1])
    guess = np.where(rng.random(5000) < 0.75, label, rng.choice(3, 5000))
    held, true = [], of(label, guess)
    for seed in range(400):
        told = evaluated(label, guess, 200, seed=seed, strata={"leaves": 4}).estimate()
        held.append([one.low <= value <= one.high for one, value in zip(told, true, strict=True)])
    assert np.mean(held, axis=0).min() >= 0.92


@pytest.mark.slow
def test_intervals_of_rare_positives_cover() -> None:
    """Of 60 model-based ones 87 %, three standard errors below 95; no wider than 1.2 times F1's."""
    rng = np.random.default_rng(5)
    label = (rng.random(20000) < 0.02).astype(int)
    score = rng.normal(np.where(label == 1, 2.0, -2.5), 1.2)
    guess, held, widths = (score > 0).astype(int), [], []
    kappa = metrics.cohen_kappa_score(label, guess)
    for seed in range(60):
        pool = {"prediction": guess, "score": score}
        evaluation = Evaluation.from_frame(pool, measure=["kappa", "f1"], seed=seed)
        for _ in range(3):
            ids = evaluation.sample(70)
            evaluation.label(ids, label[ids])
        one, f1 = evaluation.estimate()
        held.append(one.low <= kappa <= one.high)
        widths.append((one.high - one.low) / (f1.high - f1.low))
    assert np.mean(held) >= 0.87
    assert np.median(widths) < 1.2


@pytest.mark.slow
def test_intervals_of_grades_hold_where_no_curve_fits() -> None:
    """Verdicts of two systems alone: draws of labels have grades too far off, and weigh less.

    Of ten nominal 95 % intervals eight: fewer has a chance of 1 in 100.
    """
    rng = np.random.default_rng(0)
    label = rng.integers(1, 6, 8000)
    pool = {f"s{far}": np.clip(label + rng.integers(-far, far + 1, 8000), 1, 5) for far in (1, 2)}
    kappa = metrics.cohen_kappa_score(label, pool["s1"], weights="quadratic")
    held = []
    for seed in range(10):
        evaluation = Evaluation.from_frame(
            pool, systems={name: {"prediction": name} for name in pool}, seed=seed,
            labels={"classes": [1, 2, 3, 4, 5]}, measure={"name": "kappa", "weights": "quadratic"},
        )  # fmt: skip
        ids = evaluation.sample(300)
        evaluation.label(ids, label[ids])
        one = evaluation.estimate()["kappa(weights=quadratic) of s1"]
        held.append(one.low <= kappa <= one.high)
    assert sum(held) >= 8
