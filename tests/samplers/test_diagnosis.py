"""Divergence against sums over rows."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, FBeta, Joint, Measure, Precision, Recall
from evalsampling.samplers import AdaptiveImportance, Importance, Oasis, Passive
from evalsampling.samplers.diagnosis import divergence
from tests.samplers.pools import Pool, best_proposal, make_pool, with_second_system

MEASURES = [FBeta(), Accuracy(), Joint((FBeta(), Accuracy()))]


def slow_divergence(pool: Pool, measure: Measure, q: np.ndarray) -> float:
    """sum_x q* log(q* / q), row by row."""
    total = 0.0
    for best, chance in zip(best_proposal(pool, measure).tolist(), q.tolist(), strict=True):
        if best > 0:
            total += best * (np.log(best) - np.log(chance) if chance > 0 else np.inf)
    return total


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
@pytest.mark.parametrize("kind", [Passive, Importance, AdaptiveImportance])
def test_divergence_is_that_of_the_rows(kind: type, measure: Measure) -> None:
    """With no, some and all labels; labelled rows are atoms or belong to their cells."""
    pool = make_pool(80, 4, seed=2, positive=0.4)
    for rounds in range(5):
        sampler = kind(measure)
        history, order = pool.run(sampler, rounds, 25, seed=3)
        proposal = sampler.proposal(pool.table, history)
        q = pool.row_probability(proposal, history, order)
        found = divergence(measure, pool.table, pool.truth, history, proposal)
        assert found == pytest.approx(slow_divergence(pool, measure, q), rel=1e-9, abs=1e-12)
        assert found >= 0


def test_divergence_of_other_proposals() -> None:
    """Three classes, two systems, a share of the pool mixed in; OASIS, uniform within leaves."""
    pool = with_second_system(make_pool(90, 4, seed=2, classes=3, positive=0.5), seed=1)
    both = Joint((FBeta(), FBeta(system=1)))
    for sampler in (AdaptiveImportance(both, delta=0.2), Oasis(FBeta(system=1))):
        history, order = pool.run(sampler, 2, 25, seed=3)
        proposal = sampler.proposal(pool.table, history)
        q = pool.row_probability(proposal, history, order)
        found = divergence(sampler.measure, pool.table, pool.truth, history, proposal)
        assert found == pytest.approx(slow_divergence(pool, sampler.measure, q), rel=1e-9)


def test_divergence_is_infinite_if_a_row_that_adds_is_never_drawn() -> None:
    pool = make_pool(80, 4, seed=2, positive=0.4)
    proposal = Importance(Precision()).proposal(pool.table, pool.start())
    assert divergence(Recall(), pool.table, pool.truth, pool.start(), proposal) == np.inf
    assert divergence(Precision(), pool.table, pool.truth, pool.start(), proposal) < np.inf


def test_divergence_of_pools_without_errors_or_positives() -> None:
    """No row adds to F1 = 1 but by rounding; labels that are not there add nothing at all.

    F1 of a pool without positives or predictions has no best proposal; its accuracy has any.
    """
    pool = make_pool(80, 4, seed=2, positive=0.4)

    def of(measure: Measure, label: np.ndarray) -> float:
        right = Pool(pool.leaf, label, pool.probability, label)
        proposal = Passive(measure).proposal(right.table, right.start())
        return divergence(measure, right.table, right.truth, right.start(), proposal)

    assert 0 <= of(FBeta(), (np.arange(80) == 7).astype(np.int64)) < np.inf
    with pytest.raises(InputError, match="f1 is undefined on this pool"):
        of(FBeta(), np.zeros(80, int))
    assert of(Accuracy(), np.zeros(80, int)) == 0
