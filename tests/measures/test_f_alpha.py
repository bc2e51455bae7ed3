"""F_alpha over classes and over sets of labels, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn import metrics

from evalsampling.measures import (
    F1OfMacroAverages,
    FAlpha,
    FBeta,
    MacroF1,
    MacroFAlpha,
    MacroPrecision,
    MacroRecall,
    Measure,
    MicroF1,
    MicroFAlpha,
    MicroPrecision,
    MicroRecall,
    PerClassF1,
    PerClassFAlpha,
    PerClassPrecision,
    PerClassRecall,
    Precision,
    Recall,
)
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of

LABELS = 4


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
    assert value_of(FAlpha(alpha=1 / (1 + beta**2)), outputs, label) == pytest.approx(wanted)


def test_ends_of_the_family_are_recall_and_precision() -> None:
    outputs, label = make_pool(3)
    assert value_of(FAlpha(alpha=0), outputs, label) == value_of(Recall(), outputs, label)
    assert value_of(FAlpha(alpha=1), outputs, label) == value_of(Precision(), outputs, label)


@pytest.mark.parametrize("over", [None, (0, 2)])
@pytest.mark.parametrize("average", ["micro", "macro", None])
def test_classes_are_those_of_scikit_learn(average: str | None, over: tuple | None) -> None:
    outputs, label = make_pool(5)
    given = {"labels": over, "average": average}
    beta = 1.7
    alpha = 1 / (1 + beta**2)
    kinds = {
        "micro": (MicroFAlpha, MicroPrecision, MicroRecall),
        "macro": (MacroFAlpha, MacroPrecision, MacroRecall),
        None: (PerClassFAlpha, PerClassPrecision, PerClassRecall),
    }[average]
    prediction = outputs.prediction[:, 0]
    for measure, wanted in [
        (
            kinds[0](3, over=over, alpha=alpha),
            metrics.fbeta_score(label, prediction, beta=beta, **given),
        ),
        (kinds[1](3, over=over), metrics.precision_score(label, prediction, **given)),
        (kinds[2](3, over=over), metrics.recall_score(label, prediction, **given)),
    ]:
        assert value_of(measure, outputs, label) == pytest.approx(np.atleast_1d(wanted))


@pytest.mark.parametrize("over", [None, (0, 2, 3)])
def test_sets_of_labels_are_those_of_scikit_learn(over: tuple | None) -> None:
    outputs, code, f, y = sets_pool(1)
    columns = list(over or range(LABELS))
    f, y = f[:, columns], y[:, columns]
    cases: list[tuple[Measure, object]] = [
        (MicroF1(LABELS, over=over, sets=True), metrics.f1_score(y, f, average="micro")),
        (MacroF1(LABELS, over=over, sets=True), metrics.f1_score(y, f, average="macro")),
        (PerClassF1(LABELS, over=over, sets=True), metrics.f1_score(y, f, average=None)),
        (
            MicroPrecision(LABELS, over=over, sets=True),
            metrics.precision_score(y, f, average="micro"),
        ),
        (MacroRecall(LABELS, over=over, sets=True), metrics.recall_score(y, f, average="macro")),
        (
            MacroFAlpha(LABELS, over=over, sets=True, alpha=0.2),
            metrics.fbeta_score(y, f, beta=2, average="macro"),
        ),
        (
            MicroFAlpha(LABELS, over=over, sets=True, alpha=0.8),
            metrics.fbeta_score(y, f, beta=0.5, average="micro"),
        ),
    ]
    for measure, wanted in cases:
        assert value_of(measure, outputs, code) == pytest.approx(np.atleast_1d(wanted))


def test_harmonic_mean_of_macro_averages_of_sets_is_that_of_the_paper() -> None:
    """[Y] eq. 101 and 102."""
    outputs, code, f, y = sets_pool(1)
    precision = metrics.precision_score(y, f, average="macro")
    recall = metrics.recall_score(y, f, average="macro")
    wanted = 2 * precision * recall / (precision + recall)
    found = value_of(F1OfMacroAverages(LABELS, sets=True), outputs, code)
    assert found == pytest.approx([wanted])


@pytest.mark.parametrize("kind", [MicroF1, MacroF1, F1OfMacroAverages, MicroFAlpha, MacroFAlpha])
def test_jacobian_of_sets_is_the_change_of_the_value(kind: type) -> None:
    outputs, code, _, _ = sets_pool(2)
    measure = kind(LABELS, sets=True)
    risk = measure.mean_loss(outputs, code, np.full(len(code), 1 / len(code)))
    found = measure.jacobian(risk)
    for place in range(len(risk)):
        step = np.zeros(len(risk))
        step[place] = 1e-7
        change = (measure.value(risk + step) - measure.value(risk - step)) / 2e-7
        assert found[:, place] == pytest.approx(change, rel=1e-5, abs=1e-7)


def test_deviation_of_micro_f1_is_that_of_the_paper() -> None:
    """[Y] eq. 95 to 97: labels being independent, over all sets as over each label by itself."""
    from evalsampling.label_spaces.sets import probabilities_of_sets
    from evalsampling.measures.deviation import Deviation

    outputs, _, f, _ = sets_pool(4)
    p = np.random.default_rng(4).uniform(0.02, 0.98, (80, LABELS))
    sets = probabilities_of_sets(p)
    measure = MicroF1(LABELS, sets=True)
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
    measure = PerClassRecall(LABELS, over=(0, 2), sets=True, titles=titles)
    assert [one.name for one in measure.components] == [
        "class_recall(over=toxic+threat)[toxic]",
        "class_recall(over=toxic+threat)[threat]",
    ]
    assert PerClassF1(2).components[1].name == "class_f1[1]"


@pytest.mark.parametrize("alpha", [-0.1, 1.1, True, "half"])
def test_wrong_alpha_is_refused(alpha: object) -> None:
    for kind in (lambda a: FAlpha(alpha=a), lambda a: MicroFAlpha(3, alpha=a)):
        with pytest.raises(ValueError, match=r"alpha must be (a number|between 0 and 1), got"):
            kind(alpha)
