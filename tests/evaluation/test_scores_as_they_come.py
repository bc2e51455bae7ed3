"""The default on scores as models give them: exact 0 and 1, few values, spam, no threshold at all.

Small relatives of the coverage study's pools (benchmarks/coverage_situations.py), whose intervals
are judged there and on real pools; here nothing may go badly wrong. An interval of 95 % misses in
two of three runs with a chance of .007.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

from evalsampling import Evaluation
from tests.slow import slowly

Columns = dict[str, np.ndarray]

ROWS = 8_000


def votes(trees: int) -> Callable[[np.random.Generator], Columns]:
    """A forest, or neighbours, that are too sure of themselves."""

    def make(rng: np.random.Generator) -> Columns:
        logit = rng.normal(-4, 2.5, ROWS)
        share = rng.binomial(trees, special.expit(1.5 * logit)) / trees
        match = rng.random(ROWS) < special.expit(logit)
        return {"p": share, "says": share > 0.5, "match": match}

    return make


def judge(rng: np.random.Generator) -> Columns:
    """Scores in tenths."""
    match = rng.random(ROWS) < 0.12
    p = np.round(special.expit(rng.normal(-4 + 6.5 * match, 2.0)), 1)
    return {"p": p, "says": p > 0.5, "match": match}


def few_scores(rng: np.random.Generator) -> Columns:
    """All 25 positives have the highest two of nine scores; the probabilities are far too high."""
    match = np.arange(40_000) < 25
    score = np.minimum(rng.binomial(9, 0.12, len(match)), 7)
    score[:25] = rng.choice([7, 8], 25)
    p = special.expit((score - score.mean()) / score.std())
    return {"p": p, "says": score >= 7, "match": match}


def spam(rng: np.random.Generator) -> Columns:
    """Sixty negatives above all positives."""
    match = np.arange(30_000) < 150
    score = np.where(match, rng.normal(2.5, 1.2, len(match)), rng.normal(-5, 1.2, len(match)))
    score[150:210] = 9 + rng.random(60)
    return {"p": special.expit(score), "says": score > 1, "match": match}


def no_threshold(rng: np.random.Generator) -> Columns:
    """One prediction of four is another model's."""
    logit = rng.normal(-3.5, 2.2, ROWS)
    match = rng.random(ROWS) < special.expit(logit)
    other = 3.0 * match + rng.normal(-2, 1.5, ROWS)
    says = np.where(rng.random(ROWS) < 0.25, other, logit) > 0
    return {"p": special.expit(logit), "says": says, "match": match}


def not_monotone(rng: np.random.Generator) -> Columns:
    """Of four scores the second lowest has more positives than the next."""
    score = rng.choice(4, ROWS, p=[0.7, 0.15, 0.1, 0.05])
    match = rng.random(ROWS) < np.array([0.005, 0.2, 0.05, 0.6])[score]
    return {"p": np.array([0.01, 0.1, 0.3, 0.8])[score], "says": score == 3, "match": match}


def perfect(rng: np.random.Generator) -> Columns:
    """No error at all."""
    match = np.arange(ROWS) < 200
    return {"p": special.expit(rng.normal(-5 + 9 * match, 1)), "says": match, "match": match}


def turned_round(rng: np.random.Generator) -> Columns:
    """Predictions are good, and probabilities fall where the rate rises."""
    logit = rng.normal(-5, 2.2, ROWS)
    match = rng.random(ROWS) < special.expit(logit)
    return {"p": special.expit(-10 - logit), "says": logit > 0, "match": match}


POOLS = {
    "forest": votes(100), "neighbours": votes(10), "judge": judge, "few scores": few_scores,
    "spam": spam, "no threshold": no_threshold, "not monotone": not_monotone, "perfect": perfect,
}  # fmt: skip


SIZES = (50, 50, 50, 75, 75)


def run(
    pool: Columns, seed: int, sampler: str = "calibrated", sizes: tuple[int, ...] = SIZES
) -> Evaluation:
    """Labels in rounds."""
    evaluation = Evaluation.from_frame(
        {name: pool[name] for name in ("p", "says")},
        score="p",
        probability="p",
        prediction="says",
        measure=["f1", "recall", "precision"],
        sampler=sampler,
        seed=seed,
    )
    for size in sizes:
        ids = evaluation.sample(size)
        evaluation.label(ids, pool["match"][ids])
    return evaluation


def truth_of(pool: Columns) -> dict[str, float]:
    hits = np.sum(pool["says"] & pool["match"])
    return {
        "f1": 2 * hits / (pool["says"].sum() + pool["match"].sum()),
        "recall": hits / pool["match"].sum(),
        "precision": hits / pool["says"].sum(),
    }


@pytest.mark.parametrize("name", ["spam", *slowly(*sorted(POOLS.keys() - {"spam"}))])
def test_truth_is_in_the_default_interval(name: str) -> None:
    pool = POOLS[name](np.random.default_rng(5))
    truth = truth_of(pool)
    held: dict[str, list[bool]] = {measure: [] for measure in truth}
    for seed in range(3):
        for one in run(pool, seed).estimate():
            held[one.measure].append(one.low <= truth[one.measure] <= one.high)
            design = one.interval("design-based")
            assert design.low - 1e-9 <= one.value <= design.high + 1e-9 or one.warnings
    for measure, of_seeds in held.items():
        assert sum(of_seeds) >= 2, (measure, of_seeds)


@pytest.mark.parametrize("sampler", ["oasis", *slowly("importance")])
@pytest.mark.parametrize("make", [votes(10), turned_round])
def test_truth_is_in_the_interval_of_samplers_that_follow_wrong_scores(
    make: Callable[[np.random.Generator], Columns], sampler: str
) -> None:
    """Most positives are among rows that are hardly ever drawn, so the design knows of none."""
    pool = make(np.random.default_rng(5))
    truth = truth_of(pool)
    held = []
    for seed in range(3):
        estimates = run(pool, seed, sampler, (*SIZES, 300)).estimate()
        held.append([one.low - 1e-9 <= truth[one.measure] <= one.high + 1e-9 for one in estimates])
    assert np.sum(held, axis=0).min() >= 2


@pytest.mark.slow
def test_perfect_system_may_be_perfect() -> None:
    evaluation = run(perfect(np.random.default_rng(1)), 1)
    assert all(one.high == 1.0 for one in evaluation.estimate())


def test_rates_that_no_curve_has_are_told() -> None:
    """More labels, so that it shows: value and interval are then the design's."""
    pool = not_monotone(np.random.default_rng(5))
    evaluation = run(pool, 1)
    for _ in range(5):
        ids = evaluation.sample(300)
        evaluation.label(ids, pool["match"][ids])
    one = evaluation.estimate()[0]
    assert one.intervals[0].kind == "design-based"
    assert any("do not fit a curve" in words for words in one.notes)
    assert not one.warnings
