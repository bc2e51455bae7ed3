"""What the files of a workspace are without the payload of one row."""

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.tasks import TASK, blind
from evalsampling.pool.row_ids import stored_forms
from evalsampling.pool.stored_columns import ID, PAYLOAD_PREFIX
from evalsampling.spec.id_columns import IdColumns
from evalsampling.storage import Store, write_parquet
from evalsampling.storage.checksums import Checksum
from evalsampling.workspace.deliveries import details_of
from evalsampling.workspace.forgotten import is_among, rejects_without_text, without
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import STORED

_RESERVE_GROUP = 1024

_BATCH = re.compile(r"(rounds|adjudications)/(\d+)/(?:\w+/)?(batch|tasks)\.parquet")
_TELLS_VERSION = re.compile(r"(rounds|adjudications)/\d+/(design|closed)\.json|taken/\d+\.json")
"""Files whose version is also that of others, which are looked through."""

_LEFTOVER = re.compile(r"\.answer-[0-9a-f]{32}\.json")
"""What a job reported to its command, which may hold what a rejected vote says."""


class Erasure:
    """Looks through a workspace once, and keeps in mind what the files were like.

    Attributes:
        known: whether some file has a row of that id.
        was: what each file is like that holds some of it, when it was read.
        leftovers: files that killed commands left, which may hold some of it.
    """

    def __init__(self, pool: PreparedPool, id: str) -> None:
        """Begin to look for what is kept of the row of an id, as `row_ids.as_text` has it."""
        self._pool, self._spec = pool, pool.spec
        self._row = {id} | stored_forms(id, pool.spec.pool.id)
        self._store: Store = pool.workspace.store
        self._tasks: set[str] = set()
        self._ids = {*self._row}
        self._payload = [PAYLOAD_PREFIX + name for name in pool.spec.pool.payload]
        self.known = False
        self.was: dict[str, Checksum] = {}
        self.leftovers: list[str] = []

    def files(self) -> dict[str, bytes]:
        """Return the new content of each file that holds some of it, by name.

        Files that no commit names yet, or never will, are among them.
        """
        names = self._store.below("")
        for name in filter(_TELLS_VERSION.fullmatch, names):
            self._store.read_json(name)
        self.leftovers = [name for name in names if _LEFTOVER.fullmatch(name)]
        # After the rows all tasks of the row are known, of whatever round.
        return {**dict(self._rows(names)), **dict(self._texts(names))}

    def _rows(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield files with rows of the pool or tasks."""
        pool = self._spec.pool
        for name in names:
            batch = _BATCH.fullmatch(name)
            if batch is not None and (batch[1] == "rounds") == (batch[3] == "batch"):
                number = int(batch[2])
                yield from self._batch(names, name, number if batch[1] == "rounds" else -number)
            elif name.startswith("reserve/") and name.endswith(".parquet"):
                yield from self._erased(name, ID, self._row, self._payload, "zstd", _RESERVE_GROUP)
            elif name.startswith(("scored/", f"{STORED}/")) and name.endswith(".parquet"):
                yield from self._erased(name, pool.id, self._row, pool.payload, "zstd")

    def _batch(self, names: Sequence[str], name: str, number: int) -> Iterator[tuple[str, bytes]]:
        """Yield the files of a batch, what it is made from last: by it a killed call is known."""
        folder, _, _ = name.rpartition("/")
        exported = f"{folder}/{task_file(self._spec, disputed=number < 0)}"
        shown_in = [file for file in names if file.startswith(exported)]
        # Looked at before what they are made from: who else changes them in between is noticed.
        self.was |= {file: self._store.checksum(file) for file in shown_in}
        erased: dict[str, bytes] = {}
        cleared = []
        beside = f"{folder}/controls.parquet"
        for file in (name, beside) if beside in names else (name,):
            table = self._read(file)
            erased |= dict(self._erased(file, ID, self._row, self._payload, "snappy", table=table))
            is_row = is_among(table, ID, self._row)
            self._tasks |= set(table.filter(is_row)[TASK].to_pylist())
            cleared.append(without(table, is_row, self._payload))
        if erased and shown_in:
            yield from self._shown(exported, shown_in, blind(*cleared), number)
        yield from erased.items()

    def _shown(
        self, exported: str, exports: Sequence[str], shown: pa.Table, number: int
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the files for the annotators anew, as far as they are still there."""
        with tempfile.TemporaryDirectory() as directory:
            folder, _, file = exported.rpartition("/")
            name = self._pool.batch_name(number)
            write_tasks(shown, Path(directory) / file, self._spec, name)
            for name in exports:
                yield name, (Path(directory) / name.removeprefix(f"{folder}/")).read_bytes()

    def _texts(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield deliveries, and lists of what they had that was rejected."""
        own = DeliveredIds(self._spec.pool.id)
        for name in names:
            if not name.startswith("labels/"):
                continue
            if name.endswith(".parquet"):
                votes = self._read(name)
                details_of(self._store, name, votes)
                yield from self._erased(name, TASK, self._tasks, ["comment"], "zstd", table=votes)
            elif name.endswith(".rejects.csv"):
                content = self._store.read(name)
                self.was[name] = Checksum.from_content(content)
                cleared = rejects_without_text(content, self._tasks, self._ids, own)
                if cleared != content:
                    yield name, cleared

    def _read(self, name: str) -> pa.Table:
        """Return the table of a Parquet file, and keep in mind what the file is like."""
        content = self._store.read(name)
        self.was[name] = Checksum.from_content(content)
        return self._store.parse_table(name, content)

    def _erased(
        self,
        name: str,
        key: IdColumns,
        keys: Collection[str],
        columns: Sequence[str],
        compression: str,
        group_rows: int | None = None,
        table: pa.Table | None = None,
    ) -> Iterator[tuple[str, bytes]]:
        """Yield a Parquet file and its new content; nothing if it holds nothing.

        The columns of its table are cleared where the column ``key`` has one of the keys.
        """
        table = self._read(name) if table is None else table
        is_row = is_among(table, key, keys)
        if not pc.any(is_row).as_py():
            return
        self.known = True
        present = [column for column in columns if column in table.column_names]
        if any(pc.any(pc.and_(is_row, table[column].is_valid())).as_py() for column in present):
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "table.parquet"
                write_parquet(without(table, is_row, present), path, compression, group_rows)
                yield name, path.read_bytes()
