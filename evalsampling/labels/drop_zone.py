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
    """What stands where deliveries were said to be.

    Attributes:
        files: of labels, with those of a folder in place of it, ordered by name.
        without: a message for each folder that holds no file of labels.
        links: a message for each symbolic link in a folder that was passed over.
        listed: files of folders, none of which may be a link when it is read either.
    """

    files: tuple[str, ...]
    without: tuple[str, ...]
    links: tuple[str, ...] = ()
    listed: frozenset[str] = frozenset()


def look_in(paths: Sequence[str], sink: Sink | None = None) -> Found:
    """Return files of labels, and which folders hold none.

    Of a folder, names that begin with ``.`` or ``~`` and other extensions are passed over: files
    on their way, those of workbooks that are open, and what else may be there. So are symbolic
    links: who may write into a folder could name any file with one. A path that is given may be
    one, or lead through some.

    Args:
        paths: of files or folders; a folder of a store ends in ``/``.
        sink: of another package, that reads files of its endings itself.

    Raises:
        InputError: if a folder cannot be read.
    """
    known = endings(sink)
    files, without, links = [], [], []
    of_folders: set[str] = set()
    for path in paths:
        listed = _listed(path) if _is_folder(path) else None
        found = [path] if listed is None else _wanted(listed, known)
        wanted = [one for one in found if listed is None or not _is_link(one)]
        files += wanted
        of_folders |= set() if listed is None else {*wanted}
        links += [f"{one}: a symbolic link, passed over" for one in found if one not in wanted]
        if listed is not None and not wanted:
            others = f"{len(listed)} other file{'s' * (len(listed) != 1)} passed over"
            without.append(f"{path}: no deliveries ({', '.join(sorted(known))}), {others}")
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
            found = filesystem.get_file_info(pyarrow.fs.FileSelector(inner))
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from error
        files = [one.path for one in found if one.type == pyarrow.fs.FileType.File]
        return [f"{prefix}{one}" for one in files]
    try:
        return [str(one) for one in Path(path).iterdir() if not one.is_dir()]
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _wanted(files: Sequence[str], known: tuple[str, ...]) -> list[str]:
    return sorted(file for file in files if _is_wanted(PurePath(file).name, known))


def _is_wanted(name: str, known: tuple[str, ...]) -> bool:
    return not name.startswith((".", "~")) and name.lower().endswith(known)
