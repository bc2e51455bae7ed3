"""Samplers built from a spec."""

import functools
from pathlib import Path
from typing import Any

import pytest

from evalsampling import EvaluationSpec, InputError
from evalsampling.samplers import CalibratedDesign
from evalsampling.samplers.build import build_sampler
from tests.spec.specs import MINIMAL, parse, systems, write_module


def test_sampler_parameters() -> None:
    spec = parse(sampler={"name": "ais", "delta": 0.5, "model": "scores"})
    sampler = build_sampler(spec.analysis)
    assert (sampler.delta, sampler.model, sampler.draws) == (0.5, "scores", None)
    stochastic = build_sampler(parse(labels={"oracle": "stochastic"}).analysis)
    assert stochastic.stochastic
    flat = build_sampler(parse(strata={"branching": 300}, sampler="ais").analysis)
    assert flat.branching == 300


def test_another_sampler_takes_the_draws_and_nothing_else() -> None:
    spec = parse(sampler={"name": "ais", "draws": 50, "delta": 0.5})
    other = build_sampler(spec.analysis, "passive")
    assert (other.name, other.draws, other.delta) == ("passive", 50, 0.0)
    assert build_sampler(spec.analysis, "stratified").name == "stratified"
    same = build_sampler(spec.analysis, "ais")
    assert (same.draws, same.delta) == (50, 0.5)
    with pytest.raises(InputError, match="given: weights must be a function"):
        build_sampler(spec.analysis, "given")


def test_the_first_measure_of_all_its_systems_drives() -> None:
    spec = parse(pool=systems(), measure=["recall", "f1"], sampler="ais")
    sampler = build_sampler(spec.analysis)
    assert sampler.measure.name == "joint(recall, recall)", "one sample serves both systems"


def test_the_default_draws_for_all_measures_by_their_weights() -> None:
    """But not for one whose labels cannot be expected, or that looks at thresholds."""
    curve = {"name": "average_precision", "system": "old"}
    listed = ["recall", {"f1": {"weight": 2}}, curve, {"difference": "precision"}]
    spec = parse(pool=systems(), measure=listed)
    sampler = build_sampler(spec.analysis)
    assert isinstance(sampler, CalibratedDesign)
    name = "joint(recall, recall, f1, f1, difference(precision))"
    assert sampler.measure.name == name
    assert sampler.importance == (1.0, 1.0, 2.0, 2.0, 1.0)


def test_a_joint_entry_is_its_parts_with_their_weights() -> None:
    spec = parse(measure={"joint": ["recall", {"name": "precision", "weight": 0.5}]})
    assert build_sampler(spec.analysis).importance == (1.0, 0.5)


def test_weights_are_refused_where_rounds_are_for_the_first_measure() -> None:
    spec = parse(measure=[{"f1": {"weight": 2}}, "recall"], sampler="oasis")
    with pytest.raises(InputError, match=r"measure\.weight: sampler oasis draws for the first"):
        build_sampler(spec.analysis)


OWN_MODULE = """
import numpy as np


def by_count(table, history):
    return np.ones(len(table)) / table.count


def even(cells, labels):
    return 0 * labels + 1 / cells.classes


class Forest:
    def __call__(self, cells, labels):
        return cells.prior


class NotOne:
    pass


forest = Forest()
nothing = NotOne()
number = 3
"""


def own(directory: Path, **sampler: Any) -> Any:
    """The sampler of a spec beside which the module is; the spec comes back as it was."""
    spec = EvaluationSpec.from_mapping({**MINIMAL, "sampler": sampler}, directory)
    assert EvaluationSpec.from_mapping(spec.to_mapping(), directory) == spec
    return build_sampler(spec.analysis)


def test_a_model_of_the_users_own(tmp_path: Path) -> None:
    module, build = write_module(tmp_path, OWN_MODULE), functools.partial(own, tmp_path)
    assert build(name="ais", model=f"{module}:even").model.__name__ == "even"
    assert type(build(name="ais", model=f"{module}:forest").model).__name__ == "Forest"
    for name in ("active_risk", "importance", "optimal_importance", "active_err"):
        assert build(name=name, calibration=f"{module}:even").calibration.__name__ == "even"
    poisson = build(name="poisson", online="exclude", calibration=f"{module}:forest")
    assert type(poisson.calibration).__name__ == "Forest"
    assert build(name="ais", alpha=[2, 1], beta=0.5, epsilon=1e-6).alpha == (2, 1)
    for sampler, message in [
        ({"model": f"{module}:absent"}, "sampler.model: .*absent"),
        ({"model": f"{module}:number"}, ":number is no function of cells and labels"),
        ({"model": f"{module}:Forest"}, ":Forest is a class, where a function is wanted"),
        ({"model": f"{module}:NotOne"}, ":NotOne is a class, where a function is wanted"),
        ({"model": "no_such_module_at_all:x"}, "sampler.model: no_such_module_at_all:x: No mod"),
        ({"model": "forest"}, "sampler: ais: model must be one of tree, scores, module:object"),
        ({"model": 3}, "sampler: ais: model must be one of tree, scores, module:object, got 3"),
        ({"alpha": [1, 1, 1]}, "sampler: ais: alpha must be one number, or one for each of the 2"),
        ({"beta": 0}, "sampler: ais: beta must be above 0, got 0"),
        ({"classes": 2}, "unknown key sampler.classes of ais"),
    ]:
        with pytest.raises(InputError, match=message):
            build(name="ais", **sampler)
    with pytest.raises(InputError, match="calibration must be logistic, isotonic or module:object"):
        build(name="importance", calibration="forest")


def test_given_weights_of_the_users_own(tmp_path: Path) -> None:
    module, build = (
        write_module(tmp_path, OWN_MODULE),
        functools.partial(own, tmp_path, name="given"),
    )
    assert build(weights=f"{module}:by_count").weights.__name__ == "by_count"
    for weights, message in [
        (f"{module}:absent", "sampler.weights: .*absent"),
        (f"{module}:nothing", "sampler: given: weights must be a function"),
        ("by_count", "sampler.weights: must be module:object, got 'by_count'"),
        ("no_such_module_at_all:x", "sampler.weights: no_such_module_at_all:x: No module"),
        (3, "sampler: given: weights must be a function of the cell table, got 3"),
    ]:
        with pytest.raises(InputError, match=message):
            build(weights=weights)
