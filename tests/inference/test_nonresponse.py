"""Weights of labelled rows that stand for rows without a label."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.nonresponse import adjust_for_nonresponse
from evalsampling.measures import FBeta, Prevalence
from evalsampling.samplers import Importance
from evalsampling.simulation.truth import Urns
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import Pool, make_pool
from tests.slow import fast


def one_cell(rows: int) -> CellTable:
    """All rows are alike."""
    nothing = np.zeros(rows, dtype=np.int64)
    return Pool(nothing, nothing, np.full((rows, 2), 0.5), nothing).table


TEN = one_cell(10)


def make_history(rounds: list[list[int]], label: list[int]) -> History:
    """Rounds of draws, each the index of a row; rows are numbered in order of their first draw."""
    history, known = History.start(), 0
    for row in rounds:
        new = np.zeros(len(row), dtype=bool)
        for place, r in enumerate(row):
            if r == known:
                new[place] = True
                known += 1
        met = int(new.sum())
        drawn = Round(np.array(row), np.full(len(row), 0.1), new)
        history = history.with_round(
            drawn,
            np.zeros(met, np.int64),
            np.arange(known - met, known),
            Outputs(np.zeros((met, 1), np.int64), np.zeros((met, 1)), np.zeros((met, 1, 2))),
        )
    return history.with_labels(np.array(label))


def test_all_labels_count_once() -> None:
    response = adjust_for_nonresponse(make_history([[0, 1, 0], [1, 2], [0, 0]], [1, 0, 1]), TEN)
    assert response.draw.tolist() == [*range(7)]
    assert response.factor.tolist() == [1] * 7


def test_no_rounds_have_no_response() -> None:
    response = adjust_for_nonresponse(History.start(), TEN)
    assert len(response.draw) == len(response.factor) == 0


def test_labelled_rows_stand_for_the_others_of_their_round() -> None:
    """Round 1 met rows 0-3, three with a label; round 2 rows 4-5, one with a label."""
    history = make_history([[0, 1, 0, 2, 3], [1, 4, 3, 5, 4]], [1, 0, NO_LABEL, 1, 0, NO_LABEL])
    response = adjust_for_nonresponse(history, TEN)
    assert response.draw.tolist() == [*range(10)]
    # Rounds count by their answered shares of 3/4 and 1/2, whose mean over the ten draws is 5/8.
    early, late, own = 4 / 3 * 3 / 4, 4 / 3 / 2, 2 / 2
    expected = np.array([early, early, early, 0, early, late, own, late, 0, own]) / (5 / 8)
    np.testing.assert_allclose(response.factor, expected, rtol=1e-15)


def test_round_without_any_label_does_not_count_and_its_rows_have_no_weight() -> None:
    history = make_history([[0, 1], [2, 0, 3], [2, 4, 1], [0, 1]], [1, 0, NO_LABEL, NO_LABEL, 1])
    response = adjust_for_nonresponse(history, TEN)
    rounds = np.repeat([1, 2, 3, 4], [2, 3, 3, 2])
    assert rounds[response.draw].tolist() == [1, 1, 3, 3, 3, 4, 4]
    assert history.question[response.draw].tolist() == [0, 1, 2, 4, 1, 0, 1]
    # In round 3 six rows are unseen and two silent: its new row stands for 8/6 of them.
    np.testing.assert_allclose(response.factor, [1, 1, 0, 8 / 6, 1, 1, 1])


def histories(rows: int, draws: list[int]) -> Iterator[tuple[list[list[int]], list[int]]]:
    """All outcomes of uniform draws in rounds: questions of each round, rows behind questions."""
    ends = np.cumsum(draws)
    for outcome in itertools.product(range(rows), repeat=sum(draws)):
        order = list(dict.fromkeys(outcome))
        questions = [order.index(row) for row in outcome]
        yield [list(part) for part in np.split(questions, ends[:-1])], order


def answer_sets(rounds: list[list[int]], most: list[int]) -> list[np.ndarray]:
    """All ways to answer so many of the rows each round met, each as likely."""
    known, ways = 0, []
    for row, answers in zip(rounds, most, strict=True):
        new = range(known, max(known, max(row) + 1))
        known = max(known, max(row) + 1)
        ways.append(list(itertools.combinations(new, min(answers, len(new)))))
    found = []
    for choice in itertools.product(*ways):
        has_label = np.zeros(known, dtype=bool)
        has_label[[question for part in choice for question in part]] = True
        found.append(has_label)
    return found


@pytest.mark.parametrize(
    ("draws", "answers"),
    fast(
        2,
        [
            ([2, 2], [2, 1]),  # The last round is open.
            ([2, 2], [0, 2]),  # The first is silent,
            ([1, 2, 1], [1, 0, 1]),  # or the second,
            ([1, 2, 1], [0, 0, 1]),  # or two;
            ([3, 1], [1, 1]),  # or the first is open.
        ],
    ),
)
def test_estimate_is_unbiased_by_enumeration(draws: list[int], answers: list[int]) -> None:
    """All draws of five rows of one cell, all ways to answer as many as there are answers."""
    value = np.array([1.0, 0.0, 0.0, 3.0, 0.5])
    table, expected, total = one_cell(5), 0.0, 0.0
    for rounds, order in histories(5, draws):
        new = [0, *(max(max(part) for part in rounds[: n + 1]) + 1 for n in range(len(rounds)))]
        if any(a == b and not n for a, b, n in zip(new, new[1:], answers, strict=False)):
            continue  # A silent round is one that asked.
        ways = answer_sets(rounds, answers)
        for has_label in ways:
            history = make_history(rounds, np.where(has_label, 0, NO_LABEL).tolist())
            response = adjust_for_nonresponse(history, table)
            if len(response.draw):
                drawn = value[np.array(order)[history.question[response.draw]]]
                expected += np.mean(response.factor * drawn) / len(ways)
                total += 1 / len(ways)
    assert expected / total == pytest.approx(value.mean(), rel=1e-12)


def test_skipping_by_score_does_not_bias() -> None:
    """Rows of the upper leaves have half as many answers: classes of a round are cut by leaf."""
    leaf = np.repeat([0, 1], 400)
    history, rng = History.start(), np.random.default_rng(1)
    pool = Pool(leaf, leaf, np.full((800, 2), 0.5), leaf)
    asked = rng.permutation(800)[:200]
    place = np.concatenate([np.cumsum(leaf[asked] == k) - 1 for k in (0, 1)])
    place = np.where(leaf[asked] == 0, place[:200], place[200:])
    drawn = Round(np.arange(200), np.full(200, 1 / 800), np.full(200, True))
    history = history.with_round(drawn, leaf[asked], place, pool.outputs.take(asked))
    answered = rng.random(200) < np.where(leaf[asked] == 1, 0.4, 0.8)
    history = history.with_labels(np.where(answered, leaf[asked], NO_LABEL))
    response = adjust_for_nonresponse(history, pool.table)
    of_leaf = np.bincount(leaf[asked], response.factor)
    np.testing.assert_allclose(of_leaf, np.bincount(leaf[asked]), rtol=1e-12)


def test_lost_rows_are_shared_from_the_top_leaf_down() -> None:
    """The top two cells of prediction 1 were lost as a whole: the next below stands for them."""
    leaf = np.array([0] * 6 + [1] * 6 + [2] * 2 + [3] * 2)
    prediction = np.array([0, 0, 0, 1, 1, 1] * 2 + [1] * 4)
    pool = Pool(leaf, prediction, np.full((16, 2), 0.5), prediction)
    silent = np.arange(12, 16)
    drawn = Round(np.arange(4), np.full(4, 1 / 16), np.full(4, True))
    history = History.start().with_round(
        drawn, pool.cell[silent], np.array([0, 1, 0, 1]), pool.outputs.take(silent)
    )
    row = np.array([9, 3, 6])  # of the cells (1, 1), (0, 1) and (1, 0)
    drawn = Round(np.array([4, 5, 6, 0]), np.full(4, 1 / 16), np.array([True, True, True, False]))
    history = history.with_round(drawn, pool.cell[row], np.zeros(3, int), pool.outputs.take(row))
    history = history.with_labels(np.array([NO_LABEL] * 4 + [1, 1, 0]))
    response = adjust_for_nonresponse(history, pool.table)
    np.testing.assert_allclose(response.factor, [1 + 4 / 6, 1 + 4 / 6, 1, 0])


def test_first_round_without_labels_leaves_nothing() -> None:
    response = adjust_for_nonresponse(make_history([[0, 1, 0]], [NO_LABEL, NO_LABEL]), TEN)
    assert len(response.draw) == 0


@pytest.mark.parametrize("seed", range(2))
def test_weights_of_new_rows_add_up_to_their_number(seed: int) -> None:
    """Calibration: over first draws, each round's factors sum to the rows it met."""
    rng = np.random.default_rng(seed)
    rounds, known = [], 0
    for _ in range(4):
        row: list[int] = []
        for _ in range(30):
            fresh = rng.random() < 0.5 or not known
            row.append(known if fresh else int(rng.integers(known)))
            known += fresh
        rounds.append(row)
    label = np.where(rng.random(known) < 0.8, rng.integers(0, 2, known), NO_LABEL)
    history = make_history(rounds, label.tolist())
    response = adjust_for_nonresponse(history, one_cell(1000))
    assert len(response.draw) == 120
    asked = np.array([drawn.new.sum() for drawn in history.rounds])
    answered = [(label[d.question[d.new]] != NO_LABEL).sum() for d in history.rounds]
    share = answered / asked
    for drawn, factor, part in zip(
        history.rounds, np.split(response.factor, 4), share / share.mean(), strict=True
    ):
        assert factor[drawn.new].sum() == pytest.approx(drawn.new.sum() * part, rel=1e-12)
        assert np.all((factor == 0) == (history.label[drawn.question] == NO_LABEL))


def make_stochastic(rounds: list[int], label: list[int]) -> History:
    """Rounds of so many draws, each a question of its own about one of two rows."""
    history = History.start()
    for draws in rounds:
        known = len(history)
        drawn = Round(known + np.arange(draws), np.full(draws, 0.1), np.full(draws, True))
        history = history.with_round(
            drawn,
            np.zeros(draws, np.int64),
            (known + np.arange(draws)) % 2,
            Outputs(np.zeros((draws, 1), np.int64), np.zeros((draws, 1)), np.zeros((draws, 1, 2))),
        )
    return history.with_labels(np.array(label))


def test_answers_of_a_stochastic_oracle_stand_for_those_that_lack() -> None:
    """Each draw is a question, four of six answered: rounds count by their answers."""
    history = make_stochastic([4, 2], [1, NO_LABEL, 0, 1, NO_LABEL, 0])
    response = adjust_for_nonresponse(history, TEN, ask_again=True)
    assert response.draw.tolist() == [*range(6)]
    np.testing.assert_allclose(response.factor, [1.5, 0, 1.5, 1.5, 0, 1.5], rtol=1e-15)


def test_no_row_is_lost_with_a_silent_round_of_a_stochastic_oracle() -> None:
    """Its rows are asked about again, so later answers stand for themselves alone."""
    history = make_stochastic([2, 2, 2], [1, 0, NO_LABEL, NO_LABEL, 1, 1])
    response = adjust_for_nonresponse(history, TEN, ask_again=True)
    assert response.draw.tolist() == [0, 1, 4, 5]
    assert response.factor.tolist() == [1] * 4


MADE = make_pool(6000, 40, seed=3, positive=0.03, strength=2)


def estimates(answered: list[str], repeats: int) -> np.ndarray:
    """F1 and prevalence after rounds of 75 rows, of which "all", "none" or "one" is answered."""
    known, sampler, found = MADE.known, Importance(FBeta()), []
    for repeat in range(repeats):
        analysis = Analysis(
            table=known.table,
            sampler=sampler,
            measures=[FBeta(), Prevalence()],
            seed=repeat,
            confidence=0.95,
            history=History.start(1, 2),
        )
        oracle, has_label = Urns(known, repeat), np.zeros(0, dtype=bool)
        for answers in answered:
            drawn = analysis.with_round(75)
            new = np.full(len(drawn.history) - len(analysis.history), answers == "all")
            new[0] |= answers == "one"
            has_label = np.append(has_label, new)
            history = oracle.answer(drawn.history)
            label = np.where(has_label, history.label, NO_LABEL)
            analysis = analysis.with_history(history.with_labels(label))
        found.append([estimate.value for estimate in analysis.estimate()])
    return np.array(found, dtype=np.float64)


def truths() -> np.ndarray:
    return np.array([MADE.known.value(measure)[0] for measure in (FBeta(), Prevalence())])


@pytest.mark.slow
@pytest.mark.parametrize(
    "answered",
    [["none", "all", "all", "all"], ["none", "none", "all", "all"]],
    ids=["one-of-four", "two-of-four"],
)
def test_silent_rounds_do_not_bias(answered: list[str]) -> None:
    """Twice compensated, prevalence was too large by 13 % and 28 %."""
    found = estimates(answered, 250)[:, 1] / truths()[1]
    noise = found.std() / np.sqrt(len(found))
    assert noise < 0.025
    assert abs(found.mean() - 1) < 0.02 + 2 * noise


@pytest.mark.slow
def test_round_just_opened_costs_little() -> None:
    """One answer of 75 stood for all of them: the error was several times as large."""
    before = estimates(["all"] * 3, 100) - truths()
    opened = estimates(["all"] * 3 + ["one"], 100) - truths()
    ratio = np.sqrt(np.mean(opened**2, axis=0) / np.mean(before**2, axis=0))
    assert np.all(ratio < 1.4)
