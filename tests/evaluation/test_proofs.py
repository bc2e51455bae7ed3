"""The search for a threshold: what its sequences prove."""

import dataclasses

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.proofs import Search
from evalsampling.inference.domains import Domain
from evalsampling.spec.promise import Promise
from tests.evaluation.promised_pools import ROWS, evaluated, frame, true_precision


def test_negatives_on_top_of_all_scores_do_not_end_it() -> None:
    evaluation, pool, truth = evaluated(top=20)
    found = evaluation.certify("precision >= 0.85")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.85


def test_more_is_proved_of_less() -> None:
    """A lower goal, or less confidence, gives up no rows."""
    evaluation, _, _ = evaluated()
    rows = [evaluation.certify(f"precision >= {goal}").rows or 0 for goal in (0.95, 0.9, 0.85)]
    assert rows == sorted(rows)
    assert (evaluation.certify("precision >= 0.95", 0.8).rows or 0) >= rows[0]


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


def test_the_error_is_shared_by_sequences_that_start_where_proof_is_easiest() -> None:
    evaluation, _, _ = evaluated()
    search = Search(evaluation.analysis, Promise.read("precision >= 0.9"), 0.95, 400)
    sequences, allowed = search.proofs
    assert allowed.all()
    assert sum(np.exp(-proof.level) for proof in sequences) == pytest.approx(0.05)
    rows = [search.rows_above(search.thresholds[proof.order[0]]) for proof in sequences]
    _, start, twice, four = rows
    assert 2 * start <= twice < 2.2 * start
    assert 4 * start <= four < 4.4 * start
    assert [len(proof.blocks) for proof in sequences] == [4, 3, 3, 3]
    assert [proof.blocks[0].round for proof in sequences] == [0, 1, 1, 1]


def test_parts_that_labels_prove_upwards_and_downwards_share_the_error() -> None:
    evaluation, _, _ = evaluated()
    promise = Promise.read("precision >= 0.8 and recall >= 0.3")
    search = Search(evaluation.analysis, promise, 0.95, 400)
    up, down, model = search.parts
    assert (up, down, model) == ({"recall": 0.3}, {"precision": 0.8}, {})
    assert sum(np.exp(-proof.level) for proof in search.proofs[0]) == pytest.approx(0.025)
    by_model = Search(evaluation.analysis, dataclasses.replace(promise, by_model=True), 0.95, 400)
    assert by_model.parts == ({}, {"precision": 0.8}, {"recall": 0.3})


def test_the_highest_threshold_is_that_of_a_range_without_gaps() -> None:
    """By the model a measure may be likely enough at two thresholds and not between them."""
    evaluation, _, _ = evaluated(measure=["f1"])
    promise = Promise.read("f1 >= 0.5 by model")
    search = Search(evaluation.analysis, promise, 0.95, 400)
    allowed = np.zeros(len(search.thresholds), dtype=bool)
    allowed[[3, 4, 6, 7, 8]] = True
    search.__dict__["proofs"] = [], allowed
    assert search.best == (search.thresholds[8], search.thresholds[6])


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
