"""The calibrated design: rounds, weights, estimates, and the size of its bias by enumeration."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from scipy.stats import rankdata

from evalsampling import Evaluation
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.estimates import point_estimate
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.predictive import LabelModel
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    Joint,
    MacroF,
    MatthewsCorrelation,
    Measure,
    PRCurve,
    Precision,
    Recall,
    ROCArea,
)
from evalsampling.samplers import CalibratedDesign
from evalsampling.samplers.calibrated import _Comparison
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.log_odds import log_odds_of_rank
from tests.samplers.pools import Pool, make_pool, with_second_system
from tests.slow import fast

POOL = make_pool(2000, 12, seed=3, positive=0.05, strength=3)
SMALL = make_pool(60, 4, seed=3, positive=0.4)


def test_rows_are_drawn_evenly_and_that_is_told_where_nothing_orders_them() -> None:
    flat = dataclasses.replace(SMALL, probability=np.full_like(SMALL.probability, 0.5))
    sampler = CalibratedDesign(FBeta())
    (remark,) = sampler.remarks(flat.table)
    assert remark.startswith("sampler calibrated draws rows evenly: the prior probability is the")
    (one,) = sampler.design(flat.table, flat.start(), 20, np.random.default_rng(1)).rounds
    assert one.cell_probability == pytest.approx(np.full(len(flat.table), 20 / 60))
    assert sampler.remarks(SMALL.table) == []


def test_weight_is_one_over_the_chance_of_any_round() -> None:
    """Half of the rows of the second round have no label: its chances count half."""
    sampler = CalibratedDesign(FBeta())
    history, _ = POOL.run(sampler, 3, 40, seed=1)
    label = history.label.copy()
    label[40:80:2] = NO_LABEL
    history = history.with_labels(label)
    b = [one.cell_probability for one in history.rounds]
    chance = b[0] + (1 - b[0]) * b[1] / 2 + (1 - b[0]) * (1 - b[1]) * b[2]
    sample = sampler.weigh(POOL.table, history)
    assert np.array_equal(sample.question, np.flatnonzero(label != NO_LABEL))
    wanted = 1 / (2000 * chance[history.cell[sample.question]])
    assert sample.weight == pytest.approx(wanted)


def test_rows_stand_for_those_without_a_label_in_leaves_near_theirs() -> None:
    """Every second row of the lower leaves is skipped: those of the upper ones weigh no more."""
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, 400, seed=1)
    leaf = POOL.table.leaf[history.cell]
    low = np.flatnonzero(leaf < np.median(leaf))
    label = history.label.copy()
    label[low[::2]] = NO_LABEL
    history = history.with_labels(label)
    sample = CalibratedDesign(FBeta()).weigh(POOL.table, history)
    chance = history.rounds[0].cell_probability
    factor = sample.weight * 2000 * chance[history.cell[sample.question]]
    of_leaf = leaf[sample.question]
    assert factor[of_leaf > np.quantile(leaf, 0.6)] == pytest.approx(1)
    assert factor[of_leaf < np.quantile(leaf, 0.4)].mean() == pytest.approx(2, rel=0.1)


def test_late_labels_are_those_of_their_round() -> None:
    """A round answered after the next one is as if answered in time, but for that round's plan."""
    sampler = CalibratedDesign(FBeta())
    history, order = POOL.run(sampler, 1, 40, seed=1)
    opened = sampler.design(POOL.table, history, 40, np.random.default_rng(5))
    opened = opened.with_rows(
        POOL.outputs.take(POOL.rows(opened, order)), POOL.slices[POOL.rows(opened, order)]
    )
    both = sampler.design(POOL.table, opened, 40, np.random.default_rng(6))
    both = POOL.answer(both, order)
    assert len(set(POOL.rows(both, order).tolist())) == 120
    (found,) = sampler.estimate(POOL.table, both, [FBeta()], 0.95)
    assert found.value == pytest.approx(POOL.value(FBeta()), abs=0.35)


PRIORS = {
    "as it is": lambda p, rng: p,
    "all 0": lambda p, rng: np.stack([np.ones(len(p)), np.zeros(len(p))], axis=1),
    "all the same": lambda p, rng: np.full_like(p, 0.5),
    "useless": lambda p, rng: p[rng.permutation(len(p))],
    "0 but in the top leaf": lambda p, rng: np.where(
        (p[:, 1] > np.quantile(p[:, 1], 0.9))[:, None], p, np.array([1.0, 0.0])
    ),
    "upside down": lambda p, rng: p[:, ::-1],
}


@pytest.mark.parametrize("name", fast(2, PRIORS))
def test_estimates_are_right_whatever_the_prior(name: str) -> None:
    """Mean over 6 runs of 300 labels to 4 standard errors and .03; each interval in bounds."""
    prior = PRIORS[name](POOL.probability, np.random.default_rng(1))
    pool = dataclasses.replace(POOL, probability=prior)
    sampler, values, truth = CalibratedDesign(FBeta()), [], POOL.value(FBeta())
    for seed in range(6):
        history, _ = pool.run(sampler, 2, 150, seed)
        (found,) = sampler.estimate(pool.table, history, [FBeta()], 0.95)
        assert 0 <= found.value <= 1
        values.append(found.value)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4 * error + 0.03


FOUR = make_pool(2000, 10, seed=5, classes=4, positive=0.6)
TWO = with_second_system(POOL, 8)
KINDS: dict[str, tuple[Pool, Measure, list[Measure]]] = {
    "joint": (POOL, Joint((FBeta(), Accuracy())), [FBeta(), Accuracy(), Recall(), Brier()]),
    "precision": (POOL, Precision(), [Precision()]),
    "curve": (POOL, PRCurve((2.5, 5.5, 8.5)), [PRCurve((2.5, 5.5, 8.5)), FBeta()]),
    "brier": (POOL, Brier(), [Brier(), Accuracy()]),
    "systems": (TWO, Joint((FBeta(), FBeta(system=1))), [FBeta(), FBeta(system=1)]),
    "four classes": (FOUR, MacroF(4), [MacroF(4), Accuracy(), FBeta(positive=2)]),
}


@pytest.mark.parametrize("name", KINDS)
def test_any_measure(name: str) -> None:
    """400 labels: to 5 standard errors and .02 of the truth; the interval holds the estimate."""
    pool, driver, measures = KINDS[name]
    sampler = CalibratedDesign(driver)
    history, _ = pool.run(sampler, 4, 100, seed=3)
    model = LabelModel.fit(pool.table, history, (1,))
    scope = ReportedDomains(systems=pool.known.systems, bands_seed=1)
    found = sampler.estimate(pool.table, history, measures, 0.95, scope, model)
    truth = np.concatenate([pool.values(measure) for measure in measures])
    assert len(found) == len(truth)
    of_known_rows = {each.name for each in measures if each.is_of_known_rows}
    for one, true in zip(found, truth.tolist(), strict=True):
        assert abs(one.value - true) < 5 * one.standard_error + 0.02
        default = one.intervals[0]
        modelled = next(each for each in one.intervals if each.kind == "model-based")
        if default is not modelled:
            assert one.target.measure in of_known_rows
            is_narrower = default.high - default.low <= modelled.high - modelled.low
            assert is_narrower or pool.table.classes > 2
        assert one.target.bounds[0] <= default.low <= one.value <= default.high
        assert default.high <= one.target.bounds[1]


def test_scores_that_cells_do_not_tell_are_estimated_by_the_design() -> None:
    """The area of a second system: the model alone would say one half."""
    sampler, area = CalibratedDesign(FBeta()), ROCArea(thresholds=(2.5, 5.5, 8.5), system=1)
    history, _ = TWO.run(sampler, 4, 100, seed=3)
    model = LabelModel.fit(TWO.table, history, (1,))
    scope = ReportedDomains(systems=TWO.known.systems)
    (found,) = sampler.estimate(TWO.table, history, [area], 0.95, scope, model)
    assert found.value == pytest.approx(TWO.value(area), abs=0.05)
    assert found.intervals[0].kind == "design-based"
    assert found.intervals[0].low <= TWO.value(area) <= found.intervals[0].high


def test_difference_estimator_stays_within_the_measures_range() -> None:
    """Weights of more rows than cells have, and a model of many positives among these."""
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, 100, seed=1)
    inputs = CalibratedDesign(FBeta()).inputs(POOL.table, history, 0.95)
    sample = dataclasses.replace(inputs.sample, weight=inputs.sample.weight * 3)
    response = np.tile([0.1, 0.9], (len(POOL.table), 1))
    inputs = dataclasses.replace(inputs, sample=sample, response=response)
    for measure in (Recall(), FBeta(), Accuracy()):
        value, _ = Linearisation(measure, inputs).estimate()
        assert 0 <= value[0] <= 1


def test_rates_of_the_model_that_intervals_are_made_with_are_used() -> None:
    """The curves need not be fitted twice, unless the sampler expects other hidden positives."""
    sampler = CalibratedDesign(FBeta())
    history, _ = POOL.run(sampler, 1, 100, seed=1)
    model = LabelModel.fit(POOL.table, history, (1,))
    used = sampler.inputs(POOL.table, history, 0.95, model).response
    assert used is model.likely_rates
    assert np.array_equal(used, sampler.inputs(POOL.table, history, 0.95).response)
    other = CalibratedDesign(FBeta(), hidden=HiddenPrior(share=0.3))
    assert not np.array_equal(other.inputs(POOL.table, history, 0.95, model).response, used)


def test_model_that_makes_the_difference_useless_is_left_out() -> None:
    """Its error is larger than that of a number drawn from the range: the weights alone say more.

    One negative of the tail stands for many rows, and the model thinks most of them positive.
    """
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, 100, seed=1)
    usual = CalibratedDesign(FBeta()).inputs(POOL.table, history, 0.95)
    lowest = np.argmin(POOL.table.prior[history.cell[usual.sample.question], 1])
    response = np.tile([0.1, 0.9], (len(POOL.table), 1))
    for times, measure in ((3, Recall()), (3, FBeta()), (15, FBeta())):
        weight = usual.sample.weight * np.where(
            np.arange(len(usual.sample.weight)) == lowest, times, 1
        )
        sample = dataclasses.replace(usual.sample, weight=weight, weight_square_sum=weight**2)
        inputs = dataclasses.replace(usual, sample=sample, response=response)
        value, influence = Linearisation(measure, inputs).estimate()
        alone = Linearisation(measure, dataclasses.replace(inputs, response=None)).estimate()
        assert value == pytest.approx(alone[0])
        assert np.array_equal(influence, alone[1])
        assert point_estimate(measure, inputs) == pytest.approx(value)
    alone = Linearisation(FBeta(), dataclasses.replace(usual, response=None)).estimate()
    value, _ = Linearisation(FBeta(), usual).estimate()
    assert value != pytest.approx(alone[0])
    assert point_estimate(FBeta(), usual) == pytest.approx(value)


def test_difference_without_a_value_is_left_out() -> None:
    """Its risk may be one that no labels have: 0/0 there, though positives have been met.

    The weights of positives account for more than there are rows, and a model without positives
    leaves fewer negatives than none.
    """
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, 100, seed=1)
    usual = CalibratedDesign(FBeta()).inputs(POOL.table, history, 0.95)
    response = np.tile([1.0, 0.0], (len(POOL.table), 1))
    is_positive = history.label[usual.sample.question] == 1
    weight = usual.sample.weight * np.where(is_positive, 10, 1)
    sample = dataclasses.replace(usual.sample, weight=weight)
    inputs = dataclasses.replace(usual, sample=sample, response=response, self_normalised=True)
    value, _ = Linearisation(MatthewsCorrelation(), inputs).estimate()
    alone = dataclasses.replace(inputs, response=None)
    of_weights, _ = Linearisation(MatthewsCorrelation(), alone).estimate()
    assert np.isfinite(of_weights).all()
    assert value == pytest.approx(of_weights)


@pytest.mark.parametrize("labels", [2, 100_000])
def test_size_is_the_root_of_the_mean_variance_that_a_label_makes(labels: int) -> None:
    """F1 by hand, draw by draw: tp over half of the predicted and half of the actual positives.

    Predicted negatives count by that mean, not by F1 at the mean rates, where the tail's expected
    positives make F1 small and one found just below the threshold worth nothing. A draw counts for
    no more than the variance of a number anywhere in [0, 1].
    """
    x = np.repeat(np.arange(-14.0, 6.0), 2)
    probability = 1 / (1 + np.exp(-x))
    rows = np.repeat(np.rint(1 + 20 * np.exp(-((x[::2] + 9) ** 2) / 8)).astype(int), 2)
    of_row = np.repeat(np.arange(len(x)), rows)
    pool = Pool(
        leaf=of_row // 2,
        prediction=(x[of_row] > 0).astype(int),
        probability=np.stack([1 - probability, probability], axis=1)[of_row],
        label=np.zeros(len(of_row), dtype=int),
    )
    model = LabelModel.fit(pool.table, pool.start(), (1,))
    spread = _Comparison.of_designs(FBeta(), np.ones(1), model, labels).spread

    rate, count = model.rates[:, :, 1], pool.table.count
    found = pool.table.kinds.prediction[:, 0] == 1
    hits = (rate * count)[:, found].sum(axis=1)
    half = (count[found].sum() + (rate * count).sum(axis=1)) / 2
    f1 = (hits / half)[:, None]
    by_label = np.where(found, 1 - f1 / 2, -f1 / 2) / half[:, None] * pool.table.rows
    variance = rate * (1 - rate) * by_label**2
    left = (np.sqrt(variance) @ (count / count.sum())) ** 2 / labels
    limited = left > 1 / 12
    assert limited.any() == (labels == 2)
    variance[limited] *= 1 / 12 / left[limited, None]
    by_hand = np.sqrt(variance.mean(axis=0))
    assert spread == pytest.approx(by_hand / (by_hand @ count / count.sum()))


@pytest.mark.parametrize("seed", range(2))
def test_rounds_go_by_the_scores_however_many_positives_may_hide(seed: int) -> None:
    """The lower half of the leaves has few of the positives that a round looks for."""
    pool = make_pool(20_000, 24, seed=3, positive=0.01, strength=4)
    sampler = CalibratedDesign(FBeta(), hidden=HiddenPrior(share=2))
    history, _ = pool.run(sampler, 2, 60, seed=seed)
    rate = history.rounds[-1].posterior
    whole = LabelModel.fit(pool.table, history, (1,), sampler.hidden).mean_rates
    by_leaf = pool.table.sum_by_leaf(pool.table.count[:, None] * whole)[:, 1]
    found = rate[:, 1] * pool.table.leaf_count
    lower, lower_of_whole = (each[:12].sum() / each.sum() for each in (found, by_leaf))
    assert lower < 0.75 * lower_of_whole
    assert lower < 0.1


def test_frequent_class_is_that_of_most_rows_not_of_most_cells() -> None:
    """Eight leaves of 5 rows are positive, one of 1,000 negative: positives are rare."""
    leaf = np.repeat(np.arange(9), [1000, *[5] * 8])
    positive = np.where(leaf == 0, 0.01, 0.9)
    pool = Pool(
        leaf=leaf,
        prediction=(leaf > 0).astype(int),
        probability=np.stack([1 - positive, positive], axis=1),
        label=(leaf > 0).astype(int),
    )
    history, _ = pool.run(CalibratedDesign(FBeta()), 1, 30, seed=1)
    model = LabelModel.fit(pool.table, history, (1,))
    comparison = _Comparison.of_designs(FBeta(), np.ones(1), model, 100)
    assert comparison.rate[1:, 1].min() > 0.5
    of_rate = comparison.size(1.5) / comparison.size(0.5)
    assert of_rate == pytest.approx(comparison.rate[:, 1])


def variances(of: np.ndarray, size: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the variance of each measure if rows are drawn in proportion to a size, up to 1 / n.

    It is over the least that any size has: with variances a_c of influences, sizes in proportion to
    their roots. ``of`` has the roots, shape (m, cells).
    """
    least = (of @ count) ** 2
    return np.asarray((of**2 / size @ count) * (size @ count) / least)


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (4.0, 1.0, 0.25)])
def test_a_round_for_several_measures_minimises_the_weighted_sum_of_variances(
    weights: tuple[float, ...],
) -> None:
    """Against sizes at random and near it; what each alone would have is from rounds for it."""
    measures = FBeta(), Precision(), Accuracy()
    history, _ = POOL.run(CalibratedDesign(FBeta()), 1, 60, seed=2)
    model, count = LabelModel.fit(POOL.table, history, (1,)), POOL.table.count
    alone = [_Comparison.of_designs(one, np.ones(1), model, 100).spread for one in measures]
    joint = _Comparison.of_designs(Joint(measures), np.array(weights), model, 100).spread
    of, rng = np.stack(alone), np.random.default_rng(3)
    best = np.array(weights) @ variances(of, joint, count)
    for _ in range(300):
        step = np.exp(rng.normal(0, rng.choice([0.01, 0.1, 1.0]), len(joint)))
        assert np.array(weights) @ variances(of, joint * step, count) >= best * (1 - 1e-9)
    if weights[0] > 1:
        equal = _Comparison.of_designs(Joint(measures), np.ones(3), model, 100).spread
        assert variances(of, joint, count)[0] < variances(of, equal, count)[0]


def labelled(history: History, cell: int, chance: np.ndarray, pool: Pool) -> History:
    """The history with a round more, of the one row of a cell."""
    (row,) = np.flatnonzero(pool.cell == cell)
    drawn = Round(np.array([len(history)]), chance[[cell]], np.ones(1, dtype=bool), None, chance)
    label = np.append(history.label, pool.label[row])
    history = history.with_round(drawn, np.array([cell]), np.array([0]), pool.outputs.take([row]))
    return history.with_labels(label)


def expected_weights(pool: Pool, rounds: int) -> np.ndarray:
    """E[1 / pi of a row if it is labelled], by every path of rounds of one row: (rows,)."""
    sampler, total = CalibratedDesign(FBeta()), np.zeros(len(pool.table))

    def go(history: History, path_chance: float) -> None:
        if len(history) == rounds:
            sample = sampler.weigh(pool.table, history)
            cell = history.cell[sample.question]
            total[cell] += path_chance * sample.weight * pool.table.rows
            return
        after = sampler.design(pool.table, history, 1, np.random.default_rng(1))
        chance = after.rounds[-1].cell_probability
        seen = history.drawn_by_cell(len(pool.table)) > 0
        assert chance[~seen].sum() == pytest.approx(1)
        for cell in np.flatnonzero(~seen):
            go(labelled(history, int(cell), chance, pool), path_chance * chance[cell])

    go(pool.start(), 1.0)
    return total


def four_rows(label: list[int]) -> Pool:
    p = np.array([0.02, 0.1, 0.5, 0.9])
    return Pool(
        leaf=np.arange(4),
        prediction=np.array([0, 0, 1, 1]),
        probability=np.stack([1 - p, p], axis=1),
        label=np.array(label),
    )


@pytest.mark.parametrize("label", fast(2, [[0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]]))
def test_bias_of_weights_over_rounds_by_enumeration(label: list[int]) -> None:
    """Four rows, rounds of one: the weights of one round are unbiased, of more they are not.

    Nothing is as extreme as this: three of the four rows, each answer turning the next round.
    Between .5 and 1.8 for 1.
    """
    pool = four_rows(label)
    assert expected_weights(pool, 1) == pytest.approx(np.ones(4))
    for rounds in (2, 3):
        found = expected_weights(pool, rounds)
        assert np.abs(found - 1).max() > 0.02
        assert 0.5 < found.min() < found.max() < 1.8


CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
POOLS = ["normal scores", "smtp-lr", "stackoverflow-svm", "gmsc-hgb", "restaurants-jaccard-cross"]

INCREASING = {
    "as they are": lambda score: score,
    "ranks": lambda score: rankdata(score) / len(score),
    "tenth power of ranks": lambda score: (rankdata(score) / len(score)) ** 10,
    "logistic": lambda score: expit((score - score.mean()) / score.std()),
    "times 100": lambda score: 100 * score,
    "float16": lambda score: score.astype(np.float16).astype(np.float32),
}


@pytest.mark.parametrize("change", INCREASING)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in POOLS[1:])) for name in POOLS]
)
def test_strata_are_those_of_the_ranks_on_any_scale(name: str, change: str) -> None:
    """In the upper half a row's place on the curve is that of its own rank, to a stratum's width.

    So an increasing change of the scores moves no row further than that: ties are the scores' own.
    """
    if name == POOLS[0]:
        score = np.random.default_rng(5).normal(size=20_000)
    elif CORPUS.exists():
        score = pq.read_table(CORPUS / f"{name}.parquet")["score"].to_numpy()
    else:
        pytest.skip("the pools are not here")
    changed = INCREASING[change](score)
    pool = {"score": changed, "says": score > np.quantile(score, 0.9)}
    evaluation = Evaluation.from_frame(pool, score="score", prediction="says", score_is="order")
    edges = evaluation.state.pool.stratification.edges
    leaf = np.searchsorted(edges, changed.astype(np.float64), side="right")
    found = log_odds_of_rank(np.arange(len(edges) + 1.0), np.bincount(leaf))[leaf]
    below = rankdata(changed) - 0.5
    wanted = np.log(below / (len(score) - below))
    upper = wanted > 0
    width = 2 * np.log(2 * len(score)) / 256
    assert np.mean(np.abs(found - wanted)[upper]) < width


DIFFERENCE, RATIO = {"difference": "f1", "of": "a", "against": "b"}, {"ratio": "f1"}
MEASURED = {"precision first": ["precision", "f1"], "difference first": [DIFFERENCE, "f1"]}
MEASURED |= {"f1": ["f1"], "ratio first": [RATIO, "f1"], "verdicts of b": ["f1", RATIO]}


@pytest.mark.parametrize("case", fast(1, MEASURED))
def test_the_order_in_which_systems_are_named_changes_nothing(case: str) -> None:
    """Rows are the same ones, estimates but for rounding; a ratio is the inverse of the other."""
    rng = np.random.default_rng(4)
    log_odds = rng.normal(-5, 3, 8000)
    label = (rng.random(len(log_odds)) < expit(log_odds)).astype(int)
    a = log_odds + rng.normal(0, 2, len(log_odds))
    b = np.where(rng.random(len(log_odds)) < 0.3, log_odds, rng.normal(-5, 3, len(log_odds)))
    of_each = {"of_a": (a > 0).astype(int), "of_b": (b > -0.5).astype(int)}
    frame, found = pa.table({"id": np.arange(len(label)), "a": a, "b": b, **of_each}), []
    for named in ("ab", "ba"):
        systems = {name: {"score": name, "prediction": f"of_{name}"} for name in named}
        systems["b"].pop("score" if case == "verdicts of b" else "", None)
        evaluation = Evaluation.from_frame(
            frame, pool={"systems": systems}, measure=MEASURED[case], seed=3, budget=200
        )
        numbers = {}
        for size in (50, 60):
            ids = evaluation.sample(size)
            evaluation.label({row: int(label[row]) for row in ids})
            numbers["rows", str(size)] = list(ids)
        for one in evaluation.estimate():
            ends, part = [one.value, one.low, one.high], one.unsearched
            if one.target.against is None:
                left = [part.rows, part.labelled, part.positives] if part else []
                numbers[one.target.measure, one.target.system] = ends + left
            elif one.target.null == 1:
                numbers["ratio", ""] = ends if named == "ab" else [1 / ends[i] for i in (0, 2, 1)]
        found.append(numbers)
    for number in found[0].keys() & found[1].keys():
        assert found[0][number] == pytest.approx(found[1][number], abs=1e-6), number
    assert found[0].keys() >= {("f1", "a"), ("f1", "b"), ("rows", "60")}


def test_open_round_changes_no_number() -> None:
    sampler = CalibratedDesign(FBeta())
    history, _ = POOL.run(sampler, 2, 40, seed=1)
    opened = sampler.design(POOL.table, history, 40, np.random.default_rng(5))
    (before,) = sampler.estimate(POOL.table, history, [FBeta()], 0.95)
    (after,) = sampler.estimate(POOL.table, opened, [FBeta()], 0.95)
    assert after.value == before.value
    assert after.standard_error == before.standard_error
