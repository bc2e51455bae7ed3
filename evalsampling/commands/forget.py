"""Erasing what a workspace holds of one row beside what estimates need: its payload."""

import dataclasses
from collections.abc import Iterator, Sequence

from evalsampling.commands.erasure import Erasure
from evalsampling.commands.options import WorkspaceOptions, argument
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.pool.row_ids import text_of
from evalsampling.spec.id_columns import columns_of
from evalsampling.storage.checksums import FILES, Checksum
from evalsampling.workspace.forgotten import FINISHED, ROW, ForgottenRows
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace


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
        erasure = Erasure(pool, id)
        try:
            files = erasure.files()
        except FileNotFoundError:  # Somebody who gave up removed it.
            continue
        if not erasure.known:
            raise InputError(f"{workspace.path}: no row of id {id!r} is kept here")
        if finished and not files and not erasure.leftovers:
            return
        finished = not files
        checksums = {name: dataclasses.asdict(Checksum.from_content(files[name])) for name in files}
        workspace.add_forgotten(number, {ROW: row, FINISHED: finished, FILES: checksums})
        for name, content in files.items():
            store.overwrite(name, content, erasure.was[name])
        yield from files
        if finished:
            store.remove(erasure.leftovers)
            yield from erasure.leftovers
