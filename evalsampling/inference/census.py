"""Values of a measure on labelled rows alone."""

import numpy as np

from evalsampling.inference.domains import Domain
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


def known_value(measure: Measure, table: CellTable, history: History, domain: Domain) -> FloatArray:
    """Return the value of a measure all of whose rows in a domain have labels, shape (m,)."""
    return value_among(measure, history, domain, int(domain.rows(table).sum()))


def value_among(
    measure: Measure, history: History, domain: Domain, rows: int | None = None
) -> FloatArray:
    """Return the value of a measure among the labelled rows of a domain alone, shape (m,).

    The sum of their losses is divided by their number, or by another number of ``rows``.
    """
    labelled = domain.labelled(history)
    weight = np.full(len(labelled), 1 / max(len(labelled) if rows is None else rows, 1))
    return measure.value(
        measure.mean_loss(history.outputs.take(labelled), history.label[labelled], weight)
    )
