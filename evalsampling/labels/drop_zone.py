"""Folders that deliveries are dropped into: of this machine or of a store."""

from collections.abc import Sequence
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError
from evalsampling.labels.formats import SUFFIXES
from evalsampling.storage.filesystems import is_url, locate, unreadable


def files_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Return files of labels, with those of a folder in place of it, ordered by name.

    Of a folder, names that begin with ``.`` or ``~`` and other extensions are passed over: files
    on their way, those of workbooks that are open, and what else may be there.

    Args:
        paths: of files or folders; a folder of a store ends in ``/``.

    Raises:
        InputError: if a folder cannot be read.
    """
    return tuple(file for path in paths for file in _files_of(path))


def _files_of(path: str) -> list[str]:
    if is_url(path):
        if not path.endswith("/"):
            return [path]
        filesystem, inner, prefix = locate(path.rstrip("/"))
        try:
            found = filesystem.get_file_info(pyarrow.fs.FileSelector(inner))
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        files = [one.path for one in found if one.type == pyarrow.fs.FileType.File]
        return sorted(f"{prefix}{one}" for one in files if _is_wanted(one))
    if not Path(path).is_dir():
        return [path]
    try:
        return sorted(str(one) for one in Path(path).iterdir() if _is_wanted(one.name))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _is_wanted(path: str) -> bool:
    name = PurePath(path).name
    return not name.startswith((".", "~")) and PurePath(name).suffix.lower() in SUFFIXES
