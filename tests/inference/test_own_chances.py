"""Rows that were drawn elsewhere with chances of their own: how their labels are modelled."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.intervals import MODEL_BASED, clopper_pearson
from evalsampling.inference.own_chances import (
    LABELS_A_PART,
    effective_labels,
    go_with_scores,
    mean_chances,
)

ROWS = 4000


def evaluated(way: str, seed: int = 1, **options: Any) -> tuple[Evaluation, np.ndarray]:
    """Return an evaluation of rows that had labels, and the truth, positive in a tenth of the rows.

    Chances are by bands of the score, by verdict, or by what no score tells but positives have.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.1
    score = rng.normal(np.where(truth, 2.0, -2.0), 2.0)
    told = rng.normal(np.where(truth, 1.0, -1.0)) > 0
    chance = np.where({"band": score > -1, "other": told, "verdict": score > 0}[way], 0.3, 0.03)
    labelled = rng.random(ROWS) < chance
    columns = {
        "score": score,
        "prediction": (score > 0).astype(int),
        "human": np.where(labelled, truth, np.nan),
        "chance": chance,
    }
    options = {"drawn": "chance:chance", "seed": seed, **options}
    return Evaluation.from_labelled(columns, label="human", **options), truth


def kinds(evaluation: Evaluation) -> set[str]:
    """Return the kind of the interval that stands in front, of each measure."""
    return {estimate.intervals[0].kind for estimate in evaluation.estimate()}


def test_effective_labels_add_up_to_those_of_kish() -> None:
    evaluation, _ = evaluated("other")
    table, history = evaluation.analysis.table, evaluation.history
    [drawn] = history.rounds
    weight = 1 / drawn.probability
    mean = mean_chances(table, history, drawn.question, drawn.probability)
    parts = [np.flatnonzero(mean == each) for each in np.unique(mean)]
    assert min(map(len, parts)) >= LABELS_A_PART / 2
    kish = [weight[part].sum() ** 2 / np.square(weight[part]).sum() for part in parts]
    assert effective_labels(table, history, drawn) == pytest.approx(sum(kish))


@pytest.mark.parametrize("measure", ["f1", "prevalence"])
@pytest.mark.parametrize(
    ("way", "drawn"), [("band", "chance:chance"), ("verdict", "within:prediction")]
)
def test_labels_are_modelled_if_their_chances_go_with_scores(
    way: str, drawn: str, measure: str
) -> None:
    evaluation, truth = evaluated(way, drawn=drawn, measure=measure)
    assert go_with_scores(evaluation.analysis.table, evaluation.history)
    assert evaluation.analysis.label_model is not None
    assert MODEL_BASED in kinds(evaluation)
    ids = evaluation.sample(50)
    evaluation.label(ids, truth[ids])
    assert MODEL_BASED in kinds(evaluation)


def test_labels_are_not_modelled_if_chances_differ_within_scores() -> None:
    evaluation, truth = evaluated("other")
    for size in (50, 50):
        assert not go_with_scores(evaluation.analysis.table, evaluation.history)
        assert evaluation.analysis.label_model is None
        assert MODEL_BASED not in kinds(evaluation)
        ids = evaluation.sample(size)
        evaluation.label(ids, truth[ids])


def verdicts(seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return a pool of verdicts, worse and oftener positive where rows are hard, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < 0.15
    hard = rng.random(ROWS) < np.where(truth, 0.4, 0.2)
    says = rng.random(ROWS) < np.where(truth, np.where(hard, 0.5, 0.85), np.where(hard, 0.12, 0.03))
    size = np.exp(rng.normal(np.where(truth, 1.0, 0.0)))
    return {"prediction": says.astype(int), "hard": hard.astype(int), "size": size}, truth


@pytest.mark.parametrize(
    ("is_modelled", "chance", "options"),
    [
        (True, 0.1, {}),
        (True, 0.1, {"sampler": "ais"}),  # which draws rows again, with chances of their own
        (False, 0.15, {}),
        (False, 0.1, {"cost": "size"}),
        (False, 0.1, {"weight": "size"}),
    ],
)
def test_rates_of_verdicts_are_of_rows_drawn_alike(
    is_modelled: bool, chance: float, options: dict[str, Any]
) -> None:
    """And of such as count the same; `chance` is that of hard rows, and a tenth of others."""
    columns, truth = verdicts()
    chances = np.where(columns["hard"], chance, 0.1)
    labelled = np.random.default_rng(2).random(ROWS) < chances
    if "sampler" not in options:
        columns |= {"chance": chances, "human": np.where(labelled, truth, np.nan)}
        options = {"labels": {"column": "human", "drawn": "chance:chance"}, **options}
    evaluation = Evaluation.from_frame(columns, seed=3, **options)
    for _ in range(2):
        ids = evaluation.sample(100)
        evaluation.label(ids, truth[ids])
    assert (evaluation.analysis.label_model is not None) == is_modelled


@pytest.mark.parametrize("sampler", ["calibrated", "passive"])
def test_verdicts_of_a_slice_have_rates_of_their_own(sampler: str) -> None:
    """F1 where verdicts are worse was by the rates of all rows, too high for any interval."""
    columns, truth = verdicts()
    measure = {"f1": {"where": {"hard": 1}}}
    evaluation = Evaluation.from_frame(columns, measure=measure, sampler=sampler, seed=4)
    ids = evaluation.sample(400)
    evaluation.label(ids, truth[ids])
    [one] = evaluation.estimate()
    hard, says = columns["hard"] == 1, columns["prediction"] == 1
    hits, both = np.sum(truth & says & hard), np.sum(truth & hard) + np.sum(says & hard)
    assert kinds(evaluation) == {"design-based"}
    assert one.low < 2 * hits / both < one.high


def compared(
    only_second: int, labelled: dict[str, int], wrong: int = 2, **options: Any
) -> Evaluation:
    """Return an evaluation of two systems on 4,000 rows, labelled within what the first predicts.

    Both predict 50 rows, one alone 50, the other alone so many as asked. Every second row of these
    is wrong, of the last every so many as given. `labelled`: of each pair of predictions, 0 or 1.
    """
    sizes = {"11": 50, "10": 50, "01": only_second, "00": ROWS - 100 - only_second}
    both = np.repeat(list(sizes), list(sizes.values()))
    place = np.concatenate([np.arange(size) for size in sizes.values()])
    known = place < np.array([labelled.get(pair, 0) for pair in both])
    right = (place + 1) % np.where(both == "01", wrong, 2) > 0
    columns = {"human": np.where(known, right & (both != "00"), np.nan)}
    for system, name in enumerate(("first", "second")):
        says = np.array([int(pair[system]) for pair in both])
        columns |= {name: says, f"{name} score": says + place / ROWS}
    systems = {name: {"prediction": name, "score": f"{name} score"} for name in ("first", "second")}
    return Evaluation.from_labelled(
        columns, label="human", drawn="within:first", systems=systems, **options
    )


@pytest.mark.parametrize(
    ("only_second", "labelled", "wrong", "words"),
    [
        (40, 0, 2, "no rows seen that the second alone predicts positive, fewer than 10"),
        (400, 9, 2, "9 rows seen that the second alone predicts positive, fewer than 10"),
        (400, 10, 2, None),
        (400, 10, 500, "10 rows seen that the second alone predicts positive, all of a"),
        (400, 10, 1, "10 rows seen that the second alone predicts positive, all of a"),
        (1, 0, 2, None),  # so few that they can hardly matter
    ],
)
def test_intervals_allow_for_rows_that_one_system_alone_predicts_and_labels_hardly_see(
    only_second: int, labelled: int, wrong: int, words: str | None
) -> None:
    """Labels within the verdicts of the first said next to nothing of the second's, in silence."""
    of_pairs = {"11": 24, "10": 24, "00": 100, "01": labelled}
    evaluation = compared(only_second, of_pairs, wrong, measure={"difference": "accuracy"})
    [one] = evaluation.estimate()
    positive = {1: 0, 2: labelled // 2, 500: labelled}[wrong]
    low, high = clopper_pearson(positive, labelled, 0.95)
    notes, reach = " ".join(one.notes), (high - low) * 2 * (only_second - labelled) / ROWS
    assert one.claims
    assert (words or "") in notes
    assert ("allows for all that they may be" in notes) == (words is not None)
    assert (one.significance is None or one.significance.p_value is None) == (words is not None)
    assert words is None or one.low < one.value - reach < one.value + reach < one.high


def test_precision_allows_for_rows_that_its_system_alone_predicts() -> None:
    """Of 450 rows that the second predicts 24 have labels, and it shares these with the first."""
    evaluation = compared(400, {"11": 24, "10": 24, "00": 100}, measure="precision")
    first, second, _ = evaluation.estimate()
    assert second.high - second.low > 400 / 450 > 4 * (first.high - first.low)
    assert "no rows seen that it alone predicts positive, fewer than 10" in " ".join(second.notes)
    assert not any("alone predicts" in note for note in first.notes)
