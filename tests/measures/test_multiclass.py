"""F1 over several classes, against scikit-learn."""

import numpy as np
import pytest

from evalsampling.measures import Accuracy, F1OfMacroAverages, MacroF1, MicroF1, WeightedF1
from evalsampling.stats.outputs import Outputs
from tests.measures.pools import make_pool, value_of

OVER = [None, (0,), (1, 2), (2, 0)]


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("seed", range(3))
def test_values_equal_those_of_scikit_learn(seed: int, over: tuple[int, ...] | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outputs, label = make_pool(seed)
    for system in (0, 1):
        rows = (label, outputs.prediction[:, system])
        labels = [0, 1, 2] if over is None else list(over)
        macro = metrics.f1_score(*rows, labels=labels, average="macro")
        found = value_of(MacroF1(3, system, over), outputs, label)
        assert found == pytest.approx(macro, rel=1e-12)
        micro = metrics.f1_score(*rows, labels=labels, average="micro")
        found = value_of(MicroF1(3, system, over), outputs, label)
        assert found == pytest.approx(micro, rel=1e-12)
        precision = metrics.precision_score(*rows, labels=labels, average="macro")
        recall = metrics.recall_score(*rows, labels=labels, average="macro")
        found = value_of(F1OfMacroAverages(3, system, over), outputs, label)
        assert found == pytest.approx(2 * precision * recall / (precision + recall), rel=1e-12)


def test_micro_f1_is_accuracy_over_all_classes_only() -> None:
    outputs, label = make_pool(0)
    accuracy = value_of(Accuracy(), outputs, label)
    assert value_of(MicroF1(3), outputs, label) == pytest.approx(accuracy, rel=1e-12)
    assert value_of(MicroF1(3, over=(0, 1)), outputs, label) != pytest.approx(accuracy, rel=1e-3)


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
        (MacroF1(3), MicroF1(3), F1OfMacroAverages(3)), defined, strict=True
    ):
        outputs, codes = rows(prediction, label)
        risk = measure.loss(outputs, codes).mean(axis=0)
        assert np.isfinite(measure.value(risk)).all() == is_defined
        assert np.isfinite(measure.jacobian(risk)).all() == is_defined
        assert np.isnan(measure.jacobian(risk)).all() != is_defined


def test_without_rows_of_the_averaged_classes_nothing_is_defined() -> None:
    assert np.isnan(value_of(MicroF1(3, over=(2,)), *rows([0, 1], [1, 1]))).all()


def test_rows_of_other_classes_do_not_add() -> None:
    outputs, label = rows([0, 1, 2, 0], [1, 0, 0, 2])
    measure = MacroF1(3, over=(2,))
    assert measure.adds(outputs, label).tolist() == [False, False, True, True]
    assert measure.evidence(outputs, label).tolist() == [False, False, False, True]


def test_names() -> None:
    assert MacroF1(3).name == "macro_f1"
    assert MicroF1(3, over=(0, 2)).name == "micro_f1(over=0+2)"
    assert F1OfMacroAverages(3, over=(1,)).name == "f1_of_macro_averages(over=1)"


@pytest.mark.parametrize("over", [(), (0, 0), (3,), (-1, 0), 2, "a"])
def test_classes_averaged_over_must_exist(over: object) -> None:
    with pytest.raises(ValueError, match="over must hold distinct class codes below 3"):
        MacroF1(3, over=over)


def test_one_class_is_none() -> None:
    with pytest.raises(ValueError, match="micro_f1 needs at least 2 classes, got 1"):
        MicroF1(1)


def test_weighted_f1_is_that_of_scikit_learn() -> None:
    """Also where a class has no label, or neither label nor prediction."""
    sklearn = pytest.importorskip("sklearn.metrics")
    outputs, label = make_pool(seed=5, rows=90)
    f = outputs.prediction[:, 0]
    for there in (np.ones(90, dtype=bool), label != 1, (label != 1) & (f != 1)):
        some = outputs.take(np.flatnonzero(there))
        found = value_of(WeightedF1(3), some, label[there])
        expected = sklearn.f1_score(label[there], f[there], average="weighted", zero_division=0)
        assert found == pytest.approx([expected])


@pytest.mark.parametrize("measure", [MacroF1, MicroF1, F1OfMacroAverages, WeightedF1])
@pytest.mark.parametrize("sets", [False, True])
def test_what_is_missing_is_told_by_the_names_of_classes(
    measure: type[MacroF1], sets: bool
) -> None:
    titles = ("cat", "dog", "eel")
    outputs, label = rows([0, 1, 2], [0, 1, 1])
    shares = measure(3, sets=sets, titles=titles).shares(outputs, label)
    told = " ".join(f"{one.name}, {one.rows_name}" for one in shares)
    assert all(one in told for one in titles)
    assert not any(character.isdigit() for character in told)
    plain = " ".join(one.rows_name for one in measure(3, sets=sets).shares(outputs, label))
    assert "2" in plain
