"""The files of any store as a read-only file system of Arrow."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.fs


class _Readable(Protocol):
    """A store, as far as it is read."""

    root: str

    def read(self, name: str) -> bytes: ...
    def sizes(self, beginning: str = "") -> Mapping[str, int]: ...


class StoredFiles(pyarrow.fs.FileSystemHandler):  # type: ignore[misc]
    """A read-only file system over the ``sizes`` and ``read`` of a store."""

    def __init__(self, store: _Readable) -> None:
        """Name the store."""
        self.store = store

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredFiles) and other.store.root == self.store.root

    def __hash__(self) -> int:
        return hash(self.store.root)

    def get_type_name(self) -> str:
        """Return the name of this kind of file system."""
        return "evalsampling"

    def normalize_path(self, path: str) -> str:
        """Return a path without a slash at its ends."""
        return path.strip("/")

    def get_file_info(self, paths: Sequence[str]) -> list[Any]:
        """Return for each path whether it is a file, a folder or nothing."""
        return [self._info(self.normalize_path(path)) for path in paths]

    def _info(self, path: str) -> Any:
        sizes = self.store.sizes(path)
        if path in sizes:
            return pyarrow.fs.FileInfo(path, pyarrow.fs.FileType.File, size=sizes[path])
        is_folder = any(name.startswith(f"{path}/".lstrip("/")) for name in sizes)
        kind = pyarrow.fs.FileType.Directory if is_folder else pyarrow.fs.FileType.NotFound
        return pyarrow.fs.FileInfo(path, kind)

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        """Return the files and folders that are in a folder, or below it."""
        folder = self.normalize_path(selector.base_dir)
        base = f"{folder}/".lstrip("/")
        sizes = self.store.sizes(base)
        if not sizes and not selector.allow_not_found:
            raise FileNotFoundError(f"{self.store.root}/{folder}: no such folder")
        infos: dict[str, Any] = {}
        for name, size in sizes.items():
            parts = name.removeprefix(base).split("/")
            for depth in range(1, len(parts)):
                inner = base + "/".join(parts[:depth])
                if depth == 1 or selector.recursive:
                    infos[inner] = pyarrow.fs.FileInfo(inner, pyarrow.fs.FileType.Directory)
            if len(parts) == 1 or selector.recursive:
                infos[name] = pyarrow.fs.FileInfo(name, pyarrow.fs.FileType.File, size=size)
        return list(infos.values())

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Return a file for reading at any position; all of it is read at once."""
        return pa.PythonFile(pa.BufferReader(self.store.read(self.normalize_path(path))), "r")

    open_input_stream = open_input_file

    def _refuse(self, *_: object) -> NoReturn:
        raise OSError(f"{self.store.root}: files are written by the store itself")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse
