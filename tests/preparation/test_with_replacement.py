"""Draws with replacement, row by row: weights by hand, unbiased, the same for any parts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.local import read_cells, read_sums, stratify_pool
from evalsampling.preparation.with_replacement import (
    WEIGHT,
    Drawn,
    next_round,
    rows_asked,
    sample_with_replacement,
    weigh_rows,
)
from tests.contracts import assert_mergeable
from tests.preparation.row_pools import ROWS, make_spec, write_pool


def test_weights_are_those_of_the_thesis_row_by_row(tmp_path: Path) -> None:
    """Eq. 4.25 with eq. 4.14: q in proportion to sqrt(((1 - 2 R) e + R^2) / cost)."""
    pool = write_pool(tmp_path)
    drawn = sample_with_replacement(make_spec(tmp_path))
    error = np.where(pool["prediction"] == 1, 1 - pool["score"], pool["score"])
    risk = error.mean()
    g = np.sqrt(((1 - 2 * risk) * error + risk**2) / pool["length"])
    w = g.sum() / (ROWS * g)
    assert len(drawn) == 80
    assert drawn[WEIGHT].to_numpy() == pytest.approx(w[drawn["id"].to_numpy()], rel=1e-6)


@pytest.mark.slow
def test_estimates_are_unbiased_over_seeds(tmp_path: Path) -> None:
    """Mean of w l over 40 seeds of 80 draws, within four of its standard errors."""
    pool = write_pool(tmp_path)
    wrong = pool["prediction"] != pool["label"]
    values = []
    for seed in range(40):
        drawn = sample_with_replacement(make_spec(tmp_path, seed=seed, strata={"edges": [0.5]}))
        values.append(np.mean(drawn[WEIGHT].to_numpy() * wrong[drawn["id"].to_numpy()]))
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(wrong.mean(), abs=4 * error)


def test_money_buys_the_draws_of_the_exact_proposal(tmp_path: Path) -> None:
    """n* = Lambda sum g / sum g cost over rows, rounded down (theorem 4.2)."""
    pool = write_pool(tmp_path)
    drawn = sample_with_replacement(make_spec(tmp_path, budget={"cost": 40}))
    error = np.where(pool["prediction"] == 1, 1 - pool["score"], pool["score"])
    risk = error.mean()
    g = np.sqrt(((1 - 2 * risk) * error + risk**2) / pool["length"])
    assert len(drawn) == np.floor(40 * g.sum() / (g @ pool["length"]))
    with pytest.raises(InputError, match="is less than a draw is expected to cost"):
        sample_with_replacement(make_spec(tmp_path, budget={"cost": 0.01}))


def test_draws_merge_whatever_the_parts(tmp_path: Path) -> None:
    write_pool(tmp_path)
    spec = make_spec(tmp_path)
    stratification = stratify_pool(spec)
    draws = weigh_rows(read_sums(spec, stratification), spec, stratification)
    batches = list(read_cells(spec, stratification))
    nothing = PoolBatch(batches[0].batch.rows.slice(0, 0))
    zero = draws.draw(assign_cells(nothing, spec, stratification))
    states = [draws.draw(cells) for cells in batches]
    assert len(states) == 2
    states.append(zero)

    def same(one: Drawn, other: Drawn) -> bool:
        return draws.sample(one).equals(draws.sample(other)) if one.count == ROWS else True

    assert_mergeable(states, zero, same)
    with pytest.raises(ValueError, match="do not add up"):
        _ = states[0] + dataclasses.replace(draws, draws=3).draw(batches[0])


def test_wrong_parameters_are_refused(tmp_path: Path) -> None:
    write_pool(tmp_path)
    sampler = {"name": "optimal_importance", "delta": 2}
    with pytest.raises(InputError, match="delta"):
        sample_with_replacement(make_spec(tmp_path, sampler=sampler))


def test_rounds_have_the_same_weights_and_draws_of_their_own(tmp_path: Path) -> None:
    """A row's weight is the same in all rounds; what it costs is paid once."""
    pool = write_pool(tmp_path)
    spec = make_spec(tmp_path, budget={"cost": 200})
    rounds: list = []
    while len(rounds) < 4:
        rounds.append(sample_with_replacement(spec, rounds, 30))
        assert len(rounds[-1]) <= 30
    weights: dict[int, set[float]] = {}
    for drawn in rounds:
        for id, weight in zip(drawn["id"].to_pylist(), drawn[WEIGHT].to_pylist(), strict=True):
            weights.setdefault(id, set()).add(weight)
    assert {len(found) for found in weights.values()} == {1}
    assert len({tuple(drawn["id"].to_pylist()) for drawn in rounds}) == 4
    asked = rows_asked(spec, rounds)
    assert sorted(asked["id"].to_pylist()) == sorted(weights)
    left = next_round(spec, rounds)
    assert left.money == pytest.approx(200 - pool["length"][sorted(weights)].sum())
    assert left.seed != spec.seed


def test_rounds_end_with_the_budget(tmp_path: Path) -> None:
    """Each row that was met counts once; a stochastic oracle's draws all do."""
    write_pool(tmp_path)
    spec = make_spec(tmp_path, budget=100)
    rounds: list = []
    for _ in range(40):
        met = len(rows_asked(spec, rounds)) if rounds else 0
        if met == 100:
            break
        rounds.append(sample_with_replacement(spec, rounds))
        assert len(rounds[-1]) == 100 - met
    with pytest.raises(InputError, match="budget: it is spent by the rounds before"):
        sample_with_replacement(spec, rounds)
    stochastic = make_spec(tmp_path, budget=100, labels={"oracle": "stochastic"})
    (first,) = [sample_with_replacement(stochastic, draws=60)]
    assert len(sample_with_replacement(stochastic, [first])) == 40


@pytest.mark.parametrize("draws", [0, -3, 1.5, True, "many"])
def test_a_number_of_draws_is_a_whole_one(tmp_path: Path, draws: object) -> None:
    write_pool(tmp_path)
    with pytest.raises(InputError, match="draws: must be a whole number of at least 1"):
        sample_with_replacement(make_spec(tmp_path), draws=draws)  # type: ignore[arg-type]


def test_draws_of_a_round_may_stand_in_the_spec(tmp_path: Path) -> None:
    write_pool(tmp_path)
    spec = make_spec(tmp_path, sampler={"name": "active_risk", "draws": 25})
    assert len(sample_with_replacement(spec)) == 25
    assert len(sample_with_replacement(spec, draws=7)) == 7
