"""Labels of all rows, and the value among the labelled rows alone."""

import numpy as np
import pytest

from evalsampling.inference.domains import Domain, known_value, value_among
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Accuracy, Recall
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.stats.history import History
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random

POOL = make_pool(60, 4, seed=3, positive=0.4)


def inputs_of(history: History) -> EstimationInput:
    """Labels of rows that were all sure to be drawn."""
    known = history.labelled
    sample = WeightedSample.without_replacement(known, np.ones(len(known)), len(POOL))
    return EstimationInput(POOL.table, history, sample, 0.95)


def test_value_of_a_pool_whose_rows_all_have_labels_is_the_true_one() -> None:
    history = labelled_at_random(POOL, 60, seed=1)
    assert inputs_of(history).all_known(cells_adding_to(Recall(), POOL.table), Domain())
    right = POOL.label == POOL.prediction.ravel()
    assert known_value(Accuracy(), POOL.table, history, Domain())[0] == pytest.approx(right.mean())
    hits = right[POOL.label == 1].mean()
    assert known_value(Recall(), POOL.table, history, Domain())[0] == pytest.approx(hits)


def test_value_among_some_rows_is_theirs() -> None:
    history = labelled_at_random(POOL, 20, seed=1)
    assert not inputs_of(history).all_known(np.ones(len(POOL.table), bool), Domain())
    known = history.labelled
    right = history.outputs.prediction[known, 0] == history.label[known]
    assert value_among(Accuracy(), history, Domain())[0] == pytest.approx(right.mean())
    hits = right[history.label[known] == 1].mean()
    assert value_among(Recall(), history, Domain())[0] == pytest.approx(hits)
