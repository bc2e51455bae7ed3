"""Cells of several systems that predict numbers, against their rows one by one."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from evalsampling import InputError
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.label_spaces.numbers import ComparedNumbers
from evalsampling.preparation.compared_numbers import DISTANCE, ROOT, VARIANCE, ComparedSystems
from evalsampling.spec import EvaluationSpec
from tests.compared_numbers import by_row, in_memory, make_compared_numbers, spec_of, systems_of
from tests.engines import Case, StartSpark, on_engines
from tests.reference import assert_same, reference

WIDTH = 100.0


def what_of(**keys: Any) -> ComparedSystems | None:
    spec = spec_of(keys.pop("systems", 2), **keys)
    spec["pool"]["path"] = "pool.parquet"
    return ComparedSystems.of(EvaluationSpec.from_mapping(spec, "/nowhere").reading)


@pytest.mark.parametrize(
    ("keys", "pairs", "by"),
    [
        ({}, ((0, 1),), ROOT),
        ({"measure": {"difference": "rmse"}}, ((0, 1),), ROOT),
        ({"measure": {"difference": "mae"}}, ((0, 1),), DISTANCE),
        ({"measure": "mse"}, ((0, 1),), VARIANCE),
        ({"measure": "mse", "sampler": "compare"}, ((0, 1),), ROOT),
        ({"measure": "mse", "sampler": {"name": "compare", "variant": "active_risk"}},
         ((0, 1),), VARIANCE),
        ({"measure": {"name": "mse", "system": "old"}}, (), VARIANCE),
        ({"systems": 3, "measure": "mse", "sampler": "compare"}, ((0, 1), (0, 2), (1, 2)), ROOT),
        ({"systems": 3, "measure": {"difference": "mse", "of": "old", "against": "rules"}},
         ((1, 2),), ROOT),
    ],
)  # fmt: skip
def test_what_strata_are_cut_from(keys: dict[str, Any], pairs: Any, by: str) -> None:
    compared = what_of(**keys)
    assert compared.disagreement.pairs == pairs
    assert compared.by == by


def test_other_pools_have_nothing_of_it() -> None:
    for pool, labels in (
        ({"prediction": "p", "variance": "v"}, {"range": [0, 1]}),
        ({"prediction": "p", "score": "s"}, {}),
    ):
        spec = {"pool": {"path": "x.parquet", **pool}, "labels": labels}
        assert ComparedSystems.of(EvaluationSpec.from_mapping(spec, "/nowhere").reading) is None


def columns_of(pool: Any, systems: int) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and variances as they were given, in the units of the labels."""
    listed = list(systems_of(systems))
    names = [[name, f"{name}.variance"] for name in listed]
    predicted, variance = (
        np.stack([pool.table[name[a]].to_numpy() for name in names], axis=1) for a in (0, 1)
    )
    return predicted, variance


@pytest.mark.parametrize("systems", [2, 3])
def test_cells_have_the_means_of_their_rows(systems: int) -> None:
    """The sizes of differences, predictions and variances, computed anew from the columns."""
    pool = make_compared_numbers(700, systems)
    memory = in_memory(pool, systems, measure="mse", sampler="compare", strata={"leaves": 10})
    predicted, variance = columns_of(pool, systems)
    table = memory.table
    cell = by_row(memory, np.arange(len(table)))
    for place, (i, j) in enumerate(itertools.combinations(range(systems), 2)):
        ahead = predicted[:, i] - predicted[:, j]
        total = predicted[:, i] + predicted[:, j]
        inner = [(total - 2 * predicted[:, k]) ** 2 + 4 * variance[:, k] for k in range(systems)]
        root = np.abs(ahead) * np.sqrt(np.mean(inner, axis=0))
        for known, of_rows in (
            (table.disagreement.root * WIDTH**2, root),
            (table.disagreement.distance * WIDTH, np.abs(ahead)),
            (table.disagreement.square * WIDTH**2, ahead**2),
        ):
            mean = np.bincount(cell, of_rows) / table.count
            np.testing.assert_allclose(known[:, place], mean, rtol=1e-5, atol=1e-4)
    space = memory.spec.labels.space
    assert isinstance(space, ComparedNumbers)
    first = table.kinds.first[cell]
    shown = space.decode(table.kinds.prediction[first])
    means = np.stack([np.bincount(cell, f) for f in predicted.T], axis=1) / table.count[:, None]
    np.testing.assert_allclose(shown, means[cell], atol=1e-6)
    # No cell holds rows of different orders, so none of its differences is off.
    order = space.signed(space.encode(predicted))
    assert len(np.unique(np.column_stack([cell, order]), axis=0)) == len(table)


def test_equal_predictions_are_equal_in_cells_and_others_are_not() -> None:
    pool = make_compared_numbers(300)
    memory = in_memory(pool, 2, strata={"leaves": 4})
    predicted, _ = columns_of(pool, 2)
    outputs = memory.table.kinds.prediction
    same = by_row(memory, (outputs[:, 0] == outputs[:, 1])[memory.table.kinds.first])
    np.testing.assert_array_equal(same, predicted[:, 0] == predicted[:, 1])


def test_rare_orders_share_cells_and_any_of_them_may_differ() -> None:
    """Of four systems there are 24 orders and more, with ties; few have cells of their own."""
    memory = in_memory(make_compared_numbers(900, 4), 4, measure="mse", sampler="compare",
                       strata={"leaves": 400})  # fmt: skip
    assert memory.table.kinds.mixed.any()
    q = memory.analysis.sampler.proposal(memory.table, memory.analysis.history).cell_probability
    assert memory.table.count @ q == pytest.approx(1)
    assert np.all(q[memory.table.kinds.mixed] > 0)


@pytest.mark.parametrize(("engine", "systems"), on_engines([(2,), (3,)], [(3,)], by_beam=0))
def test_every_engine_prepares_the_same(
    job: Any, request: pytest.FixtureRequest, engine: Case, systems: int
) -> None:
    """Exactly, files cut in three: cells, strata and reserve; then the sums of disagreements."""
    start: StartSpark = lambda: request.getfixturevalue("session")  # noqa: E731
    spec = spec_of(systems, measure="mse", sampler="compare", pool={"cost": "cost"})
    one = job(make_compared_numbers(600, systems), files=3, group_rows=90, budget=300, **spec)
    engine.prepare(EvaluationSpec.load(one.spec), start, False)
    expected = reference(one)
    assert_same(one.workspace, expected, budget=300)
    from evalsampling.workspace.prepared import PreparedPool
    from evalsampling.workspace.workspace import Workspace

    found = PreparedPool.read(Workspace(one.workspace)).table.disagreement
    assert found is not None
    assert expected.table.disagreement is not None
    for name in ("root", "distance", "square"):
        here, there = getattr(found, name), getattr(expected.table.disagreement, name)
        np.testing.assert_array_equal(here, there, err_msg=name)


def numbers_spec(**pool: Any) -> dict[str, Any]:
    return {"pool": {"path": "p.parquet", **pool}, "labels": {"range": [0, 10]}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (numbers_spec(systems={"a": {"prediction": "a"}, "b": {"prediction": "b"}}),
         r"pool\.systems\.a\.variance"),
        (numbers_spec(systems=systems_of(2), variance="v"), r"pool\.variance: with systems"),
        (numbers_spec(systems=systems_of(2), prediction="v"), r"pool\.prediction: with systems"),
        (numbers_spec(systems=systems_of(2), score="v"), r"pool\.score: with labels\.range"),
        (numbers_spec(systems={"a": {"prediction": "a", "score": "b"}}), r"systems\.a.*score"),
        ({**numbers_spec(systems=systems_of(2)), "strata": {"edges": [1, 2]}}, r"strata\.edges"),
        ({**numbers_spec(systems=systems_of(2)), "strata": {"method": "kd"}}, r"strata\.method"),
    ],
)  # fmt: skip
def test_bad_specs_are_refused(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        EvaluationSpec.from_mapping(spec, "/nowhere")


def test_bad_rows_are_named() -> None:
    pool = make_compared_numbers(20)
    for column, value, words in (
        ("old.variance", -1.0, "old.variance.*row 7.*at least 0"),
        ("old", float("nan"), "old"),
        ("new", 1e12, "too far from labels.range"),
    ):
        columns = {name: pool.table[name].to_numpy(zero_copy_only=False).copy()
                   for name in pool.table.column_names if name not in ("id", "name")}  # fmt: skip
        columns[column][7] = value
        with pytest.raises(InputError, match=words):
            MemoryPool.from_arrays(None, None, None, None, columns, spec_of(2))


def test_specs_are_read_again_as_they_are_stored() -> None:
    for count in (1, 2):
        spec = numbers_spec(systems=systems_of(count))
        read = EvaluationSpec.from_mapping(spec, "/nowhere")
        assert EvaluationSpec.from_mapping(read.to_mapping(), "/nowhere") == read
        assert read.pool.score == (None if count > 1 else "new.variance")
    compared = {**numbers_spec(systems=systems_of(2)), "measure": {"difference": "mse"}}
    assert EvaluationSpec.from_mapping(compared, "/nowhere").sampler.name == "compare"
    values = {**compared, "measure": "mse"}
    assert EvaluationSpec.from_mapping(values, "/nowhere").sampler.name == "active_risk"
    assert not re.search("systems", str(read.labels.space.to_mapping()))
