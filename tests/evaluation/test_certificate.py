"""Certificates: what is proved of thresholds, in which words, and where it cannot be."""

import re
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.proofs import Search
from evalsampling.spec.promise import Promise
from tests.evaluation.promised_pools import evaluated, frame, true_precision
from tests.slow import fast


def test_a_threshold_that_is_proved() -> None:
    evaluation, pool, truth = evaluated()
    found = evaluation.certify("precision >= 0.9")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.9
    assert found.rows > 500
    assert found.statement == (
        f"With 95 % confidence, precision is at least 0.9 for the {found.rows:,} rows with a score "
        f"of {found.threshold} or more. So it is for all thresholds tested up to "
        f"{found.highest}. This rests on labels alone, at every look, and on no model."
    )
    assert (found.labels, found.rounds, found.planned) == (400, 4, 400)
    assert evaluation.certify("precision >= 0.9") == found


def test_a_threshold_has_all_digits_that_its_rows_take() -> None:
    """Of scores that are all near 1 it was `1`, which no row reached."""
    pool, truth = frame()
    pool["score"] = 1 / (1 + np.exp(-16 * pool["score"]))
    evaluation = Evaluation.from_frame(pool, measure={"certify": {"precision": 0.8}}, budget=400)
    for _ in range(4):
        ids = evaluation.sample(100)
        evaluation.label(ids, truth[ids])
    found = evaluation.certify()
    told = re.search(r"the ([\d,]+) rows with a score of (\S+) or more", found.statement)
    assert (pool["score"] >= float(told[2])).sum() == int(told[1].replace(",", ""))


def test_what_cannot_be_proved_says_what_came_nearest() -> None:
    evaluation, _, _ = evaluated(measure=["f1"])
    found = evaluation.certify("f1 >= 0.75")
    assert not found.holds
    assert found.threshold is None
    assert found.rows is None
    assert found.nearest is not None
    assert 0 < found.low < 0.75 <= found.value
    assert found.statement.startswith(
        "No threshold is proved with 400 labels for f1 >= 0.75. The nearest is "
    )
    assert f"about {found.more_labels:,} labels more are expected to do." in found.statement


def test_without_labels_nothing_is_proved() -> None:
    pool, _ = frame()
    found = Evaluation.from_frame(pool).certify("precision >= 0.9")
    assert found.statement == "No threshold is proved with 0 labels for precision >= 0.9."
    found = Evaluation.from_frame(pool).certify("recall >= 0.9 by model")
    assert found.statement == "No threshold is proved with 0 labels for recall >= 0.9 by model."


def test_where_labels_do_not_fit_the_curve_nothing_is_proved_by_it() -> None:
    """Chances that differ within scores leave no model."""
    pool, truth = frame()
    labels = [int(y) if place < 900 else None for place, y in enumerate(truth)]
    columns = {**pool, "label": labels, "chance": [0.3, 0.03] * (len(truth) // 2)}
    evaluation = Evaluation.from_labelled(columns, label="label", drawn="chance:chance")
    found = evaluation.certify("recall >= 0.5 by model")
    assert not found.holds
    assert found.statement.endswith("there is no calibration curve that the labels fit.")


def test_recall_by_labels_and_by_the_model() -> None:
    evaluation, pool, truth = evaluated(measure=["recall"], labels=600)
    by_labels, by_model = (
        evaluation.certify(text) for text in ("recall >= 0.8", "recall >= 0.8 by model")
    )
    assert by_labels.holds
    assert by_model.holds
    assert by_labels.threshold < by_model.threshold
    assert "add `by model` if you accept what it assumes." in by_labels.statement
    assert "The recall part assumes that positives become rarer" in by_model.statement
    above = pool["score"] >= by_model.threshold
    assert truth[above].sum() / truth.sum() >= 0.8
    assert by_model.rests_on == "model"


def test_several_measures_share_the_error() -> None:
    evaluation, pool, truth = evaluated(measure=["f1"], labels=800)
    found = evaluation.certify("precision >= 0.8 and recall >= 0.6 by model")
    assert found.holds
    assert true_precision(found, pool, truth) >= 0.8
    assert "precision is at least 0.8 and recall is at least 0.6" in found.statement
    assert found.rows <= evaluation.certify("precision >= 0.8").rows


@pytest.mark.parametrize(
    ("promise", "ends"),
    [
        ("precision >= 0.8 and recall >= 0.99", "recall only up to {}"),
        ("precision >= 0.85 and F1 >= 0.8 by model", "F1 only from {1} up to {0}"),
        ("precision >= 0.85 and F1 >= 0.9 by model", "F1 at none"),
    ],
)
def test_parts_that_no_threshold_keeps_together(promise: str, ends: str) -> None:
    """Each is said to be proved for just those thresholds for which it is."""
    evaluation, _, _ = evaluated(measure=["f1"], labels=1000)
    search = Search(evaluation.analysis, Promise.read(promise), 0.95, 1000)
    sequences, allowed = search.proofs
    proved = [search.thresholds[proof.holds(len(allowed))] for proof in sequences]
    lowest = min(filter(len, proved), key=min)
    others = search.thresholds[allowed]
    ends = ends.format(*(f"{x:.6g}" for x in (others.max(), others.min()))) if len(others) else ends
    assert evaluation.certify(promise).statement.startswith(
        f"No threshold is proved with 1,000 labels for {search.promise}. No threshold keeps both: "
        f"precision is proved from {lowest.min():.6g} up to {lowest.max():.6g}, {ends}."
    )


def test_the_promise_of_the_spec_is_the_default() -> None:
    evaluation, _, _ = evaluated()
    assert evaluation.certify() == evaluation.certify("precision >= 0.9")
    without = evaluated(measure=["f1"], rounds=0)[0]
    with pytest.raises(InputError, match="certify: the spec has no promise: give one, as 'prec"):
        without.certify()


def test_a_promise_for_each_slice_holds_in_each() -> None:
    evaluation, pool, truth = evaluated(pool={"slices": ["shop"]}, labels=500)
    found = evaluation.certify("precision >= 0.85 in each shop")
    assert found.holds
    assert "precision is at least 0.85 in each shop for the" in found.statement
    for shop in ("north", "south"):
        inside = (pool["shop"] == shop) & (pool["score"] >= found.threshold)
        assert truth[inside].mean() >= 0.85
    none = evaluation.certify("f1 >= 0.9 in each shop")
    assert "F1 where shop=" in none.statement
    assert none.low < 0.9
    assert found.rows <= evaluation.certify("precision >= 0.85").rows


def test_rows_without_a_label_count_against_it() -> None:
    pool, truth = frame()
    evaluation = Evaluation.from_frame(pool, measure=[{"certify": {"precision": 0.9}}], budget=400)
    for _ in range(4):
        ids = evaluation.sample(100)[:95]
        evaluation.label(ids, truth[ids])
    found = evaluation.certify("precision >= 0.9")
    assert found.statement.endswith("20 rows without a label count as if they spoke against it.")
    assert (found.rows or 0) <= (evaluated()[0].certify("precision >= 0.9").rows or 0)


@pytest.mark.parametrize("sampler", fast(1, ["stratified", "importance", "passive", "poisson"]))
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
    pool = {**pool, "half": pool["score"] / 2}  # Cells of two scores know neither.
    two = {name: {"score": name, "prediction": "prediction"} for name in ("score", "half")}
    with pytest.raises(InputError, match="scores of several systems"):
        Evaluation.from_frame(pool, pool={"systems": two}).certify("precision >= 0.9")
    three = {"labels": {"classes": [0, 1, 2]}, "measure": ["accuracy"]}
    with pytest.raises(InputError, match="labels must be of two classes"):
        Evaluation.from_frame(pool, **three).certify("accuracy >= 0.9")
    with pytest.raises(InputError, match="confidence: must be between 0 and 1, got 95"):
        Evaluation.from_frame(pool).certify("precision >= 0.9", 95)
    with pytest.raises(InputError, match="in each town: no slice; known: the spec has none"):
        Evaluation.from_frame(pool).certify("precision >= 0.9 in each town")
