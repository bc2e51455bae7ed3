"""F measures over classes and over sets of labels, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn import metrics

from evalsampling.label_spaces.sets import Sets, probabilities_of_sets
from evalsampling.measures import (
    Accuracy,
    F1OfMacroAverages,
    FBeta,
    MacroF,
    MicroF,
    PerClassF,
    Precision,
    Recall,
    WeightedF1,
)
from evalsampling.measures.deviation import Deviation
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of

LABELS = 4
SETS = Sets(("a", "b", "c", "d"))


def sets_pool(seed: int) -> tuple[Outputs, np.ndarray, np.ndarray, np.ndarray]:
    """Rows with any number of four labels: outputs, codes, and both as flags (n, labels)."""
    rng = np.random.default_rng(seed)
    y = rng.random((80, LABELS)) < [0.6, 0.3, 0.2, 0.5]
    f = np.where(rng.random((80, LABELS)) < 0.75, y, rng.random((80, LABELS)) < 0.4)
    bits = 1 << np.arange(LABELS)
    outputs = Outputs((f @ bits)[:, None], np.zeros((80, 1)), np.full((80, 1, 16), 1 / 16))
    return outputs, y @ bits, f, y


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0])
def test_alpha_is_another_name_of_beta(beta: float) -> None:
    outputs, label = make_pool(3)
    wanted = value_of(FBeta(beta=beta), outputs, label)
    assert value_of(FBeta(alpha=1 / (1 + beta**2)), outputs, label) == pytest.approx(wanted)


def test_ends_of_the_family_are_recall_and_precision() -> None:
    outputs, label = make_pool(3)
    assert value_of(FBeta(alpha=0), outputs, label) == value_of(Recall(), outputs, label)
    assert value_of(FBeta(alpha=1), outputs, label) == value_of(Precision(), outputs, label)


@pytest.mark.parametrize("over", [None, (0,), (1, 2), (2, 0)])
@pytest.mark.parametrize("average", ["micro", "macro", None])
def test_classes_are_those_of_scikit_learn(average: str | None, over: tuple | None) -> None:
    kind = {"micro": MicroF, "macro": MacroF, None: PerClassF}[average]
    for system in (0, 1):
        outputs, label = make_pool(5 + system)
        rows = label, outputs.prediction[:, system]
        given = {"labels": over, "average": average}
        for alpha, wanted in [
            (1 / (1 + 1.7**2), metrics.fbeta_score(*rows, beta=1.7, **given)),
            (0.5, metrics.f1_score(*rows, **given)),
            (1.0, metrics.precision_score(*rows, **given)),
            (0.0, metrics.recall_score(*rows, **given)),
        ]:
            found = value_of(kind(3, system, over, alpha=alpha), outputs, label)
            assert found == pytest.approx(np.atleast_1d(wanted), rel=1e-12)
        given["average"] = "macro"
        precision, recall = (
            score(*rows, **given) for score in (metrics.precision_score, metrics.recall_score)
        )
        found = value_of(F1OfMacroAverages(3, system, over), outputs, label)
        assert found == pytest.approx(2 * precision * recall / (precision + recall), rel=1e-12)


@pytest.mark.parametrize("over", [None, (0, 2, 3)])
def test_sets_of_labels_are_those_of_scikit_learn(over: tuple | None) -> None:
    outputs, code, f, y = sets_pool(1)
    columns = list(over or range(LABELS))
    f, y = f[:, columns], y[:, columns]
    for kind, alpha, wanted in [
        (MicroF, 0.5, metrics.f1_score(y, f, average="micro")),
        (MacroF, 0.5, metrics.f1_score(y, f, average="macro")),
        (PerClassF, 0.5, metrics.f1_score(y, f, average=None)),
        (MicroF, 1.0, metrics.precision_score(y, f, average="micro")),
        (MacroF, 0.0, metrics.recall_score(y, f, average="macro")),
        (MacroF, 0.2, metrics.fbeta_score(y, f, beta=2, average="macro")),
        (MicroF, 0.8, metrics.fbeta_score(y, f, beta=0.5, average="micro")),
    ]:
        found = value_of(kind(LABELS, over=over, sets=SETS, alpha=alpha), outputs, code)
        assert found == pytest.approx(np.atleast_1d(wanted))


def test_harmonic_mean_of_macro_averages_of_sets_is_that_of_the_paper() -> None:
    """[Y] eq. 101 and 102."""
    outputs, code, f, y = sets_pool(1)
    precision = metrics.precision_score(y, f, average="macro")
    recall = metrics.recall_score(y, f, average="macro")
    wanted = 2 * precision * recall / (precision + recall)
    found = value_of(F1OfMacroAverages(LABELS, sets=SETS), outputs, code)
    assert found == pytest.approx([wanted])


def test_deviation_of_micro_f1_is_that_of_the_paper() -> None:
    """[Y] eq. 95 to 97: labels being independent, over all sets as over each label by itself."""
    outputs, _, f, _ = sets_pool(4)
    p = np.random.default_rng(4).uniform(0.02, 0.98, (80, LABELS))
    sets = probabilities_of_sets(p)
    measure = MicroF(LABELS, sets=SETS)
    metric = 2 * np.sum(p * f) / np.sum(p + f)
    risk = np.array([np.sum(p * f), np.sum(p + f) / 2]) / 80
    there, absent = f - metric * (1 + f) / 2, -metric * f / 2
    mean = p * there + (1 - p) * absent
    square = p * there**2 + (1 - p) * absent**2
    wanted = np.sqrt(np.sum(square - mean**2, axis=1) + np.sum(mean, axis=1) ** 2)
    found = Deviation(measure, risk).of_rows(outputs, sets) * risk[1]
    assert found == pytest.approx(wanted, rel=2e-3)


def test_components_are_named_after_the_labels() -> None:
    titles = ("toxic", "insult", "threat", "hate")
    measure = PerClassF(LABELS, over=(0, 2), sets=SETS, titles=titles, alpha=0.0)
    assert [one.name for one in measure.components] == [
        "class_recall(over=toxic+threat)[toxic]",
        "class_recall(over=toxic+threat)[threat]",
    ]
    assert PerClassF(2).components[1].name == "class_f1[1]"


@pytest.mark.parametrize("alpha", [-0.1, 1.1, True, "half"])
def test_wrong_alpha_is_refused(alpha: object) -> None:
    for kind in (lambda a: FBeta(alpha=a), lambda a: MicroF(3, alpha=a)):
        with pytest.raises(ValueError, match=r"alpha must be (a number|between 0 and 1), got"):
            kind(alpha)


def test_micro_f1_is_accuracy_over_all_classes_only() -> None:
    outputs, label = make_pool(0)
    accuracy = value_of(Accuracy(), outputs, label)
    assert value_of(MicroF(3), outputs, label) == pytest.approx(accuracy, rel=1e-12)
    assert value_of(MicroF(3, over=(0, 1)), outputs, label) != pytest.approx(accuracy, rel=1e-3)


def rows(prediction: list[int], label: list[int]) -> tuple[Outputs, np.ndarray]:
    codes = np.array(prediction)[:, None]
    return Outputs(codes, codes * 1.0, np.zeros((len(codes), 1, 3))), np.array(label)


@pytest.mark.parametrize(
    ("prediction", "label", "defined"),
    [
        ([0, 1, 0], [0, 1, 1], (False, True, False)),
        ([0, 1, 2], [0, 1, 1], (True, True, False)),
        ([0, 1, 1], [0, 1, 2], (True, True, False)),
        ([1, 2, 0], [0, 1, 2], (True, True, False)),
        ([0, 1, 2, 2], [0, 1, 2, 1], (True, True, True)),
    ],
    ids=["no trace of a class", "no label of it", "no prediction", "nothing right", "all there"],
)
def test_a_class_that_is_missing(
    prediction: list[int], label: list[int], defined: tuple[bool, ...]
) -> None:
    for measure, is_defined in zip(
        (MacroF(3), MicroF(3), F1OfMacroAverages(3)), defined, strict=True
    ):
        outputs, codes = rows(prediction, label)
        risk = measure.loss(outputs, codes).mean(axis=0)
        assert np.isfinite(measure.value(risk)).all() == is_defined
        assert np.isfinite(measure.jacobian(risk)).all() == is_defined
        assert np.isnan(measure.jacobian(risk)).all() != is_defined


def test_without_rows_of_the_averaged_classes_nothing_is_defined() -> None:
    assert np.isnan(value_of(MicroF(3, over=(2,)), *rows([0, 1], [1, 1]))).all()


def test_rows_of_other_classes_do_not_add() -> None:
    outputs, label = rows([0, 1, 2, 0], [1, 0, 0, 2])
    measure = MacroF(3, over=(2,))
    assert measure.adds(outputs, label).tolist() == [False, False, True, True]
    assert measure.evidence(outputs, label).tolist() == [False, False, False, True]


@pytest.mark.parametrize("over", [(), (0, 0), (3,), (-1, 0), 2, "a"])
def test_classes_averaged_over_must_exist(over: object) -> None:
    with pytest.raises(ValueError, match="over must hold distinct class codes below 3"):
        MacroF(3, over=over)


def test_one_class_is_none() -> None:
    with pytest.raises(ValueError, match="micro_f1 needs at least 2 classes, got 1"):
        MicroF(1)


def test_weighted_f1_is_that_of_scikit_learn() -> None:
    """Also where a class has no label, or neither label nor prediction."""
    outputs, label = make_pool(seed=5, rows=90)
    f = outputs.prediction[:, 0]
    for there in (np.ones(90, dtype=bool), label != 1, (label != 1) & (f != 1)):
        some = outputs.take(np.flatnonzero(there))
        found = value_of(WeightedF1(3), some, label[there])
        expected = metrics.f1_score(label[there], f[there], average="weighted", zero_division=0)
        assert found == pytest.approx([expected])


@pytest.mark.parametrize("measure", [MacroF, MicroF, F1OfMacroAverages, WeightedF1])
@pytest.mark.parametrize("sets", [None, Sets(("cat", "dog", "eel"))])
def test_what_is_missing_is_told_by_the_names_of_classes(
    measure: type[MacroF], sets: Sets | None
) -> None:
    titles = ("cat", "dog", "eel")
    outputs, label = rows([0, 1, 2], [0, 1, 1])
    shares = measure(3, sets=sets, titles=titles).shares(outputs, label)
    told = " ".join(f"{one.name}, {one.rows_name}" for one in shares)
    assert all(one in told for one in titles)
    assert not any(character.isdigit() for character in told)
    plain = " ".join(one.rows_name for one in measure(3, sets=sets).shares(outputs, label))
    assert "2" in plain
