"""Tables of BigQuery as they were at one time, by its Storage Read API.

BigQuery cuts a table into streams, which can be read from their begin for some hours, and by no
place. So each is read once, by a worker, and its rows are stored below the workspace.
"""

import contextlib
import dataclasses
import datetime
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError, from_extra
from evalsampling.pool.tables.stored import PartedTable, TablePart
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import in_dialect
from evalsampling.storage.filesystems import one_line

EMULATOR = "BIGQUERY_STORAGE_EMULATOR_HOST"
"""Variable with host and port of a server in place of Google's, asked without encryption."""

_TIME, _BILLING = "time", "billing_project"

_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
"""Those that the client has for Google's own server."""


class BigQuery(PartedTable):
    """Tables called ``project.dataset.table``."""

    keys = (_TIME, _BILLING)
    part = "stream"

    def check(self, section: Section) -> None:
        """Check the name of the table, the time, and the project that pays."""
        _names(str(section.text("bigquery", required=True)))
        _moment(section.get(_TIME))
        section.text(_BILLING)

    def pin(self, table: TableSpec) -> dict[str, str]:
        """Return the time at which the table is read: that of the spec, or now.

        Raises:
            InputError: if the package is not installed.
        """
        _storage()
        moment = _moment(table.keys.get(_TIME)) or datetime.datetime.now(datetime.UTC)
        return {_TIME: moment.isoformat()}

    def parts(
        self, table: TableSpec, columns: Sequence[str] | None, where: str | None
    ) -> list[TablePart]:
        """Return the streams of a session of reading, which BigQuery keeps for some hours."""
        session = _Request(table, columns, where).session()
        schema, server = session.arrow_schema.serialized_schema, os.environ.get(EMULATOR)
        return [
            TablePart(number, (stream.name, schema, server))
            for number, stream in enumerate(session.streams)
        ]

    def read(self, table: TableSpec, part: TablePart) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a stream; where it breaks, the client goes on behind the last one."""
        name, encoded, server = part.content
        schema = pa.ipc.read_schema(pa.py_buffer(encoded))
        with _plain_errors(table):
            for message in _client(server, os.getpid()).read_rows(name):
                rows = pa.py_buffer(message.arrow_record_batch.serialized_record_batch)
                yield pa.ipc.read_record_batch(rows, schema)


BIGQUERY = BigQuery()


@dataclasses.dataclass(frozen=True)
class _Request:
    """What is asked of BigQuery, with the arguments of `PartedTable.parts`."""

    table: TableSpec
    columns: Sequence[str] | None
    where: str | None

    def session(self) -> Any:
        """Return a session of reading, with its streams, unless BigQuery refuses."""
        from google.api_core.exceptions import InvalidArgument

        with _plain_errors(self.table):
            try:
                return self._created()
            except InvalidArgument:
                self._check_columns()
                raise

    def _created(self) -> Any:
        project, dataset, name = _names(self.table.name)
        wanted: Any = {
            "table": f"projects/{project}/datasets/{dataset}/tables/{name}",
            "data_format": _storage().types.DataFormat.ARROW,
            "table_modifiers": {
                "snapshot_time": datetime.datetime.fromisoformat(self.table.pinned[_TIME])
            },
            "read_options": {
                "selected_fields": list(self.columns or ()),
                "row_restriction": "" if self.where is None else in_dialect(self.where, "bigquery"),
            },
        }
        billed = self.table.keys.get(_BILLING, project)
        client = _client(os.environ.get(EMULATOR), os.getpid())
        return client.create_read_session(
            parent=f"projects/{billed}", read_session=_storage().types.ReadSession(wanted)
        )

    def _check_columns(self) -> None:
        """Check that the table has the columns that are wanted, by a session of all of them."""
        schema = _Request(self.table, None, None)._created().arrow_schema.serialized_schema
        names = pa.ipc.read_schema(pa.py_buffer(schema)).names
        for name in self.columns or ():
            if name not in names:
                raise InputError(
                    f"{self.table.name}: column {name!r} is missing; there are: {', '.join(names)}"
                )


def _names(table: str) -> tuple[str, str, str]:
    """Return project, dataset and table of a name."""
    parts = table.rsplit(".", 2)  # A project of a domain has a dot: example.com:project.
    if len(parts) != 3 or not all(parts):
        raise InputError(f"pool.table.bigquery: must be project.dataset.table, got {table!r}")
    return parts[0], parts[1], parts[2]


def _moment(value: Any) -> datetime.datetime | None:
    """Return a point of time with its zone, None if there is none."""
    if value is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InputError(
            f"pool.table.time: must be a time with its zone, as 2026-11-01T00:00:00Z, got {value!s}"
        )
    return moment


def _storage() -> Any:
    """Return the package of the API."""
    with from_extra("gcp", "google-cloud-bigquery-storage", "pool.table.bigquery"):
        from google.cloud import bigquery_storage_v1
    return bigquery_storage_v1


@functools.cache
def _client(emulator: str | None, process: int) -> Any:
    """Return a client of this process: none may be used by a process that was forked from it."""
    client = _storage().BigQueryReadClient
    if emulator is None:
        return client()
    import grpc
    from google.cloud.bigquery_storage_v1.services.big_query_read.transports import (
        BigQueryReadGrpcTransport,
    )

    channel = grpc.insecure_channel(emulator, options=_OPTIONS)
    return client(transport=BigQueryReadGrpcTransport(channel=channel))


@contextlib.contextmanager
def _plain_errors(table: TableSpec) -> Iterator[None]:
    """Let an error of BigQuery in a block be one that users are meant to read."""
    from google.api_core.exceptions import GoogleAPICallError, GoogleAPIError
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except (GoogleAPIError, GoogleAuthError) as error:
        said = error.message if isinstance(error, GoogleAPICallError) else one_line(error)
        raise InputError(f"{table.name}: BigQuery: {' '.join(str(said).split())}") from error
