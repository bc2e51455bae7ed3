"""Folders that deliveries are dropped into: of this machine or of a store."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.fs

from evalsampling.errors import InputError
from evalsampling.labels.formats import endings
from evalsampling.labels.sinks import Sink
from evalsampling.storage.filesystems import is_url, locate, unreadable


@dataclasses.dataclass(frozen=True)
class Found:
    """Files of labels at some paths, and messages about what was left out.

    Attributes:
        files: files of labels, those of a folder in its place and ordered by name.
        without: a message for each folder without files of labels.
        links: a message for each symbolic link in a folder; links are not followed.
        listed: the files that are in folders; when read, they still must not be links.
    """

    files: tuple[str, ...]
    without: tuple[str, ...]
    links: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()


def look_in(paths: Sequence[str], sink: Sink | None = None) -> Found:
    """Return the files of labels at some paths, and which folders hold none.

    In a folder, names that begin with ``.`` or ``~`` (unfinished files, locks of open workbooks)
    and other extensions are left out. So are symbolic links: whoever may write into the folder
    could name any file with one. A path that is given may be a link, or lead through links.

    Args:
        paths: paths of files or folders; a folder of a store ends in ``/``.
        sink: a sink of another package, which reads files with its endings itself.

    Raises:
        InputError: if a folder cannot be read.
    """
    extensions = endings(sink)
    files, without, links = [], [], []
    of_folders: set[str] = set()
    for path in paths:
        if not _is_folder(path):
            files.append(path)
            continue
        listed = _listed(path)
        candidates = sorted(file for file in listed if _is_wanted(PurePath(file).name, extensions))
        wanted = [file for file in candidates if not _is_link(file)]
        files += wanted
        of_folders |= {*wanted}
        links += [f"{file}: a symbolic link, passed over" for file in candidates if _is_link(file)]
        if not wanted:
            others = f"{len(listed)} other file{'s' * (len(listed) != 1)} passed over"
            without.append(f"{path}: no deliveries ({', '.join(sorted(extensions))}), {others}")
    return Found(tuple(files), tuple(without), tuple(links), frozenset(of_folders))


def _is_folder(path: str) -> bool:
    return path.endswith("/") if is_url(path) else Path(path).is_dir()


def _is_link(path: str) -> bool:
    return not is_url(path) and Path(path).is_symlink()


def _listed(path: str) -> list[str]:
    """Return the files of a folder."""
    if is_url(path):
        filesystem, inner, prefix = locate(path.rstrip("/"))
        try:
            entries = filesystem.get_file_info(pyarrow.fs.FileSelector(inner))
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        is_file = pyarrow.fs.FileType.File
        return [f"{prefix}{entry.path}" for entry in entries if entry.type == is_file]
    try:
        return [str(entry) for entry in Path(path).iterdir() if not entry.is_dir()]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _is_wanted(name: str, extensions: tuple[str, ...]) -> bool:
    return not name.startswith((".", "~")) and name.lower().endswith(extensions)
