"""Rows from anywhere with their cells in a workspace, and those that cannot be read."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.pool.batch import PoolBatch, batches_of, halves
from evalsampling.pool.columns import required_columns
from evalsampling.pool.row_ids import as_text
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import columns_of
from evalsampling.workspace.pool_facts import PoolFacts


def cells_of(batch: PoolBatch, facts: PoolFacts) -> CellBatch:
    """Return the rows of a batch with their cells in a workspace.

    Raises:
        InputError: if a row cannot be read.
    """
    cells = assign_cells(batch, facts.pool.stratification)
    return dataclasses.replace(cells, workspace=facts.identity)


def cells_and_rejects(
    facts: PoolFacts, rows: Sequence[Any]
) -> tuple[list[CellBatch], list[dict[str, Any]]]:
    """Return rows with their cells, and the id and the reason of each row that cannot be read."""
    spec = facts.pool.spec
    try:
        batches = [*batches_of(rows, required_columns(spec.reading), "")]
        found = [cells_of(batch, facts) for batch in batches]
        for batch in batches:
            for name in spec.pool.payload:  # It is read of the rows that are drawn.
                batch.payload(name, np.arange(len(batch)))
    except InputError as error:
        parts = halves(rows)
        if not parts:
            return [], [_reject(rows[0], str(error), spec)]
        (first, bad), (second, worse) = (cells_and_rejects(facts, part) for part in parts)
        return first + second, bad + worse
    return found, []


def _reject(row: Any, reason: str, spec: EvaluationSpec) -> dict[str, Any]:
    """Return the id of one row, as far as it can be read, and why it has no cell."""
    own = DeliveredIds(spec.pool.id)
    try:
        (batch,) = batches_of([row], columns_of(spec.pool.id), "")
        id: str | None = as_text(batch.ids(spec.pool.id)[0].as_py(), spec.pool.id)
    except InputError:  # The reason says what is wrong with it.
        id = None
    return {**own.values(id), "reason": re.sub(",? (in )?row 0", "", reason, count=1)}
