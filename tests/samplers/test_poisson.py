"""Poisson sampling: everything that can happen on four rows, formulas of the paper, simulation."""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.estimates import estimate_from_inclusion
from evalsampling.inference.intervals import beta
from evalsampling.inference.ratio_bias import Bias, ratio_bias
from evalsampling.inference.score_calibration import recalibrated
from evalsampling.measures import Accuracy, FBeta, MacroF, Measure, MicroF, Precision, Recall
from evalsampling.measures.deviation import Deviation, anticipate
from evalsampling.samplers import OptimalImportance, Poisson
from evalsampling.stats.history import NO_LABEL, History
from tests.samplers.pools import Pool, make_pool
from tests.slow import fast

P1 = np.array([0.1, 0.3, 0.6, 0.7])
POOL = Pool(
    leaf=np.array([0, 1, 1, 1]),
    prediction=np.array([0, 0, 1, 1]),
    probability=np.stack([1 - P1, P1], axis=1),
    label=np.array([1, 0, 1, 0]),
)
"""All four outcomes; one cell holds both labels."""
CHANCE = np.array([[0.9, 0.1], [0.4, 0.6], [0.0, 1.0], [0.5, 0.5]])
"""p(y|x) of a stochastic oracle: nothing like the prior."""
ORDERS = [[np.array([0]), np.array([1]), np.array(rows)] for rows in ([2, 3], [3, 2])]
RATIOS: list[Measure] = [FBeta(), Precision(), Recall(), Accuracy()]
LARGE = make_pool(3000, 30, seed=4, positive=0.1, strength=3)
FOUR = make_pool(3000, 20, seed=6, classes=4, positive=0.3)
WAYS = {
    "one sample": Poisson(FBeta()),
    "exclude": Poisson(FBeta(), online="exclude"),
    "include": Poisson(FBeta(), online="include"),
    "stochastic": Poisson(FBeta(), oracle="stochastic"),
    "published": Poisson(FBeta(), delta=0.0, smoothing=0.9),
    "isotonic": Poisson(FBeta(), online="exclude", calibration="isotonic"),
    "stochastic, include": Poisson(FBeta(), oracle="stochastic", online="include"),
}

BETA = ReportedDomains(methods=("beta",))


class Coins:
    """A generator of given coins for earlier rows, if any, then of given numbers of new rows."""

    def __init__(self, sizes: tuple[int, ...], again: tuple[int, ...] | None) -> None:
        self._sizes, self._again = sizes, again

    def binomial(self, left: np.ndarray, chance: np.ndarray) -> np.ndarray:
        return np.array(self._sizes)

    def random(self, size: int) -> np.ndarray:
        if self._again is None:  # the order of the tasks
            return np.full(size, 0.5)
        again, self._again = self._again, None
        return 1 - np.array(again, dtype=float)


def rounds_of(
    sampler: Poisson, order: list[np.ndarray], wanted: tuple[int, ...], history: History, p: float
) -> Iterator[tuple[History, float]]:
    """All histories of rounds of given expected sizes, with their chances."""
    if not wanted:
        yield history, p
        return
    first, *rest = wanted
    table, given = POOL.table, CHANCE if sampler.stochastic else None
    left = table.count - history.drawn_by_cell(len(table))
    rows = np.unique(np.stack([history.cell, history.rank], axis=1), axis=0)
    patterns: list[tuple[int, ...] | None] = [None]
    if sampler.online == "include":
        patterns = [*itertools.product((0, 1), repeat=len(rows))]
    for sizes in itertools.product(*(range(n + 1) for n in left)):
        for again in patterns:
            coins = Coins(sizes, again)
            after = sampler.design(table, history, first, coins)  # type: ignore[arg-type]
            b = after.rounds[-1].cell_probability
            chance = p * float(np.prod(stats.binom.pmf(sizes, left, b)))
            if again:
                own = b[rows[:, 0]]
                chance *= float(np.prod(np.where(again, own, 1 - own)))
            if chance == 0:
                continue
            for answered, of_answer in POOL.answers(after, order, given):
                yield from rounds_of(sampler, order, tuple(rest), answered, chance * of_answer)


def moments(sampler: Poisson, wanted: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Mean and variance of the estimated mean loss, and the mean of its estimated variance."""
    total, first, second, told = 0.0, np.zeros(2), np.zeros(2), np.zeros(2)
    for order in ORDERS:
        for history, chance in rounds_of(sampler, order, wanted, POOL.start(), 1 / 2):
            sample = sampler.weigh(POOL.table, history)
            outputs = history.outputs.take(sample.question)
            loss = FBeta().loss(outputs, history.label[sample.question])
            risk = sample.mean(loss)
            total += chance
            first += chance * risk
            second += chance * risk**2
            told += chance * sample.variance(loss)
    assert total == pytest.approx(1)
    return first, second - first**2, told


def quick(sampler: Poisson, history: History, measure: Measure) -> tuple[float, float, Bias]:
    """The estimate of a ratio, its variance and its bias, without all else that is reported."""
    sample = sampler.weigh(LARGE.table, history)
    outputs, label = history.outputs.take(sample.question), history.label[sample.question]
    loss = measure.loss(outputs, label)
    risk = sample.mean(loss)
    variance = sample.variance(measure.influence(outputs, label, risk))
    bias = ratio_bias(loss, sample)
    return float(measure.value(risk)[0]), float(variance[0]), bias


@pytest.mark.parametrize("way", fast(4, WAYS))
def test_totals_are_unbiased_by_enumeration(way: str) -> None:
    """Two rounds, the second by the labels of the first where it is online; all that can happen."""
    sampler = WAYS[way]
    mean, variance, told = moments(sampler, (1,) if way == "stochastic, include" else (1, 2))
    losses = [FBeta().loss(POOL.outputs, np.full(4, y)) for y in range(2)]
    truth = FBeta().loss(POOL.outputs, POOL.label).mean(axis=0)
    if sampler.stochastic:
        truth = sum(CHANCE[:, y] @ losses[y] for y in range(2)) / 4
    assert mean == pytest.approx(truth, abs=1e-12)
    if sampler.stochastic:
        assert np.all(told >= variance - 1e-12)
    else:
        assert told == pytest.approx(variance, abs=1e-12)


def test_variance_of_a_stochastic_oracle_is_that_of_the_paper() -> None:
    """[Y] eq. 25 in expectation over all answers, of totals.

    Of its second term one answer a row leaves what the rates of a cell's rows differ: here the
    rows 2 and 3 are a cell, of whose <d>^2 the product is taken; the others are alone.
    """
    sampler = WAYS["stochastic"]
    _, variance, told = moments(sampler, (2,))
    after = sampler.design(POOL.table, POOL.start(), 2, np.random.default_rng(1))
    b = after.rounds[-1].cell_probability[POOL.cell]
    losses = np.stack([FBeta().loss(POOL.outputs, np.full(4, y)) for y in range(2)], axis=1)
    mean = np.einsum("ny,nyd->nd", CHANCE, losses)
    square = np.einsum("ny,nyd->nd", CHANCE, losses**2)
    assert variance == pytest.approx(np.sum(square / b[:, None] - mean**2, axis=0) / 16)
    known = np.sum(square / b[:, None], axis=0) - 2 * mean[2] * mean[3]
    assert told == pytest.approx(known / 16)


@pytest.mark.slow
def test_second_order_bias_tells_what_the_source_leaves_out() -> None:
    """Precision has f g = f: the source's term is far off, both together are nearly 0."""
    sampler = Poisson(Recall())
    values, first, both = [], [], []
    for seed in range(800):
        history, _ = LARGE.run(sampler, 1, 60, seed)
        value, _, bias = quick(sampler, history, Precision())
        values.append(value)
        first.append(bias.covariance_term)
        both.append(bias.total)
    bias = np.mean(values) - LARGE.value(Precision())
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(both) == pytest.approx(bias, abs=4 * error)
    assert abs(np.mean(first) - bias) > 4 * error


def test_correction_subtracts_the_bias() -> None:
    history, _ = LARGE.run(Poisson(FBeta()), 1, 100, seed=1)
    plain, corrected = (
        Poisson(FBeta(), correct_bias=chosen).estimate(LARGE.table, history, [FBeta()], 0.9)[0]
        for chosen in (False, True)
    )
    assert plain.bias == corrected.bias
    assert corrected.value == pytest.approx(plain.value - plain.bias.total)


@pytest.mark.parametrize("measure", RATIOS, ids=lambda m: m.name)
def test_estimate_is_that_of_the_paper(measure: Measure) -> None:
    """[Y] eq. 18, 28 and 29, and the Beta interval, written out row by row.

    Its variance is larger by the square of Student's quantile over the normal one, as few rows
    carry it; of an evaluation it is no less than scores and labels make expect.
    """
    sampler = Poisson(measure)
    history, order = LARGE.run(sampler, 2, 80, seed=3)
    (found,) = sampler.estimate(LARGE.table, history, [measure], 0.9, BETA)
    rows = LARGE.rows(history, order)
    b = 1 - np.prod([1 - one.cell_probability for one in history.rounds], axis=0)
    b = b[LARGE.cell[rows]]
    loss = measure.loss(LARGE.outputs.take(rows), LARGE.label[rows])
    f, g = loss.T if loss.shape[1] == 2 else (1 - loss[:, 0], np.ones(len(rows)))
    value = np.sum(f / b) / np.sum(g / b)
    variance = np.sum((1 / b) * (1 / b - 1) * (f - value * g) ** 2) / np.sum(g / b) ** 2
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(np.sqrt(variance))
    outputs, label = LARGE.outputs.take(rows), LARGE.label[rows]
    (by_weights,) = estimate_from_inclusion(measure, outputs, label, b, 0.9, methods=["beta"])
    interval, cautious = (
        next(one for one in each.intervals if one.method == "beta") for each in (by_weights, found)
    )
    assert by_weights.value == pytest.approx(value)
    terms = ((1 / b) * (1 / b - 1)) * (f - value * g) ** 2
    degrees = min(2 / (terms @ terms / terms.sum() ** 2 - 1 / len(rows)) - 1, len(rows) - 1)
    variance *= (stats.t.ppf(0.95, degrees) / stats.norm.ppf(0.95)) ** 2
    strength = value * (1 - value) / variance - 1
    wanted = stats.beta(value * strength, (1 - value) * strength).ppf([0.05, 0.95])
    assert [interval.low, interval.high] == pytest.approx(wanted, abs=1e-6)
    assert cautious.high - cautious.low >= interval.high - interval.low - 1e-9


def test_beta_interval_knows_of_positives_that_are_hardly_ever_met() -> None:
    """Five among 2,900 rows of small chance; 60 samples, nominal 90 %.

    With the estimated variance alone a third of the intervals hold the truth.
    """
    p, label = np.repeat([0.0015, 0.6], [2900, 100]), np.zeros(3000, dtype=np.int64)
    label[[*range(5), *range(2900, 2960)]] = 1
    group = np.repeat([0, 1], [2900, 100])
    pool = Pool(group, group, np.stack([1 - p, p], axis=1), label)
    sampler, truth, held, by_variance = Poisson(FBeta()), pool.value(FBeta()), 0, 0
    for seed in range(60):
        history, _ = pool.run(sampler, 1, 400, seed)
        (one,) = sampler.estimate(pool.table, history, [FBeta()], 0.9, BETA)
        default = one.intervals[0]  # the whole range where the variance is zero
        found = next((each for each in one.intervals if each.method == "beta"), default)
        held += found.low <= truth <= found.high
        if one.standard_error:
            plain = beta(one.value, one.standard_error, 0.9)
            by_variance += plain.low <= truth <= plain.high
    assert held / 60 >= 0.85
    assert by_variance / 60 < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("online", [None, "exclude", "include"])
def test_error_is_what_the_variance_says(online: str | None) -> None:
    """300 evaluations of three rounds: the mean square error within 25 % of the mean variance.

    (The standard error of a variance of 300 is 8 %.)
    """
    sampler = Poisson(FBeta(), online=online)
    squares, told, sizes = [], [], []
    for seed in range(300):
        history, _ = LARGE.run(sampler, 3, 50, seed)
        value, variance, _ = quick(sampler, history, FBeta())
        squares.append((value - LARGE.value(FBeta())) ** 2)
        told.append(variance)
        sizes.append(len(history))
    assert np.mean(squares) == pytest.approx(np.mean(told), rel=0.25)
    assert np.mean(sizes) == pytest.approx(150, abs=4 * np.std(sizes) / np.sqrt(300))


@pytest.mark.parametrize("measure", [MacroF(4, alpha=0.3), MicroF(4, over=(1, 2, 3), alpha=0.7)])
def test_error_of_averages_over_classes_is_what_the_variance_says(measure: Measure) -> None:
    """150 evaluations of four classes: within 4 standard errors, the variances within 45 %.

    (The standard error of a variance of 150 is 12 %.)
    """
    sampler, values, told = Poisson(measure), [], []
    for seed in range(150):
        history, _ = FOUR.run(sampler, 1, 500, seed)
        sample = sampler.weigh(FOUR.table, history)
        outputs, label = history.outputs.take(sample.question), history.label[sample.question]
        risk = measure.mean_loss(outputs, label, sample.weight)
        values.append(measure.value(risk)[0])
        influence = measure.influence(outputs, label, risk)
        told.append(sample.variance(influence - sample.mean(influence))[0])
    error = np.std(values) / np.sqrt(len(values))
    assert np.mean(values) == pytest.approx(FOUR.value(measure), abs=4 * error)
    assert np.var(values) == pytest.approx(np.mean(told), rel=0.45)


def test_sizes_of_rounds_do_not_matter() -> None:
    """One round of 90 rows or three of 30: the same probabilities, those of water-filling."""
    sampler = Poisson(FBeta())
    one, _ = LARGE.run(sampler, 1, 90, seed=1)
    three, _ = LARGE.run(sampler, 3, 30, seed=1)
    until = 1 - np.prod([1 - each.cell_probability for each in three.rounds], axis=0)
    assert until == pytest.approx(one.rounds[0].cell_probability)
    size = sampler.sample_size(LARGE.table, three)
    assert size.expected == pytest.approx(90)
    assert size.realised == len(three)
    assert size.deviation == pytest.approx(np.sqrt(np.sum(LARGE.table.count * until * (1 - until))))


def test_certain_rows_are_always_taken() -> None:
    sampler = Poisson(FBeta(), delta=0.0)
    for seed in range(20):
        history, order = LARGE.run(sampler, 1, 1500, seed)
        b = history.rounds[0].cell_probability
        taken = np.bincount(LARGE.cell[LARGE.rows(history, order)], minlength=len(b))
        assert np.array_equal(taken[b == 1], LARGE.table.count[b == 1])
    size = sampler.sample_size(LARGE.table, history)
    assert size.certain == LARGE.table.count[b == 1].sum() > 0
    assert size.saturated
    assert not sampler.sample_size(LARGE.table, LARGE.run(sampler, 1, 5, 1)[0]).saturated


@pytest.mark.parametrize("cap", [True, False])
def test_budget_is_expected_or_a_cap(cap: bool) -> None:
    sampler, sizes = Poisson(FBeta(), cap=cap), []
    for seed in range(60):
        history = LARGE.start()
        rng = np.random.default_rng(seed)
        history = sampler.design(LARGE.table, history, 100, rng, budget=40)
        sizes.append(len(history))
        assert sampler.spent(LARGE.table, history, len(history)) == (
            pytest.approx(40, abs=20) if cap else 40
        )
    assert (max(sizes) <= 40) == cap
    assert max(sizes) == 40 or not cap


@pytest.mark.slow
@pytest.mark.parametrize("online", [None, "exclude", "include"])
def test_silent_round_does_not_bias(online: str | None) -> None:
    """A first round without any label, a second with all: the positives to 4 standard errors.

    With the first round forgotten, the prevalence was a twelfth too small: the second round had
    fewer of the likely rows left to draw than its chances said.
    """
    sampler, found = Poisson(FBeta(), online=online), []
    for seed in range(250):
        history, order = LARGE.run(sampler, 1, 150, seed)
        history = history.with_labels(np.full(len(history), NO_LABEL))
        silent = len(history)
        history = sampler.design(LARGE.table, history, 150, np.random.default_rng([seed, 5]))
        answered = LARGE.answer(history, order)
        label = np.where(np.arange(len(history)) < silent, NO_LABEL, answered.label)
        sample = sampler.weigh(LARGE.table, answered.with_labels(label))
        found.append(sample.weight @ label[sample.question])
    error = np.std(found) / np.sqrt(len(found))
    assert error < 0.05 * LARGE.label.mean()
    assert np.mean(found) == pytest.approx(LARGE.label.mean(), abs=4 * error)


@pytest.mark.slow
def test_rows_drawn_again_stand_for_their_own_round() -> None:
    """All labels of the first round, three in ten of the second, by coins: to 4 standard errors.

    One leaf, so one response class; the first round knows most predicted positives. Counted among
    those that answer, they stood for the silent predicted negatives of the second round.
    """
    prediction = np.repeat([0, 1], [300, 60])
    p = np.where(prediction == 1, 0.5, 0.03)
    label = np.zeros(360, dtype=np.int64)
    label[[*range(0, 9), *range(300, 330)]] = 1
    pool = Pool(np.zeros(360, np.int64), prediction, np.stack([1 - p, p], axis=1), label)
    sampler, found = Poisson(Accuracy(), online="include"), []
    for seed in range(600):
        history, order = pool.run(sampler, 1, 60, seed)
        before = len(history)
        rng = np.random.default_rng([seed, 5])
        history = pool.answer(sampler.design(pool.table, history, 60, rng), order)
        comes = (np.arange(len(history)) < before) | (rng.random(len(history)) < 0.3)
        history = history.with_labels(np.where(comes, history.label, NO_LABEL))
        sample = sampler.weigh(pool.table, history)
        found.append(sample.weight @ history.outputs.prediction[sample.question, 0])
    error = np.std(found) / np.sqrt(len(found))
    assert error < 0.01 * 60 / 360
    assert np.mean(found) == pytest.approx(60 / 360, abs=4 * error)


def test_round_asks_no_more_than_it_was_told_to() -> None:
    """Of a stochastic oracle a row drawn again is a question too: it counts by the cap."""
    sampler = Poisson(FBeta(), oracle="stochastic", online="include", cap=True)
    asked = []
    for seed in range(20):
        history, order = LARGE.start(), LARGE.order(seed)
        for number in range(4):
            before, rng = len(history), np.random.default_rng([seed, number])
            after = sampler.design(LARGE.table, history, 60, rng, budget=60)
            history = LARGE.answer(after, order)
            asked.append(len(history) - before)
    assert max(asked) == 60
    assert np.mean(asked[3::4]) > 50
    plain = dataclasses.replace(sampler, cap=False)
    history, _ = LARGE.run(plain, 4, 60, seed=1)
    assert plain.expected_size(LARGE.table, history) == pytest.approx(240)


def test_difference_estimator_adds_what_the_labels_say_to_the_totals_of_the_prior() -> None:
    sampler = Poisson(Accuracy(), estimator="difference")
    history, order = LARGE.run(sampler, 1, 120, seed=2)
    (found,) = sampler.estimate(LARGE.table, history, [Accuracy()], 0.9)
    rows = LARGE.rows(history, order)
    b = history.rounds[0].cell_probability
    p = anticipate(LARGE.table.prior, 1.0)
    predicted = LARGE.table.kinds.prediction[:, 0]
    model = p[np.arange(len(p)), predicted]
    right = LARGE.prediction[rows] == LARGE.label[rows]
    cell = LARGE.cell[rows]
    total = LARGE.table.count @ model + np.sum((right - model[cell]) / b[cell])
    assert found.value == pytest.approx(total / len(LARGE))


def test_counterpart_has_the_same_proportions() -> None:
    """Importance sampling with q = b / sum b while no row is certain."""
    table = LARGE.table
    poisson = Poisson(FBeta(), smoothing=0.9)
    history = poisson.design(table, LARGE.start(), 50, np.random.default_rng(1))
    counterpart = OptimalImportance(FBeta(), smoothing=0.9)
    q = counterpart.proposal(table, LARGE.start()).cell_probability
    assert q == pytest.approx(history.rounds[0].cell_probability / 50)


def test_rows_that_cannot_be_drawn_leave_other_measures_alone() -> None:
    """With no share spread evenly and a label that is as good as certain."""
    none = np.zeros(4, dtype=np.int64)
    p = np.array([0.0, 0.0, 1.0, 0.5])
    pool = Pool(
        np.arange(4), np.array([0, 0, 1, 1]), np.stack([1 - p, p], axis=1), np.array([0, 0, 1, 0])
    )
    assert none.sum() == 0
    sampler = Poisson(Precision(), delta=0.0)
    assert not sampler.covers_pool(pool.table)
    assert sampler.can_estimate(pool.table, Precision())
    assert not sampler.can_estimate(pool.table, Recall())
    assert Poisson(Precision()).can_estimate(pool.table, Recall())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"delta": 2}, "delta must be between 0 and 1"),
        ({"smoothing": "much"}, "smoothing must be a number"),
        ({"online": "both"}, "online must be one of exclude, include"),
        ({"estimator": "mean"}, "estimator must be one of ratio, difference"),
        ({"cap": 5}, "cap must be true or false"),
        ({"correct_bias": True, "estimator": "difference"}, "correct_bias is for the ratio"),
        ({"oracle": "stochastic", "online": "exclude"}, "online must be include"),
        (
            {"calibration": "beta", "online": "exclude"},
            "calibration must be logistic, isotonic or module:object",
        ),
        ({"calibration": "logistic"}, "online must be exclude or include"),
    ],
)
def test_wrong_parameters_are_refused(changed: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Poisson(FBeta(), **changed)


def test_online_rounds_take_the_calibration_asked_for() -> None:
    history, _ = LARGE.run(Poisson(FBeta(), online="exclude"), 1, 100, seed=1)
    logistic, isotonic = (
        Poisson(FBeta(), online="exclude", calibration=one).size(LARGE.table, history)
        for one in ("logistic", "isotonic")
    )
    default = Poisson(FBeta(), online="exclude").size(LARGE.table, history)
    np.testing.assert_array_equal(logistic, default)
    prior = recalibrated(LARGE.table, history, "isotonic")
    size = Deviation.from_cells(FBeta(), LARGE.table, prior).of_cells(LARGE.table, prior)
    expected = 0.9 * size / (size @ LARGE.table.count) + 0.1 / len(LARGE)
    np.testing.assert_allclose(isotonic, expected)


@pytest.mark.slow
@pytest.mark.parametrize("online", [None, "exclude", "include"])
def test_missing_labels_are_made_up_for(online: str | None) -> None:
    """Half of the labels of the first round never come: totals to 4 standard errors."""
    sampler, shares = Poisson(FBeta(), online=online), []
    for seed in range(250):
        history, order = LARGE.run(sampler, 1, 100, seed)
        lost = np.random.default_rng(seed).permutation(len(history))[: len(history) // 2]
        label = history.label.copy()
        label[lost] = NO_LABEL
        history = history.with_labels(label)
        history = sampler.design(LARGE.table, history, 60, np.random.default_rng(-seed + 9999))
        answered = LARGE.answer(history, order)
        label = answered.label.copy()
        label[lost] = NO_LABEL
        sample = sampler.weigh(LARGE.table, answered.with_labels(label))
        shares.append(sample.weight.sum())
    assert np.mean(shares) == pytest.approx(1, abs=4 * np.std(shares) / np.sqrt(250))
