"""Erasing what a workspace holds of one row beside what estimates need: its payload."""

import dataclasses
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.commands.options import WorkspaceOptions, argument
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.labels.items import item_ids
from evalsampling.labels.sinks import write_tasks
from evalsampling.labels.task_names import opaque_name
from evalsampling.labels.tasks import TASK, blind
from evalsampling.pool.stored_columns import ID, PAYLOAD_PREFIX
from evalsampling.storage import Store, write_parquet
from evalsampling.storage.base import DRAFTS, FORGOTTEN
from evalsampling.storage.checksums import FILES, Checksum
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace, adjudication_folder, round_folder

_RESERVE_GROUP = 1024


@dataclasses.dataclass(frozen=True)
class ForgetOptions(WorkspaceOptions):
    """Whose payload is to be erased."""

    id: str = argument("id of the row in the pool")


@dataclasses.dataclass(frozen=True)
class ForgetResult(Result):
    """What was erased.

    Attributes:
        id: of the row.
        files: that held its payload and do not any more.
    """

    id: str
    files: tuple[str, ...]


def forget(options: ForgetOptions) -> ForgetResult:
    """Erase the payload of one row, and comments on it, from all files of a workspace.

    Estimates stay as they are: its id, predictions, scores, slices and labels are kept. What a file
    is like afterwards is recorded before it is written, so that this may be killed and run again.

    Args:
        options: what is asked.

    Raises:
        InputError: if the workspace is not prepared, or it knows no row of that id; or if another
            command erased something meanwhile, or a draft is left that may hold some of it: then
            this one is to be run again.
    """
    workspace = Workspace(options.workspace)
    with workspace.in_use():
        number = workspace.next_number(FORGOTTEN)  # Before anything is read.
        pool = PreparedPool.read(workspace)
        found = _Erasure(Snapshot.read(pool), options.id)
        files = found.files()
        if not found.known:
            raise InputError(f"{workspace.path}: no row of id {options.id!r} is kept here")
        record = {
            "row": opaque_name(pool.task_key, FORGOTTEN, options.id),
            FILES: {
                name: dataclasses.asdict(Checksum.from_content(content))
                for name, content in files.items()
            },
        }
        if files:
            workspace.add_forgotten(number, record)
        for name, content in files.items():
            workspace.store.exchange(name, content, found.was[name])
        for draft in workspace.store.drafts():
            where = workspace.store.url(f"{DRAFTS}/{draft}")
            raise InputError(
                f"{where}: files that do not count, of a command that was killed or is at work, "
                "may hold the payload too; remove them when no job runs, then run this one again"
            )
    return ForgetResult(options.id, tuple(sorted(files)))


class _Erasure:
    """What the files of a workspace are without the payload of one row.

    Attributes:
        known: whether some file has a row of that id.
        was: what each file is like that holds some of it, when it was read.
    """

    def __init__(self, snapshot: Snapshot, id: str) -> None:
        self._snapshot = snapshot
        self._pool = snapshot.pool
        self._store: Store = snapshot.pool.workspace.store
        self._id = id
        self.known = False
        self.was: dict[str, Checksum] = {}

    def files(self) -> dict[str, bytes]:
        """Return the new content of each file that holds some of it."""
        found: dict[str, bytes] = {}
        payload = [PAYLOAD_PREFIX + name for name in self._pool.spec.pool.payload]
        for name in self._store.written(["reserve"], lambda name: name.endswith(".parquet")):
            found |= self._erased(name, ID, payload, "zstd", _RESERVE_GROUP)
        for name in self._store.written(["scored"], lambda name: name.endswith(".parquet")):
            plain = list(self._pool.spec.pool.payload)
            found |= self._erased(name, self._pool.spec.pool.id, plain, "zstd", None)
        tasks: set[str] = set()
        for files in self._snapshot.rounds:
            found |= self._batch(files, payload, tasks)
        for batch in self._snapshot.adjudications:
            folder, exported = adjudication_folder(batch.number), batch.exported.rpartition("/")[2]
            shown_in = self._shown_in(folder, exported)
            name = f"{folder}/tasks.parquet"
            listed = self._read(name)
            there = self._erased(name, ID, payload, "snappy", None, table=listed)
            tasks |= self._tasks(listed)
            if there:
                shown = blind(self._clear(listed, ID, payload))
                found |= self._exported(folder, shown_in, shown, -batch.number)
            found |= there
        for delivery in self._snapshot.deliveries:
            if "comment" in delivery.votes.column_names and tasks:
                name = f"labels/{delivery.name}.parquet"
                found |= self._erased(name, TASK, ["comment"], "zstd", None, tasks)
        return found

    def _batch(self, files: RoundFiles, payload: list[str], tasks: set[str]) -> dict[str, bytes]:
        """Return the new content of the files of a round, and add the tasks of the row."""
        folder, ids = round_folder(files.number), self._ids(files)
        shown_in = self._shown_in(folder, (files.exported or "").rpartition("/")[2])
        name = f"{folder}/batch.parquet"
        batch = self._read(name)
        found = self._erased(name, ID, payload, "snappy", None, ids, batch)
        tasks |= self._tasks(batch, ids)
        controls = None
        if len(files.controls.table):
            name = f"{folder}/controls.parquet"
            controls = self._read(name)
            found |= self._erased(name, ID, payload, "snappy", None, table=controls)
            tasks |= self._tasks(controls)
            controls = self._clear(controls, ID, payload)
        if found and shown_in:
            shown = blind(self._clear(batch, ID, payload, ids), controls)
            # First: by what it is made from a killed call is known, so that goes last.
            found = {**self._exported(folder, shown_in, shown, files.number), **found}
        return found

    def _ids(self, files: RoundFiles) -> list[str]:
        """Return what the row is called in the batch of a round: of a query, its items."""
        if self._pool.spec.pool.lists is None:
            return [self._id]
        return item_ids(files.asked.filter(self._is_row(files.asked, ID, [self._id])))

    def _tasks(self, batch: pa.Table, ids: Sequence[str] = ()) -> set[str]:
        is_row = self._is_row(batch, ID, list(ids) or [self._id])
        return set(batch.filter(is_row)[TASK].to_pylist())

    def _shown_in(self, folder: str, exported: str) -> list[str]:
        """Return the files for the annotators that are still there.

        What they are like is looked at before what they are made from is read: who else changes
        them in between is noticed.
        """
        if not exported:
            return []
        there = self._store.written([folder], lambda name: name.startswith(exported))
        self.was |= {name: self._store.checksum(name) for name in there}
        return there

    def _exported(
        self, folder: str, there: Sequence[str], shown: pa.Table, number: int
    ) -> dict[str, bytes]:
        """Return the files for the annotators anew, as far as they are still there."""
        with tempfile.TemporaryDirectory() as directory:
            write_tasks(shown, Path(directory), self._pool.spec, self._snapshot.batch_name(number))
            return {
                name: (Path(directory) / name.removeprefix(f"{folder}/")).read_bytes()
                for name in there
            }

    def _read(self, name: str) -> pa.Table:
        """Return the table of a Parquet file, and keep in mind what the file is like."""
        content = self._store.read(name)
        self.was[name] = Checksum.from_content(content)
        return self._store.parse_table(name, content)

    def _erased(
        self,
        name: str,
        key: str,
        columns: Sequence[str],
        compression: str,
        group_rows: int | None,
        keys: Collection[str] = (),
        table: pa.Table | None = None,
    ) -> dict[str, bytes]:
        """Return the new content of a Parquet file, by its name; nothing if it holds nothing.

        Args:
            name: of the file.
            key: column that says which row is meant.
            columns: to clear.
            compression: of the file.
            group_rows: rows of its groups, None for the default.
            keys: of the row in that column, its id if there are none.
            table: what `_read` returned of the file, if it was read.
        """
        if table is None:
            if not self._store.exists(name):
                return {}
            table = self._read(name)
        is_row = self._is_row(table, key, list(keys) or [self._id])
        if not pc.any(is_row).as_py():
            return {}
        self.known = True
        there = [column for column in columns if column in table.column_names]
        held = [pc.any(pc.and_(is_row, table[column].is_valid())).as_py() for column in there]
        if not any(held):
            return {}
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "table.parquet"
            write_parquet(self._clear(table, key, there, keys), path, compression, group_rows)
            return {name: path.read_bytes()}

    def _clear(
        self, table: pa.Table, key: str, columns: Sequence[str], keys: Collection[str] = ()
    ) -> pa.Table:
        """Return a table with nulls in some columns of the row."""
        is_row = self._is_row(table, key, list(keys) or [self._id])
        for name in columns:
            if name in table.column_names:
                place = table.column_names.index(name)
                null = pa.scalar(None, table[name].type)
                values = pc.if_else(is_row, null, table[name])
                table = table.set_column(place, table.schema.field(name), values)
        return table

    def _is_row(self, table: pa.Table, key: str, keys: Sequence[str]) -> Any:
        """Return which rows are meant, by the text of a column."""
        text = table[key].cast(pa.string())
        return pc.fill_null(pc.is_in(text, value_set=pa.array(list(keys), pa.string())), False)
