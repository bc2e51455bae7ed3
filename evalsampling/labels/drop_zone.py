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
    return tuple(
        file for path in paths for file in (_wanted(_listed(path)) if _is_folder(path) else [path])
    )


def without_deliveries(paths: Sequence[str]) -> list[str]:
    """Return a message for each folder among some paths that holds no file of labels.

    Args:
        paths: as `files_in` takes them.

    Raises:
        InputError: if a folder cannot be read.
    """
    known = ", ".join(sorted(SUFFIXES))
    messages = []
    for path in filter(_is_folder, paths):
        listed = _listed(path)
        if not _wanted(listed):
            others = f"{len(listed)} other file{'s' * (len(listed) != 1)} passed over"
            messages.append(f"{path}: no deliveries ({known}), {others}")
    return messages


def _is_folder(path: str) -> bool:
    return path.endswith("/") if is_url(path) else Path(path).is_dir()


def _listed(path: str) -> list[str]:
    """Return the files of a folder."""
    if is_url(path):
        filesystem, inner, prefix = locate(path.rstrip("/"))
        try:
            found = filesystem.get_file_info(pyarrow.fs.FileSelector(inner))
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        files = [one.path for one in found if one.type == pyarrow.fs.FileType.File]
        return [f"{prefix}{one}" for one in files]
    try:
        return [str(one) for one in Path(path).iterdir() if not one.is_dir()]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _wanted(files: Sequence[str]) -> list[str]:
    return sorted(file for file in files if _is_wanted(file))


def _is_wanted(path: str) -> bool:
    name = PurePath(path).name
    return not name.startswith((".", "~")) and PurePath(name).suffix.lower() in SUFFIXES
