"""The chances of rows that had labels, and what contradicts what was said of them."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import scipy

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.labels_at_hand import about_clusters, contradictions
from evalsampling.inference.estimand import Estimand
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.history import History, Round
from tests.labels_at_hand import WAYS, keys, labelled_pool
from tests.slow import fast

SCORE = np.array([0.1, 0.2, 0.3, 0.55, 0.6, 0.7, 0.9])
PREDICTION = (SCORE > 0.5).astype(int)
TRUTH = np.array([0, 1, 0, 0, 1, 1, 1])


def tiny(drawn: Any, given: np.ndarray, **columns: Any) -> Evaluation:
    """Return an evaluation of seven rows, of which those given have labels."""
    human = [label if has else None for label, has in zip(TRUTH.tolist(), given, strict=True)]
    table = {"score": SCORE, "prediction": PREDICTION, "human": human, **columns}
    return Evaluation.from_labelled(
        table, label="human", drawn=drawn, measure="accuracy", strata={"leaves": 3}
    )


def total_of_errors(evaluation: Evaluation, history: History | None = None) -> float:
    """Return the weighted number of wrong predictions, by the weights of the labelled rows."""
    table, history = evaluation.analysis.table, history or evaluation.history
    sample = evaluation.analysis.sampler.weigh(table, history)
    wrong = history.label != history.outputs.prediction[:, 0]
    return float(sample.weight @ wrong[sample.question] * table.rows)


def test_weights_by_enumeration() -> None:
    """Over all samples the weighted totals are the pool's on average, in each way of drawing."""
    errors = int(np.sum(PREDICTION != TRUTH))
    samples = [np.isin(np.arange(7), rows) for rows in itertools.combinations(range(7), 3)]
    assert np.mean([total_of_errors(tiny("random", s)) for s in samples]) == pytest.approx(errors)
    group = np.array(["a", "a", "b", "a", "b", "b", "b"])
    within = [
        np.isin(np.arange(7), [first, *others])
        for first in np.flatnonzero(group == "a")
        for others in itertools.combinations(np.flatnonzero(group == "b"), 2)
    ]
    totals = [total_of_errors(tiny({"within": "g"}, s, g=group)) for s in within]
    assert np.mean(totals) == pytest.approx(errors)
    odds = np.array([0.2, 0.5, 0.3, 0.9, 0.4, 0.6, 1.0])
    mean = 0.0
    for bits in itertools.product([False, True], repeat=7):
        chosen = np.array(bits)
        probability = float(np.prod(np.where(chosen, odds, 1 - odds)))
        if probability:
            total = total_of_errors(tiny({"chance": "odds"}, chosen, odds=odds))
            mean += probability * total
    assert mean == pytest.approx(errors)


def test_weights_after_a_later_round_by_enumeration() -> None:
    """The chance that a row of it had before is known as the mean of its cell alone."""
    everything = tiny("random", np.ones(7, dtype=bool))
    table, row = everything.analysis.table, np.array(everything.state.ids())
    cell, rank, group = np.empty(7, dtype=int), np.empty(7, dtype=int), np.array(list("abbaabb"))
    cell[row], rank[row] = everything.history.cell, everything.history.rank
    totals, chance = [], np.full(len(table), 2 / 5)
    for first in itertools.product(np.flatnonzero(group == "a"), np.flatnonzero(group == "b")):
        evaluation = tiny({"within": "g"}, np.isin(np.arange(7), first), g=group)
        before = evaluation.history
        for others in itertools.combinations(np.setdiff1d(np.arange(7), first), 2):
            rows, new = np.array(others), np.ones(2, dtype=bool)
            drawn = Round(np.array([2, 3]), chance[:2], new, cell_probability=chance)
            outputs = table.kinds.of_cells(cell[rows])
            history = before.with_round(drawn, cell[rows], rank[rows], outputs)
            history = history.with_labels(np.append(before.label, TRUTH[rows]))
            totals.append(total_of_errors(evaluation, history))
    assert np.mean(totals) == pytest.approx(np.sum(PREDICTION != TRUTH))


def test_weights_are_those_of_chances_that_sum_to_the_pool() -> None:
    given = np.array([1, 0, 1, 0, 1, 1, 0], dtype=bool)
    weight = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 1.0])
    by_weight = tiny({"weight": "w"}, given, w=weight).history.rounds[0].probability
    scale = weight[given].sum() / 7
    assert sorted(by_weight) == pytest.approx(sorted(np.minimum(scale / weight[given], 1)))


def with_picked(way: str, labels: int, seed: int = 3, **keys_of: Any) -> Evaluation:
    """Return an evaluation with rows that people picked, maybe errors, then a round of 150."""
    pool = labelled_pool(way, rows=3000, labels=labels)
    evaluation = Evaluation.from_frame(pool.table, seed=seed, **keys("picked"), **keys_of)
    ids = evaluation.sample(150)
    evaluation.label(ids, [pool.truth[id] for id in ids.tolist()])
    return evaluation


def test_rows_that_people_picked_say_nothing_of_others() -> None:
    """They are known, and stand for no others; before a round is drawn there is no number."""
    pool = labelled_pool("picked", rows=3000, labels=40)
    alone = Evaluation.from_frame(pool.table, measure="precision", **keys("picked")).estimate()
    assert alone[0].value is None
    assert "people picked all rows with a label" in str(alone[0].reason)
    evaluation = with_picked("picked", 40, measure="precision")
    table, history = evaluation.analysis.table, evaluation.history
    sample = evaluation.analysis.sampler.weigh(table, history)
    assert sample.weight[history.picked] == pytest.approx(1 / table.rows)
    assert sample.weight_square_sum[history.picked] == pytest.approx(0)
    assert sample.draws == 150


def test_rows_that_people_picked_narrow_no_interval_but_by_being_known() -> None:
    """As wide as beside the same rows drawn, to a tenth; here 1 % of rows are known."""
    evaluation = with_picked("random", 30, 0, measure=["accuracy", "f1"])
    history, drawn = evaluation.history, evaluation.history.rounds[1]
    rest = np.flatnonzero(~history.picked)
    place = np.full(len(history), -1)
    place[rest] = np.arange(len(rest))
    without = History.start(1, 2).with_round(
        dataclasses.replace(drawn, question=place[drawn.question]),
        history.cell[rest],
        history.rank[rest],
        history.outputs.take(rest),
    )
    without = without.with_labels(history.label[rest])
    of_drawn = evaluation.analysis.with_history(without).estimate()
    for both, alone in zip(evaluation.estimate(), of_drawn, strict=True):
        assert both.high - both.low >= 0.9 * (alone.high - alone.low)


@pytest.mark.parametrize("way", fast(1, [way for way in WAYS if way != "picked"]))
def test_what_is_true_is_seldom_contradicted(way: str) -> None:
    found = 0
    for seed in range(30):
        pool = labelled_pool(way, seed=seed)
        evaluation = Evaluation.from_frame(pool.table, **keys(way))
        found += bool(contradictions(evaluation.analysis))
    assert found <= 1  # At most 1 in 1,000 is expected.


@pytest.mark.parametrize("said", ["random", "within"])
def test_labels_that_are_too_often_predicted_positive_are_told(said: str) -> None:
    evaluation = Evaluation.from_frame(labelled_pool("chance").table, **keys(said))
    (told,) = evaluation.estimate().warnings[:1]
    assert told.startswith("the labelled rows are said to be drawn at random")
    assert "the chance of that is below 1 in a million" in told
    assert "say `picked`" in told


def test_nearly_all_is_no_power_of_ten() -> None:
    """It was `1e+02 %`."""
    rows = np.arange(4000)
    human = [row % 7 == 0 if row == 1 or (row < 2000 and row % 2 == 0) else None for row in rows]
    table = {"score": rows % 97 / 97, "prediction": rows // 4 % 2, "human": human}
    table["shop"] = ["abac"[row % 4] for row in rows]
    evaluation = Evaluation.from_labelled(table, label="human", drawn="random", slices=["shop"])
    told = " ".join(evaluation.estimate().warnings)
    assert "but 99.9 % of them have shop=a, and 50 % of the pool" in told


@pytest.mark.parametrize("chance", [0.9, 1.0])
def test_chances_of_another_pool_are_told(chance: float) -> None:
    pool = labelled_pool("chance")
    place = pool.table.column_names.index("odds")
    table = pool.table.set_column(place, "odds", [np.full(2000, chance)])
    evaluation = Evaluation.from_frame(table, **keys("chance"))
    assert "their chances are those of a pool of" in " ".join(evaluation.estimate().warnings)


@pytest.mark.parametrize(("rows", "is_told"), [(400, False), (460, True)])
def test_chances_vary_as_those_of_independent_rows(rows: int, is_told: bool) -> None:
    """With 176 rows of chance 1/2 the pool has 352, and a standard deviation of 18.8."""
    rng = np.random.default_rng(5)
    score, given = rng.random(rows), rng.permutation(rows) < 176
    truth = np.where(rng.random(rows) < score, "1", "0")
    table = {
        "score": score,
        "prediction": np.where(score > 0.5, "1", "0"),
        "human": np.where(given, truth, None),
        "odds": np.where(given, 0.5, np.nan),
    }
    evaluation = Evaluation.from_frame(table, measure="accuracy", **keys("chance"))
    told = " ".join(evaluation.estimate().warnings)
    assert ("their chances are those of a pool of 352 rows" in told) == is_told


def test_all_rows_have_labels() -> None:
    estimates = tiny("random", np.ones(7, dtype=bool)).estimate()
    assert estimates[0].value == pytest.approx(np.mean(PREDICTION == TRUTH))
    assert estimates.warnings[0].startswith("all 7 rows of the table have a label")


def test_no_row_has_a_label() -> None:
    with pytest.raises(InputError, match=r"labels\.column: no row of the pool has a label in hum"):
        tiny("random", np.zeros(7, dtype=bool))


def evenly_scored(label: np.ndarray, given: np.ndarray, **columns: Any) -> dict[str, Any]:
    """Return a table whose scores tell nothing, so that weights alone make the estimates."""
    human = [int(y) if has else None for y, has in zip(label, given, strict=True)]
    rows = len(label)
    return {"score": np.full(rows, 0.5), "prediction": [0] * rows, "human": human, **columns}


def test_random_labels_have_the_intervals_of_proportions() -> None:
    """Those of Wilson and of Clopper and Pearson, but for the rows of the pool that are known."""
    rng = np.random.default_rng(2)
    label = rng.random(100_000) < 0.12
    given = np.isin(np.arange(len(label)), rng.choice(len(label), 200, replace=False))
    table = evenly_scored(label, given)
    with pytest.raises(InputError, match="label: name the column of labels in the table; join"):
        Evaluation.from_labelled(table, label=label, drawn="random")
    evaluation = Evaluation.from_labelled(
        table, label="human", drawn="random", measure="prevalence"
    )
    (estimate,) = evaluation.estimate(intervals=["wilson", "korn-graubard"])
    found = {each.method: (each.low, each.high) for each in estimate.intervals}
    test = scipy.stats.binomtest(int(label[given].sum()), 200)
    wilson, exact = (test.proportion_ci(method=name) for name in ("wilson", "exact"))
    assert found["wilson"] == pytest.approx(tuple(wilson), rel=2e-3)
    assert found["korn-graubard"] == pytest.approx(tuple(exact), rel=2e-3)


def test_labels_by_strata_have_the_variance_of_strata() -> None:
    """W. G. Cochran, Sampling Techniques, 3rd edition, 1977, equation 5.14."""
    rng = np.random.default_rng(3)
    group = np.where(rng.random(20_000) < 0.1, "a", "b")
    label = rng.random(20_000) < np.where(group == "a", 0.5, 0.05)
    rows = [rng.choice(np.flatnonzero(group == name), 150, replace=False) for name in "ab"]
    given = np.isin(np.arange(20_000), np.concatenate(rows))
    table = evenly_scored(label, given, g=group)
    evaluation = Evaluation.from_labelled(
        table, label="human", drawn={"within": "g"}, measure="prevalence"
    )
    share = np.array([np.mean(group == name) for name in "ab"])
    rate = np.array([label[of].mean() for of in rows])
    missed = 1 - 150 / (share * 20_000)
    expected = np.sqrt(np.sum(share**2 * missed * rate * (1 - rate) / 149))
    sampler, pool = evaluation.analysis.sampler, evaluation.analysis.table
    inputs = sampler.inputs(pool, evaluation.history.ordered, 0.95)
    estimand = Estimand(evaluation.analysis.measures[0], inputs)
    value, influence = estimand.linearised
    assert value[0] == pytest.approx(share @ rate)
    assert np.sqrt(inputs.sample.variance(influence)[0]) == pytest.approx(expected)
    assert evaluation.analysis.label_model is None  # Rows of a cell had chances of their own.


def test_verdicts_within_which_labels_were_drawn_are_no_slices() -> None:
    """Of the rows predicted positive, recall would be 1."""
    human = [0, 1, None, 0, None, 1, 1]
    table = {"score": SCORE, "prediction": PREDICTION, "human": human, "g": list("aabbaab")}
    verdicts, groups = ["prediction=0", "prediction=1"], ["g=a", "g=b"]
    for drawn, slices, expected in (
        ("prediction", [], []),
        ("prediction", ["g"], groups),
        ("g", ["prediction"], verdicts + groups),
    ):
        evaluation = Evaluation.from_labelled(
            table, label="human", drawn={"within": drawn}, measure="accuracy", slices=slices
        )
        assert [one.target.slice for one in evaluation.estimate()] == [None, *expected]


@pytest.mark.slow
def test_intervals_hold_after_later_rounds() -> None:
    """Most positives had the greater chance, which no score tells."""
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        label = rng.random(4000) < 0.15
        chance = np.where(rng.random(4000) < np.where(label, 0.5, 0.05), 0.2, 0.02)
        table = evenly_scored(label, rng.random(4000) < chance, chance=chance)
        evaluation = Evaluation.from_labelled(
            table, label="human", drawn="chance:chance", measure="prevalence", seed=seed
        )
        for size in (100, 200):
            ids = evaluation.sample(size)
            evaluation.label(ids, label[ids])
        [one] = evaluation.estimate()
        held += one.low <= label.mean() <= one.high
    assert held >= 16  # Of 20 with .95 each, 15 or fewer come once in 400.


def test_verdicts_of_another_model_leave_few_rows_that_weigh_much() -> None:
    """Of 30 such evaluations the interval of precision held the truth in 22."""
    rng = np.random.default_rng(70)
    label = rng.random(8000) < 0.04
    signal = rng.normal(np.where(label, 2.2, -2.2))
    other, own = (signal + noise * rng.normal(size=8000) - 1 for noise in (1.0, 0.7))
    for old, is_told in ((other > 0, True), (own > 0, False)):
        rows = [rng.choice(np.flatnonzero(old == is_old), 150) for is_old in (True, False)]
        given = np.isin(np.arange(8000), np.concatenate(rows))
        table = evenly_scored(label, given, old=old) | {"score": own, "prediction": own > 0}
        one = Evaluation.from_labelled(table, label="human", drawn="within:old")
        assert ("were not drawn alike" in str(one.estimate().warnings)) == is_told


def test_groups_that_have_too_many_labels_are_told() -> None:
    """Where the table has their column among its slices."""
    pool = labelled_pool("within")
    one = Evaluation.from_labelled(pool.table, label="human", drawn="random", slices=["region"])
    assert "50 % of them have region=south" in one.estimate().warnings[0]
    as_it_was = Evaluation.from_labelled(pool.table, label="human", drawn="within:region")
    assert not contradictions(as_it_was.analysis)


@pytest.mark.parametrize("column", ["prediction", "g"])
def test_groups_without_a_label_are_told(column: str) -> None:
    """Also where all others of another column have one: `g` alone was passed over."""
    of_group = PREDICTION == 1
    evaluation = tiny({"within": column}, of_group, g=np.where(of_group, "known", None))
    [told] = contradictions(evaluation.analysis)
    assert "but 3 of 7 rows have a value of which no row has a label" in told


@pytest.mark.slow
def test_a_slice_of_verdicts_is_estimated_by_its_own_labels() -> None:
    """Of 60 such tables the intervals of a topic where verdicts are worse hold its accuracy."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        hard = rng.random(4000) < 0.2
        bad = rng.random(4000) < 0.2
        says = rng.random(4000) < np.where(bad, np.where(hard, 0.45, 0.9), 0.05)
        given = np.isin(np.arange(4000), rng.choice(4000, 500, replace=False))
        human = [int(y) if has else None for y, has in zip(bad, given, strict=True)]
        topic = np.where(hard, "hard", "easy")
        table = {"verdict": says.astype(int), "human": human, "topic": topic}
        evaluation = Evaluation.from_labelled(
            table, label="human", drawn="random", prediction="verdict", slices=["topic"],
            measure="accuracy",
        )  # fmt: skip
        one = evaluation.estimate()["accuracy where topic=hard"]
        held += one.low <= np.mean(bad[hard] == says[hard]) <= one.high
    assert held >= 52  # Of 60 with .95 each, 52 or fewer come once in 100.


def sizes_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return sizes of clusters of some 20,000 rows."""
    return {
        "equal": np.full(1000, 20),
        "even": rng.integers(4, 37, 1000),
        "heavy-tailed": np.minimum(5 * (1 + rng.pareto(1.2, 1000)), 500).astype(int),
        "one": np.append([6000], np.ones(14_000, dtype=int)),
    }[kind]


@pytest.mark.parametrize("labels", [400, 4000])
@pytest.mark.parametrize("kind", ["equal", "even", "heavy-tailed", "one"])
def test_what_is_said_of_clusters(kind: str, labels: int) -> None:
    """Of 50 true statements each none is contradicted; most whole clusters said random are.

    A sketch knows the spread of the pool to half a percent, so here it is off by as much.
    """
    rng, told = np.random.default_rng(8), {"rows": 0, "clusters": 0, "falsely random": 0}
    for _ in range(50):
        size = sizes_of(kind, rng)
        rows, of_row = int(size.sum()), np.repeat(np.arange(len(size)), size)
        pairs = float(size @ size) * (1 + rng.normal() * 0.0055) - rows
        pool = SharedClusters(rows, pairs / rows / (rows - 1))
        alone = np.unique(of_row[rng.choice(rows, labels, False)], return_counts=True)[1]
        order = size[rng.permutation(len(size))]
        whole = order[: np.searchsorted(np.cumsum(order), labels) + 1]
        told["rows"] += about_clusters("random", alone, pool) is not None
        told["clusters"] += about_clusters("clusters", whole, pool) is not None
        told["falsely random"] += about_clusters("random", whole, pool) is not None
    assert (told["rows"], told["clusters"]) == (0, 0)
    assert told["falsely random"] >= 49 or kind == "one"


def test_large_clusters_that_people_picked_are_told() -> None:
    size = sizes_of("even", np.random.default_rng(9))
    pool = SharedClusters(int(size.sum()), float(size @ (size - 1)) / size.sum() ** 2)
    told = about_clusters("clusters", np.sort(size)[-60:], pool)
    assert "If people picked large clusters, say `picked`" in told
