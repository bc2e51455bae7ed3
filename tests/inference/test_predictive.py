"""Draws of all labels: measures of each draw by hand, slices, several systems and classes.

The check of fit is tested by how often it speaks. Of 300 sets of labels made by the model 3 are
expected at LEAST_CHANCE = .01, 10 are further off than .999 of such numbers.
"""

import dataclasses

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.calibration_curve import HIDDEN
from evalsampling.inference.predictive import (
    LabelModel,
    Predictive,
    expected_labels,
    likely_rates,
    misfit,
)
from evalsampling.measures import (
    Accuracy,
    AveragePrecision,
    Brier,
    FBeta,
    MacroF,
    Measure,
    PRCurve,
    Recall,
    ROCArea,
    ROCCurve,
)
from evalsampling.measures.comparisons import Comparison, Difference, Quotient
from evalsampling.measures.curves import Thresholded
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.slices import SliceCodes
from tests.samplers.pools import Pool, make_pool, with_second_system
from tests.stats.histories import labelled_at_random, labelled_rows

POOL = make_pool(300, 6, seed=3, positive=0.2)
SLICED = dataclasses.replace(POOL, slice=(np.arange(300)[:, None] % 3 == 0).astype(np.int64))
HISTORY = labelled_at_random(POOL, 60, seed=4)
ROWS = np.random.default_rng(4).permutation(300)[:60]

LARGE = make_pool(6000, 12, seed=3, positive=0.1, strength=3)
TABLE = LARGE.table
RATE = np.linspace(0.02, 0.9, len(TABLE))[np.argsort(np.argsort(TABLE.prior[:, 1]))]


def model_of(pool: Pool, history: History) -> LabelModel:
    return LabelModel.fit(pool.table, history, (1,))


def values_of(drawn: Predictive, measure: Measure) -> np.ndarray:
    """The measure of each draw, rows without a label counting with the outputs of their cell."""
    return measure.values(drawn.risks(measure))


def completed(pool: Pool, rows: np.ndarray, drawn: Predictive, draw: int) -> np.ndarray:
    """A label for each row of the pool: the known ones, and in each cell as many as were drawn."""
    label = np.full(len(pool), -1)
    label[rows] = pool.label[rows]
    for cell, by_class in enumerate(drawn.unlabelled[draw]):
        left = np.flatnonzero((pool.cell == cell) & (label < 0))
        label[left] = np.repeat(np.arange(pool.classes), by_class.astype(int))
    return label


@pytest.mark.parametrize("measure", [FBeta(), Accuracy(), Recall(), FBeta(beta=2.0)])
def test_value_of_a_draw_is_the_measure_of_its_labels(measure: Measure) -> None:
    drawn = model_of(POOL, labelled_rows(POOL, ROWS)).everywhere
    values = values_of(drawn, measure)
    for draw in (0, 5, 100):
        label = completed(POOL, ROWS, drawn, draw)
        assert np.array_equal(label[ROWS], POOL.label[ROWS])
        wanted = measure.value(measure.loss(POOL.outputs, label).mean(axis=0))
        assert values[draw] == pytest.approx(wanted)


def test_brier_score_of_a_draw_takes_the_mean_probability_of_a_cell() -> None:
    """Of rows without a label; those with one have their own."""
    drawn = model_of(POOL, labelled_rows(POOL, ROWS)).everywhere
    values = values_of(drawn, Brier())[:, 0]
    p = POOL.table.kinds.probability[POOL.cell, 0, 1]
    p[ROWS] = POOL.probability[ROWS, 1]
    for draw in (0, 7):
        label = completed(POOL, ROWS, drawn, draw)
        assert values[draw] == pytest.approx(2 * np.mean((p - label) ** 2))


def test_curve_of_a_draw_is_that_of_its_labels() -> None:
    """Thresholds between leaves, whose numbers are the scores."""
    measure = PRCurve(thresholds=(0.5, 2.5, 4.5))
    drawn = model_of(POOL, labelled_rows(POOL, ROWS)).everywhere
    values = values_of(drawn, measure)
    label = completed(POOL, ROWS, drawn, 3)
    precision = [label[POOL.leaf >= t].mean() for t in (0.5, 2.5, 4.5)]
    recall = [label[POOL.leaf >= t].sum() / label.sum() for t in (0.5, 2.5, 4.5)]
    f1 = 2 / (1 / np.array(precision) + 1 / np.array(recall))
    assert values[3] == pytest.approx([*precision, *recall, *f1])


def test_macro_f1_of_four_classes() -> None:
    pool = make_pool(400, 6, seed=5, classes=4, positive=0.6)
    rows = np.random.default_rng(6).permutation(400)[:80]
    drawn = model_of(pool, labelled_rows(pool, rows)).everywhere
    assert drawn.unlabelled.sum(axis=(1, 2)) == pytest.approx(320)
    values = values_of(drawn, MacroF(4))[:, 0]
    for draw in (0, 9):
        label = completed(pool, rows, drawn, draw)
        pairs = [(label == y, pool.prediction == y) for y in range(4)]
        each = [2 * np.sum(true & said) / (true.sum() + said.sum()) for true, said in pairs]
        assert values[draw] == pytest.approx(np.mean(each))


def test_all_rows_labelled_leaves_nothing_to_draw() -> None:
    drawn = model_of(POOL, labelled_rows(POOL, np.arange(300))).everywhere
    assert not drawn.unlabelled.any()
    assert values_of(drawn, FBeta()) == pytest.approx(POOL.value(FBeta()))


def test_draws_are_binomial_of_the_rates() -> None:
    """Their number has the mean and the variance of the rates', to 5 standard errors."""
    model = model_of(POOL, HISTORY)
    left = model.everywhere.unlabelled[0].sum(axis=1)
    number, expected = model.everywhere.unlabelled[:, :, 1], left * model.rates[:, :, 1]
    variance = left * model.rates[:, :, 1] * model.rates[:, :, 0]
    z = (number - expected).sum(axis=1) / np.sqrt(variance.sum(axis=1))
    assert abs(z.mean()) < 5 / np.sqrt(len(z))
    assert z.var() == pytest.approx(1, abs=5 * np.sqrt(2 / len(z)))


def test_expected_labels_are_the_rates() -> None:
    model = model_of(POOL, HISTORY)
    found = expected_labels(model, model.rates)
    left = model.everywhere.unlabelled[0].sum(axis=1)
    assert found.unlabelled == pytest.approx(left[:, None] * model.rates)
    spread = values_of(found, FBeta()).std(), values_of(model.everywhere, FBeta()).std()
    assert spread[0] < spread[1]


def test_labels_and_seed_make_the_same_draws() -> None:
    one, other = model_of(POOL, HISTORY), model_of(POOL, HISTORY)
    assert np.array_equal(one.everywhere.unlabelled, other.everywhere.unlabelled)
    reseeded = LabelModel.fit(POOL.table, HISTORY, (2,))
    assert not np.array_equal(one.rates, reseeded.rates)


def test_labels_of_a_slice_add_up() -> None:
    history = labelled_at_random(SLICED, 60, seed=4)
    domain = SLICED.domain(0, 1)
    drawn = model_of(SLICED, history).within(domain)
    inside = history.slice[:, 0] == 1
    known = np.bincount(history.cell[inside], minlength=len(SLICED.table))
    assert np.all(drawn.unlabelled.sum(axis=2) == domain.count - known)
    values = values_of(drawn, FBeta())
    assert np.all((values >= 0) & (values <= 1))


def test_slice_without_labels_has_the_rates_of_the_pool_and_more_doubt() -> None:
    rows = np.flatnonzero(SLICED.slice[:, 0] == 0)[:90]
    model = model_of(SLICED, labelled_rows(SLICED, rows))
    drawn = model.within(SLICED.domain(0, 1))
    assert np.all(drawn.unlabelled.sum(axis=2) == SLICED.domain(0, 1).count)
    values = values_of(drawn, Accuracy())[:, 0]
    truth = np.mean((SLICED.label == SLICED.prediction)[SLICED.slice[:, 0] == 1])
    assert np.quantile(values, 0.025) < truth < np.quantile(values, 0.975)
    assert values.std() > values_of(model.everywhere, Accuracy()).std()


def test_slice_that_is_the_pool_is_much_like_it() -> None:
    """Its labels count in the pool's model already: medians to half a standard deviation.

    A draw of the model is expected to stand for an eighth of the slice's at most, which is what 4
    tried have: 4 / sqrt(4 x 256). They are drawn with replacement: three standard deviations.
    """
    pool = dataclasses.replace(POOL, slice=np.ones((300, 1), dtype=np.int64))
    history = labelled_at_random(pool, 120, seed=4)
    for seed in range(20):
        model = LabelModel.fit(pool.table, history, (seed,))
        there = model.within(pool.domain(0, 1))
        inside, everywhere = (
            values_of(there, FBeta())[:, 0],
            values_of(model.everywhere, FBeta())[:, 0],
        )
        assert abs(np.median(inside) - np.median(everywhere)) < 0.5 * everywhere.std()
        most = 0.125 * len(inside)
        assert np.bincount(there.of_draw).max() <= most + 3 * np.sqrt(most * (1 - 0.125))


def test_slice_that_has_other_rates_shows_them() -> None:
    """Its labels are all 1, those of the rest are all 0, whatever the score."""
    pool = dataclasses.replace(
        SLICED, label=SLICED.slice[:, 0], probability=np.full_like(SLICED.probability, 0.5)
    )
    pool.probability[:, 1] += np.linspace(-0.1, 0.1, 6)[pool.leaf]
    pool.probability[:, 0] = 1 - pool.probability[:, 1]
    model = model_of(pool, labelled_at_random(pool, 150, seed=4))
    rate = [
        model.within(pool.domain(0, value)).unlabelled[..., 1].sum(axis=1).mean()
        / (pool.slice[:, 0] == value).sum()
        for value in (0, 1)
    ]
    assert rate[0] < 0.25 < rate[1]


@pytest.mark.parametrize("seed", range(3))
def test_slice_whose_scores_tell_more_shows_it(seed: int) -> None:
    """All of its positives are in the top three cells; elsewhere the score tells little.

    By the pool's curve, shifted, .65 to .74 of them were there.
    """
    inside, rng = np.arange(len(LARGE)) % 2 == 0, np.random.default_rng(seed)
    place = np.argsort(np.argsort(TABLE.prior[:, 1]))
    top = place >= len(TABLE) - 3
    elsewhere = rng.random(len(LARGE)) < 0.05 + 0.2 * place[LARGE.cell] / len(TABLE)
    label = np.where(inside, top[LARGE.cell], elsewhere).astype(np.int64)
    pool = dataclasses.replace(LARGE, label=label, slice=inside[:, None].astype(np.int64))
    model = LabelModel.fit(TABLE, labelled_at_random(pool, 300, seed), (seed,))
    found = [
        np.mean(drawn[:, top].sum(axis=1) / drawn.sum(axis=1))
        for part in (model.within(pool.domain(0, 1)), model.everywhere)
        for drawn in [part.unlabelled[..., 1]]
    ]
    assert found[0] > 0.85
    assert found[1] < 0.8


def test_second_system_that_disagrees_has_rows_of_its_own() -> None:
    """Rows that it alone predicts positive are negatives: the rate there is what labels say."""
    pool = make_pool(2000, 8, seed=7, positive=0.1, strength=4)
    pool = with_second_system(pool, 8)
    history = labelled_at_random(pool, 500, seed=9)
    model = model_of(pool, history)
    values = values_of(model.everywhere, FBeta(system=1))[:, 0]
    assert abs(np.median(values) - pool.value(FBeta(system=1))) < 3 * values.std()
    assert values.std() < 0.1


def test_likely_rates_are_in_the_middle_of_the_draws() -> None:
    for pool in (POOL, make_pool(400, 6, seed=5, classes=4, positive=0.6)):
        history = labelled_at_random(pool, 80, seed=4)
        rates, likely = model_of(pool, history).rates, likely_rates(pool.table, history)
        assert likely.sum(axis=1) == pytest.approx(1)
        low, high = np.quantile(rates, [0.01, 0.99], axis=0)
        assert np.mean((low <= likely) & (likely <= high)) > 0.9
        assert np.array_equal(model_of(pool, history).likely_rates, likely)


def test_model_of_another_share_is_kept() -> None:
    model = model_of(POOL, HISTORY)
    other = model.with_share(0.4)
    assert other.curves[0].curve.hidden.share == 0.4
    assert model.with_share(0.4) is other


def test_draws_that_tell_nothing_of_another_share_are_made_anew() -> None:
    """Where the spread is small, no draw lies where the new prior does."""
    pool = make_pool(400, 6, seed=5, classes=4, positive=0.6)
    history = labelled_at_random(pool, 40, seed=4)
    hidden = HiddenPrior(share=0.05, spread=0.1, relative_to="positives")
    model = LabelModel.fit(pool.table, history, (1,), hidden)
    ratio = model.with_share(0.2).curves[0].hidden_ratio
    assert np.median(ratio) == pytest.approx(0.2, rel=0.1)
    assert len(np.unique(ratio)) > 0.9 * len(ratio), "but for trajectories that were refused"


def test_thousands_of_cells_have_fewer_draws() -> None:
    pool = make_pool(9000, 3000, seed=2)
    model = model_of(pool, labelled_at_random(pool, 50, seed=3))
    draws, cells, classes = model.rates.shape
    assert draws * cells * classes <= 1 << 21
    assert draws >= 192
    assert all(len(curve.thinned(50).z) <= 50 for curve in model.curves)


@pytest.mark.parametrize("kind", [PRCurve, ROCCurve, AveragePrecision, ROCArea])
def test_bounds_hold_whatever_scores_the_cells_do_not_tell(kind: type[Thresholded]) -> None:
    """Of a second system, whose scores no cell tells: drawn at random, and at either extreme."""
    measure = kind(thresholds=(1.0, 2.0), system=1)
    pool, rng = with_second_system(POOL, seed=2), np.random.default_rng(5)
    rows = rng.permutation(300)[:60]
    drawn = model_of(pool, labelled_rows(pool, rows)).everywhere
    low, high = drawn.bounds(measure)
    label = completed(pool, rows, drawn, 3)
    free = np.setdiff1d(np.arange(300), rows)
    reached = [rng.integers(0, 3, len(free)), 2 * label[free], 2 - 2 * label[free]]
    values = []
    for bins in reached:
        score = pool.outputs.score.copy()
        score[free, 1] = np.array([0.5, 1.5, 2.5])[bins]
        outputs = dataclasses.replace(pool.outputs, score=score)
        values.append(measure.value(measure.loss(outputs, label).mean(axis=0)))
    assert np.all(low[3] - 1e-12 <= values)
    assert np.all(values <= high[3] + 1e-12)
    assert np.fmin(values[1], values[2]) == pytest.approx(low[3])
    assert np.fmax(values[1], values[2]) == pytest.approx(high[3])


@pytest.mark.parametrize("compared", [Difference, Quotient])
def test_scores_of_two_systems_that_are_compared_need_not_be_great_for_the_same_rows(
    compared: type[Comparison],
) -> None:
    """One system ranks the rows right and the other wrong, or the other way round."""
    third = np.column_stack([with_second_system(POOL, seed=2).prediction, POOL.prediction])
    pool, rng = dataclasses.replace(POOL, prediction=third), np.random.default_rng(5)
    rows = rng.permutation(300)[:60]
    drawn = model_of(pool, labelled_rows(pool, rows)).everywhere
    right, wrong = ROCArea((1.0, 2.0), system=1), ROCArea((1.0, 2.0), system=2)
    low, high = drawn.bounds(compared(right, wrong))
    label = completed(pool, rows, drawn, 3)
    score = np.tile(pool.outputs.score[:, :1], 3)
    free = np.setdiff1d(np.arange(300), rows)
    score[free, 1], score[free, 2] = 0.5 + 2 * label[free], 2.5 - 2 * label[free]
    outputs = dataclasses.replace(pool.outputs, score=score)
    best, worst = (
        float(one.value(one.loss(outputs, label).mean(axis=0))[0]) for one in (right, wrong)
    )
    assert high[3] == pytest.approx(best - worst if compared is Difference else best / worst)
    assert low[3] == pytest.approx(worst - best if compared is Difference else worst / best)


@pytest.mark.parametrize("classes", [2, 3])
def test_bounds_hold_whichever_of_the_pooled_rows_of_a_cell_have_a_label(classes: int) -> None:
    """Labels go with what one of two systems says, as far as the numbers of a draw allow."""
    pool = make_pool(400, 4, seed=3, classes=classes, positive=0.4)
    pool = with_second_system(pool, seed=2, slots=2)
    assert pool.table.kinds.mixed.any()
    rows = np.random.default_rng(5).permutation(400)[:40]
    drawn = model_of(pool, labelled_rows(pool, rows)).everywhere
    first, other = Accuracy(system=0), Accuracy(system=1)
    measures = {"first": first, "other": other, "difference": Difference(first, other)}
    ends = {name: drawn.bounds(measure) for name, measure in measures.items()}
    for system in (0, 1):
        for draw in range(0, len(drawn.unlabelled), 16):
            label = completed(pool, rows, drawn, draw)
            for cell, by_class in enumerate(drawn.unlabelled[draw]):
                free = np.setdiff1d(np.flatnonzero(pool.cell == cell), rows)
                said = pool.prediction[free, system]
                label[free[np.argsort(said, kind="stable")]] = np.repeat(
                    np.arange(classes), by_class.astype(int)
                )
            for name, measure in measures.items():
                value = measure.value(measure.loss(pool.outputs, label).mean(axis=0))[0]
                low, high = (end[draw, 0] for end in ends[name])
                # The bound is that of the mean draw: draws of few rows differ from it.
                assert low - 0.02 <= value <= high + 0.02


def test_bounds_of_what_cells_tell_are_its_values() -> None:
    drawn = model_of(POOL, HISTORY).everywhere
    for measure in (FBeta(), PRCurve(thresholds=(0.5, 2.5))):
        for end in drawn.bounds(measure):
            np.testing.assert_array_equal(end, values_of(drawn, measure))


def draws_about(rate: np.ndarray, seed: int) -> np.ndarray:
    """200 draws of rates near some: shape (draws, cells, classes)."""
    noise = np.random.default_rng(seed).normal(0, 0.02, (200, len(rate)))
    positive = np.clip(rate + noise, 0.001, 0.999)
    return np.stack([1 - positive, positive], axis=2)


def labels_at(rate: np.ndarray, seed: int) -> np.ndarray:
    """Twenty labels of each cell: shape (cells, classes)."""
    positive = np.random.default_rng(seed).binomial(20, rate)
    return np.stack([20 - positive, positive], axis=1)


def doubts(table: CellTable) -> int:
    """How many of 300 sets of labels made by the model are doubted."""
    rng = np.random.default_rng
    made = ((labels_at(RATE, i), draws_about(RATE, i), rng(i)) for i in range(300))
    return sum(misfit(table, *each) is not None for each in made)


def test_labels_that_fit_are_hardly_ever_doubted() -> None:
    assert doubts(TABLE) < 10


def test_band_without_positives_where_the_model_expects_them_is_named() -> None:
    """Spam: the cells with the highest prior probabilities have no positive at all."""
    top = TABLE.prior[:, 1] >= np.sort(TABLE.prior[:, 1])[-3]
    seen = labels_at(np.where(top, 0.0, RATE), 1)
    words = misfit(TABLE, seen, draws_about(RATE, 1), np.random.default_rng(1))
    assert words.startswith("of 40 labelled rows ranked")
    assert "0 are positive, where the curve makes 34." in words


def test_predictions_that_the_model_is_wrong_about_are_named() -> None:
    """Half of the rows predicted positive are, in every band, where the model expects few."""
    predicted = TABLE.kinds.by_cell((TABLE.kinds.prediction[:, 0] == 1).astype(np.float64)) > 0.5
    low = np.full(len(TABLE), 0.1)
    seen = labels_at(np.where(predicted, 0.3, 0.08), 2)
    words = misfit(TABLE, seen, draws_about(low, 2), np.random.default_rng(2))
    assert "predicted to be of it" in words


@pytest.mark.parametrize(
    ("cut", "words"),
    [("weight", "count more than others"), ("cost", "cost more than others"), ("", "with a in s")],
)
def test_labels_that_go_with_what_else_cuts_cells_are_named(cut: str, words: str) -> None:
    """Rows that count or cost more, or are of a slice, are positive three times as often."""
    some = np.arange(len(TABLE)) % 2 == 1
    of_kind = 1 + 8 * some[TABLE.kinds.cell]
    slices = None if cut else SliceCodes({"s": ("a",)}, of_kind[:, None] // 9)
    magnitudes = {cut: of_kind.astype(float)} if cut else {}
    kinds = dataclasses.replace(TABLE.kinds, magnitudes=magnitudes, slices=slices)
    table, low = dataclasses.replace(TABLE, kinds=kinds), np.full(len(TABLE), 0.1)
    seen = labels_at(np.where(some, 0.3, 0.1), 2)
    found = misfit(table, seen, draws_about(low, 2), np.random.default_rng(2))
    assert words in found
    assert doubts(table) < 10


def test_no_labels_contradict_nothing() -> None:
    seen = np.zeros((len(TABLE), 2), dtype=np.int64)
    assert misfit(TABLE, seen, draws_about(RATE, 1), np.random.default_rng(1)) is None


@pytest.mark.slow
def test_draws_of_another_share_are_those_of_a_model_fitted_anew() -> None:
    """Of four classes they are taken from the draws that there are, each class by its weights.

    The rates of all cells are those of 20 new fits; quantiles differ less than two halves of these.
    """
    pool = make_pool(400, 6, seed=5, classes=4, positive=0.6)
    history = labelled_at_random(pool, 40, seed=4)
    other = HIDDEN.with_share(3 * HIDDEN.share)
    taken, anew, old = [], [], []
    for seed in range(20):
        model = LabelModel.fit(pool.table, history, (seed,))
        moved = model.with_share(other.share)
        assert moved.hidden == other
        assert len(np.unique(moved.curves[0].z, axis=0)) < len(moved.curves[0].z)
        old.append(model.rates)
        taken.append(moved.rates)
        anew.append(LabelModel.fit(pool.table, history, (seed,), other).rates)
    rates = [np.concatenate(one) for one in (taken, anew, old)]
    mean, of_new, of_old = (one.mean(axis=0) for one in rates)
    apart = np.abs(mean - of_new).max()
    assert apart < 0.01
    assert np.abs(of_old - of_new).max() > 3 * apart
    rates += [np.concatenate(half) for half in (anew[:10], anew[10:])]
    by_taken, by_new, _, *by_half = (np.quantile(one, [0.1, 0.5, 0.9], axis=0) for one in rates)
    assert np.abs(by_taken - by_new).max() < np.abs(by_half[0] - by_half[1]).max() < 0.05


def test_a_contradiction_calls_one_of_several_classes_by_its_place() -> None:
    """The statistics know no names: "class 1" would be another one of classes 1, 2 and 3."""
    rng = np.random.default_rng(0)
    odds = 2 * np.eye(3)[rng.choice(3, 3000, p=[0.6, 0.3, 0.1])] + rng.normal(size=(3000, 3))
    share = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    guess = share.argmax(axis=1)
    surely_not = (guess == 1) & (share[:, 1] > 0.8)
    evaluation = Evaluation.from_arrays(
        None,
        guess + 1,
        probability=share,
        labels={"classes": [1, 2, 3]},
        measure="accuracy",
        seed=1,
    )
    ids = evaluation.sample(200)
    evaluation.label(ids, np.where(surely_not, 3, guess + 1)[ids])
    (note,) = evaluation.estimate()[0].notes
    assert "are of the class at place 1 (from 0), where" in note


@pytest.mark.slow
@pytest.mark.parametrize("over", [1.0, 0.5])
def test_intervals_of_several_classes_hold_with_probabilities(over: float) -> None:
    """Precision of each of six classes, 400 rows drawn at random: of 36 intervals 29 hold.

    Of 180 in 30 runs 162 and 168 do (165 and 167, here 32, without weights of classes).
    Where rates were scaled to sum to 1, errors into six classes added up: 18 and 20 held.
    """
    rng = np.random.default_rng(6)
    label = rng.choice(6, 8000, p=[0.35, 0.25, 0.16, 0.12, 0.07, 0.05])
    odds = 2.5 * np.eye(6)[label] + rng.normal(size=(8000, 6))
    odds += np.log(np.bincount(label) / 8000)
    share = np.exp(over * odds)
    share /= share.sum(axis=1, keepdims=True)
    guess, held = share.argmax(axis=1), 0
    columns = {f"p{y}": share[:, y] for y in range(6)} | {"guess": guess}
    for seed in range(6):
        given = np.full(8000, np.nan)
        drawn = np.random.default_rng(seed).choice(8000, 400, replace=False)
        given[drawn] = label[drawn]
        evaluation = Evaluation.from_labelled(
            columns | {"human": given},
            label="human",
            drawn="random",
            prediction="guess",
            probability={y: f"p{y}" for y in range(6)},
            labels={"classes": [*range(6)]},
            measure={"precision": {"average": "each"}},
            seed=seed,
        )
        for y, one in enumerate(evaluation.estimate()):
            held += one.low <= (label[guess == y] == y).mean() <= one.high
    assert held >= 29
