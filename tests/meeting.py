"""Commands that meet in a bucket: one comes in before a request of the other."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import storage

from evalsampling.storage import filesystems
from evalsampling.storage.gcs import GcsStore

RUN = "specs/run/"


class Requests:
    """Counts the requests of a store, and lets another command come in before one of them.

    Attributes:
        done: requests so far, but for those of the other command.
        came: of the other command.
    """

    def __init__(self, at: int | None, other: Callable[[], Any]) -> None:
        self.done = 0
        self.came: Any = None
        self._at, self._other, self._busy = at, other, False

    def wrap(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def requested(*given: Any, **named: Any) -> Any:
            if not self._busy:
                self.done += 1
                if self.done == self._at:
                    self._busy = True
                    self.came = self._other()
                    self._busy = False
            return request(*given, **named)

        return requested


@contextlib.contextmanager
def requests(at: int | None, other: Callable[[], Any]) -> Iterator[Requests]:
    """Let another command come in before the request of a number, from 1; None for none."""
    counted = Requests(at, other)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filesystems, "_REQUESTS", 1)  # Else some requests go on meanwhile.
        for name in ("_plain_errors", "read_rows"):
            patch.setattr(GcsStore, name, counted.wrap(getattr(GcsStore, name)))
        yield counted


def contents(bucket: storage.Bucket) -> dict[str, bytes]:
    return {blob.name: blob.download_as_bytes() for blob in bucket.list_blobs(prefix=RUN)}


def put_back(bucket: storage.Bucket, kept: dict[str, bytes]) -> None:
    """Let a workspace be as it was."""
    for blob in bucket.list_blobs(prefix=RUN):
        blob.delete()
    for name, content in kept.items():
        bucket.blob(name).upload_from_string(content)
