"""A delivery of labels: one file of limited size, read before the workspace is locked."""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.labels.formats import read_votes
from evalsampling.labels.limits import MOST_BYTES
from evalsampling.labels.sinks import Sink
from evalsampling.labels.vote import Vote
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import IdColumns
from evalsampling.storage.filesystems import read_regular_file


@dataclasses.dataclass(frozen=True)
class LabelFile:
    """A file of labels that was read.

    Attributes:
        path: path or URL of the file.
        replace: whether its labels replace earlier ones.
        bytes: size of the file.
        sha256: SHA-256 of its content.
        votes: its votes, line by line.
    """

    path: str
    replace: bool
    bytes: int
    sha256: str
    votes: Sequence[Vote]

    @classmethod
    def read(
        cls,
        path: str,
        replace: bool = False,
        id_columns: IdColumns = "id",
        follow: bool = True,
        sink: Sink | None = None,
        spec: EvaluationSpec | None = None,
    ) -> "LabelFile":
        """Return a file of labels; reading may be slow, so call it before locking the workspace."""
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES, follow)
        digest = hashlib.sha256(content).hexdigest()
        votes = read_votes(path, content, id_columns, sink, spec)
        return cls(path, replace, len(content), digest, votes)

    @property
    def details(self) -> dict[str, Any]:
        """Name of the file and whether it replaces labels, as stored with its votes."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}
