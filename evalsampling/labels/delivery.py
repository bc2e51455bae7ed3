"""A delivery of labels: one file of limited size, read before the workspace is locked."""

import builtins
import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Sequence
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
        content: content of the file; empty if the votes were made in memory.
    """

    path: str
    replace: bool
    bytes: int
    sha256: str
    votes: Sequence[Vote]
    content: "builtins.bytes" = dataclasses.field(default=b"", repr=False)

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
        """Return a file of labels; reading may be slow, so call it before locking the workspace.

        Args:
            path: path or URL of the file.
            replace: whether its labels replace earlier ones.
            id_columns: the pool's columns of ids.
            follow: whether the path may be a symbolic link.
            sink: a sink of another package, which reads files with its endings itself.
            spec: of the evaluation, see `read_votes`.

        Raises:
            InputError: naming the file, if it cannot be read, is no regular file or is too large.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES, follow)
        digest = hashlib.sha256(content).hexdigest()
        votes = read_votes(path, content, id_columns, sink, spec)
        return cls(path, replace, len(content), digest, votes, content)

    @property
    def details(self) -> dict[str, Any]:
        """Name of the file and whether it replaces labels, as stored with its votes."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}

    @property
    def unended(self) -> int | None:
        """Number of the last line if it lacks its line end, else None."""
        return next((vote.line for vote in self.votes if vote.unended is not None), None)

    def beginnings(self, others: Iterable[tuple[int, str]]) -> list[str]:
        """Return the hashes of other files whose content this file begins with.

        Args:
            others: size and SHA-256 of the content of each; only shorter files can be beginnings.
        """
        content, digest, hashed = memoryview(self.content), hashlib.sha256(), 0
        matching = []
        for size, sha256 in sorted({*others}):
            if size < len(content):
                digest.update(content[hashed:size])
                hashed = size
                matching += [sha256] if digest.hexdigest() == sha256 else []
        return matching


def without_beginnings(files: Sequence[LabelFile]) -> tuple[list[LabelFile], list[str]]:
    """Return files without those that others of them begin with, and a message for each of these.

    Corrections are all kept, since their order matters.
    """
    by_content = {file.content: file for file in files if not file.replace}
    ordered = [by_content[content] for content in sorted(by_content)]
    longer = {
        file.sha256: following
        for file, following in itertools.pairwise(ordered)
        if file.content and following.content.startswith(file.content)
    }
    kept = [file for file in files if file.replace or file.sha256 not in longer]
    messages = [
        f"{file.path}: {longer[file.sha256].path} begins with it and goes on, so nothing is taken "
        "of it"
        for file in files
        if not file.replace and file.sha256 in longer
    ]
    return kept, messages
