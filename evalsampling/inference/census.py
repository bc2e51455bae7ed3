"""What labels say by themselves: whether they are of all rows, and the value among them alone."""

import numpy as np
import numpy.typing as npt

from evalsampling.inference.domains import Domain
from evalsampling.measures.base import FloatArray, Measure
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


def is_census(
    cells: npt.NDArray[np.bool_], table: CellTable, history: History, domain: Domain
) -> bool:
    """Tell whether every row of some cells that is in a domain has a label.

    Args:
        cells: shape (cells,): which of them; of a measure those that may add to it.
        table: the cells.
        history: the labels, of a deterministic oracle.
        domain: a part of the pool, or all of it.
    """
    labelled = np.bincount(history.cell[domain.labelled(history)], minlength=len(table))
    return bool(np.all(labelled[cells] == domain.rows(table)[cells]))


def known_value(measure: Measure, table: CellTable, history: History, domain: Domain) -> FloatArray:
    """Return the value of a measure all of whose rows in a domain have labels, shape (m,)."""
    return _value(measure, history, domain, int(domain.rows(table).sum()))


def value_among(measure: Measure, history: History, domain: Domain) -> FloatArray:
    """Return the value of a measure among the labelled rows of a domain alone, shape (m,)."""
    return _value(measure, history, domain, len(domain.labelled(history)))


def _value(measure: Measure, history: History, domain: Domain, rows: int) -> FloatArray:
    """Return the value that labelled rows have, each of so many that a mean loss is over."""
    known = domain.labelled(history)
    weight = np.full(len(known), 1 / max(rows, 1))
    return measure.value(
        measure.mean_loss(history.outputs.take(known), history.label[known], weight)
    )
