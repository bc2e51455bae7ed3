"""Norms of losses, by which [MR] chooses rows: of a row with a label, and expected of a row.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack*, KDD 2021, equation 5, remark 4 and
    proposition 2.
"""

import numpy as np

from evalsampling.measures.base import Measure, check_defined
from evalsampling.measures.on_cells import adds_to, bounding_outputs, each_label, model_risk
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.outputs import Outputs

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight of a nonzero loss, where others are of order 1."""


def expected_norms(
    measure: Measure,
    table: CellTable,
    prior: FloatArray,
    stochastic: bool = False,
    floor: float = FLOOR,
) -> FloatArray:
    """Return the expected norm v of the losses of the rows of each cell, shape (cells,).

    Static importance sampling draws rows by it: v(x) = sum_y n(x, y) p(y|x) of a deterministic
    oracle, the root of sum_y n(x, y)^2 p(y|x) of a stochastic one ([MR] remark 4 and equation 5),
    with n of `loss_norms` at the risk R0 that p implies. p is at least `FLOOR`. The floor is eps_0
    of proposition 2. Answers about a row may differ if the oracle is stochastic.
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
    """Return n(x, y) = max(||Dg(R) l(x, y)||, floor 1[l != 0]) ([MR] proposition 2).

    Norms of n rows, shape (n,), at the point R, with eps_t as the floor.
    """
    norms = measure.proposal_norm(outputs, label, risk)
    return np.maximum(norms, floor * measure.adds(outputs, label))


def cell_norms(measure: Measure, table: CellTable, risk: FloatArray, floor: float) -> FloatArray:
    """Return the norm n(x, y) of the losses of each cell's rows, shape (cells, classes).

    Where rows of a cell differ, their mean is taken; at least the floor where one may add.
    """
    check_defined(measure, risk)
    by_kind = np.mean(
        [
            [loss_norms(measure, outputs, y, risk, floor) for y in each_label(table)]
            for outputs in bounding_outputs(measure, table)
        ],
        axis=0,
    ).T
    return np.maximum(table.mean_by_cell(by_kind), floor * adds_to(measure, table))
