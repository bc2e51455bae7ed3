"""Kinds of specs, each with the shape of the pool it wants."""

from typing import Any

from tests.averages import MACRO_F1, MICRO_F1

CLASSES = {"classes": [0, 1, 2], "positive": 2}


BY_CLASS = {"probability": {y: f"s0.p{y}" for y in range(3)}}


SCORED = {"score": "s0.score", "prediction": "s0.prediction"}


def predicting(systems: int) -> dict[str, Any]:
    """A pool of systems that predict, cut by the score of the first."""
    return {
        "score": "s0.score",
        "systems": {f"s{n}": {"prediction": f"s{n}.prediction"} for n in range(systems)},
    }


CASES: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "csf": ({}, {"pool": SCORED, "measure": ["f1", "brier", "accuracy"]}),
    "geometric": (
        {},
        {
            "pool": {"score": "size", "prediction": {"threshold": 3}},
            "strata": {"method": "geometric", "leaves": 12},
        },
    ),
    "equal width": (
        {},
        {
            "pool": {**SCORED, "score": "s0.chance"},
            "strata": {"method": "equal_width", "leaves": 9, "branching": 3},
            "measure": ["recall", "log_loss"],
        },
    ),
    "equal count": (
        {},
        {"pool": SCORED, "strata": {"method": "equal_count", "leaves": 20}, "measure": "mcc"},
    ),
    "edges": (
        {},
        {
            "pool": {**SCORED, "probability": "s0.chance"},
            "strata": {"edges": [-2.5, -1, 0.25, 1, 99]},
        },
    ),
    "verdicts": (
        {"systems": 2},
        {
            "pool": {
                "systems": {f"s{n}": {"prediction": f"s{n}.prediction"} for n in range(2)},
                "slices": ["new"],
            },
            "measure": ["f1", "accuracy"],
        },
    ),
    "weights and costs": (
        {},
        {
            "pool": {**SCORED, "weight": "size", "cost": "s0.chance", "slices": ["new"]},
            "strata": {"leaves": 12},
            "measure": ["f1", {"name": "f1", "by": "rows"}, "accuracy"],
        },
    ),
    "kd": (
        {},
        {
            "pool": {"features": ["x", "y"], "prediction": "s0.prediction", "slices": ["new"]},
            "strata": {"method": "kd", "leaves": 12},
            "measure": ["f1", "accuracy"],
        },
    ),
    "kd beside a score": (
        {},
        {
            "pool": {**SCORED, "features": ["x", "size"]},
            "strata": {"method": "kd", "leaves": 7},
            "measure": ["f1", "brier"],
        },
    ),
    "partition": (
        {},
        {
            "pool": {"prediction": "s0.prediction", "probability": "s0.chance", "slices": ["new"]},
            "strata": {"columns": ["year"]},
            "measure": ["f1", "accuracy"],
        },
    ),
    "hierarchy of columns": (
        {},
        {"pool": SCORED, "strata": {"leaves": 48, "columns": ["city", "year", "new"]}},
    ),
    "agglomerative": (
        {},
        {"pool": SCORED, "strata": {"method": "agglomerative", "leaves": 24, "hierarchy": "own"}},
    ),
    "kd with its own tree": (
        {},
        {
            "pool": {"features": ["x", "y"], "prediction": "s0.prediction"},
            "strata": {"method": "kd", "leaves": 12, "hierarchy": "own"},
        },
    ),
    "systems": (
        {"systems": 3},
        {
            "pool": {
                "systems": {
                    "old": {"score": "s0.score", "prediction": {"threshold": 0.5}},
                    "new": {
                        "score": "s1.chance",
                        "prediction": "s1.prediction",
                        "probability": {0: "s1.p0", 1: "s1.p1"},
                    },
                    "rules": {"prediction": "s2.prediction"},
                },
                "slices": ["year"],
            },
            "measure": [
                "f1",
                {"name": "brier", "system": "new"},
                {"name": "log_loss", "system": "old"},
                {"name": "roc_auc", "system": "new", "thresholds": 9},
            ],
        },
    ),
    "systems and a score of their own": (
        {"systems": 2},
        {
            "pool": {
                "score": "size",
                "probability": "s0.chance",
                "systems": {
                    "old": {"score": "s0.score", "prediction": "s0.prediction"},
                    "new": {"score": "s1.score", "prediction": "s1.prediction"},
                },
            },
            "measure": [{"joint": [{"name": "f1", "system": "new"}, "recall"]}, "brier"],
        },
    ),
    "pooled signatures": (
        {"systems": 10},
        {
            "pool": predicting(10),
            "strata": {"leaves": 300},
            "measure": ["f1", {"name": "accuracy", "system": "s4"}],
        },
    ),
    "slices": (
        {},
        {
            "pool": {**SCORED, "slices": ["city", "year", "new"], "cluster": "name"},
            "measure": ["f1", "precision"],
        },
    ),
    "slices that drive": (
        {},
        {
            "pool": {**SCORED, "slices": ["city"]},
            "strata": {"leaves": 12, "slices": {"new": True}},
            "measure": [
                {"name": "recall", "where": {"city": ["Bern", None], "year": 2020}},
                {"least": "accuracy", "over": {"city": ["Bern", "Genève"], "year": [2019]}},
                "f1",
            ],
        },
    ),
    "slices that share cells": (
        {"systems": 6},
        {
            "pool": predicting(6),
            "strata": {"leaves": 200},
            "measure": {"name": "f1", "system": "s0", "where": {"city": "Zürich"}},
            "round_size": 6,  # Few rows are of the slice.
        },
    ),
    "curve": (
        {},
        {
            "pool": {**SCORED, "slices": ["new"]},
            "strata": {"leaves": 6},
            "measure": [{"name": "pr_curve", "thresholds": 40}, "f1", "average_precision"],
        },
    ),
    "classes": (
        {"classes": 3},
        {
            "pool": {"score": "s0.chance", "prediction": "s0.prediction", **BY_CLASS},
            "labels": CLASSES,
            "measure": [MACRO_F1, "accuracy", {**MICRO_F1, "over": [1, 2]}, "brier"],
        },
    ),
    "classes of systems": (
        {"classes": 3, "systems": 2},
        {
            "pool": {
                "systems": {
                    f"s{n}": {
                        "score": f"s{n}.chance",
                        "prediction": f"s{n}.prediction",
                        "probability": {y: f"s{n}.p{y}" for y in range(3)},
                    }
                    for n in range(2)
                }
            },
            "labels": CLASSES,
            "measure": ["f1_of_macro_averages", "log_loss"],
        },
    ),
    "stochastic oracle": (
        {},
        {
            "pool": {**SCORED, "slices": ["city"]},
            "labels": {"oracle": "stochastic"},
            "strata": {"leaves": 8},
        },
    ),
}
