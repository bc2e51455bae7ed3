"""What variance-minimising proposals are made of ([MR] sections 3.1 and 3.2)."""

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.stats.cells import CellTable
from evalsampling.stats.outputs import Outputs

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight, against the others' order 1, of a nonzero loss."""

BoolArray = npt.NDArray[np.bool_]


def adds_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether rows of each cell and label can have a nonzero loss: (cells, classes)."""
    by_kind = np.stack([measure.adds(table.outputs, y) for y in _labels(table)], axis=1)
    mixed = np.bincount(table.kind_cell, minlength=len(table)) > 1
    return (table.mean_by_cell(by_kind.astype(np.float64)) > 0) | mixed[:, None]


def cells_adding_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether rows of each cell can have a nonzero loss, shape (cells,)."""
    return np.any(adds_to(measure, table), axis=1)


def model_risk(measure: Measure, table: CellTable, mass: FloatArray) -> FloatArray:
    """Return the sum of the losses of rows, R of a model up to the number of rows, shape (d,).

    Args:
        measure: the measure.
        table: the cells.
        mass: shape (cells, classes): rows, or expected rows, of each label in each cell.
    """
    by_kind = mass[table.kind_cell] * table.kind_share[:, None]
    return np.sum(
        [measure.mean_loss(table.outputs, y, by_kind[:, y[0]]) for y in _labels(table)], axis=0
    )


def loss_norms(
    measure: Measure, outputs: Outputs, label: IntArray, risk: FloatArray, floor: float
) -> FloatArray:
    """Return n(x, y) = max(||Dg(R) l(x, y)||, floor 1[l != 0]) ([MR] proposition 2).

    Args:
        measure: gives l and Dg.
        outputs: of n rows.
        label: shape (n,).
        risk: R, shape (d,).
        floor: eps_t, greater than 0.

    Returns:
        Shape (n,).
    """
    norms = np.sqrt(measure.squared_norm(outputs, label, risk))
    return np.maximum(norms, floor * measure.adds(outputs, label))


def cell_norms(measure: Measure, table: CellTable, risk: FloatArray, floor: float) -> FloatArray:
    """Return n(x, y) of the rows of each cell, shape (cells, classes).

    Where rows of a cell differ, their mean; and the floor, since any of them may add.

    Raises:
        InputError: if the measure is undefined at ``risk``, so that no row adds to it.
    """
    if np.all(np.isnan(measure.value(risk))):
        raise InputError(
            f"measure {measure.name} is undefined on this pool (0/0): "
            f"it has no {measure.evidence_name}"
        )
    by_kind = [loss_norms(measure, table.outputs, y, risk, floor) for y in _labels(table)]
    norms = table.mean_by_cell(np.stack(by_kind, axis=1))
    mixed = np.bincount(table.kind_cell, minlength=len(table)) > 1
    norms[mixed] = np.maximum(norms[mixed], floor)
    return norms


def _labels(table: CellTable) -> list[IntArray]:
    """Every label, given to a row of each kind."""
    return [np.full(len(table.outputs), y, dtype=np.int64) for y in range(table.classes)]
