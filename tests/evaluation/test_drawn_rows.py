"""Rows drawn one by one, their labels in rounds, and the estimates: with no workspace."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.evaluation.drawn_rows import DrawnRows, estimate_drawn_rows
from evalsampling.preparation.with_replacement import WEIGHT, sample_with_replacement
from tests.preparation.row_pools import ROWS, make_spec, write_pool


def rounds_of(spec: Any, *sizes: int) -> list[pa.Table]:
    drawn: list[pa.Table] = []
    for size in sizes:
        drawn.append(sample_with_replacement(spec, drawn, size))
    return drawn


def test_rounds_are_one_sample_and_a_row_is_labelled_once(tmp_path: Path) -> None:
    """sum v l / sum v over all draws of all rounds, from a label for each row that was met."""
    pool = write_pool(tmp_path)
    spec = make_spec(tmp_path, budget=400)
    rounds = rounds_of(spec, 120, 80, 60)
    assert [len(drawn) for drawn in rounds] == [120, 80, 60]
    draws = pa.concat_tables(rounds)
    ids, v = draws["id"].to_numpy(), draws[WEIGHT].to_numpy()
    asked = np.unique(ids)
    assert len(asked) < len(ids)
    assert sorted(DrawnRows.read(spec, rounds).asked) == asked.tolist()
    labels = {"id": asked[::-1], "label": pool["label"][asked[::-1]]}
    (one,) = estimate_drawn_rows(spec, rounds, labels)
    right = (pool["prediction"] == pool["label"])[ids]
    value = np.sum(v * right) / np.sum(v)
    assert one.value == pytest.approx(value)
    error = np.sqrt(np.sum((v * (right - value)) ** 2) * 260 / 259) / np.sum(v)
    assert one.standard_error == pytest.approx(error)
    assert one.statement.startswith("Accuracy ")
    table = draws.to_pandas()
    assert estimate_drawn_rows(spec, table, labels)[0].value == pytest.approx(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    [
        "importance",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("active_risk", "optimal_importance")),
    ],
)
def test_intervals_hold_the_truth(tmp_path: Path, sampler: str) -> None:
    """Of 60 evaluations at 90 %, at least 46 hold it: fewer have a chance of .001 (binomial)."""
    pool = write_pool(tmp_path)
    truth = np.mean(pool["prediction"] == pool["label"])
    held = 0
    for seed in range(60):
        spec = make_spec(
            tmp_path, sampler=sampler, seed=seed, strata={"edges": [0.5]}, budget=120,
            confidence=0.9,
        )  # fmt: skip
        rounds = rounds_of(spec, 60, 60)
        ids = np.unique(pa.concat_tables(rounds)["id"].to_numpy())
        (one,) = estimate_drawn_rows(spec, rounds, ids, pool["label"][ids])
        held += one.low <= truth <= one.high
    assert held >= 46


def test_missing_labels_are_refused_unless_they_are_random(tmp_path: Path) -> None:
    pool = write_pool(tmp_path)
    spec = make_spec(tmp_path, budget=400)
    rounds = rounds_of(spec, 100, 50)
    ids = np.array(DrawnRows.read(spec, rounds).asked)
    some = ids[np.arange(len(ids)) % 5 != 2]
    with pytest.raises(InputError, match=rf"id {ids[2]} was drawn in round 1 and has no label, as"):
        estimate_drawn_rows(spec, rounds, some, pool["label"][some])
    (one,) = estimate_drawn_rows(spec, rounds, some, pool["label"][some], missing_at_random=True)
    draws = pa.concat_tables(rounds)
    there = np.isin(draws["id"].to_numpy(), some)
    v = draws[WEIGHT].to_numpy()[there]
    right = (pool["prediction"] == pool["label"])[draws["id"].to_numpy()[there]]
    assert one.value == pytest.approx(np.sum(v * right) / np.sum(v))
    assert f"{len(ids) - len(some)} of {len(ids)} rows drawn have no label" in one.notes[-1]


def test_measures_without_support_are_refused(tmp_path: Path) -> None:
    pool = write_pool(tmp_path)
    keys = {"measure": ["precision", "accuracy"], "budget": 100}
    for delta, can in ((0.0, False), (0.1, True)):
        sampler = {"name": "importance", "delta": delta}
        spec = make_spec(tmp_path, sampler=sampler, **keys)
        drawn = sample_with_replacement(spec)
        ids = np.unique(drawn["id"].to_numpy())
        aimed, other = estimate_drawn_rows(spec, drawn, ids, pool["label"][ids])
        assert aimed.value is not None
        assert (other.value is not None) == can
        assert can or "sampler.delta above 0 gives every row one" in other.warnings[0]


def test_a_stochastic_oracle_answers_every_draw(tmp_path: Path) -> None:
    pool = write_pool(tmp_path)
    labels = {"oracle": "stochastic"}
    spec = make_spec(tmp_path, budget=400, labels=labels, sampler="importance")
    rounds = rounds_of(spec, 200, 100)
    ids = pa.concat_tables(rounds)["id"].to_numpy()
    answers = np.random.default_rng(0).integers(0, 2, len(ids))
    (one,) = estimate_drawn_rows(spec, rounds, ids, answers)
    v = pa.concat_tables(rounds)[WEIGHT].to_numpy()
    assert one.value == pytest.approx(1 - np.mean(v * (pool["prediction"][ids] != answers)))


def test_systems_keep_their_names(tmp_path: Path) -> None:
    pool = write_pool(tmp_path)
    system = {"score": "score", "prediction": "prediction"}
    systems = {"old": system, "new": {"score": "score", "prediction": {"threshold": 0.4}}}
    spec = make_spec(
        tmp_path, budget=200, pool={"path": str(tmp_path / "*.parquet"), "systems": systems}
    )
    drawn = sample_with_replacement(spec)
    ids = np.unique(drawn["id"].to_numpy())
    found = estimate_drawn_rows(spec, drawn, ids, pool["label"][ids])
    assert {"old", "new"} <= {one.target.system for one in found}


def test_bad_rounds_and_labels_are_told(tmp_path: Path) -> None:
    write_pool(tmp_path)
    spec = make_spec(tmp_path)
    drawn = sample_with_replacement(spec)
    ids = np.unique(drawn["id"].to_numpy())
    labels = np.zeros(len(ids), int)
    place = drawn.column_names.index(WEIGHT)
    wrong = drawn.set_column(place, WEIGHT, pa.array(np.append(np.ones(79), 0.0)))
    stranger = next(id for id in range(ROWS) if id not in ids)
    for rounds, id, label, words in (
        ([], ids, labels, "no round was drawn"),
        ([drawn, wrong], ids, labels, "round 2: .*row 79: a weight is above 0 and finite, got 0"),
        (drawn.drop_columns([WEIGHT]), ids, labels, "round 1: .*'importance_weight' is missing"),
        (drawn.drop_columns(["prediction"]), ids, labels, "'prediction' is missing"),
        (drawn, [*ids, stranger], [*labels, 1], f"id {stranger} was not drawn"),
        (drawn, ids, labels + 7, "label '7' of id"),
        (drawn, [], [], "no row has a label"),
    ):
        with pytest.raises(InputError, match=words):
            estimate_drawn_rows(spec, rounds, id, label)
    with pytest.raises(InputError, match=r"sampler: calibrated: has no chance of each row's own"):
        estimate_drawn_rows(make_spec(tmp_path, sampler="calibrated"), drawn, ids, labels)


SLICED: dict[str, Any] = {
    "pool": {"path": "*.parquet", "cost": "length", "slices": ["site"]},
    "sampler": "optimal_importance",
    "confidence": 0.9,
}


def test_a_slice_is_estimated_from_the_draws_of_its_rows(tmp_path: Path) -> None:
    """sum v l / sum v over the draws in it, with the divisor of their number less one."""
    pool = write_pool(tmp_path)
    spec = make_spec(tmp_path, **SLICED, budget=400)
    rounds = rounds_of(spec, 120, 80)
    ids = np.unique(pa.concat_tables(rounds)["id"].to_numpy())
    whole, *slices = estimate_drawn_rows(spec, rounds, ids, pool["label"][ids])
    assert whole.target.slice is None
    assert [one.target.title for one in slices] == [
        "accuracy where site=north", "accuracy where site=south"
    ]  # fmt: skip
    draws = pa.concat_tables(rounds)
    for one in slices:
        inside = pool["site"][draws["id"].to_numpy()] == str(one.target.slice).removeprefix("site=")
        rows, v = draws["id"].to_numpy()[inside], draws[WEIGHT].to_numpy()[inside]
        right = (pool["prediction"] == pool["label"])[rows]
        value, n = np.sum(v * right) / np.sum(v), len(v)
        assert one.value == pytest.approx(value)
        error = np.sqrt(np.sum((v * (right - value)) ** 2) * n / (n - 1)) / np.sum(v)
        assert one.standard_error == pytest.approx(error)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["passive", "optimal_importance"])
def test_intervals_of_slices_hold_the_truth(tmp_path: Path, sampler: str) -> None:
    """Of 60 evaluations at 90 %, at least 46 hold it: fewer have a chance of .001 (binomial)."""
    pool = write_pool(tmp_path)
    inside = pool["site"] == "south"
    truth = np.mean((pool["prediction"] == pool["label"])[inside])
    held = 0
    for seed in range(60):
        spec = make_spec(tmp_path, **{**SLICED, "sampler": sampler}, seed=seed, budget=200)
        rounds = rounds_of(spec, 160)
        ids = np.unique(rounds[0]["id"].to_numpy())
        one = estimate_drawn_rows(spec, rounds, ids, pool["label"][ids])[2]
        assert one.target.slice == "site=south"
        held += one.low <= truth <= one.high
    assert held >= 46


def test_slices_whose_rows_had_no_chance_or_no_label_are_not_estimated(tmp_path: Path) -> None:
    pool = write_pool(tmp_path)
    none = {"name": "optimal_importance", "delta": 0}
    spec = make_spec(tmp_path, **{**SLICED, "sampler": none}, budget=400)
    rounds = rounds_of(spec, 60)
    ids = np.unique(rounds[0]["id"].to_numpy())
    whole, north, south = estimate_drawn_rows(spec, rounds, ids, pool["label"][ids])
    assert whole.value is not None
    assert north.value is south.value is None
    assert "accuracy where site=south cannot be estimated" in str(south.reason)
    assert "sampler.delta above 0" in str(south.reason)
    spec = make_spec(tmp_path, **SLICED, budget=400)
    rounds = rounds_of(spec, 60)
    drawn = np.unique(rounds[0]["id"].to_numpy())
    ids = drawn[pool["site"][drawn] == "north"]
    whole, north, south = estimate_drawn_rows(
        spec, rounds, ids, pool["label"][ids], missing_at_random=True
    )
    assert north.value == pytest.approx(float(whole.value or 0))
    assert south.reason == "no labelled row where site=south"


def test_the_least_of_slices_has_the_interval_that_theirs_make(tmp_path: Path) -> None:
    """As in a workspace: no derivative is taken at ties."""
    pool = write_pool(tmp_path)
    over = {"site": ["north", "south"]}
    parts = [{"name": "accuracy", "where": {"site": site}} for site in over["site"]]
    measure = [{"least": "accuracy", "over": over}, *parts]
    found: dict[float, list[Any]] = {}
    for confidence in (0.9, 0.95, 0.975):
        spec = make_spec(
            tmp_path, **{**SLICED, "confidence": confidence}, budget=400, measure=measure
        )
        rounds = rounds_of(spec, 200)
        ids = np.unique(rounds[0]["id"].to_numpy())
        found[confidence] = estimate_drawn_rows(spec, rounds, ids, pool["label"][ids])
    least, *slices = found[0.9]
    assert least.value == min(one.value for one in slices)
    assert least.low == min(one.low for one in found[0.95][1:])
    assert least.high == min(one.high for one in found[0.975][1:])
    assert least.intervals[0].method == "least-of-slices"
