"""Passive sampling against plain proportions."""

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Precision, Recall
from evalsampling.samplers import Passive
from tests.samplers.pools import make_pool

MEASURES = [FBeta(), Precision(), Recall(), Accuracy()]


def test_every_row_has_the_same_chance() -> None:
    pool = make_pool(500, 8, seed=1)
    proposal = Passive(FBeta()).proposal(pool.table, pool.start())
    assert np.all(proposal.cell_probability == 1 / 500)
    assert len(proposal.atom) == len(proposal.atom_probability) == 0


def test_estimates_are_the_proportions_of_the_draws() -> None:
    """Repeats included: three rounds of a small pool meet many rows twice."""
    pool = make_pool(150, 4, seed=2, positive=0.4)
    history, order = pool.run(Passive(FBeta(), draws=80), rounds=3, new_rows=80, seed=3)
    rows = pool.rows(history, order)[history.question]
    assert len(rows) == 240
    assert len(set(rows.tolist())) < 150
    f, y = pool.prediction[rows], pool.label[rows]
    tp, fp, fn = int(np.sum(f * y)), int(np.sum(f * (1 - y))), int(np.sum((1 - f) * y))
    expected = {
        "f1": 2 * tp / (2 * tp + fp + fn),
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "accuracy": 1 - (fp + fn) / 240,
    }
    found = Passive(FBeta()).estimate(pool.table, history, MEASURES, 0.95)
    for estimate in found:
        assert estimate.value == pytest.approx(expected[estimate.measure], rel=1e-12)
    share = expected["accuracy"]
    error = np.sqrt(share * (1 - share) / 239)
    assert found[3].standard_error == pytest.approx(error, rel=1e-12)


def test_every_measure_is_supported() -> None:
    pool = make_pool(50, 4, seed=1)
    assert all(Passive(Precision()).can_estimate(pool.table, measure) for measure in MEASURES)
