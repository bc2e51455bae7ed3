"""The golden evaluations: every sampler and every measure, in pools of every kind."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.compared_numbers import RANGE, systems_of


@dataclasses.dataclass(frozen=True)
class Case:
    """An evaluation of a pool in memory: keys, new rows of rounds, one in ``skips`` unlabelled."""

    pool: str
    keys: Mapping[str, Any]
    rounds: Sequence[int] = (40, 30)
    skips: int = 0


def measure_names(entry: Any) -> Iterator[str]:
    """Yield the names of measures in an entry of a spec, or in several."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, Mapping) and "name" in entry:
        yield entry["name"]
    else:
        for part in _parts(entry):
            yield from measure_names(part)


def _parts(entry: Any) -> Sequence[Any]:
    """Return the entries within an entry: not the slices of a least or greatest one."""
    if isinstance(entry, Mapping):
        return [part for key, part in entry.items() if key != "over"]
    return list(entry)


SCORED = {"id": "id", "score": "s0.score", "prediction": "s0.prediction"}
ALL_SYSTEMS = {
    "old": {"score": "s0.score", "prediction": "s0.prediction"},
    "new": {"score": "s1.chance", "prediction": "s1.prediction", "probability": "s1.p1"},
    "rules": {"prediction": "s2.prediction"},
}
THREE = {"id": "id", "systems": ALL_SYSTEMS}
TWO = {"id": "id", "systems": {name: ALL_SYSTEMS[name] for name in ("old", "new")}}
FOUR: dict[str, Any] = {
    "pool": {
        "id": "id",
        "score": "s0.chance",
        "prediction": "s0.prediction",
        "probability": {y: f"s0.p{y}" for y in range(4)},
    },
    "labels": {"classes": [0, 1, 2, 3], "positive": 2},
}
NUMBERS: dict[str, Any] = {
    "pool": {"id": "id", "prediction": "prediction", "variance": "variance"},
    "labels": {"range": [0, 100]},
    "measure": ["mse", "mean_error"],
}
COMPARED: dict[str, Any] = {
    "pool": {"id": "id", "systems": systems_of(2)},
    "labels": {"range": RANGE},
}
SETS: dict[str, Any] = {
    "pool": {
        "id": "id",
        "prediction": {name: f"is_{name}" for name in ("toxic", "insult", "threat")},
        "probability": {name: f"p_{name}" for name in ("toxic", "insult", "threat")},
    },
    "labels": {"multilabel": ["toxic", "insult", "threat"]},
}
TAGS: dict[str, Any] = {
    "pool": {
        "id": "id",
        "score": "score",
        "prediction": "tags",
        "probability": {f"tag {number}": f"p tag {number}" for number in range(12)},
    },
    "labels": {"multilabel": [f"tag {number}" for number in range(12)]},
    "measure": [MICRO_F1, {**MACRO_F1, "over": ["tag 0", "tag 7"]}],
}
QUERIES: dict[str, Any] = {
    "pool": {
        "id": "query",
        "lists": {"items": "doc"},
        "systems": {"new": {"score": "new", "probability": "chances"}, "old": {"score": "old"}},
    },
    "labels": {"classes": [0, 1, 2]},
    "measure": [{"difference": {"name": "dcg", "cut": 4}}, {"name": "err", "cut": 4}],
}
RANKED: dict[str, Any] = {
    "pool": {"id": "id", "score": "score", "prediction": "prediction"},
    "strata": {"method": "log_rank", "leaves": 32},
    "measure": ["average_precision", {"name": "pr_curve", "thresholds": 4}, "f1"],
}

ON_SLICES: list[Any] = [
    {"name": "recall", "where": {"new": True}},
    {"name": "accuracy", "where": {"city": ["Bern", None], "year": 2020}},
]
OVER_SLICES: dict[str, Any] = {"least": "recall", "over": {"city": ["Bern", "Genève"]}}
OF_TWO_CLASSES = [
    "f1", {"name": "f_beta", "beta": 2}, "precision", "recall", "accuracy", "balanced_accuracy",
    "specificity", "npv", "false_positive_rate", "prevalence", "mcc", "fowlkes_mallows",
    {"name": "f_beta", "alpha": 0.3}, {"name": "f_beta", "alpha": 0.7},
    {"name": "generalized_risk", "losses": "squared", "weights": [[1, 2], [0.5, 1]]},
    "brier", "log_loss", "confusion_matrix", {"name": "precision", "positive": 0},
]  # fmt: skip
OF_CURVES = [
    {"name": "pr_curve", "thresholds": [-3.0, -1.0, 1.0, 3.0]},
    {"name": "roc_curve", "thresholds": [-2.0, 0.0, 2.0]},
    {"name": "average_precision", "thresholds": 32},
    {"name": "roc_auc", "thresholds": 32},
    {"name": "precision_at_recall", "recall": 0.7, "thresholds": 32},
]
OF_FOUR_CLASSES = [
    MACRO_F1, {"name": "f1", "average": "micro", "over": [1, 2, 3]},
    {"name": "f1", "average": "weighted"}, "f1_of_macro_averages",
    {"name": "f_beta", "average": "micro", "alpha": 0.3}, {"name": "precision", "average": "micro"},
    {"name": "recall", "average": "micro", "over": [1, 2]},
    {"name": "f_beta", "average": "macro", "alpha": 0.3}, {"name": "precision", "average": "macro"},
    {"name": "recall", "average": "macro"},
    {"name": "f_beta", "average": "each", "alpha": 0.3, "over": [1, 3]},
    {"name": "f1", "average": "each", "over": [1, 2]},
    {"name": "precision", "average": "each", "over": [0, 1]},
    {"name": "recall", "average": "each", "over": [1]}, {"name": "risk", "losses": "absolute"},
    "accuracy", "recall", "brier", "log_loss",
]  # fmt: skip
OF_AGREEMENT = [
    "kappa", {"name": "kappa", "weights": "linear"}, {"name": "kappa", "weights": "quadratic"},
    "multiclass_mcc",
]  # fmt: skip
FEW = ["f1", "precision", "recall", "accuracy"]
"""Measures that samplers are compared by."""

Cases = dict[str, Case]


def _case(pool: str, kind: Mapping[str, Any], /, **keys: Any) -> Case:
    """Return a case of some kind; keys are the spec's, in place of the kind's, or the case's."""
    options = {key: keys.pop(key) for key in ("rounds", "skips") if key in keys}
    return Case(pool, {"strata": {"leaves": 12}, "seed": 7, **kind, **keys}, **options)


def _scored(sampler: Any, pool: Mapping[str, Any] | None = None, **keys: Any) -> Case:
    """Return a case of two classes with a score; ``pool`` are more keys of the pool."""
    kind = {"pool": {**SCORED, **(pool or {})}, "sampler": sampler, "measure": FEW}
    return _case("pairs", kind, **keys)


def _with_parameters(name: str, *given: Mapping[str, Any]) -> Cases:
    """Return a case for each choice of a sampler's parameters."""
    return {
        " ".join([name, *(f"{key} {value}" for key, value in one.items())]): _scored(
            {"name": name, **one}, measure=["f1", "accuracy"]
        )
        for one in given
    }


TAKE_CLASSES = (
    "passive", "stratified", "importance", "ais", "calibrated", "poisson", "optimal_importance",
    "active_risk", "strat", "strat_model", "active_err", "active_uniD",
)  # fmt: skip
"""Samplers that take any measure of classes, and need nothing beside a score."""

TAKE_NUMBERS = (
    "passive", "stratified", "poisson", "optimal_importance", "active_risk", "active_uniD",
)  # fmt: skip

NEED_COSTS = ("active_uniC", "active_lambda")

BY_LEAF = {"name": "given", "weights": "tests.golden.weights:by_leaf"}

SURE = {"name": "ais", "delta": 0.2}
"""A sampler that can draw every row, so that every measure can be estimated."""


def _of_samplers() -> Cases:
    """Return a case of two classes for each sampler, and for other parameters."""
    cases = {name: _scored(name) for name in (*TAKE_CLASSES, "oasis")}
    return {
        **cases,
        "given": _scored(BY_LEAF),
        **_with_parameters(
            "ais", {"delta": 0.2, "draws": 50}, {"model": "scores"}, {"accelerate": False}
        ),
        **_with_parameters("oasis", {"epsilon": 0.1, "strength": 5}),
        **_with_parameters("importance", {"calibration": "logistic"}, {"calibration": "isotonic"}),
        **_with_parameters("optimal_importance", {"delta": 0.3, "smoothing": 0.5}),
        **_with_parameters(
            "poisson",
            {"online": "exclude"},
            {"online": "include"},
            {"estimator": "difference"},
            {"correct_bias": True, "cap": True},
        ),
        **_with_parameters(
            "active_risk",
            {"model": "uniform"},
            {"model": "prior", "class_prior": [0.9, 0.1]},
            {"calibration": "logistic"},
        ),
        **_with_parameters("strat", {"strata": 5}),
        **_with_parameters("strat_model", {"strata": 5, "least": 0.1}),
    }


def _of_rivals_of_ranks() -> Cases:
    """Return cases of samplers that query ranks."""
    parameters = {"epsilon": 0.5, "beta": 2, "p_min": 0.25, "m": 5, "first": 100}
    return {
        name: _case("ranked", RANKED, sampler={"name": name, **parameters}, rounds=(10,) * rounds)
        for name, rounds in {"adastrat": 3, "logstrat": 1}.items()
    }


def _of_kinds() -> Cases:
    """Return cases of samplers in pools of other kinds, of one measure each."""
    curve = {"name": "average_precision", "thresholds": 16}
    cases: Cases = {}
    for name in TAKE_CLASSES:
        cases |= {
            f"four classes by {name}": _case("four", FOUR, sampler=name, measure=[MACRO_F1]),
            f"two systems by {name}": _case(
                "differing", {"pool": TWO}, sampler=name, measure=["f1"]
            ),
            f"a curve by {name}": _scored(name, {"score": "x"}, measure=[curve]),
        }
    for name in (*TAKE_CLASSES, "oasis", *NEED_COSTS):
        cases[f"costs by {name}"] = _scored(
            name, {"cost": "size"}, measure=["f1"], budget={"cost": 400}
        )
    by_rows = ["f1", {"name": "f1", "by": "rows"}]
    for name in ("calibrated", "stratified", "importance", "ais", "poisson", "strat_model"):
        cases[f"weights by {name}"] = _scored(name, {"weight": "size"}, measure=by_rows)
    cases["weights and costs"] = _scored(
        "calibrated", {"weight": "size", "cost": "s0.chance", "slices": ["new"]}, measure=["recall"]
    )
    grouped = {"pool": {**SCORED, "cluster": "group"}, "measure": FEW}
    for name in ("calibrated", "ais", "stratified", "poisson", "clusters"):
        cases[f"clusters by {name}"] = _case("grouped", grouped, sampler=name)
    for name in ("passive", "importance", "oasis", "ais", "poisson", "active_risk", "active_err"):
        cases[f"a stochastic oracle by {name}"] = _scored(
            name, measure=["f1"], labels={"oracle": "stochastic"}
        )
    for name in ("calibrated", "stratified", "importance", "ais", "strat"):
        cases[f"label sets by {name}"] = _case("sets", SETS, sampler=name, measure=[MICRO_F1])
    for name in ("poisson", "importance"):
        cases[f"many labels by {name}"] = _case("tags", TAGS, sampler=name, rounds=(40,))
    for name in TAKE_NUMBERS:
        cases[f"numbers by {name}"] = _case("numbers", NUMBERS, sampler=name)
    priced = {**NUMBERS, "pool": {**NUMBERS["pool"], "cost": "cost"}}
    for name in ("active_risk", *NEED_COSTS):
        cases[f"numbers with costs by {name}"] = _case("numbers", priced, sampler=name)
    heavy = {"pool": {**NUMBERS["pool"], "weight": "cost"}}
    cases["numbers with weights"] = _case("numbers", NUMBERS, **heavy, sampler="active_risk")
    heavy = {"pool": {**TAGS["pool"], "weight": "score"}}
    cases["many labels with weights"] = _case("tags", TAGS, **heavy, sampler="poisson")
    return cases


def _of_measures() -> Cases:
    """Return cases of many measures, with all rows at risk and by the default sampler."""
    cases: Cases = {}
    for sampler in (SURE, "calibrated"):
        name = "ais" if sampler is SURE else sampler
        keys: dict[str, Any] = {"sampler": sampler, "rounds": (60, 60)}
        cases |= {
            f"measures of two classes by {name}": _scored(**keys, measure=OF_TWO_CLASSES),
            f"measures of four classes by {name}": _case(
                "four", FOUR, **keys, measure=OF_FOUR_CLASSES
            ),
            f"curves by {name}": _scored(**keys, measure=OF_CURVES),
            f"agreement of two classes by {name}": _scored(**keys, measure=OF_AGREEMENT),
            f"agreement of four classes by {name}": _case(
                "four", FOUR, **keys, measure=OF_AGREEMENT
            ),
        }
    own = "tests.evaluation.user_measures:ErrorOdds"
    sliced = {**NUMBERS["pool"], "slices": ["low"]}
    return {
        **cases,
        "a measure of the user's own": _scored("ais", measure=[own]),
        "measures of numbers": _case(
            "numbers", NUMBERS, pool=sliced, measure=["mse", "rmse", "mae", "mean_error", "r2"]
        ),
        "measures of label sets by poisson": _case(
            "sets", SETS, sampler="poisson", measure=[MACRO_F1, MICRO_F1, EACH_F1, "accuracy"],
            rounds=(120,),
        ),
        "measures of label sets by calibrated": _case(
            "sets", SETS, sampler="calibrated",
            measure=[
                {"name": "precision", "average": "micro"}, {"name": "recall", "average": "micro"},
                {"name": "recall", "average": "each"}, {"name": "precision", "average": "each"},
            ],
        ),
    }  # fmt: skip


def _of_comparisons() -> Cases:
    """Return cases of several systems."""
    variants = {
        "rescaled": "accuracy", "active": "f1", "active_neq": "accuracy", "active_0": "brier",
        "active_inf": "brier", "active_risk": "f1", "committee": "accuracy",
    }  # fmt: skip
    sure, new = {"name": "compare", "delta": 0.1}, {"name": "brier", "system": "new"}
    numbers = functools.partial(_case, "compared numbers", COMPARED)
    priced = {**COMPARED["pool"], "cost": "cost"}
    mse = {"difference": "mse"}
    many = functools.partial(_case, "differing", {"pool": THREE}, rounds=(60, 60))
    two = functools.partial(_case, "differing", {"pool": TWO})
    joint = [{"joint": ["precision", "recall"]}, "f1"]
    compared = [{"difference": "f1"}, {"ratio": "f1"}, {"difference": "accuracy"}]
    return {
        "numbers compared": numbers(
            sampler=sure, measure=[mse, {"difference": "mae"}, {"ratio": "rmse"}]
        ),
        "numbers of three systems compared": numbers(
            pool={"id": "id", "systems": systems_of(3)},
            sampler={**sure, "variant": "active"},
            measure=[{**mse, "of": "old", "against": "rules"}],
        ),
        "numbers compared by costs": numbers(pool=priced, measure=[mse]),
        "three systems by ais": many(sampler=SURE, measure=["f1", new]),
        "three systems by calibrated": many(sampler="calibrated", measure=["accuracy", "f1"]),
        "three systems by compare": many(sampler={**sure, "delta": 0.2}, measure=["accuracy"]),
        "difference and ratio": two(sampler="ais", measure=compared, rounds=(60, 60)),
        "joint": _case("pairs", {"pool": TWO}, sampler="ais", measure=joint, rounds=(60, 60)),
        **{
            f"compare variant {name}": two(
                sampler={"name": "compare", "variant": name}, measure=[{"difference": measure}]
            )
            for name, measure in variants.items()
        },
    }


def _of_queries() -> Cases:
    """Return cases of rankings."""
    of = functools.partial(_case, "queries", QUERIES, rounds=(25, 15))
    sliced = {**QUERIES["pool"], "slices": ["market"]}
    active = {"name": "ranking", "variant": "active", "floor": 0.2}
    priced = {**QUERIES["pool"], "cost": "cost"}
    return {
        "ranking": of(sampler="ranking"),
        "ranking with slices": of(pool=sliced, sampler=active),
        "ranking with costs": of(pool=priced, sampler="ranking"),
        "queries by active_lambda": of(pool=priced, sampler="active_lambda"),
        "queries by passive": of(sampler="passive"),
    }


def _of_the_rest() -> Cases:
    """Return cases of slices, missing labels, strata and defaults."""
    by_edges = {"edges": [-2.5, -1, 0.25, 1]}
    by_features = {"score": None, "features": ["x", "y"]}
    kd = {"method": "kd", "leaves": 12}
    own_prior = {"share": 0.3, "spread": 1}
    cases = {
        f"strata by {method}": _scored(
            "ais", {"score": "size"}, strata={"method": method, "leaves": 8}, measure=["f1"]
        )
        for method in ("geometric", "equal_width", "equal_count", "log_rank")
    }
    for sampler in ("ais", "calibrated", "strat"):
        cases[f"strata by kd, {sampler}"] = _scored(sampler, by_features, strata=kd, measure=["f1"])
    own = {"name": "ais", "model": "tests.golden.weights:by_cell"}
    set_constants = {"name": "ais", "alpha": 2, "beta": 0.1, "prior_weight": 3, "epsilon": 1e-6}
    columns = {"leaves": 12, "columns": ["city", "new"]}
    clusters = {"method": "agglomerative", "leaves": 12, "hierarchy": "own"}
    few = {"measure": ["f1"], "rounds": (20, 10)}
    return {
        **cases,
        "partition by ais": _scored("ais", strata=columns, **few),
        "own model by ais": _scored(own, **few),
        "clusters and constants by ais": _scored(set_constants, strata=clusters, **few),
        "strata by edges": _scored(
            "passive", {"probability": "s0.chance"}, strata=by_edges, measure=["f1"]
        ),
        "slices by calibrated": _scored("calibrated", {"slices": ["new"]}, measure=["f1"]),
        "slices by passive": _scored("passive", {"slices": ["city"]}, measure=["f1"]),
        "a measure on a slice by calibrated": _scored("calibrated", measure=ON_SLICES),
        "several measures on slices": _scored(
            "calibrated",
            measure=[{"joint": [ON_SLICES[0], {"name": "recall", "where": {"city": "Bern"}}]}],
            rounds=(60, 60),
        ),
        "the least of slices by ais": _scored("ais", measure=[OVER_SLICES], rounds=(60, 60)),
        "the least of slices by calibrated": _scored(
            "calibrated", measure=[OVER_SLICES], rounds=(60, 60)
        ),
        "the greatest of slices": _scored(
            "calibrated", measure=[{"greatest": "brier", "over": {"new": [True, False]}}]
        ),
        "slices by poisson": _scored("poisson", {"slices": ["city"]}, measure=["accuracy"]),
        "every row": Case("few", {"pool": {**SCORED, "slices": ["new"]}, "measure": FEW}, (40, 40)),
        "rows without labels by ais": _scored("ais", skips=4),
        "rows without labels by calibrated": _scored("calibrated", skips=4),
        "rows without labels by poisson": _scored("poisson", skips=4, measure=["f1"]),
        "the default of everything": Case("pairs", {"pool": SCORED, "measure": "f1"}, (100,)),
        "another prior of hidden positives": _scored(
            "calibrated", hidden=own_prior, confidence=0.9, measure=["f1"]
        ),
    }


CASES: Mapping[str, Case] = {
    **_of_samplers(),
    **_of_rivals_of_ranks(),
    **_of_kinds(),
    **_of_measures(),
    **_of_comparisons(),
    **_of_queries(),
    **_of_the_rest(),
}
"""By name, which is that of the file."""
