"""Deliveries of labels: files, or folders of them, of limited size, of this machine or a store."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

import pyarrow.fs

from evalsampling.errors import InputError
from evalsampling.labels.formats import endings, read_votes
from evalsampling.labels.vote import MOST_BYTES, Vote
from evalsampling.spec import LabellingPlan
from evalsampling.storage.filesystems import is_url, locate, read_regular_file, readable


@dataclasses.dataclass(frozen=True)
class LabelPath:
    """A file of labels that is to be read. A file that was seen in a folder must be no link."""

    path: str
    replace: bool = False
    follow: bool = True


@dataclasses.dataclass(frozen=True)
class LabelFile:
    """A file of labels that was read: its votes, and the size and SHA-256 of its content."""

    path: str
    replace: bool
    bytes: int
    sha256: str
    votes: Sequence[Vote]

    @classmethod
    def read(cls, file: LabelPath, plan: LabellingPlan | None = None) -> "LabelFile":
        """Return a file of labels; reading may be slow, so call it before locking the workspace."""
        path = file.path
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES, file.follow)
        digest = hashlib.sha256(content).hexdigest()
        return cls(path, file.replace, len(content), digest, read_votes(path, content, plan))

    @property
    def details(self) -> dict[str, Any]:
        """Name of the file and whether it replaces labels, as stored with its votes."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}


@dataclasses.dataclass(frozen=True)
class Listing:
    """Files of labels; messages on folders ``without`` any, and on links, which are passed over."""

    files: list[LabelPath] = dataclasses.field(default_factory=list)
    without: list[str] = dataclasses.field(default_factory=list)
    links: list[str] = dataclasses.field(default_factory=list)


def look_in(
    paths: Sequence[str], replace: Sequence[str] = (), plan: LabellingPlan | None = None
) -> Listing:
    """Return the files of labels at some paths, and which folders hold none.

    In a folder, names that begin with ``.`` or ``~`` (unfinished files, locks of open workbooks)
    and other extensions are left out. So are symbolic links: whoever may write into the folder
    could name any file with one. A path that is given may be a link, or lead through links.
    """
    listing = Listing()
    for path, replaces in [*((path, False) for path in paths), *((path, True) for path in replace)]:
        if not (path.endswith("/") if is_url(path) else Path(path).is_dir()):
            listing.files.append(LabelPath(path, replaces))
            continue
        listed, extensions = _listed(path), endings(plan)
        candidates = sorted(file for file in listed if _is_wanted(PurePath(file).name, extensions))
        wanted = [file for file in candidates if is_url(file) or not Path(file).is_symlink()]
        links = sorted({*candidates} - {*wanted})
        listing.files.extend(LabelPath(file, replaces, follow=False) for file in wanted)
        listing.links.extend(f"{file}: a symbolic link, passed over" for file in links)
        if not wanted:
            others = f"{len(listed)} other file{'s' * (len(listed) != 1)} passed over"
            listing.without.append(
                f"{path}: no deliveries ({', '.join(sorted(extensions))}), {others}"
            )
    return listing


def _listed(path: str) -> list[str]:
    """Return the files of a folder."""
    with readable(path):
        if not is_url(path):
            return [str(entry) for entry in Path(path).iterdir() if not entry.is_dir()]
        filesystem, inner, prefix = locate(path.rstrip("/"))
        entries = filesystem.get_file_info(pyarrow.fs.FileSelector(inner))
        is_file = pyarrow.fs.FileType.File
        return [f"{prefix}{entry.path}" for entry in entries if entry.type == is_file]


def _is_wanted(name: str, extensions: tuple[str, ...]) -> bool:
    return not name.startswith((".", "~")) and name.lower().endswith(extensions)
