"""Rates of strata that no score orders: closed forms."""

import dataclasses

import numpy as np
import scipy

from evalsampling.inference.class_curves import obstacle
from evalsampling.inference.class_rates import ClassRates, expected_rates, fit_labels
from evalsampling.inference.predictive import LabelModel
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import BY_PRIOR, UNORDERED
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random

POOL = make_pool(3000, 4, seed=3, positive=0.2, strength=4)
TABLE = dataclasses.replace(POOL.table, ordered_by=UNORDERED)
HISTORY = labelled_at_random(POOL, 200, seed=5)


def test_rates_have_the_posterior_of_a_sample_of_each_stratum() -> None:
    """Of two classes a beta distribution with half a label for each, cut in quantiles."""
    model = fit_labels(TABLE, HISTORY, (1,))
    assert isinstance(model, ClassRates)
    many = dataclasses.replace(model, draws=40_000)
    leaf = TABLE.leaf[HISTORY.cell]
    for stratum in range(TABLE.leaves):
        answers = HISTORY.label[leaf == stratum]
        of_stratum = many.rates[:, np.flatnonzero(TABLE.leaf == stratum)[0], 1]
        exact = scipy.stats.beta(0.5 + answers.sum(), 0.5 + len(answers) - answers.sum())
        at = (0.025, 0.5, 0.975)
        error = 5 * np.sqrt(0.25 / 40_000) / exact.pdf(exact.ppf(at))
        assert np.all(np.abs(np.quantile(of_stratum, at) - exact.ppf(at)) < error)
        mean = expected_rates(TABLE, HISTORY, HiddenPrior())[TABLE.leaf == stratum, 1]
        assert np.allclose(mean, exact.mean())


def test_cells_of_a_stratum_are_alike_and_no_positive_hides() -> None:
    model = fit_labels(TABLE, HISTORY, (1,))
    first, group = model.alike
    assert np.all(TABLE.leaf[first] == np.arange(TABLE.leaves))
    assert np.all(group == TABLE.leaf)
    assert model.other_shares == ()
    assert model.with_share(0.5) is model
    assert model.contradiction is None


def test_scores_keep_their_curve() -> None:
    model = fit_labels(POOL.table, HISTORY, (1,))
    assert type(model) is LabelModel
    assert len(model.other_shares) == 2
    even = dataclasses.replace(TABLE, prior=np.full_like(TABLE.prior, 0.5))
    assert obstacle(even) is None
    assert obstacle(dataclasses.replace(even, ordered_by=BY_PRIOR)) is not None
