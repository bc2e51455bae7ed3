"""Certificates: what is proved of thresholds, in which words, and where it cannot be."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.certificate import Certificate, Search
from evalsampling.inference.domains import Domain
from evalsampling.spec.promise import Promise
from tests.slow import fast

ROWS = 4000


def frame(seed: int = 0, top: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """A pool of a steep score, and its labels; the `top` rows of greatest score are negative."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=ROWS)
    truth = (rng.random(ROWS) < 1 / (1 + np.exp(-6 * (score - 0.8)))).astype(int)
    truth[np.argsort(-score)[:top]] = 0
    shop = np.where(rng.random(ROWS) < 0.4, "north", "south")
    columns = {"score": score, "prediction": (score > 0.8).astype(int), "shop": shop}
    return {"id": np.arange(ROWS), **columns}, truth


def evaluated(
    labels: int = 400, rounds: int = 4, seed: int = 0, top: int = 0, **spec: Any
) -> tuple[Evaluation, dict[str, Any], np.ndarray]:
    """An evaluation after some rounds, its pool and the true labels."""
    pool, truth = frame(seed, top)
    spec = {"measure": [{"certify": {"precision": 0.9}}], "budget": labels, "seed": seed, **spec}
    evaluation = Evaluation.from_frame(pool, **spec)
    for _ in range(rounds):
        ids = evaluation.sample(labels // rounds)
        evaluation.label(ids, truth[ids])
    return evaluation, pool, truth


def true_precision(found: Certificate, pool: dict[str, Any], truth: np.ndarray) -> float:
    above = pool["score"] >= found.threshold
    assert found.rows == above.sum()
    return float(truth[above].mean())


def test_a_threshold_that_is_proved() -> None:
    evaluation, pool, truth = evaluated()
    found = evaluation.certify("precision >= 0.9")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.9
    assert found.rows is not None
    assert found.rows > 500
    assert found.statement == (
        f"With 95 % confidence, precision is at least 0.9 for the {found.rows:,} rows with a score "
        f"of {found.threshold:.6g} or more. So it is for all thresholds tested up to "
        f"{found.highest:.6g}. This rests on labels alone, at every look, and on no model."
    )
    assert (found.labels, found.rounds, found.planned) == (400, 4, 400)
    assert evaluation.certify("precision >= 0.9") == found


def test_more_is_proved_of_less() -> None:
    """A lower goal, or less confidence, gives up no rows."""
    evaluation, _, _ = evaluated()
    rows = [evaluation.certify(f"precision >= {goal}").rows or 0 for goal in (0.95, 0.9, 0.85)]
    assert rows == sorted(rows)
    assert (evaluation.certify("precision >= 0.95", 0.8).rows or 0) >= rows[0]


def test_negatives_on_top_of_all_scores_do_not_end_it() -> None:
    evaluation, pool, truth = evaluated(top=20)
    found = evaluation.certify("precision >= 0.85")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.85


def test_what_cannot_be_proved_says_what_came_nearest() -> None:
    evaluation, _, _ = evaluated(measure=["f1"])
    found = evaluation.certify("f1 >= 0.75")
    assert not found.holds
    assert found.threshold is None
    assert found.rows is None
    assert found.nearest is not None
    assert found.low is not None
    assert found.value is not None
    assert 0 < found.low < 0.75 <= found.value
    assert found.statement.startswith(
        "No threshold is proved with 400 labels for f1 >= 0.75. The nearest is "
    )
    assert f"about {found.more_labels:,} labels more are expected to do." in found.statement


def test_without_labels_nothing_is_proved() -> None:
    pool, _ = frame()
    found = Evaluation.from_frame(pool).certify("precision >= 0.9")
    assert found.statement == "No threshold is proved with 0 labels for precision >= 0.9."


def test_recall_by_labels_and_by_the_model() -> None:
    evaluation, pool, truth = evaluated(measure=["recall"], labels=600)
    by_labels, by_model = (
        evaluation.certify(text) for text in ("recall >= 0.8", "recall >= 0.8 by model")
    )
    assert by_labels.holds
    assert by_model.holds
    assert by_labels.threshold is not None
    assert by_model.threshold is not None
    assert by_labels.threshold < by_model.threshold
    assert "add `by model` if you accept what it assumes." in by_labels.statement
    assert "That of recall assumes that positives become rarer with the score" in by_model.statement
    above = pool["score"] >= by_model.threshold
    assert truth[above].sum() / truth.sum() >= 0.8
    assert by_model.rests_on == "model"


def test_several_measures_share_the_error() -> None:
    evaluation, pool, truth = evaluated(measure=["f1"], labels=800)
    found = evaluation.certify("precision >= 0.8 and recall >= 0.6 by model")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.8
    assert "precision is at least 0.8 and recall is at least 0.6" in found.statement
    alone = evaluation.certify("precision >= 0.8")
    assert found.rows is not None
    assert alone.rows is not None
    assert found.rows <= alone.rows
    none = evaluation.certify("precision >= 0.97 and recall >= 0.97 by model")
    assert none.threshold is None
    assert none.statement.startswith("No threshold is proved")


def test_a_promise_for_each_slice_holds_in_each() -> None:
    evaluation, pool, truth = evaluated(pool={"slices": ["shop"]}, labels=800)
    found = evaluation.certify("precision >= 0.85 in each shop")
    assert found.holds
    assert "precision is at least 0.85 in each shop for the" in found.statement
    for shop in ("north", "south"):
        inside = (pool["shop"] == shop) & (pool["score"] >= found.threshold)
        assert truth[inside].mean() >= 0.85
    whole = evaluation.certify("precision >= 0.85")
    assert found.rows is not None
    assert whole.rows is not None
    assert found.rows <= whole.rows


def test_rows_without_a_label_count_against_it() -> None:
    pool, truth = frame()
    evaluation = Evaluation.from_frame(pool, measure=[{"certify": {"precision": 0.9}}], budget=400)
    for _ in range(4):
        ids = evaluation.sample(100)[:95]
        evaluation.label(ids, truth[ids])
    found = evaluation.certify("precision >= 0.9")
    assert found.statement.endswith("20 rows without a label count as if they spoke against it.")
    assert (found.rows or 0) <= (evaluated()[0].certify("precision >= 0.9").rows or 0)


@pytest.mark.parametrize("sampler", fast(1, ["importance", "passive", "stratified", "poisson"]))
def test_other_samplers(sampler: str) -> None:
    evaluation, pool, truth = evaluated(sampler=sampler, measure=["precision"], labels=900)
    found = evaluation.certify("precision >= 0.75")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.75


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"sampler": "adastrat", "measure": ["average_precision"]}, "rows drawn by adastrat"),
        ({"sampler": "ais"}, "rows drawn by ais have no known chances"),
        ({"labels": {"oracle": "stochastic"}, "sampler": "ais"}, "answers about a row differ"),
    ],
)
def test_where_nothing_can_be_proved(spec: dict[str, Any], problem: str) -> None:
    pool, _ = frame()
    evaluation = Evaluation.from_frame(pool, **{"measure": ["precision"], **spec})
    with pytest.raises(InputError, match=f"certify: cannot be proved here: {problem}"):
        evaluation.certify("precision >= 0.9")


def test_nor_of_two_systems_or_three_classes() -> None:
    pool, _ = frame()
    two = {name: {"score": "score", "prediction": "prediction"} for name in ("a", "b")}
    with pytest.raises(InputError, match="scores of several systems"):
        Evaluation.from_frame(pool, pool={"systems": two}).certify("precision >= 0.9")
    three = {"labels": {"classes": [0, 1, 2]}, "measure": ["accuracy"]}
    with pytest.raises(InputError, match="labels must be of two classes"):
        Evaluation.from_frame(pool, **three).certify("accuracy >= 0.9")
    with pytest.raises(InputError, match="confidence: must be between 0 and 1, got 95"):
        Evaluation.from_frame(pool).certify("precision >= 0.9", 95)
    with pytest.raises(InputError, match="in each town: no slice; known: the spec has none"):
        Evaluation.from_frame(pool).certify("precision >= 0.9 in each town")


@pytest.mark.slow
def test_promises_at_the_boundary_are_broken_as_seldom_as_said() -> None:
    """Precision falls through the goal at every bin: 300 runs of 4 looks, at most alpha + 2 s.e."""
    broken, runs = 0, 300
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        score = np.repeat(np.arange(10), 60) + 0.0
        truth = (rng.random(600) < 0.88).astype(int)
        pool = {"id": np.arange(600), "score": score, "prediction": np.ones(600, int)}
        evaluation = Evaluation.from_frame(pool, measure=["precision"], budget=160, seed=seed)
        for _ in range(4):
            ids = evaluation.sample(40)
            evaluation.label(ids, truth[ids])
            found = evaluation.certify("precision >= 0.88")
            if found.holds and truth[score >= found.threshold].mean() < 0.88 - 1e-12:
                broken += 1
                break
    assert broken / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_labels_at_hand_are_bet_on_one_by_one_if_they_were_drawn_at_random() -> None:
    """The same labels prove less if they are the one bet of a round that chances alone tell."""
    pool, truth = frame()
    labelled = np.random.default_rng(1).random(ROWS) < 0.3
    labels = [int(y) if known else None for y, known in zip(truth, labelled, strict=True)]
    evaluation = Evaluation.from_labelled(
        {**pool, "label": labels}, label="label", drawn="random", measure=["precision"]
    )
    found = evaluation.certify("precision >= 0.8")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.8
    search = Search(evaluation.analysis, Promise.read("precision >= 0.8"), 0.95, None)
    [block] = search.blocks
    assert block.stratum is not None
    assert not np.array_equal(block.question, np.sort(block.question))
    threshold = np.array([0.8])
    one_by_one, together = (
        search.wealth("precision", threshold, 0.84, Domain(), [each], 3.0)
        for each in (block, dataclasses.replace(block, stratum=None))
    )
    assert one_by_one > together > 0
