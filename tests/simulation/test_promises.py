"""What simulations say of a promise."""

import numpy as np
import pytest

from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures import Precision
from evalsampling.samplers import Passive
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.simulation.promises import Outcome, outcome_of, summary_of
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.spec import RoundSize
from evalsampling.spec.promise import Promise
from tests.samplers.pools import make_pool

POOL = make_pool(3000, 30, seed=3, positive=0.2, strength=6)


def labelled(rows: int) -> Analysis:
    history, _ = POOL.run(Passive(Precision()), 2, rows, seed=1)
    return Analysis(POOL.table, Passive(Precision()), [Precision()], 1, 0.95, history)


def test_outcomes_are_judged_by_the_truth() -> None:
    assert outcome_of(POOL.known, labelled(5), Promise({"precision": 0.8}), 10) == Outcome(
        False, False, 0.0
    )
    never = Promise({"precision": 0.95, "recall": 0.95})
    assert outcome_of(POOL.known, labelled(5), never, 10).rows is None
    good = outcome_of(POOL.known, labelled(900), Promise({"precision": 0.6}), 1800)
    assert good.proved
    assert not good.broken
    assert good.rows is not None
    assert 0.3 < good.rows <= 1


def test_summaries_are_shares_of_the_repeats() -> None:
    outcomes = [Outcome(True, False, 0.8), Outcome(True, True, 1.2), Outcome(False, False, 0.0)]
    assert summary_of(outcomes) == {
        "proved": pytest.approx(2 / 3),
        "broken": pytest.approx(1 / 3),
        "rows": pytest.approx(2 / 3),
    }
    assert summary_of([Outcome(False, False, None)])["rows"] is None


def test_more_labels_prove_more_and_none_is_broken_here() -> None:
    sampler = CertifyingDesign(Precision(), goals={"precision": 0.8}, planned=500)
    plan = Plan((200, 500), RoundSize(100), 6, 1, 0.95, promise=Promise({"precision": 0.8}))
    few, many = simulate(POOL.known, [sampler], [Precision()], plan)["promises"]
    assert (few["budget"], many["budget"]) == (200, 500)
    assert many["proved"] >= few["proved"]
    assert many["rows"] > few["rows"]
    assert few["broken"] == many["broken"] == 0
    assert np.isfinite(many["rows"])
