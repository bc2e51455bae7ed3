"""A server that speaks as BigQuery's Storage Read API does, of tables in memory."""

import collections
import contextlib
import dataclasses
import datetime
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import duckdb
import fastavro
import grpc
import pyarrow as pa
from google.cloud.bigquery_storage_v1 import types

from evalsampling.pool.tables.bigquery import EMULATOR
from tests import grpc_servers

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"

TABLE = "a-project.a_dataset.pool"

_AVRO = {
    pa.string(): "string",
    pa.int64(): "long",
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
}
"""Types of columns in Avro, by Arrow's."""


def avro_schema(columns: pa.Schema) -> dict[str, Any]:
    """Return the schema of rows in Avro, as BigQuery has it: every column may be null."""
    fields = [{"name": column.name, "type": ["null", _AVRO[column.type]]} for column in columns]
    return {"type": "record", "name": "Root", "fields": fields}


@dataclasses.dataclass
class FakeBigQuery:
    """The server.

    Attributes:
        versions: of each table, from when on it was as it is there.
        streams: that a session has.
        page_rows: rows of a message.
        breaks: how often each stream breaks after its first message, with UNAVAILABLE.
        sessions: what was asked for, in order.
        reads: streams that were read, each with the offset, in order.
    """

    versions: dict[str, list[tuple[datetime.datetime, pa.Table]]]
    streams: int = 3
    page_rows: int = 100
    breaks: int = 0
    sessions: list[types.CreateReadSessionRequest] = dataclasses.field(default_factory=list)
    reads: list[tuple[str, int]] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows: dict[str, pa.Table] = {}
        self._in_avro: set[str] = set()
        self._broken: collections.Counter[str] = collections.Counter()
        self._lock = threading.Lock()

    def create(self, request: types.CreateReadSessionRequest, context: Any) -> types.ReadSession:
        """Answer CreateReadSession."""
        self.sessions.append(request)
        session = request.read_session
        table = self._at(session, context)
        fields, wanted = list(session.read_options.selected_fields), session.read_options
        missing = [name for name in fields if name not in table.column_names]
        if missing:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"request failed: The following selected fields do not exist: {missing}",
            )
        if wanted.row_restriction:
            condition = wanted.row_restriction.replace("`", '"')
            table = duckdb.from_arrow(table).filter(condition).to_arrow_table()
        # The order of columns is that of the table, as BigQuery has it.
        table = table.select([n for n in table.column_names if not fields or n in fields])
        name = f"{request.parent}/locations/x/sessions/{len(self.sessions)}"
        streams = []
        for number in range(self.streams if len(table) else 0):
            stream = f"{name}/streams/{number}"
            size = -(-len(table) // self.streams)
            self._rows[stream] = table.slice(number * size, size)
            streams.append(types.ReadStream(name=stream))
        if session.data_format == types.DataFormat.AVRO:
            self._in_avro.update(stream.name for stream in streams)
            written = types.AvroSchema(schema=json.dumps(avro_schema(table.schema)))
            return types.ReadSession(name=name, avro_schema=written, streams=streams)
        schema = types.ArrowSchema(serialized_schema=table.schema.serialize().to_pybytes())
        return types.ReadSession(name=name, arrow_schema=schema, streams=streams)

    def _at(self, session: types.ReadSession, context: Any) -> pa.Table:
        _, project, _, dataset, _, name = session.table.split("/")
        called = f"{project}.{dataset}.{name}"
        if called not in self.versions:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Not found: Table {called}")
        now = datetime.datetime.now(datetime.UTC)
        moment = session.table_modifiers.snapshot_time or now
        tables = [table for since, table in self.versions[called] if since <= moment]
        if not tables:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"request failed: Invalid snapshot time {moment} for table {called}. "
                "Cannot read before its creation",
            )
        return tables[-1]

    def read(self, request: types.ReadRowsRequest, context: Any) -> Iterator[Any]:
        """Answer ReadRows."""
        stream, offset = request.read_stream, request.offset
        with self._lock:
            self.reads.append((stream, offset))
            self._broken[stream] += 1
            breaks = self._broken[stream] <= self.breaks
        rows = self._rows[stream].slice(offset).combine_chunks()
        for batch in rows.to_batches(max_chunksize=self.page_rows):
            yield (_avro_message if stream in self._in_avro else _arrow_message)(batch)
            if breaks:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the stream broke")

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what answers calls."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "CreateReadSession": grpc.unary_unary_rpc_method_handler(
                    self.create,
                    request_deserializer=types.CreateReadSessionRequest.deserialize,
                    response_serializer=types.ReadSession.serialize,
                ),
                "ReadRows": grpc.unary_stream_rpc_method_handler(
                    self.read,
                    request_deserializer=types.ReadRowsRequest.deserialize,
                    response_serializer=types.ReadRowsResponse.serialize,
                ),
            },
        )


def _arrow_message(batch: pa.RecordBatch) -> types.ReadRowsResponse:
    schema, content = batch.schema.serialize().to_pybytes(), batch.serialize().to_pybytes()
    return types.ReadRowsResponse(
        arrow_schema={"serialized_schema": schema},
        arrow_record_batch={"serialized_record_batch": content},
        row_count=len(batch),
    )


def _avro_message(batch: pa.RecordBatch) -> types.ReadRowsResponse:
    schema, content = avro_schema(batch.schema), io.BytesIO()
    for row in batch.to_pylist():
        fastavro.schemaless_writer(content, schema, row)
    return types.ReadRowsResponse(
        avro_schema={"schema": json.dumps(schema)},
        avro_rows={"serialized_binary_rows": content.getvalue()},
        row_count=len(batch),
    )


@contextlib.contextmanager
def serving(table: pa.Table, since: datetime.datetime | None = None) -> Iterator[FakeBigQuery]:
    """Serve a table called `TABLE`, to this process and those that it starts."""
    since = since or datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    fake = FakeBigQuery({TABLE: [(since, table)]})
    with grpc_servers.serving(EMULATOR, fake.handler()):
        yield fake
