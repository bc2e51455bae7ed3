"""Rates of strata that no score orders: closed forms, and intervals that hold."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
import scipy

from evalsampling import Evaluation
from evalsampling.inference.class_curves import obstacle
from evalsampling.inference.class_rates import ClassRates, expected_rates, fit_labels
from evalsampling.inference.predictive import LabelModel
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import Leaves
from tests.samplers.pools import make_pool
from tests.stats.histories import labelled_at_random

POOL = make_pool(3000, 4, seed=3, positive=0.2, strength=4)
TABLE = dataclasses.replace(POOL.table, leaves=Leaves(4, exchangeable=True))
HISTORY = labelled_at_random(POOL, 200, seed=5)


def test_rates_have_the_posterior_of_a_sample_of_each_stratum() -> None:
    """Of two classes a beta distribution with half a label for each, cut in quantiles."""
    model = fit_labels(TABLE, HISTORY, (1,))
    assert isinstance(model, ClassRates)
    many = dataclasses.replace(model, draws=40_000)
    leaf = TABLE.leaf[HISTORY.cell]
    for stratum in range(len(TABLE.leaves)):
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
    assert np.all(TABLE.leaf[first] == np.arange(len(TABLE.leaves)))
    assert np.all(group == TABLE.leaf)
    assert model.other_shares == ()
    assert model.contradiction is None


def test_scores_keep_their_curve() -> None:
    model = fit_labels(POOL.table, HISTORY, (1,))
    assert type(model) is LabelModel
    assert len(model.other_shares) == 2
    even = dataclasses.replace(TABLE, prior=np.full_like(TABLE.prior, 0.5))
    assert obstacle(even) is None
    assert obstacle(dataclasses.replace(even, leaves=Leaves(4))) is not None


def test_strata_of_several_verdicts_have_rates_of_their_own_if_they_are_few() -> None:
    two = pa.table({name: rng.random(400) < 0.5 for name, rng in _judges(2)})
    five = pa.table({name: rng.random(4000) < 0.5 for name, rng in _judges(5)})
    kinds = []
    for verdicts in (two, five):
        systems = {name: {"prediction": name} for name in verdicts.column_names}
        evaluation = Evaluation.from_frame(verdicts, systems=systems, seed=1)
        ids = np.asarray(evaluation.sample(60))
        evaluation.label(ids, ids % 2)
        kinds.append(type(evaluation.analysis.label_model))
    assert kinds == [ClassRates, LabelModel]


def _judges(number: int) -> list[tuple[str, np.random.Generator]]:
    return [(f"judge {place}", np.random.default_rng(place)) for place in range(number)]


@pytest.mark.slow
def test_intervals_of_two_judges_hold() -> None:
    """Recall and F1 of a judge that is noisier than another: of 40 intervals at least 35 hold.

    Fewer would by chance in one of 300 tests. By a curve with an effect of each judge 32 did: what
    one says tells less of the rows that the other passes, and recall seemed lower than it was.
    """
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fail = rng.random(20_000) < 0.05
        rank = (2 * fail + rng.normal(size=20_000)).argsort().argsort() / 20_000
        noisy = rank + 0.15 * rng.normal(size=20_000)
        says = {"a": rank > 0.97, "b": noisy > np.sort(noisy)[-800]}
        systems = {name: {"prediction": name} for name in says}
        evaluation = Evaluation.from_frame(
            says, systems=systems, measure=["recall", "f1"], seed=seed
        )
        for _ in range(3):
            ids = np.asarray(evaluation.sample(100))
            evaluation.label(ids, fail[ids])
        both = (says["b"] & fail).sum()
        truth = {"recall": both / fail.sum(), "f1": 2 * both / (says["b"].sum() + fail.sum())}
        for name, value in truth.items():
            one = evaluation.estimate()[f"{name} of b"]
            held += one.low <= value <= one.high
    assert held >= 35


@pytest.mark.slow
def test_intervals_of_a_judge_hold() -> None:
    """6 % fails among 20,000 rows, 300 labels: of 40 intervals of 95 % at least 32 hold.

    If they held with probability 0.95, fewer would by chance in one of 10,000 tests; precision is
    known to a width of 0.2 in every run.
    """
    held: dict[str, list[bool]] = {"precision": [], "f1": []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fail = rng.random(20_000) < 0.06
        says = np.where(fail, rng.random(20_000) < 0.75, rng.random(20_000) < 0.04)
        evaluation = Evaluation.from_frame(
            pa.table({"verdict": says}), prediction="verdict", measure=["precision", "f1"],
            seed=seed,
        )  # fmt: skip
        ids = np.asarray(evaluation.sample(300))
        evaluation.label(ids, fail[ids])
        both = says & fail
        truth = {"precision": both.sum() / says.sum(),
                 "f1": 2 * both.sum() / (says.sum() + fail.sum())}  # fmt: skip
        for one in evaluation.estimate():
            interval = one.intervals[0]
            held[one.measure].append(interval.low <= truth[one.measure] <= interval.high)
            assert interval.method == ClassRates.method or one.measure == "f1"
            if one.measure == "precision":
                assert interval.high - interval.low < 0.2
    assert sum(map(sum, held.values())) >= 32
    assert sum(held["precision"]) >= 16
