"""What variance-minimising proposals are made of ([MR] sections 3.1 and 3.2)."""

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight, against the others' order 1, of a nonzero loss."""

BoolArray = npt.NDArray[np.bool_]


def adds_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether a row of each cell and label may have a nonzero loss: (cells, classes)."""
    low, high = table.outputs, table.upper_outputs
    by_kind = [measure.may_add(low, high, y) for y in _labels(table)]
    any_kind = table.mean_by_cell(np.stack(by_kind, axis=1).astype(np.float64)) > 0
    return any_kind | table.is_mixed[:, None]


def always_adds_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether all rows of each cell and label have a nonzero loss: (cells, classes)."""
    low, high = table.outputs, table.upper_outputs
    by_kind = [measure.must_add(low, high, y) for y in _labels(table)]
    misses = table.mean_by_cell((~np.stack(by_kind, axis=1)).astype(np.float64))
    return (misses == 0) & ~table.is_mixed[:, None]


def cells_adding_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether a row of each cell may have a nonzero loss, shape (cells,)."""
    return np.any(adds_to(measure, table), axis=1)


def known_exactly(measure: Measure, table: CellTable) -> bool:
    """Tell whether the cells alone give the losses of their rows."""
    settled = measure.is_settled(table.outputs, table.upper_outputs)
    return settled and not bool(table.is_mixed.any())


def model_risk(measure: Measure, table: CellTable, mass: FloatArray) -> FloatArray:
    """Return the sum of the losses of rows, R of a model up to the number of rows, shape (d,).

    Args:
        measure: the measure.
        table: the cells.
        mass: shape (cells, classes): rows, or expected rows, of each label in each cell.
    """
    by_kind = mass[table.kind_cell] * table.kind_share[:, None]
    views = _views(measure, table)
    sums = [
        measure.mean_loss(outputs, y, by_kind[:, y[0]] / len(views))
        for outputs in views
        for y in _labels(table)
    ]
    return np.sum(sums, axis=0)


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

    Where rows of a cell differ, their mean; and the floor wherever one of them may add.

    Raises:
        InputError: if the measure is undefined at ``risk``, so that no row adds to it.
    """
    if np.all(np.isnan(measure.value(risk))):
        raise InputError(
            f"measure {measure.name} is undefined on this pool (0/0): "
            f"it has no {measure.evidence_name}"
        )
    by_kind = np.mean(
        [
            [loss_norms(measure, outputs, y, risk, floor) for y in _labels(table)]
            for outputs in _views(measure, table)
        ],
        axis=0,
    ).T
    return np.maximum(table.mean_by_cell(by_kind), floor * adds_to(measure, table))


def atom_norms(
    measure: Measure, table: CellTable, history: History, risk: FloatArray, floor: float
) -> FloatArray:
    """Return n(x, y) of the labelled rows, shape (labelled,).

    Also the floor where every row of the cell with that label adds, though this one does not (a
    probability of exactly 0, say): what a cell supports, its atoms do.
    """
    atom = history.labelled
    label = history.label[atom]
    norms = loss_norms(measure, history.outputs.take(atom), label, risk, floor)
    return np.maximum(norms, floor * always_adds_to(measure, table)[history.cell[atom], label])


def _views(measure: Measure, table: CellTable) -> list[Outputs]:
    """Return rows that stand for those of each kind: one, or two where the score matters."""
    low, high = table.outputs, table.upper_outputs
    return [low] if low is high or measure.is_settled(low, high) else [low, high]


def _labels(table: CellTable) -> list[IntArray]:
    """Every label, given to a row of each kind."""
    return [np.full(len(table.outputs), y, dtype=np.int64) for y in range(table.classes)]
