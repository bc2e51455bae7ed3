"""A store in Google Cloud Storage.

Objects are created with the precondition that there is none of the name (``ifGenerationMatch=0``),
so none is ever overwritten, and requests may be repeated safely. The client does so, with back-off,
and sends large files in parts that are resumed.
"""

import contextlib
import functools
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import google.auth.exceptions
import requests
from google.api_core import exceptions
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY

from evalsampling.errors import InputError
from evalsampling.storage.base import AccessError, Store
from evalsampling.storage.filesystems import EMULATOR, one_line

_FIELDS = "items(name,size,generation),nextPageToken"

_RETRY = DEFAULT_RETRY.with_timeout(60)
"""Each request is repeated after transient failures, for a minute."""


class GcsStore(Store):
    """The objects of a bucket whose names begin with a prefix."""

    def __init__(self, bucket: str, prefix: str) -> None:
        """Name a store; nothing is read yet."""
        self.bucket = bucket
        self.prefix = prefix
        self.root = f"gs://{bucket}/{prefix}".rstrip("/")

    @property
    def _bucket(self) -> storage.Bucket:
        return _client(os.environ.get(EMULATOR), os.getpid()).bucket(self.bucket)

    def _blob(self, name: str) -> storage.Blob:
        return self._bucket.blob(self.prefix + name)

    def exists(self, name: str) -> bool:
        # A listing, unlike a request for the object, distinguishes a missing bucket.
        return self.prefix + name in (blob.name for blob in self._list(name, most=1))

    def _list(self, prefix: str, most: int | None = None) -> list[storage.Blob]:
        with self._plain_errors(prefix):
            options = {"prefix": self.prefix + prefix, "max_results": most, "retry": _RETRY}
            return list(self._bucket.list_blobs(fields=_FIELDS, **options))

    def objects(self, prefix: str) -> list[tuple[str, int, int]]:
        """Return name, size in bytes and generation of all objects with a prefix."""
        blobs = self._list(prefix)
        return [(b.name.removeprefix(self.prefix), b.size, b.generation) for b in blobs]

    # --- the five calls

    def sizes(self, beginning: str = "") -> dict[str, int]:
        return {name: size for name, size, _ in self.objects(beginning)}

    def read(self, name: str) -> bytes:
        with self._plain_errors(name):
            try:
                content: bytes = self._blob(name).download_as_bytes(retry=_RETRY)
            except exceptions.NotFound as error:
                raise FileNotFoundError(f"{self.url(name)}: no such object") from error
        return content

    def create(self, name: str, content: bytes | Path) -> bool:
        with self._plain_errors(name), contextlib.suppress(exceptions.PreconditionFailed):
            if isinstance(content, Path):
                self._blob(name).upload_from_filename(content, if_generation_match=0, retry=_RETRY)
            else:
                self._blob(name).upload_from_string(content, if_generation_match=0, retry=_RETRY)
            return True
        return False

    def overwrite(self, name: str, content: bytes) -> None:
        with self._plain_errors(name):
            self._blob(name).upload_from_string(content, retry=_RETRY)

    def remove(self, names: Collection[str]) -> None:
        for name in names:
            with self._plain_errors(name), contextlib.suppress(exceptions.NotFound):
                self._blob(name).delete(retry=_RETRY)

    @contextlib.contextmanager
    def _plain_errors(self, name: str) -> Iterator[None]:
        """Turn errors of the client into an `InputError` of one line, within the block.

        The caller handles missing objects, so ``NotFound`` here means that the bucket is missing.
        """
        url = self.url(name)
        try:
            yield
        except exceptions.NotFound as error:
            raise InputError(f"gs://{self.bucket}: no such bucket") from error
        except (exceptions.Forbidden, exceptions.Unauthorized) as error:
            raise AccessError(f"{url}: access denied: {one_line(error)}") from error
        except google.auth.exceptions.GoogleAuthError as error:
            raise InputError(f"{url}: no credentials of Google Cloud: {one_line(error)}") from error
        except (exceptions.GoogleAPIError, requests.RequestException) as error:
            raise InputError(f"{url}: {one_line(error)}") from error


@functools.cache
def _client(emulator: str | None, process: int) -> storage.Client:
    """Return the client of a process: a forked process must not share sockets with its parent."""
    return storage.Client(project=None)
