"""The record of rounds."""

import numpy as np

from evalsampling.stats.history import NO_LABEL, History, Round


def test_history_grows_by_rounds_and_labels_and_is_never_changed() -> None:
    empty = History()
    assert len(empty.row) == len(empty.probability) == len(empty.labelled) == 0
    assert empty.drawn_by_cell(3).tolist() == [0, 0, 0]

    first = Round(np.array([0, 1, 0]), np.array([0.1, 0.2, 0.1]), np.array([True, True, False]))
    one = empty.with_round(first, np.array([2, 0]), np.array([0, 0]))
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    labelled = one.with_labels(np.array([NO_LABEL, 1]))
    second = Round(np.array([2, 1]), np.array([0.3, 0.25]), np.array([True, False]))
    two = labelled.with_round(second, np.array([2]), np.array([1]))

    assert two.cell.tolist() == [2, 0, 2]
    assert two.rank.tolist() == [0, 0, 1]
    assert two.label.tolist() == [NO_LABEL, 1, NO_LABEL]
    assert two.labelled.tolist() == [1]
    assert two.row.tolist() == [0, 1, 0, 2, 1]
    assert two.probability.tolist() == [0.1, 0.2, 0.1, 0.3, 0.25]
    assert two.drawn_by_cell(4).tolist() == [1, 0, 2, 0]
    assert two.rounds == (first, second)
    assert len(empty.rounds) == 0
    assert one.label.tolist() == [NO_LABEL, NO_LABEL]
    assert len(one.rounds) == 1
