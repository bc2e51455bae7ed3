"""The control tasks of the next round: gold rows and repeats, drawn from a workspace."""

import numpy as np
import pyarrow as pa

from evalsampling.labels.controls import Gold, gold_rows, repeated
from evalsampling.labels.tasks import (
    GOLD,
    ID,
    LABEL,
    QUESTION,
    REPEAT,
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
    spec, key, parts = snapshot.pool.spec, snapshot.pool.task_key, {}
    if gold is not None:
        parts[GOLD] = gold_rows(gold, spec, key, number, batch.schema)
    if spec.labels.repeats and len(snapshot.tasks):
        again = repeated(len(snapshot.tasks), spec.labels.repeats, key, number)
        rows = rows_of(snapshot, again)
        parts[REPEAT] = rows.append_column(LABEL, pa.nulls(len(rows), pa.string()))
    tasks = []
    for kind, rows in parts.items():
        ids = rows[ID].to_pylist()
        names = [opaque_name(key, kind, number, id, check=check) for id in ids]
        masks = mask_key(key, number)
        tasks.append(make_batch(names, rows, spec, masks, kind, (LABEL, QUESTION)))
    return pa.concat_tables(tasks) if tasks else None


def rows_of(snapshot: Snapshot, questions: list[int]) -> pa.Table:
    """Return id, as text, number and payload of the rows of some questions, from the reserve."""
    history, table = snapshot.history, snapshot.pool.table
    asked = np.array(questions, dtype=np.int64)
    rows = snapshot.pool.read_rows(table.code[history.cell[asked]], history.rank[asked])
    shown = [name for name in rows.column_names if name.startswith(PAYLOAD_PREFIX)]
    ids = [as_text(id, snapshot.pool.spec.pool.id) for id in rows[ID].to_pylist()]
    rows = rows.select([ID, *shown]).set_column(0, ID, pa.array(ids, pa.string()))
    return rows.append_column(QUESTION, pa.array(asked + 1))
