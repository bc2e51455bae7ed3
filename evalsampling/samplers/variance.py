"""What variance-minimising proposals are made of ([MR] sections 3.1 and 3.2)."""

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.base import FloatArray, IntArray, Measure
from evalsampling.stats.cells import CellTable

FLOOR = 1e-9
"""eps_0 of [MR] proposition 2: least weight, against the others' order 1, of a nonzero loss."""


def losses_by_label(measure: Measure, signature: IntArray, classes: int) -> FloatArray:
    """Return l(x, y) for every signature and every label.

    Args:
        measure: the measure.
        signature: shape (n, systems).
        classes: number of labels there can be.

    Returns:
        Shape (n, classes, d).
    """
    columns = [
        measure.loss(signature, np.full(len(signature), y, dtype=np.int64)) for y in range(classes)
    ]
    return np.stack(columns, axis=1)


def adds_to(measure: Measure, table: CellTable) -> npt.NDArray[np.bool_]:
    """Return whether rows of each cell and label have a nonzero loss, shape (cells, classes)."""
    losses = losses_by_label(measure, table.signature, table.probability.shape[1])
    return np.any(losses != 0, axis=2)


def cells_adding_to(measure: Measure, table: CellTable) -> npt.NDArray[np.bool_]:
    """Return whether rows of each cell can have a nonzero loss, shape (cells,)."""
    return np.any(adds_to(measure, table), axis=1)


def loss_norms(measure: Measure, risk: FloatArray, losses: FloatArray, floor: float) -> FloatArray:
    """Return n(x, y) = max(||Dg(R) l(x, y)||, floor 1[l != 0]) ([MR] proposition 2).

    Args:
        measure: gives Dg.
        risk: R, shape (d,).
        losses: l, shape (..., d).
        floor: eps_t, greater than 0.

    Raises:
        InputError: if the measure is undefined at ``risk``, so that no row adds to it.
    """
    jacobian = measure.jacobian(risk)
    if not np.all(np.isfinite(jacobian)):
        raise InputError(
            f"measure {measure.name} is undefined on this pool (0/0): "
            f"it has no {measure.evidence_name}"
        )
    norms = np.sqrt(np.sum((losses @ jacobian.T) ** 2, axis=-1))
    return np.maximum(norms, floor * np.any(losses != 0, axis=-1))
