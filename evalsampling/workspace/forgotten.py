"""Rows whose payload was erased: the records of that, and clearing text about these rows."""

import csv
import dataclasses
import io
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.tasks import opaque_name
from evalsampling.labels.vendor import unescaped
from evalsampling.pool.row_ids import ids_of
from evalsampling.spec.id_columns import IdColumns
from evalsampling.storage import Store, checksums_of
from evalsampling.storage.base import FORGOTTEN
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import STORED, NewDelivery

ERASED = "erased"
"""Reason of a rejected vote on a row whose payload was erased."""

ROW, FINISHED = "row", "finished"
"""Keys of a record: a keyed hash of the id; whether the payload was erased everywhere."""


@dataclasses.dataclass(frozen=True)
class ForgottenRows:
    """Whether the last `forget` of each row has finished, by keyed hashes of their ids."""

    pool: PreparedPool
    finished: dict[str, bool]

    @classmethod
    def read(cls, pool: PreparedPool) -> "ForgottenRows":
        """Return the rows whose payload was erased from a workspace, or is being erased."""
        store = pool.workspace.store
        finished: dict[str, bool] = {}
        for name in store.names(FORGOTTEN):
            record = store.read_json(f"{FORGOTTEN}/{name}", [ROW, FINISHED])
            finished[record[ROW]] = record[FINISHED]
        return cls(pool, finished)

    def hash(self, id: str) -> str:
        """Return the keyed hash that stands for a row in a record."""
        return opaque_name(self.pool.task_key, FORGOTTEN, id)

    def cleared(self, new: NewDelivery, id_of_task: Mapping[str, str]) -> NewDelivery:
        """Return a delivery without comments and other text on these rows; labels stay."""
        if not self.finished:
            return new
        ids = {*id_of_task.values(), *new.rejects["id"].to_pylist()} - {None}
        ids = {id for id in ids if self.hash(id) in self.finished}
        tasks = {task for task, id in id_of_task.items() if id in ids}
        votes = without(new.votes, is_among(new.votes, "task", tasks), ["comment"])
        return dataclasses.replace(new, votes=votes, rejects=without_text(new.rejects, tasks, ids))


def unerased(store: Store, pool: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the fingerprints of a pool's files, but for those that `forget` has written anew.

    These are rows that a workspace stores: see `pool.stored_rows`.
    """
    records = [store.read_json(f"{FORGOTTEN}/{name}") for name in store.names(FORGOTTEN)]
    rows = tuple(
        f"/{name}"
        for record in records
        for name in checksums_of(record)
        if name.startswith(f"{STORED}/")
    )
    return [file for file in pool if not file["path"].endswith(rows)] if rows else list(pool)


def is_among(table: pa.Table, column: IdColumns, values: Collection[str]) -> Any:
    """Return a mask of the rows that have one of some texts in a column, or as their id."""
    matches = pc.is_in(
        ids_of(table, column).cast(pa.string()), pa.array(sorted(values), pa.string())
    )
    return pc.fill_null(matches, False)


def without(table: pa.Table, rows: Any, columns: Collection[str]) -> pa.Table:
    """Return a table with nulls in some columns, if it has them, of the rows of a mask."""
    for name in columns:
        if name in table.column_names:
            place = table.column_names.index(name)
            null = pa.scalar(None, table[name].type)
            values = pc.if_else(rows, null, table[name])
            table = table.set_column(place, table.schema.field(name), values)
    return table


def without_text(rejects: pa.Table, tasks: Collection[str], ids: Collection[str]) -> pa.Table:
    """Return rejected votes without label and reason where they are about some rows."""
    selected = pc.or_(is_among(rejects, "task", tasks), is_among(rejects, "id", ids))
    rejects = without(rejects, selected, ["label"])
    reason = pc.if_else(selected, pa.scalar(ERASED), rejects["reason"])
    return rejects.set_column(rejects.column_names.index("reason"), "reason", reason)


def rejects_without_text(
    content: bytes, tasks: Collection[str], ids: Collection[str], own: DeliveredIds
) -> bytes:
    """Return the content of a `.rejects.csv` without label and reason, as `without_text` does."""
    lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    head = lines[0]
    place = {name: head.index(name) for name in ("label", "reason")}
    for line in lines[1:]:
        row = dict(zip(head, map(unescaped, line), strict=True))
        if row.get("task") in tasks or own.text(row) in ids:
            line[place["label"]], line[place["reason"]] = "", ERASED
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue().encode("utf-8-sig")
