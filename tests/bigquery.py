"""A server that speaks as BigQuery's Storage Read API does, of tables in memory."""

import contextlib
import dataclasses
import io
import json
from collections.abc import Iterator
from typing import Any

import fastavro
import grpc
import pyarrow as pa
from google.cloud.bigquery_storage_v1 import types

from tests import grpc_servers

EMULATOR = "BIGQUERY_STORAGE_EMULATOR_HOST"
"""Variable with host and port of the server."""

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"

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
        tables: by name, as ``project.dataset.table``.
        streams: that a session has.
        page_rows: rows of a message.
        reads: streams that were read, in order.
    """

    tables: dict[str, pa.Table]
    streams: int = 3
    page_rows: int = 100
    reads: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._rows: dict[str, pa.Table] = {}
        self._in_avro: set[str] = set()

    def create(self, request: types.CreateReadSessionRequest, _: Any) -> types.ReadSession:
        """Answer CreateReadSession."""
        session = request.read_session
        _, project, _, dataset, _, called = session.table.split("/")
        table = self.tables[f"{project}.{dataset}.{called}"]
        name = f"{request.parent}/locations/x/sessions/{session.data_format.name}"
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

    def read(self, request: types.ReadRowsRequest, _: Any) -> Iterator[Any]:
        """Answer ReadRows."""
        stream = request.read_stream
        self.reads.append(stream)
        rows = self._rows[stream].slice(request.offset).combine_chunks()
        for batch in rows.to_batches(max_chunksize=self.page_rows):
            yield (_avro_message if stream in self._in_avro else _arrow_message)(batch)

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
def serving(name: str, table: pa.Table) -> Iterator[FakeBigQuery]:
    """Serve a table by its name, to this process and those that it starts."""
    fake = FakeBigQuery({name: table})
    with grpc_servers.serving(EMULATOR, fake.handler()):
        yield fake
