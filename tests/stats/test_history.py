"""The record of rounds."""

import numpy as np

from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.outputs import Outputs


def outputs_of(prediction: list[int]) -> Outputs:
    """One system, two classes, probabilities that tell the rows apart."""
    p = np.array(prediction) / 10
    return Outputs(
        np.array(prediction)[:, None], p[:, None] + 1, np.stack([1 - p, p], axis=1)[:, None]
    )


def test_history_grows_by_rounds_and_labels_and_is_never_changed() -> None:
    empty = History.start(slices=2)
    assert len(empty) == len(empty.question) == len(empty.probability) == len(empty.labelled) == 0
    assert empty.drawn_by_cell(3).tolist() == [0, 0, 0]
    assert empty.slice.shape == (0, 2)

    first = Round(np.array([0, 1, 0]), np.array([0.1, 0.2, 0.1]), np.array([True, True, False]))
    one = empty.with_round(first, np.array([2, 0]), np.array([0, 0]), outputs_of([4, 5]))
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    assert one.slice.tolist() == [[-1, -1], [-1, -1]]
    labelled = one.with_labels(np.array([NO_LABEL, 1]))
    second = Round(np.array([2, 1]), np.array([0.3, 0.25]), np.array([True, False]))
    two = labelled.with_round(
        second, np.array([2]), np.array([1]), outputs_of([6]), np.array([[3, 0]])
    )

    assert len(two) == 3
    assert two.cell.tolist() == [2, 0, 2]
    assert two.rank.tolist() == [0, 0, 1]
    assert two.label.tolist() == [NO_LABEL, 1, NO_LABEL]
    assert two.labelled.tolist() == [1]
    assert two.question.tolist() == [0, 1, 0, 2, 1]
    assert two.probability.tolist() == [0.1, 0.2, 0.1, 0.3, 0.25]
    assert two.drawn_by_cell(4).tolist() == [1, 0, 2, 0]
    assert two.outputs.prediction.tolist() == [[4], [5], [6]]
    assert two.slice.tolist() == [[-1, -1], [-1, -1], [3, 0]]
    assert two.rounds == (first, second)
    assert len(empty.rounds) == 0
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    assert len(one.rounds) == 1
    assert one.outputs.prediction.tolist() == [[4], [5]]


def test_rows_behind_questions_can_be_told_later() -> None:
    drawn = Round(np.array([0, 1]), np.array([0.1, 0.2]), np.array([True, True]))
    start = History.start(slices=1)
    history = start.with_round(drawn, np.array([2, 0]), np.array([0, 0]), outputs_of([4, 5]))
    known = history.with_rows(outputs_of([7, 8]), np.array([[1], [0]]))
    assert known.outputs.prediction.tolist() == [[7], [8]]
    assert known.slice.tolist() == [[1], [0]]
    assert known.cell.tolist() == [2, 0]
    assert known.rounds == history.rounds
    assert history.outputs.prediction.tolist() == [[4], [5]]


def test_questions_about_one_row_share_its_rank() -> None:
    """As a stochastic oracle is asked: the row of rank 0 twice, then one more."""
    drawn = Round(np.array([0, 1, 2]), np.full(3, 0.1), np.full(3, True))
    history = History.start().with_round(
        drawn, np.array([1, 1, 1]), np.array([0, 0, 1]), outputs_of([4, 4, 5])
    )
    assert len(history) == 3
    assert history.drawn_by_cell(2).tolist() == [0, 2]


def test_outputs_are_taken_and_joined_by_row() -> None:
    joined = Outputs.concatenate([outputs_of([4]), Outputs.none(1, 2), outputs_of([5, 6])])
    assert len(joined) == 3
    taken = joined.take([2, 0])
    assert taken.prediction.tolist() == [[6], [4]]
    assert taken.score.tolist() == [[1.6], [1.4]]
    assert taken.probability[:, 0, 1].tolist() == [0.6, 0.4]
    assert joined.take(np.array([False, True, False])).prediction.tolist() == [[5]]
    none = Outputs.none(3, 4)
    assert none.prediction.shape == none.score.shape == (0, 3)
    assert none.probability.shape == (0, 3, 4)


def test_rounds_still_waiting_for_their_first_answer_are_unheard() -> None:
    """The last two; not one before, and not one that asked nothing."""

    def add(history: History, new: int) -> History:
        known = len(history)
        question = np.append(np.arange(known, known + new), [0])
        drawn = Round(question, np.full(new + 1, 0.1), np.append(np.full(new, True), False))
        rows = outputs_of([*range(new)])
        return history.with_round(drawn, np.zeros(new, np.int64), np.arange(new) + known, rows)

    history = History.start(slices=1)
    for new in (2, 3, 2, 1):
        history = add(history, new)
    label = np.array([1, NO_LABEL, NO_LABEL, 0, NO_LABEL, NO_LABEL, NO_LABEL, NO_LABEL])
    until_last_answered_round = history.with_labels(label).until_last_answered_round()
    assert len(until_last_answered_round.rounds) == 2
    assert until_last_answered_round.label.tolist() == [1, NO_LABEL, NO_LABEL, 0, NO_LABEL]
    assert until_last_answered_round.rank.tolist() == [*range(5)]
    assert until_last_answered_round.outputs.prediction[:, 0].tolist() == [0, 1, 0, 1, 2]
    assert until_last_answered_round.slice.shape == (5, 1)
    late = label.copy()
    late[7] = 1
    assert len(history.with_labels(late).until_last_answered_round().rounds) == 4
    assert len(add(history.with_labels(label), 0).until_last_answered_round().rounds) == 5
    silent = history.until_last_answered_round()
    assert len(silent) == len(silent.rounds) == 0
