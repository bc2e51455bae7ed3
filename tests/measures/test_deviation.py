"""The expected deviation of a row's label, against the formulas of the paper row by row."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, F1OfMacroAverages, FBeta, Joint, Precision, Recall
from evalsampling.measures.deviation import Deviation, anticipate
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(400, 300, seed=5, positive=0.3, strength=2)
"""As many leaves as nearly give every row a cell of its own."""


def of_paper(
    f: np.ndarray, g: np.ndarray, label: np.ndarray, p: np.ndarray, smoothing: float
) -> np.ndarray:
    """h of [Y] eq. 12, 13 and 14; f and g of shape (n, 2), by label."""
    clipped = np.clip(p, 1e-4, 1 - 1e-4)
    assert np.all((p == clipped) | (np.abs(p - clipped) < 1e-3))
    anticipated = smoothing * np.stack([1 - clipped, clipped], axis=1) + (1 - smoothing) / 2
    metric = np.sum(anticipated * f) / np.sum(anticipated * g)
    return np.sqrt(np.sum(anticipated * (f - metric * g) ** 2, axis=1))


def pair(measure: str, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and g of [Y] eq. 3, for labels 0 and 1."""
    one, hit = np.ones(len(predicted)), predicted.astype(float)
    nought = np.zeros(len(predicted))
    if measure == "accuracy":
        return np.stack([1 - hit, hit], axis=1), np.stack([one, one], axis=1)
    alpha = {"f1": 0.5, "precision": 1.0, "recall": 0.0, "f_beta(beta=2)": 0.2}[measure]
    return (
        np.stack([nought, hit], axis=1),
        np.stack([alpha * hit, alpha * hit + (1 - alpha)], axis=1),
    )


@pytest.mark.parametrize("smoothing", [1.0, 0.9, 0.0])
@pytest.mark.parametrize(
    "measure", [Accuracy(), FBeta(), FBeta(beta=2.0), Precision(), Recall()], ids=lambda m: m.name
)
def test_deviation_of_rows_is_that_of_the_paper(measure: FBeta, smoothing: float) -> None:
    """Up to one factor for all rows: the derivative is that of the ratio."""
    prior = POOL.probability
    anticipated = anticipate(prior, smoothing)
    risk = sum(
        anticipated[:, y] @ measure.loss(POOL.outputs, np.full(len(POOL), y)) for y in range(2)
    ) / len(POOL)
    found = Deviation(measure, np.asarray(risk), smoothing).of_rows(POOL.outputs, prior)
    f, g = pair(measure.name, POOL.prediction)
    wanted = of_paper(f, g, POOL.label, prior[:, 1], smoothing)
    most = np.argmax(wanted)
    assert found / found[most] == pytest.approx(wanted / wanted[most], abs=1e-9)


def test_cells_have_the_root_mean_square_of_their_rows() -> None:
    pool = make_pool(300, 4, seed=2, positive=0.3)
    deviation = Deviation.from_cells(FBeta(), pool.table, pool.table.prior)
    squares = deviation.of_rows(pool.outputs, pool.probability) ** 2
    mean = np.bincount(pool.cell, squares) / pool.table.count
    assert deviation.of_cells(pool.table, pool.table.prior) == pytest.approx(
        np.sqrt(mean), rel=1e-3
    )


def test_macro_average_has_the_cross_terms() -> None:
    """The mean square of the change of g, to first order, by differences of g itself."""
    pool = make_pool(200, 3, seed=2, positive=0.3)
    measure = Joint((F1OfMacroAverages(2), Recall()))
    deviation = Deviation.from_cells(measure, pool.table, pool.table.prior)
    rows = np.array([0, 5, 9])
    found = deviation.of_rows(pool.outputs.take(rows), pool.probability[rows])
    step, squares = 1e-6, np.zeros(3)
    for y in range(2):
        loss = measure.loss(pool.outputs.take(rows), np.full(3, y))
        for i in range(3):
            moved = deviation.risk + step * (loss[i] - deviation.risk)
            change = (measure.value(moved) - measure.value(deviation.risk)) / step
            squares[i] += anticipate(pool.probability[rows], 1.0)[i, y] * np.sum(change**2)
    assert found == pytest.approx(np.sqrt(squares), rel=1e-4)


def test_undefined_measure_is_refused() -> None:
    none = np.zeros(4, dtype=np.int64)
    prior = np.tile([1.0, 0.0], (4, 1))
    pool = Pool(none, none, prior, none)
    with pytest.raises(InputError, match="precision is undefined on this pool"):
        Deviation.from_cells(Precision(), pool.table, pool.table.prior)
