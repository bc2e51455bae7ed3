"""The control tasks of the next round: gold rows and repeats, drawn from a workspace."""

from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.labels.controls import QUESTION, Gold, gold_rows, make_controls, repeated
from evalsampling.labels.tasks import (
    GOLD,
    ID,
    LABEL,
    REPEAT,
    TASK,
    make_batch,
    mask_key,
    opaque_name,
)
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import PAYLOAD_PREFIX
from evalsampling.workspace.snapshot import Snapshot


def control_tasks(
    snapshot: Snapshot, number: int, batch: pa.Table, check: bool, gold: Gold | None
) -> pa.Table | None:
    """Return the control tasks of a round as they are stored, None if there are to be none."""
    labels, parts = snapshot.pool.spec.labels, []
    if gold is not None:
        rows = gold_rows(gold, snapshot.pool.spec, snapshot.pool.task_key, number, batch.schema)
        parts.append(_controls(snapshot, GOLD, number, rows, rows[LABEL], check))
    if labels.repeats and len(snapshot.tasks):
        again = repeated(len(snapshot.tasks), labels.repeats, snapshot.pool.task_key, number)
        parts.append(
            _controls(
                snapshot, REPEAT, number, rows_of(snapshot, again),
                pa.array(np.array(again) + 1), check,
            )
        )  # fmt: skip
    return pa.concat_tables(parts) if parts else None


def rows_of(snapshot: Snapshot, questions: list[int]) -> pa.Table:
    """Return id, as text, and payload of the rows of some questions, from the reserve."""
    history, table = snapshot.history, snapshot.pool.table
    asked = np.array(questions, dtype=np.int64)
    rows = snapshot.pool.read_rows(table.code[history.cell[asked]], history.rank[asked])
    shown = [name for name in rows.column_names if name.startswith(PAYLOAD_PREFIX)]
    ids = [as_text(id, snapshot.pool.spec.pool.id) for id in rows[ID].to_pylist()]
    return rows.select([ID, *shown]).set_column(0, ID, pa.array(ids, pa.string()))


def _controls(
    snapshot: Snapshot, kind: str, number: int, rows: pa.Table, reference: Any, check: bool
) -> pa.Table:
    """Return tasks of one kind: ``reference`` has classes of gold rows, or repeated questions."""
    pool = snapshot.pool
    ids = rows[ID].to_pylist()
    names = [opaque_name(pool.task_key, kind, number, id, check=check) for id in ids]
    tasks = make_batch(names, rows, pool.spec, mask_key(pool.task_key, number))
    like = pa.table({TASK: names, LABEL if kind == GOLD else QUESTION: reference})
    return make_controls(tasks, kind, like)
