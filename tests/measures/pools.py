"""Small pools, with slices and weights too; one measure or more for every name of a spec."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evalsampling.measures import (
    BY_NAME,
    Joint,
    MacroF,
    Measure,
    MicroF,
    PerClassF,
    Quotient,
    WeightedF1,
    difference,
)
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import SliceCodes

CLASSES = 3
THRESHOLDS = (-0.7, 0.0, 0.4, 1.1)


def build(name: str, **parameters: Any) -> Measure:
    """Build a measure as a spec does: what the class has a field for is filled in."""
    context = {"positive": 1, "classes": CLASSES, "system": 0, "thresholds": THRESHOLDS}
    fields = {field.name for field in dataclasses.fields(BY_NAME[name])}
    known = {key: value for key, value in context.items() if key in fields}
    return BY_NAME[name](**{**known, **parameters})


def make_pool(seed: int, rows: int = 60, skill: float = 0.6) -> tuple[Outputs, np.ndarray]:
    """Two systems and three classes, all of them common; scores go up with the label 1."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(rows) % CLASSES)
    guess = rng.integers(0, CLASSES, (rows, 2))
    prediction = np.where(rng.random((rows, 2)) < skill, label[:, None], guess)
    score = rng.normal((label == 1)[:, None], 1, (rows, 2))
    probability = rng.dirichlet(np.ones(CLASSES), (rows, 2))
    return Outputs(prediction, score, probability), label


NAMED_SLICES = {"country": ("DE", "FR"), "device": ("phone",)}
WHERE = {"country": ("DE",), "device": ("phone",)}


def pool_with_slices(seed: int = 0, rows: int = 200) -> tuple[Outputs, np.ndarray, np.ndarray]:
    """Outputs, labels and which rows are in `WHERE`: some of every kind are, and are not."""
    outputs, label = make_pool(seed, rows)
    rng = np.random.default_rng(seed)
    code = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)], axis=1)
    inside = (code[:, 0] == 1) & (code[:, 1] == 1)
    codes = SliceCodes(NAMED_SLICES, code)
    weight = {"weight": rng.integers(1, 5, rows).astype(np.float64)}
    return dataclasses.replace(outputs, slices=codes, magnitudes=weight), label, inside


def risk_of(measure: Measure, outputs: Outputs, label: np.ndarray) -> np.ndarray:
    return measure.mean_loss(outputs, label, np.full(len(label), 1 / len(label)))


def value_of(measure: Measure, outputs: Outputs, label: np.ndarray) -> np.ndarray:
    return measure.value(risk_of(measure, outputs, label))


NEEDING_MORE = ("generalized_risk", "mse", "rmse", "mae", "r2", "mean_error")
"""Weights, or labels that are numbers (tests/measures/test_regression.py)."""
WEIGHTED = {"weights": [[1, 2, 1], [0.5, 1, 3], [1, 0, 1]]}
NAMED = {
    **{name: build(name) for name in BY_NAME if name not in NEEDING_MORE},
    "generalized_risk": build("generalized_risk", **WEIGHTED),
    "generalized_risk, table": build(
        "generalized_risk",
        losses=[[0, 1, 4], [2, 0, -1], [3, 1, 0]],
        weights=[[1] * 3, [2] * 3, [0] * 3],
    ),
    "risk, squared": build("risk", losses="squared"),
    "risk, table, system 1": build("risk", losses=[[0, 1, 4], [2, 0, 1], [3, 1, 0]], system=1),
    "kappa, linear, system 1": build("kappa", weights="linear", system=1),
    "kappa, quadratic": build("kappa", weights="quadratic", rest=2),
    "f_beta, 2": build("f_beta", beta=2.0),
    "f_beta, system 1": build("f_beta", beta=0.3, system=1, positive=2),
    "macro_f1": MacroF(CLASSES),
    "macro_f1, two classes": MacroF(CLASSES, over=(0, 2)),
    "micro_f1": MicroF(CLASSES),
    "micro_f1, two classes": MicroF(CLASSES, over=(0, 2)),
    "weighted_f1": WeightedF1(CLASSES),
    "class_recall": PerClassF(CLASSES, alpha=0.0),
    "macro_precision": MacroF(CLASSES, alpha=1.0),
    "f1_of_macro_averages, two classes": build("f1_of_macro_averages", over=(0, 2)),
    "f_beta, alpha 0.3": build("f_beta", alpha=0.3),
    "micro_f_beta, two classes": MicroF(CLASSES, alpha=0.2, over=(0, 2)),
    "macro_f_beta, 0.8": MacroF(CLASSES, alpha=0.8),
    "class_f_beta, two classes": PerClassF(CLASSES, alpha=0.7, over=(1, 2)),
    "log_loss, clipped": build("log_loss", clip=0.1),
    "roc_auc, system 1": build("roc_auc", system=1),
    "precision_at_recall": build("precision_at_recall", recall=0.7),
    "precision_at_recall, 0.6, system 1": build("precision_at_recall", recall=0.6, system=1),
    "pr_curve, one threshold": build("pr_curve", thresholds=(0.2,)),
}
STACKED = {
    "joint": Joint((build("f1"), build("pr_curve", system=1), build("mcc", system=1))),
    "difference of f1": difference(build("f1"), build("f1", system=1)),
    "difference of kappa": difference(build("kappa"), build("kappa", system=1)),
    "difference of accuracy": difference(build("accuracy"), build("accuracy", system=1)),
    "difference of average precision": difference(
        build("average_precision"), build("average_precision", system=1)
    ),
    "difference of curves": difference(build("pr_curve"), build("pr_curve", system=1)),
    "ratio": Quotient(build("fowlkes_mallows"), build("fowlkes_mallows", system=1)),
    "joint of joints": Joint((Joint((build("recall"),)), build("average_precision"))),
}
ALL = {**NAMED, **STACKED}
SCALAR = {key: measure for key, measure in NAMED.items() if len(measure.components) == 1}

every_measure = pytest.mark.parametrize("measure", ALL.values(), ids=ALL.keys())
every_scalar = pytest.mark.parametrize("measure", SCALAR.values(), ids=SCALAR.keys())
every_named = pytest.mark.parametrize("measure", NAMED.values(), ids=NAMED.keys())
