"""Plans of rankings: closed forms, and what evaluations of imagined grades show."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures import difference
from evalsampling.measures.build import build_gains
from evalsampling.measures.gains import GainMoments
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.local import stratify
from evalsampling.preparation.queries import ExpectedQueries
from evalsampling.samplers import Passive, Ranking, ReplacementSampler
from evalsampling.simulation.gain_plan import GainPlanner, plan_gains
from evalsampling.simulation.selection import Candidates, candidates_of
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.gains import dcg
from tests.queries import make_queries

QUERIES = make_queries(200, seed=8)
SPEC = EvaluationSpec.from_mapping(QUERIES.spec(strata={"leaves": 64}), Path())
BATCH = PoolBatch(pa.record_batch(QUERIES.columns))
STRATIFICATION = stratify([BATCH], SPEC)
CELLS = assign_cells(BATCH, SPEC, STRATIFICATION)
TABLE = STRATIFICATION.table(CELLS.sums())
GAINS = build_gains(SPEC)
DCGS = difference(GAINS[0], dataclasses.replace(GAINS[0], system=1))


def planner(sampler: ReplacementSampler) -> GainPlanner:
    return GainPlanner(sampler, TABLE, GainMoments.of_cells(GAINS, TABLE), 0.95)


def distinct(plan: GainPlanner, draws: float) -> float:
    """Queries that so many draws meet on average, query by query."""
    chance = plan.proposal.cell_probability[np.searchsorted(TABLE.code, CELLS.cell)]
    return float(np.sum(1 - (1 - chance) ** draws))


@pytest.mark.parametrize("variant", ["passive", "rescaled", "active"])
def test_the_deviation_of_a_draw_is_that_of_all_queries(variant: str) -> None:
    """Query by query: sum of E (L - R)^2 / (M^2 q), or of E L^2 / (M^2 q) less R^2."""
    sampler = Passive(DCGS) if variant == "passive" else Ranking(DCGS, gains=GAINS, variant=variant)
    plan = planner(sampler)
    mean, square = ExpectedQueries.read(BATCH, SPEC).moments.of(DCGS)
    chance = plan.proposal.cell_probability[np.searchsorted(TABLE.code, CELLS.cell)]
    n, risk = len(QUERIES), mean.mean()
    drawn = chance > 0
    if variant == "active":
        variance = np.sum((square - 2 * risk * mean + risk**2)[drawn] / chance[drawn]) / n**2
    else:
        variance = np.sum(square[drawn] / chance[drawn]) / n**2 - risk**2
    value, deviation = plan.one_draw(DCGS)
    assert value == pytest.approx(risk, abs=1e-7)
    assert deviation == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_draws_meet_as_many_queries_as_planned_for() -> None:
    plan = planner(Ranking(DCGS, gains=GAINS))
    told = plan.at(DCGS, 40, by_cost=False)
    assert told["draws"] is not None
    assert distinct(plan, told["draws"]) <= 40 < distinct(plan, told["draws"] + 1)
    cost = np.array(QUERIES.columns["cost"])
    chance = plan.proposal.cell_probability[np.searchsorted(TABLE.code, CELLS.cell)]
    expected = float(cost @ (1 - (1 - chance) ** told["draws"]))
    assert told["cost"] == pytest.approx(expected, rel=0.02), "by the mean costs of cells"
    # No more queries than are ranked differently can be met.
    beyond = plan.at(DCGS, 200, by_cost=False)
    assert (beyond["standard_error"], beyond["power"], beyond["draws"]) == (0.0, 1.0, None)


def test_money_buys_the_draws_that_it_pays_for() -> None:
    """n* = Lambda / sum of q c (theorem 4.2)."""
    plan = planner(Ranking(DCGS, gains=GAINS))
    chance, cost = plan.proposal.cell_probability, TABLE.cost
    assert cost is not None
    told = plan.at(DCGS, 300.0, by_cost=True)
    assert told["draws"] == np.floor(300 / float((TABLE.count * chance) @ cost))
    assert told["standard_error"] == pytest.approx(plan.one_draw(DCGS)[1] / np.sqrt(told["draws"]))


def test_draws_for_a_power_and_queries_for_a_width() -> None:
    plan = planner(Ranking(DCGS, gains=GAINS))
    _, deviation = plan.one_draw(DCGS)
    told = plan.for_power(DCGS, 0.8, 0.05)
    assert told["draws"] == required_draws_of_student(0.05, deviation, 0.8, 0.05)
    assert told["labels"] == pytest.approx(distinct(plan, told["draws"]))
    fewest = plan.for_power(DCGS, 0.8, 50.0)["labels"]
    assert fewest is not None
    assert 10 <= fewest < 12, "no claim is made of fewer queries"
    assert plan.at(DCGS, 9, by_cost=False)["power"] == 0
    assert plan.for_power(DCGS, 0.8, 0.0)["labels"] is None
    needed = plan.for_half_width(DCGS, 0.2)
    assert needed["draws"] == int(np.ceil((1.959964 * deviation / 0.2) ** 2))
    assert needed["labels"] == pytest.approx(distinct(plan, needed["draws"]))


@pytest.mark.slow
def test_entries_come_for_every_sampler_measure_and_budget() -> None:
    told = plan_gains(SPEC, TABLE, [None, None], ["ranking", "passive"], (20, 40), 0.1, 0.8)
    # A difference and both values of the other gain, whose difference comes too.
    assert len(told) == 2 * (4 * 3 + 2)
    own = [one for one in told if one["sampler"] == "ranking" and one["measure"] == "err@4 of new"]
    assert [one["standard_error"] for one in own] == [None, None, None]


def test_the_error_is_what_imagined_grades_show() -> None:
    """1,000 evaluations of 30 draws, grades anew in each: within four Monte Carlo errors."""
    plan = planner(Ranking(DCGS, gains=GAINS))
    expected = ExpectedQueries.read(BATCH, SPEC)
    queries, chances = expected.queries, _chances(expected)
    n, (_, _, depth) = len(QUERIES), queries.lists.place.shape
    item = np.where(queries.lists.place < 0, chances.shape[1] - 1, queries.lists.place)
    above = np.cumsum(chances, axis=2)[:, :, :-1]
    chance = plan.proposal.cell_probability[np.searchsorted(TABLE.code, CELLS.cell)]
    rng, errors = np.random.default_rng(5), []
    for _ in range(1000):
        grade = (rng.random((n, chances.shape[1], 1)) > above).sum(axis=2)
        ranked = np.take_along_axis(grade[:, None], item, axis=2)
        delta = dcg(ranked[:, 0, :depth]) - dcg(ranked[:, 1, :depth])
        drawn = rng.choice(n, 30, p=chance / chance.sum())
        errors.append(np.mean(delta[drawn] / (n * chance[drawn])) - delta.mean())
    error = plan.one_draw(DCGS)[1] / np.sqrt(30)
    assert np.mean(errors) == pytest.approx(0, abs=4 * error / np.sqrt(1000))
    assert np.std(errors) == pytest.approx(error, rel=4 / np.sqrt(2 * 1000))


def test_the_wrong_one_of_two_rankers_is_chosen_as_the_normal_distribution_says() -> None:
    """P = Phi(-|D| sqrt(n) / s); 4,000 imagined estimates, four standard errors of .008."""
    plan = planner(Ranking(DCGS, gains=GAINS))
    value, deviation = plan.one_draw(DCGS)
    (candidates,) = candidates_of([DCGS])
    assert candidates is not None
    for draws in (2.0, 8.0):
        found = plan.select(candidates, [DCGS], draws, 0)
        expected = stats.norm.cdf(-abs(value) * np.sqrt(draws) / deviation)
        assert found["selection_error"] == pytest.approx(expected, abs=0.032)
        assert found["regret"] == pytest.approx(abs(value) * found["selection_error"])
    nothing = {"selection_error": None, "regret": None}
    assert plan.select(candidates, [DCGS], None, 0) == nothing
    assert (
        planner(Ranking(DCGS, gains=GAINS)).select(
            Candidates((0,), 1),
            [difference(GAINS[1], dataclasses.replace(GAINS[1], system=1))],
            0,
            0,
        )
        == nothing
    )


def test_the_best_of_three_rankers_is_missed_as_imagined_grades_show() -> None:
    """2,000 evaluations of 25 draws by `active`, grades anew in each: four errors of .011.

    Estimates of so few draws are not quite normal, for which .03 is allowed.
    """
    rng = np.random.default_rng(4)
    third = [[s + rng.normal(0, 0.7) for s in row] for row in QUERIES.columns["new"]]
    columns = QUERIES.columns | {"third": third}
    systems = {"new": {"score": "new", "probability": "chances"}, "old": {"score": "old"},
               "third": {"score": "third"}}  # fmt: skip
    keys = QUERIES.spec(strata={"leaves": 512}, pool={"systems": systems, "cost": None})
    spec = EvaluationSpec.from_mapping(keys | {"measure": {"name": "dcg", "cut": 4}}, Path())
    batch = PoolBatch(pa.record_batch(columns))
    stratification = stratify([batch], spec)
    cells = assign_cells(batch, spec, stratification)
    table = stratification.table(cells.sums())
    gains = build_gains(spec)
    pairs = [difference(gains[0], dataclasses.replace(gains[0], system=j)) for j in (1, 2)]
    moments = GainMoments.of_cells(gains, table)
    plan = GainPlanner(Ranking(gains[0], gains=gains, variant="active"), table, moments, 0.95)
    (candidates, _) = candidates_of(pairs)
    assert candidates is not None
    found = plan.select(candidates, pairs, 25.0, 0)
    queries = ExpectedQueries.read(batch, spec)
    value = np.array([queries.moments.of(pair)[0].mean() for pair in pairs])
    chance = plan.proposal.cell_probability[np.searchsorted(table.code, cells.cell)]
    above = np.cumsum(_chances(queries), axis=2)[:, :, :-1]
    lists, n = queries.queries.lists.place, len(QUERIES)
    item = np.where(lists < 0, above.shape[1] - 1, lists)
    wrong = []
    for _ in range(2000):
        drawn = rng.choice(n, 25, p=chance / chance.sum())
        grade = (rng.random((25, above.shape[1], 1)) > above[drawn]).sum(axis=2)
        ranked = np.take_along_axis(grade[:, None], item[drawn], axis=2)
        own = np.array([dcg(ranked[:, j]) for j in range(3)])
        weight = 1 / chance[drawn]
        estimates = (own[0] - own[1:]) @ weight / weight.sum()
        wrong.append(candidates.choose(estimates, value).error)
    assert 0.05 < np.mean(wrong) < 0.6
    assert found["selection_error"] == pytest.approx(np.mean(wrong), abs=0.044 + 0.03)


def _chances(expected: ExpectedQueries) -> np.ndarray:
    """Chances of the grades of all items as the lists place them, the last for no item."""
    queries = expected.queries
    chances = np.zeros((len(QUERIES), int(queries.length.max()) + 1, 3))
    chances[:, :, 0] = 1.0
    ends = np.append(0, np.cumsum(queries.length))
    for query, own in enumerate(QUERIES.columns["chances"]):
        at = queries.place[ends[query] : ends[query + 1]]
        chances[query, : len(at)] = np.array(own)[at]
    return chances
