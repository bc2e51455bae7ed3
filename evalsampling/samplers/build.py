"""Builds the sampler that a spec names."""

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.measures.build import build_drawn_for, build_driver, build_gains
from evalsampling.parts.references import load_object
from evalsampling.samplers import BY_NAME
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.calibrated import CalibratedDesign
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.samplers.importance import Importance
from evalsampling.samplers.ranking import Ranking
from evalsampling.spec import AnalysisPlan, SamplerSpec
from evalsampling.spec.parameters import check_name, construct


def build_sampler(plan: AnalysisPlan, name: str | None = None) -> Sampler:
    """Return the sampler that a plan names, made for the first measure or for all that it takes."""
    reading, pool, labels = plan.reading, plan.reading.pool, plan.reading.labels
    chosen = plan.sampler if name in (None, plan.sampler.name) else SamplerSpec(str(name))
    if ":" not in chosen.name:
        check_name("sampler", chosen.name, BY_NAME)
    maker = BY_NAME.find("sampler", chosen.name, pool.directory)
    of_queries = labels.space.has_items
    if maker is Ranking and not of_queries:
        raise InputError("sampler: ranking: it draws queries, and the spec has no pool.lists")
    if maker is Importance and not (of_queries or labels.space.tagged or reading.has_classes):
        raise InputError(
            "sampler: importance: a row whose predictive variance is too small would hardly ever "
            "be drawn, nor would it show in an interval: active_risk draws all rows"
        )
    if of_queries and "queries" not in maker.takes:
        raise InputError(
            f"sampler: {chosen.name}: queries are drawn by ranking, passive or active_lambda"
        )
    if labels.space.tagged and "tags" not in maker.takes:
        raise InputError(
            f"sampler: {chosen.name}: it models labels as classes, and here "
            f"{labels.space.in_spec.are}: passive, stratified, importance and poisson draw them"
        )
    _check_needs(maker, chosen.name, plan)
    promise = plan.promise
    if promise is not None:
        _check_promise(plan, maker is CalibratedDesign)
        maker = CertifyingDesign
    parameters = dict(chosen.parameters)
    labels.space.check_order(parameters.values())
    takes_draws = "draws" in {field.name for field in dataclasses.fields(maker)}
    if chosen is not plan.sampler and takes_draws and "draws" in plan.sampler.parameters:
        parameters["draws"] = plan.sampler.parameters["draws"]
    for key in ("weights", "model", "calibration"):
        reference = parameters.get(key)
        if isinstance(reference, str) and (":" in reference or key == "weights"):
            parameters[key] = _function(key, reference, pool.directory)
    if "weights" in maker.takes:
        measure, weights = build_drawn_for(reading)
    else:
        measure, weights = build_driver(reading), np.ones(0)
        if any(entry.weight != 1 for entry in reading.measures):
            raise InputError(
                f"measure.weight: sampler {chosen.name} draws for the first measure alone; "
                "calibrated draws for all"
            )
    given: dict[str, Any] = {
        "measure": measure,
        "importance": tuple(weights.tolist()),
        "oracle": labels.oracle,
        "numbers": None,
        "branching": reading.strata.branching,
        "hidden": plan.hidden,
        "classes": len(labels.classes),
        "gains": build_gains(reading) if of_queries else (),
    }
    if promise is not None:
        given |= {"goals": promise.goals, "planned": plan.budget.labels}
        given |= {"level": 1 - plan.confidence, "positive": labels.positive}
    sampler: Sampler = construct("sampler", maker, chosen.name, parameters, given)
    if sampler.models_classes and not reading.has_classes:
        raise InputError(
            f"sampler: {chosen.name}: as it stands here it models classes, and here "
            f"{labels.space.in_spec.are}"
        )
    return sampler


def _check_promise(plan: AnalysisPlan, is_calibrated: bool) -> None:
    """Raise an `InputError` if rounds cannot be drawn for the promise of a plan."""
    reading, oracle = plan.reading, plan.reading.labels.oracle
    reasons = (
        (not is_calibrated, f"sampler calibrated draws for it, not {plan.sampler.name}"),
        (
            len(reading.pool.systems) > 1,
            "it is of the score of one system: leave the others to evaluations of their own",
        ),
        (
            not reading.labels.space.is_binary,
            "it is about two classes: let labels be of one class against the rest",
        ),
        (not reading.strata.by_score, "it needs a score, whose thresholds it is about"),
        (reading.pool.weight is not None, "rows have weights, by which nothing can be proved"),
        (oracle == "stochastic", "it needs one label a row, and labels.oracle is stochastic"),
    )
    for holds, reason in reasons:
        if holds:
            raise InputError(f"measure.certify: {reason}")


def _check_needs(maker: type[Sampler], name: str, plan: AnalysisPlan) -> None:
    """Raise an `InputError` if a plan lacks a column or key that a sampler needs."""
    pool = plan.reading.pool
    lacking = (
        (
            "cluster",
            pool.cluster is None,
            "it draws whole clusters: name the column that their rows share, pool.cluster",
        ),
        ("cost", pool.cost is None, "it needs pool.cost, what each label costs"),
        (
            "score",
            not plan.reading.strata.by_score,
            "it ranks rows by score, so strata.method cannot be kd or predictions, nor can there "
            "be strata.columns",
        ),
        (
            "score",
            pool.weight is not None,
            "it ranks rows that all count the same, so there is no pool.weight",
        ),
        (
            "score",
            plan.budget.money is not None,
            "what it queries follows from what it finds, so its budget is of labels, not of cost",
        ),
    )
    for need, is_lacking, reason in lacking:
        if is_lacking and need in maker.needs:
            raise InputError(f"sampler: {name}: {reason}")


def _function(key: str, reference: str, directory: str) -> Any:
    """Return the function that a parameter names; an `InputError` if there is none."""
    loaded = load_object(f"sampler.{key}", reference, directory)
    if isinstance(loaded, type):
        raise InputError(f"sampler.{key}: {reference} is a class, where a function is wanted")
    if key != "weights" and not callable(loaded):
        raise InputError(f"sampler.{key}: {reference} is no function of cells and labels")
    return loaded


def _reference(value: Any) -> Any:
    """Return ``module:name`` of a function of a module; anything else as it is."""
    if not inspect.isfunction(value) or not value.__qualname__.isidentifier():
        return value
    module = sys.modules.get(value.__module__)
    is_there = getattr(module, value.__name__, None) is value
    return f"{value.__module__}:{value.__name__}" if is_there else value


def entry_of(item: Any) -> Any:
    """Return an entry ``sampler`` of a spec in which classes and functions have their names."""
    if isinstance(item, Sampler):
        raise InputError(
            f"sampler: give the class {type(item).__name__}, with parameters as "
            "{'name': class, 'parameter': value}: it is made for the first measure"
        )
    if isinstance(item, Mapping):
        named = {key: _reference(value) for key, value in item.items()}
        return {**named, "name": entry_of(item["name"])} if "name" in item else named
    if isinstance(item, type) and issubclass(item, Sampler):
        return BY_NAME.references(item)[0]
    return item
