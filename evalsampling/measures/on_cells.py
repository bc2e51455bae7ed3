"""Measures on the cell table: which cells add to one, what they add, and what systems predict.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, equation 5, remark 4 and
    proposition 2.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import Measure, check_defined
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable, Kinds
from evalsampling.stats.outputs import Outputs

LARGEST_MATRIX = 1 << 22
"""Most entries of a matrix of losses; of curves with more points, losses are made draw by draw."""

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight of a nonzero loss, where others are of order 1."""


def adds_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether a row of each cell and label may have a nonzero loss: (cells, classes)."""
    low, high = table.kinds, table.kinds.highest
    by_kind = [measure.may_add(low, high, y) for y in each_label(table)]
    any_kind = table.kinds.by_cell(np.stack(by_kind, axis=1).astype(np.float64)) > 0
    return any_kind | table.kinds.mixed[:, None]


def always_adds_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether all rows of each cell and label have a nonzero loss: (cells, classes)."""
    low, high = table.kinds, table.kinds.highest
    by_kind = [measure.must_add(low, high, y) for y in each_label(table)]
    misses = table.kinds.by_cell((~np.stack(by_kind, axis=1)).astype(np.float64))
    return (misses == 0) & ~table.kinds.mixed[:, None]


def cells_adding_to(measure: Measure, table: CellTable) -> BoolArray:
    """Return whether a row of each cell may have a nonzero loss, shape (cells,)."""
    if table.kinds.expected is not None:
        return np.ones(len(table), dtype=np.bool_)
    return np.any(adds_to(measure, table), axis=1)


def known_exactly(measure: Measure, table: CellTable) -> bool:
    """Tell whether the cell of a row and its label determine the row's loss."""
    if table.kinds.expected is not None:
        return False
    settled = measure.is_settled(table.kinds, table.kinds.highest)
    return settled and not bool(table.kinds.mixed.any())


def model_risk(measure: Measure, table: CellTable, mass: FloatArray) -> FloatArray:
    """Return the total loss, (d,), of ``mass`` rows of each cell and label, (cells, classes)."""
    by_kind = mass[table.kinds.cell] * table.kinds.share[:, None]
    views = bounding_outputs(measure, table)
    sums = [
        measure.mean_loss(outputs, y, by_kind[:, y[0]] / len(views))
        for outputs in views
        for y in each_label(table)
    ]
    return np.sum(sums, axis=0)


def bounding_outputs(measure: Measure, table: CellTable) -> list[Outputs]:
    """Return outputs that stand for the rows of each kind: one set, or two if scores matter."""
    low, high = table.kinds, table.kinds.highest
    return [low] if low is high or measure.is_settled(low, high) else [low, high]


def extreme_outputs(measure: Measure, table: CellTable) -> list[list[Outputs]]:
    """Return outputs for the rows of each class, for each case in which a measure may be extreme.

    Unless the cells determine which rows reach a threshold, the rows of one class have scores as
    great as their kind allows and all others as small, or the reverse.
    """
    classes = range(table.classes)
    views = bounding_outputs(measure, table)
    if len(views) == 1:
        return [views * table.classes]
    low, high = views
    cases = {tuple(y == k for y in classes) for k in classes}
    cases |= {tuple(y != k for y in classes) for k in classes}
    return [[high if raised else low for raised in case] for case in sorted(cases)]


def expected_risk(measure: Measure, kinds: Kinds, rows: FloatArray) -> FloatArray:
    """Return the expected total loss of rows with any number of many labels, shape (d,).

    It is exact: losses are linear in each label, and cells sum up labels and predictions.
    """
    assert kinds.expected is not None
    return measure.mean_loss(kinds, kinds.expected, rows)  # type: ignore[arg-type]


def rows_of_cells(
    measure: Measure, table: CellTable, chosen: BoolArray
) -> tuple[Outputs, IntArray]:
    """Return rows that stand for those of some cells, with every label that they may have."""
    kinds = np.flatnonzero(chosen[table.kinds.cell])
    if table.kinds.expected is not None:  # Rows with all labels and predictions of their cell.
        outputs = table.kinds.take(kinds)
        tags = np.asarray(outputs.tags) > 0
        every: npt.NDArray[Any] = np.ones_like(table.kinds.expected[kinds])
        return dataclasses.replace(outputs, tags=tags), every
    views = [outputs.take(kinds) for outputs in bounding_outputs(measure, table)]
    _, systems, classes = views[0].probability.shape
    looks_at_them = "probability" in measure.looks_at
    if not looks_at_them:  # They are 0 and take no memory, which would be C^2 for each cell.
        empty = np.zeros((len(kinds), systems, 0))
        views = [dataclasses.replace(view, probability=empty) for view in views]
    outputs = Outputs.concatenate([view for view in views for _ in range(table.classes)])
    if not looks_at_them:
        zeros = np.broadcast_to(0.0, (len(outputs), systems, classes))
        outputs = dataclasses.replace(outputs, probability=zeros)
    label = np.repeat(np.arange(table.classes), len(kinds))
    return outputs, np.tile(label, len(views))


def numbers_of_rows(
    measure: Measure, table: CellTable, chosen: BoolArray, by_class: FloatArray
) -> FloatArray:
    """Return how many rows of the pool each row of `rows_of_cells` stands for, shape (n,)."""
    kinds = np.flatnonzero(chosen[table.kinds.cell])
    views = len(bounding_outputs(measure, table))
    number = by_class[table.kinds.cell[kinds]] * table.kinds.share[kinds, None] / views
    return np.tile(number.T.ravel(), views)


def each_label(table: CellTable) -> list[IntArray]:
    """Return, for each class, the labels of rows of each kind if all are of that class."""
    return [np.full(len(table.kinds), y, dtype=np.int64) for y in range(table.classes)]


def predictive(table: CellTable, systems: Sequence[int]) -> FloatArray:
    """Return each system's distribution of labels, or else the prior: (kinds, systems, classes)."""
    own = table.kinds.probability[:, systems]
    has_own = own.sum(axis=2, keepdims=True) > 0
    return np.where(has_own, own, table.prior[table.kinds.cell][:, None])


# The norms of losses, by which [MR] chooses rows.


def expected_norms(
    measure: Measure, table: CellTable, prior: FloatArray, stochastic: bool, floor: float
) -> FloatArray:
    """Return the expected norm v of the losses of the rows of each cell, shape (cells,).

    Static importance sampling draws rows by it: v(x) = sum_y n(x, y) p(y|x) of a deterministic
    oracle, the root of sum_y n(x, y)^2 p(y|x) of a stochastic one ([MR] remark 4 and equation 5),
    with n of `loss_norms` at the risk that p implies. p is at least `FLOOR`.
    """
    prior = np.maximum(prior, FLOOR)
    risk = model_risk(measure, table, table.count[:, None] * prior) / table.rows
    norms = cell_norms(measure, table, risk, floor)
    if stochastic:
        return np.sqrt(np.sum(norms**2 * prior, axis=1))
    return np.asarray(np.sum(norms * prior, axis=1))


def loss_norms(
    measure: Measure, outputs: Outputs, label: IntArray, risk: FloatArray, floor: float
) -> FloatArray:
    """Return n(x, y) = max(||Dg(R) l(x, y)||, floor 1[l != 0]) of rows ([MR] proposition 2)."""
    norms = measure.proposal_norm(outputs, label, risk)
    return np.maximum(norms, floor * measure.adds(outputs, label))


def cell_norms(measure: Measure, table: CellTable, risk: FloatArray, floor: float) -> FloatArray:
    """Return the mean norm n(x, y) of the losses of each cell's rows, shape (cells, classes)."""
    check_defined(measure, risk)
    by_kind = np.mean(
        [
            [loss_norms(measure, outputs, y, risk, floor) for y in each_label(table)]
            for outputs in bounding_outputs(measure, table)
        ],
        axis=0,
    ).T
    return np.maximum(table.kinds.by_cell(by_kind), floor * adds_to(measure, table))
