"""Kinds of specs, each with the shape of the pool it wants."""

from typing import Any

from tests.averages import MACRO_F1, MICRO_F1

Case = tuple[dict[str, int], dict[str, Any]]
"""What `make_rich_pool` takes, and the keys of a spec for that pool."""

CLASSES = {"classes": [0, 1, 2], "positive": 2}

BY_CLASS = {"probability": {y: f"s0.p{y}" for y in range(3)}}

SCORED = {"score": "s0.score", "prediction": "s0.prediction"}


def case(pool: dict[str, Any], systems: int = 2, classes: int = 2, **keys: Any) -> Case:
    """A case with so many systems and classes; of the pool and of the spec are the keys."""
    return {"systems": systems, "classes": classes}, {"pool": pool, **keys}


def predicting(systems: int) -> dict[str, Any]:
    """Systems that predict."""
    return {"systems": {f"s{n}": {"prediction": f"s{n}.prediction"} for n in range(systems)}}


OF_SYSTEM = {"name": "f1", "system": "s0", "where": {"city": "Zürich"}}
SCORED_SYSTEMS = {
    name: {"score": f"{column}.score", "prediction": f"{column}.prediction"}
    for name, column in (("old", "s0"), ("new", "s1"))
}
THREE_SYSTEMS = {
    "old": {"score": "s0.score", "prediction": {"threshold": 0.5}},
    "new": {
        "score": "s1.chance",
        "prediction": "s1.prediction",
        "probability": {0: "s1.p0", 1: "s1.p1"},
    },
    "rules": {"prediction": "s2.prediction"},
}
CLASSES_OF_SYSTEMS = {
    f"s{n}": {
        "score": f"s{n}.chance",
        "prediction": f"s{n}.prediction",
        "probability": {y: f"s{n}.p{y}" for y in range(3)},
    }
    for n in range(2)
}

CASES: dict[str, Case] = {
    "csf": case(SCORED, measure=["f1", "brier", "accuracy"]),
    "geometric": case(
        {"score": "size", "prediction": {"threshold": 3}},
        strata={"method": "geometric", "leaves": 12},
    ),
    "equal width": case(
        {**SCORED, "score": "s0.chance"},
        strata={"method": "equal_width", "leaves": 9, "branching": 3},
        measure=["recall", "log_loss"],
    ),
    "equal count": case(SCORED, strata={"method": "equal_count", "leaves": 20}, measure="mcc"),
    "edges": case(
        {**SCORED, "probability": "s0.chance"}, strata={"edges": [-2.5, -1, 0.25, 1, 99]}
    ),
    "verdicts": case({**predicting(2), "slices": ["new"]}, measure=["f1", "accuracy"]),
    "weights and costs": case(
        {**SCORED, "weight": "size", "cost": "s0.chance", "slices": ["new"]},
        strata={"leaves": 12},
        measure=["f1", {"name": "f1", "by": "rows"}, "accuracy"],
    ),
    "kd": case(
        {"features": ["x", "y"], "prediction": "s0.prediction", "slices": ["new"]},
        strata={"method": "kd", "leaves": 12},
        measure=["f1", "accuracy"],
    ),
    "kd beside a score": case(
        {**SCORED, "features": ["x", "size"]},
        strata={"method": "kd", "leaves": 7},
        measure=["f1", "brier"],
    ),
    "partition": case(
        {"prediction": "s0.prediction", "probability": "s0.chance", "slices": ["new"]},
        strata={"columns": ["year"]},
        measure=["f1", "accuracy"],
    ),
    "hierarchy of columns": case(SCORED, strata={"leaves": 48, "columns": ["city", "year", "new"]}),
    "agglomerative": case(
        SCORED, strata={"method": "agglomerative", "leaves": 24, "hierarchy": "own"}
    ),
    "kd with its own tree": case(
        {"features": ["x", "y"], "prediction": "s0.prediction"},
        strata={"method": "kd", "leaves": 12, "hierarchy": "own"},
    ),
    "systems": case(
        {"systems": THREE_SYSTEMS, "slices": ["year"]},
        systems=3,
        measure=[
            "f1",
            {"name": "brier", "system": "new"},
            {"name": "log_loss", "system": "old"},
            {"name": "roc_auc", "system": "new", "thresholds": 9},
        ],
    ),
    "systems and a score of their own": case(
        {"score": "size", "probability": "s0.chance", "systems": SCORED_SYSTEMS},
        measure=[{"joint": [{"name": "f1", "system": "new"}, "recall"]}, "brier"],
    ),
    "pooled signatures": case(
        {"score": "s0.score", **predicting(10)},
        systems=10,
        strata={"leaves": 300},
        measure=["f1", {"name": "accuracy", "system": "s4"}],
    ),
    "slices": case(
        {**SCORED, "slices": ["city", "year", "new"], "cluster": "name"},
        measure=["f1", "precision"],
    ),
    "slices that drive": case(
        {**SCORED, "slices": ["city"]},
        strata={"leaves": 12, "slices": {"new": True}},
        measure=[
            {"name": "recall", "where": {"city": ["Bern", None], "year": 2020}},
            {"least": "accuracy", "over": {"city": ["Bern", "Genève"], "year": [2019]}},
            "f1",
        ],
    ),
    "slices that share cells": case(
        {"score": "s0.score", **predicting(6)},
        systems=6,
        strata={"leaves": 200},
        measure=OF_SYSTEM,
        round_size=6,  # Few rows are of the slice.
    ),
    "curve": case(
        {**SCORED, "slices": ["new"]},
        strata={"leaves": 6},
        measure=[{"name": "pr_curve", "thresholds": 40}, "f1", "average_precision"],
    ),
    "classes": case(
        {"score": "s0.chance", "prediction": "s0.prediction", **BY_CLASS},
        classes=3,
        labels=CLASSES,
        measure=[MACRO_F1, "accuracy", {**MICRO_F1, "over": [1, 2]}, "brier"],
    ),
    "classes of systems": case(
        {"systems": CLASSES_OF_SYSTEMS},
        classes=3,
        labels=CLASSES,
        measure=["f1_of_macro_averages", "log_loss"],
    ),
    "stochastic oracle": case(
        {**SCORED, "slices": ["city"]}, labels={"oracle": "stochastic"}, strata={"leaves": 8}
    ),
}
