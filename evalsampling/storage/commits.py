"""Commits: one file that names other files with their checksums, written last.

The files are there first, under names that nobody looks for. The commit is then created under a
name that its rivals want too. If it was there, this one is lost; otherwise all of its files count.
So a reader sees all of a change or nothing, and of two writers one wins and the other gets an
error. A note says, until then, which files are being written: so those of a killed command are told
from those whose commit has gone.
"""

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalsampling.errors import InputError
from evalsampling.storage.base import Store, within
from evalsampling.storage.checksums import FILES, Checksum
from evalsampling.storage.filesystems import naming

UNFINISHED = ".unfinished"
"""Folder of notes of commits that are being written, and of files that have no name yet."""

_NOTE = ".json"

COMMIT = "commit"
"""Key of a commit: its id, like no other."""


class Commit:
    """Files that come into a store together."""

    def __init__(self, store: Store, folder: str, id: str, directory: Path) -> None:
        """Begin with no files; they are written in a directory of this machine."""
        self._store = store
        self.id = id
        # In a shared store each commit has its own folder, since rivals that write at once must not
        # meet before one of their commits is there.
        self.folder = f"{folder}/{id}" if store.shared else folder
        self.directory = directory

    def path(self, name: str) -> Path:
        """Return the local path at which to write a file of the folder."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def place(self, name: str) -> str:
        """Return the name in the store of a file of the folder."""
        return f"{within(self.folder)}{name}"

    def write(
        self,
        marker: str,
        content: Mapping[str, Any],
        beside: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Make the files count, by creating the marker, which names them with their checksums.

        JSON files of other folders may count with them. A `FileExistsError` says that another was
        first. If the store fails, the files count if the marker is there.
        """
        store, note = self._store, f"{UNFINISHED}/{self.id}{_NOTE}"
        files = {self.place(name): path for name, path in self._written().items()}
        others = {self._apart(name): told for name, told in (beside or {}).items()}
        checksums = {name: dataclasses.asdict(Checksum.of_file(files[name])) for name in files}
        begun = [note]
        try:
            with naming(Path(store.url(marker)), Path(store.url(note))):
                store.write_json(note, {"marker": marker, FILES: sorted([*files, *others])})
            for name, path in files.items():
                begun.insert(0, name)
                if not store.create(name, path) and not store.shared:
                    begun.remove(name)
                    raise FileExistsError(f"{store.url(name)} exists")
            for name, told in others.items():
                begun.insert(0, name)
                store.write_json(name, told)
            if not store.exists(note):
                raise InputError(f"{store.root}: files were removed meanwhile; run this one again")
        except (Exception, KeyboardInterrupt):
            # They may count by an earlier try of the same job.
            if store.find_json(marker).get(COMMIT) != self.id:
                store.remove(begun)
            raise
        try:
            whole = {**content, FILES: {**content.get(FILES, {}), **checksums}}
            _create_alone(store, marker, whole, self.id)
        except (Exception, KeyboardInterrupt) as error:
            # A request to a shared store may be carried out after its answer was lost.
            if isinstance(error, FileExistsError) or not (store.shared or store.exists(marker)):
                store.remove(begun)
            raise
        store.remove([note])

    def _apart(self, name: str) -> str:
        """Return the name in the store of a file of another folder."""
        folder, _, file = name.rpartition("/")
        return f"{folder}/{self.id}/{file}" if self._store.shared else name

    def _written(self) -> dict[str, Path]:
        """Return the local files by their names."""
        if not self.directory.exists():
            raise InputError(f"{self._store.root}: files were removed meanwhile; run this again")
        return {
            path.relative_to(self.directory).as_posix(): path
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }


@contextlib.contextmanager
def begin(store: Store, folder: str, id: str = "") -> Iterator[Commit]:
    """Yield a commit of files of a folder, to fill and to write."""
    with store.scratch(folder) as directory:
        yield Commit(store, folder, id or uuid.uuid4().hex[:12], directory)


def _create_alone(store: Store, name: str, content: Mapping[str, Any], id: str) -> None:
    """Create a JSON file that others may create too; a `FileExistsError` says that one did."""
    store.write_json(name, {**content, COMMIT: id})
    # Its content shows who created it: a request that succeeded may be sent again and fail.
    if store.read_json(name).get(COMMIT) != id:
        raise FileExistsError(f"{store.url(name)} exists")


def unfinished(store: Store) -> list[list[str]]:
    """Return the files of each commit that is being written, or was by a killed command."""
    notes = _notes(store).items()
    return [note[FILES] for id, note in notes if store.find_json(note["marker"]).get(COMMIT) != id]


def uncommitted(store: Store) -> set[str]:
    """Return the files that do not count yet, or never will."""
    return {name for files in unfinished(store) for name in files}


def sweep(store: Store) -> None:
    """Remove the files of commits that killed commands left; none may be at work."""
    for id, note in _notes(store).items():
        there = store.find_json(note["marker"])
        if there.get(COMMIT) != id:
            store.remove([file for file in note[FILES] if file not in there.get(FILES, {})])
        store.remove([f"{UNFINISHED}/{id}{_NOTE}"])


def _notes(store: Store) -> dict[str, dict[str, Any]]:
    """Return the notes of commits by their ids."""
    notes = {}
    for name in store.sizes(within(UNFINISHED)):
        if name.endswith(_NOTE):
            try:
                id = name.removeprefix(within(UNFINISHED)).removesuffix(_NOTE)
                notes[id] = store.read_json(name, ["marker", FILES])
            except InputError as error:
                # Its command has come to an end meanwhile.
                if not isinstance(error.__cause__, FileNotFoundError):
                    raise
    return notes
