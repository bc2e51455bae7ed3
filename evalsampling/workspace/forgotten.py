"""Rows whose payload was erased: what is kept of that, and text about them that is not."""

import csv
import dataclasses
import io
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.labels.task_names import opaque_name
from evalsampling.labels.vendor import escaped
from evalsampling.storage.base import FORGOTTEN
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import NewDelivery

ERASED = "erased"
"""Reason of a rejected vote on a row that was forgotten."""

ROW, FINISHED = "row", "finished"
"""Keys of a record: a keyed hash of the id; whether nothing was left of the row then."""


@dataclasses.dataclass(frozen=True)
class ForgottenRows:
    """The rows that are forgotten, by keyed hashes of their ids.

    Attributes:
        pool: that has them.
        finished: of each row, whether the last `forget` of it came to its end.
    """

    pool: PreparedPool
    finished: dict[str, bool]

    @classmethod
    def read(cls, pool: PreparedPool) -> "ForgottenRows":
        """Return the rows that a workspace has forgotten, or is about to.

        Raises:
            InputError: if a record cannot be read.
        """
        store = pool.workspace.store
        finished: dict[str, bool] = {}
        for name in store.names(FORGOTTEN):
            record = store.read_json(f"{FORGOTTEN}/{name}", [ROW])
            finished[record[ROW]] = record.get(FINISHED, True)  # Of before it was kept.
        return cls(pool, finished)

    def hash(self, id: str) -> str:
        """Return what a row is called in a record."""
        return opaque_name(self.pool.task_key, FORGOTTEN, id)

    def cleared(self, new: NewDelivery, id_of_task: Mapping[str, str]) -> NewDelivery:
        """Return a delivery without what it says about these rows beside their labels.

        Args:
            new: the delivery.
            id_of_task: what each task is about.
        """
        if not self.finished:
            return new
        ids = {*id_of_task.values(), *new.rejects["id"].to_pylist()} - {None}
        ids = {id for id in ids if self.hash(self._row(id)) in self.finished}
        tasks = {task for task, id in id_of_task.items() if id in ids}
        votes = without(new.votes, is_among(new.votes, "task", tasks), ["comment"])
        return dataclasses.replace(new, votes=votes, rejects=without_text(new.rejects, tasks, ids))

    def _row(self, id: str) -> str:
        """Return the id of the row that something was asked about: of an item its query."""
        return id if self.pool.spec.pool.lists is None else id.rpartition("/")[0]


def is_among(table: pa.Table, column: str, values: Collection[str]) -> Any:
    """Return which rows have one of some texts in a column."""
    found = pc.is_in(table[column].cast(pa.string()), pa.array(sorted(values), pa.string()))
    return pc.fill_null(found, False)


def without(table: pa.Table, rows: Any, columns: Collection[str]) -> pa.Table:
    """Return a table with nulls in some columns, those that it has, of some rows."""
    for name in columns:
        if name in table.column_names:
            place = table.column_names.index(name)
            null = pa.scalar(None, table[name].type)
            values = pc.if_else(rows, null, table[name])
            table = table.set_column(place, table.schema.field(name), values)
    return table


def without_text(rejects: pa.Table, tasks: Collection[str], ids: Collection[str]) -> pa.Table:
    """Return rejected votes without what they say about some rows: label and reason.

    Args:
        rejects: columns as of `workspace.NewDelivery`.
        tasks: about the rows.
        ids: of the rows.
    """
    about = pc.or_(is_among(rejects, "task", tasks), is_among(rejects, "id", ids))
    rejects = without(rejects, about, ["label"])
    reason = pc.if_else(about, pa.scalar(ERASED), rejects["reason"])
    return rejects.set_column(rejects.column_names.index("reason"), "reason", reason)


def rejects_without_text(content: bytes, tasks: Collection[str], ids: Collection[str]) -> bytes:
    """Return the content of a `.rejects.csv` as `without_text` leaves it.

    Args:
        content: of the file.
        tasks: see `without_text`.
        ids: see `without_text`.
    """
    lines = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    head, texts = lines[0], {*map(escaped, (*tasks, *ids))}
    place = {name: head.index(name) for name in ("label", "reason")}
    named = [head.index(name) for name in ("task", "id") if name in head]
    for line in lines[1:]:
        if texts & {line[column] for column in named}:
            line[place["label"]], line[place["reason"]] = "", ERASED
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue().encode("utf-8-sig")
