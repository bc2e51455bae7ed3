"""A delivery of labels: one file, read whole, within bounds, before anything is locked."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.labels.formats import read_votes
from evalsampling.labels.vote import Vote
from evalsampling.storage.filesystems import read_regular_file

MOST_BYTES = 1 << 28
"""Most bytes of a file of labels."""


@dataclasses.dataclass(frozen=True)
class LabelFile:
    """A file of labels, as it was read.

    Attributes:
        path: of the file, or its URL.
        replace: whether its labels replace earlier ones.
        bytes: its size.
        sha256: of its content.
        votes: in it, line by line.
    """

    path: str
    replace: bool
    bytes: int
    sha256: str
    votes: Sequence[Vote]

    @classmethod
    def read(cls, path: str, replace: bool = False, id_column: str = "id") -> "LabelFile":
        """Read a file of labels; it may be slow to come, so do it before the workspace is locked.

        Args:
            path: of the file, or its URL.
            replace: whether its labels replace earlier ones.
            id_column: what the pool calls its ids.

        Raises:
            InputError: naming the file, if it cannot be read, is no regular file or is too large.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES)
        digest = hashlib.sha256(content).hexdigest()
        return cls(path, replace, len(content), digest, read_votes(path, content, id_column))

    @property
    def details(self) -> dict[str, Any]:
        """What is stored of where its labels came from."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}
