"""Erasing what a workspace holds of one row beside what estimates need: its payload."""

import dataclasses
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.commands.options import WorkspaceOptions, argument
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.tasks import TASK, blind
from evalsampling.pool.row_ids import stored_forms, text_of
from evalsampling.pool.stored_columns import ID, PAYLOAD_PREFIX
from evalsampling.spec.id_columns import IdColumns, columns_of
from evalsampling.storage.checksums import FILES, Checksum, parquet_content
from evalsampling.workspace.deliveries import details_of
from evalsampling.workspace.forgotten import (
    FINISHED,
    ROW,
    ForgottenRows,
    is_among,
    rejects_without_text,
    without,
)
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.reserve import GROUP_ROWS
from evalsampling.workspace.workspace import STORED, Workspace

_BATCH = re.compile(
    r"rounds/(\d+)/(?:\w+/)?batch\.parquet|adjudications/(\d+)/(?:\w+/)?tasks\.parquet"
)
_TELLS_VERSION = re.compile(r"(rounds|adjudications)/\d+/(design|closed)\.json|taken/\d+\.json")
"""Files whose version is also that of others, which are looked through."""

_ANSWER = re.compile(r"\.answer-[0-9a-f]{32}\.json")
"""What a job told a command that was killed, which may hold what a rejected vote says."""


@dataclasses.dataclass(frozen=True)
class ForgetOptions(WorkspaceOptions):
    """Whose payload is to be erased."""

    id: str | Sequence[str] = argument("id of the row in the pool, a value a column", many=True)


@dataclasses.dataclass(frozen=True)
class ForgetResult(Result):
    """What was erased.

    Attributes:
        id: of the row, as it was given; of several columns a value each.
        files: that held its payload and do not any more.
    """

    id: str | tuple[str, ...]
    files: tuple[str, ...]


def forget(options: ForgetOptions) -> ForgetResult:
    """Erase the payload of one row, and text about it, from all files of a workspace.

    Estimates stay as they are: its id, predictions, scores, slices and labels are kept. What a file
    is like afterwards is recorded before it is written, so that this may be killed and run again.
    """
    workspace = Workspace(options.workspace)
    with workspace.in_use():
        pool = PreparedPool.read(workspace)
        parts = (options.id,) if isinstance(options.id, str) else tuple(options.id)
        files = tuple(sorted(dict.fromkeys(_erase(pool, _text_of(pool, parts)))))
    return ForgetResult(parts[0] if len(parts) == 1 else parts, files)


def _text_of(pool: PreparedPool, parts: tuple[str, ...]) -> str:
    """Return an id as `row_ids.as_text` has it."""
    columns = columns_of(pool.spec.pool.id)
    if len(parts) != len(columns):
        wanted = (
            f"{len(columns)} values, of {', '.join(columns)}" if len(columns) > 1 else "1 value"
        )
        raise InputError(f"{pool.workspace.path}: an id has {wanted}, got {len(parts)}")
    return parts[0] if len(parts) == 1 else text_of(parts)


def _erase(pool: PreparedPool, id: str) -> Iterator[str]:
    """Erase until nothing is left, and yield the names of files that held some.

    It ends when a look finds nothing that came after a record: whoever adds a round or labels
    finds the record, and gives up, or has let this look find what it holds.
    """
    workspace, store = pool.workspace, pool.workspace.store
    forgotten = ForgottenRows.read(pool)
    row = forgotten.hash(id)
    finished = forgotten.finished.get(row, False)
    while True:
        number = workspace.next_forgotten  # Before anything is read.
        look = _Look(pool, id)
        try:
            answers = look.through()
        except FileNotFoundError:  # Somebody who gave up removed it.
            continue
        if not look.known:
            raise InputError(f"{workspace.path}: no row of id {id!r} is kept here")
        if finished and not look.erased and not answers:
            return
        finished = not look.erased
        checksums = {
            name: dataclasses.asdict(Checksum.from_content(content))
            for name, content in look.erased.items()
        }
        workspace.add_forgotten(number, {ROW: row, FINISHED: finished, FILES: checksums})
        for name, content in look.erased.items():
            store.overwrite(name, content, look.was[name])
        yield from look.erased
        if finished:
            store.remove(answers)
            yield from answers


class _Look:
    """One look through all files of a workspace, also those that no commit names.

    Attributes:
        known: whether some file has a row of the id.
        erased: new content of each file that holds some of it, by name, in the order to write them.
        was: checksums of files when they were read.
    """

    def __init__(self, pool: PreparedPool, id: str) -> None:
        self._pool, self._spec, self._store = pool, pool.spec, pool.workspace.store
        self._row = {id} | stored_forms(id, pool.spec.pool.id)
        self._tasks: set[str] = set()
        self.known = False
        self.erased: dict[str, bytes] = {}
        self.was: dict[str, Checksum] = {}

    def through(self) -> list[str]:
        """Look through all files, and return the answers of jobs that nobody waits for."""
        names = self._store.below("")
        for name in filter(_TELLS_VERSION.fullmatch, names):
            self._store.read_json(name)
        pool = self._spec.pool
        payload = [PAYLOAD_PREFIX + name for name in pool.payload]
        for name in names:
            if batch := _BATCH.fullmatch(name):
                number = int(batch[1]) if batch[1] else -int(batch[2])
                self._batch(names, name, number, payload)
            elif name.startswith("reserve/") and name.endswith(".parquet"):
                self._clear(name, ID, self._row, payload, "zstd", GROUP_ROWS)
            elif name.startswith(("scored/", f"{STORED}/")) and name.endswith(".parquet"):
                self._clear(name, pool.id, self._row, pool.payload, "zstd")
        # By now all tasks of the row are known, of whatever round.
        for name in names:
            if name.startswith("labels/") and name.endswith(".parquet"):
                votes = self._clear(name, TASK, self._tasks, ["comment"], "zstd")
                details_of(self._store, name, votes)
            elif name.startswith("labels/") and name.endswith(".rejects.csv"):
                content, own = self._read(name), DeliveredIds(pool.id)
                cleared = rejects_without_text(content, self._tasks, self._row, own)
                if cleared != content:
                    self.erased[name] = cleared
        return [name for name in names if _ANSWER.fullmatch(name)]

    def _batch(self, names: Sequence[str], name: str, number: int, payload: list[str]) -> None:
        """Clear a batch and what annotators get of it."""
        folder, _, _ = name.rpartition("/")
        exported = f"{folder}/{task_file(self._spec, disputed=number < 0)}"
        shown_in = [file for file in names if file.startswith(exported)]
        # Looked at before what they are made from: who else changes them in between is noticed.
        self.was |= {file: self._store.checksum(file) for file in shown_in}
        made_from = [file for file in (name, f"{folder}/controls.parquet") if file in names]
        cleared = [self._clear(file, ID, self._row, payload, "snappy") for file in made_from]
        for table in cleared:
            self._tasks |= set(table.filter(is_among(table, ID, self._row))[TASK].to_pylist())
        last = {file: self.erased.pop(file) for file in made_from if file in self.erased}
        if last and shown_in:
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / exported.removeprefix(f"{folder}/")
                write_tasks(blind(*cleared), path, self._spec, self._pool.batch_name(number))
                for file in shown_in:
                    own = Path(directory) / file.removeprefix(f"{folder}/")
                    self.erased[file] = own.read_bytes()
        self.erased |= last  # By what the others are made from a killed call is known.

    def _read(self, name: str) -> bytes:
        content = self._store.read(name)
        self.was[name] = Checksum.from_content(content)
        return content

    def _clear(
        self,
        name: str,
        key: IdColumns,
        keys: Collection[str],
        columns: Sequence[str],
        compression: str,
        group_rows: int | None = None,
    ) -> pa.Table:
        """Return a table without what columns hold of the rows whose key is one of some."""
        table = self._store.parse_table(name, self._read(name))
        is_row = is_among(table, key, keys)
        if not pc.any(is_row).as_py():
            return table
        self.known = True
        cleared = without(table, is_row, columns)
        held = [column for column in columns if column in table.column_names]
        if any(pc.any(pc.and_(is_row, table[column].is_valid())).as_py() for column in held):
            self.erased[name] = parquet_content(cleared, compression, group_rows)
        return cleared
