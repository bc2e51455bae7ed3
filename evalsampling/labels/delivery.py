"""A delivery of labels: one file, read whole, within bounds, before anything is locked."""

import builtins
import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.labels.formats import read_votes
from evalsampling.labels.sinks import Sink
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
        content: of the file; empty if it is none, and was made in memory.
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
        id_column: str = "id",
        follow: bool = True,
        sink: Sink | None = None,
    ) -> "LabelFile":
        """Read a file of labels; it may be slow to come, so do it before the workspace is locked.

        Args:
            path: of the file, or its URL.
            replace: whether its labels replace earlier ones.
            id_column: what the pool calls its ids.
            follow: whether the path may be a symbolic link.
            sink: of another package, that reads files of its endings itself.

        Raises:
            InputError: naming the file, if it cannot be read, is no regular file or is too large.
        """
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_regular_file(path, MOST_BYTES, follow)
        digest = hashlib.sha256(content).hexdigest()
        votes = read_votes(path, content, id_column, sink)
        return cls(path, replace, len(content), digest, votes, content)

    @property
    def details(self) -> dict[str, Any]:
        """What is stored of where its labels came from."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}

    @property
    def unended(self) -> int | None:
        """The last line, if it has no end of its own; None if it has."""
        return next((vote.line for vote in self.votes if vote.unended is not None), None)

    def beginnings(self, others: Iterable[tuple[int, str]]) -> list[str]:
        """Return the hashes of other files that it begins with, and goes on after.

        Args:
            others: size and SHA-256 of the content of each.
        """
        content, digest, hashed = memoryview(self.content), hashlib.sha256(), 0
        found = []
        for size, sha256 in sorted({*others}):
            if size < len(content):
                digest.update(content[hashed:size])
                hashed = size
                found += [sha256] if digest.hexdigest() == sha256 else []
        return found


def without_beginnings(files: Sequence[LabelFile]) -> tuple[list[LabelFile], list[str]]:
    """Return files but for those that others begin with, and a message for each of these.

    Corrections all stay: which of them came first matters.
    """
    ordered = sorted({one.content: one for one in files if not one.replace}.values(),
                     key=lambda one: one.content)  # fmt: skip
    longer = {
        one.sha256: following
        for one, following in itertools.pairwise(ordered)
        if one.content and following.content.startswith(one.content)
    }
    kept = [one for one in files if one.replace or one.sha256 not in longer]
    messages = [
        f"{one.path}: {longer[one.sha256].path} begins with it and goes on, so nothing is taken "
        "of it"
        for one in files
        if not one.replace and one.sha256 in longer
    ]
    return kept, messages
