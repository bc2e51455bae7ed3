"""Bands of leaves with the rates of a class."""

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.intervals import clopper_pearson
from evalsampling.inference.score_bands import ScoreBand, score_bands


def evaluate(rows: int = 4000, leaves: int = 32, labels: int = 120, **spec: object) -> Evaluation:
    rng = np.random.default_rng(3)
    score = rng.normal(size=rows)
    evaluation = Evaluation.from_arrays(
        score, (score > 1).astype(int), strata={"leaves": leaves}, seed=1, **spec
    )
    ids = evaluation.sample(labels)
    evaluation.label(ids, (rng.random(len(ids)) < 1 / (1 + np.exp(-3 * score[ids]))).astype(int))
    return evaluation


def bands_of(evaluation: Evaluation, **options: object) -> list[ScoreBand]:
    return score_bands(evaluation.analysis.table, evaluation.history, [1], 0.95, **options)  # type: ignore[arg-type]


def test_every_row_and_label_is_in_one_band() -> None:
    evaluation = evaluate()
    bands = bands_of(evaluation)
    assert 6 <= len(bands) <= 12
    assert sum(band.rows for band in bands) == evaluation.analysis.table.rows
    assert sum(band.labelled for band in bands) == len(evaluation.history.labelled)
    assert sum(band.met for band in bands) == int((evaluation.history.label == 1).sum())
    ends = [(band.first_leaf, band.last_leaf) for band in bands]
    assert [first for first, _ in ends] == [0, *(last + 1 for _, last in ends[:-1])]
    assert ends[-1][1] == len(evaluation.analysis.table.leaves) - 1


def test_classes_add_up_to_what_they_are_together() -> None:
    """Bands of both classes together: every label is met, at a rate of 1."""
    evaluation = evaluate()
    both = score_bands(
        evaluation.analysis.table, evaluation.history, [0, 1], 0.95, evaluation.analysis.label_model
    )
    for band in both:
        assert band.met == band.labelled
        assert band.prior == pytest.approx(1.0)
        assert (band.model.low, band.model.high) == pytest.approx((1.0, 1.0))


def test_one_band_is_the_rate_of_all_labels_where_rows_are_drawn_alike() -> None:
    """One leaf and one prediction: one cell, so the interval is that of Clopper and Pearson."""
    rng = np.random.default_rng(0)
    evaluation = Evaluation.from_arrays(
        rng.normal(size=500), np.zeros(500, dtype=int), strata={"leaves": 1}, seed=1,
        sampler="passive", measure="accuracy",
    )  # fmt: skip
    ids = evaluation.sample(40)
    evaluation.label(ids, (np.arange(len(ids)) < 9).astype(int))
    [band] = bands_of(evaluation)
    assert band.observed.value == pytest.approx(9 / 40)
    assert (band.observed.low, band.observed.high) == pytest.approx(clopper_pearson(9, 40, 0.95))


def test_cells_of_a_band_count_by_their_rows() -> None:
    evaluation = evaluate(leaves=4)
    [band] = bands_of(evaluation, most=1)
    table, history = evaluation.analysis.table, evaluation.history
    rates, rows, labels = [], [], []
    for cell in range(len(table)):
        of_cell = history.label[(history.cell == cell) & (history.label >= 0)]
        if len(of_cell):
            rates.append(of_cell.mean())
            rows.append(int(table.count[cell]))
            labels.append(len(of_cell))
    assert band.observed.value == pytest.approx(np.average(rates, weights=rows))
    kish = np.sum(rows) ** 2 / np.sum(np.square(rows) / np.array(labels))
    expected = clopper_pearson(band.observed.value * kish, kish, 0.95)
    assert (band.observed.low, band.observed.high) == pytest.approx(expected)


def test_bands_are_even_and_unobserved_before_any_label() -> None:
    score = np.linspace(-3, 3, 1600)
    evaluation = Evaluation.from_arrays(
        score, (score > 0).astype(int), strata={"method": "equal_count", "leaves": 16}
    )
    bands = bands_of(evaluation, most=4)
    leaves = [band.last_leaf - band.first_leaf + 1 for band in bands]
    assert sum(leaves) == len(evaluation.analysis.table.leaves)
    assert max(leaves) == -(-sum(leaves) // 4)
    assert all(band.observed is None and band.labelled == 0 for band in bands)


def test_the_model_lies_between_what_scores_and_labels_allow() -> None:
    evaluation = evaluate()
    model = evaluation.analysis.label_model
    for band in bands_of(evaluation, model=model):
        assert 0 <= band.model.low <= band.model.value <= band.model.high <= 1
        cells = np.flatnonzero(
            (evaluation.analysis.table.leaf >= band.first_leaf)
            & (evaluation.analysis.table.leaf <= band.last_leaf)
        )
        drawn = np.average(
            model.rates[:, cells, 1], axis=1, weights=evaluation.analysis.table.count[cells]
        )
        assert band.model.value == pytest.approx(np.median(drawn))


def test_scores_that_are_not_known_are_none() -> None:
    """Leaves of features: no cell knows its scores."""
    rng = np.random.default_rng(0)
    columns = {"x": rng.normal(size=300), "guess": rng.integers(0, 2, 300)}
    evaluation = Evaluation.from_arrays(
        None, None, columns=columns, strata={"method": "kd", "leaves": 4},
        pool={"features": ["x"], "prediction": "guess"}, sampler="passive",
    )  # fmt: skip
    assert {(band.low, band.high) for band in bands_of(evaluation)} == {(None, None)}
