"""A server that speaks as BigQuery does, of tables in memory and files in a bucket."""

import collections
import contextlib
import dataclasses
import io
import json
import re
import socket
import threading
import urllib.parse
from collections.abc import Iterator
from http import server
from pathlib import Path
from typing import Any

import fastavro
import pytest
from apache_beam.internal.gcp import auth
from apache_beam.io.gcp import bigquery as beam_bigquery
from apache_beam.io.gcp.internal.clients.bigquery import BigqueryV2
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.cloud import storage

PROJECT, DATASET = "a-project", "evaluation"

Row = dict[str, Any]

_AVRO = {
    "STRING": "string",
    "INTEGER": "long",
    "TIMESTAMP": {"type": "long", "logicalType": "timestamp-micros"},
}
"""Types of columns in Avro, by BigQuery's."""


class CallError(Exception):
    """What the server says in place of an answer: a status, a reason and a message."""


@dataclasses.dataclass
class Table:
    """A table: the type of each column, and rows in the order in which they came."""

    schema: dict[str, str]
    rows: list[Row] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._inserted: set[str] = set()

    def unknown(self, row: Row) -> list[str]:
        """Return the fields of a row that are no columns."""
        return [name for name in row if name not in self.schema]

    def insert(self, rows: list[Row]) -> list[Any]:
        """Take all rows whose ``insertId`` is new, or none; return what is wrong with each."""
        wrong = [self.unknown(row["json"]) for row in rows]
        if not any(wrong):
            for row in rows:
                if row.get("insertId") not in self._inserted:
                    self.rows.append(row["json"])
                self._inserted.update({row["insertId"]} if row.get("insertId") else ())
            return []
        return [
            {"index": index, "errors": [_insert_error(unknown)]}
            for index, unknown in enumerate(wrong)
        ]

    @property
    def avro_schema(self) -> dict[str, Any]:
        """The schema of rows in Avro, as BigQuery has it: every column may be null."""
        fields = [
            {"name": name, "type": ["null", _AVRO[kind]]} for name, kind in self.schema.items()
        ]
        return {"type": "record", "name": "Root", "fields": fields}

    def to_avro(self) -> bytes:
        """Return the rows as a file of Avro."""
        file = io.BytesIO()
        fastavro.writer(file, self.avro_schema, self.rows)
        return file.getvalue()


def _insert_error(unknown: list[str]) -> dict[str, str]:
    if not unknown:
        return {"reason": "stopped", "message": ""}
    return {"reason": "invalid", "message": f"no such field: {unknown[0]}."}


@dataclasses.dataclass
class FakeRest:
    """The server of REST: tables, jobs, methods called; `lost`: how many answers get lost."""

    tables: dict[str, Table] = dataclasses.field(default_factory=dict)
    jobs: dict[str, Any] = dataclasses.field(default_factory=dict)
    calls: list[str] = dataclasses.field(default_factory=list)
    lost: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def answer(self, verb: str, path: str, body: Any) -> Any:
        """Return the answer to a call."""
        for method, (asked, pattern) in _METHODS.items():
            found = re.fullmatch(pattern, path)
            if verb == asked and found:
                self.calls.append(method)
                said = getattr(self, f"_{method}")(*found.groups(), body)
                if self.lost[method] > 0:
                    self.lost[method] -= 1
                    raise CallError(503, "backendError", "the answer got lost")
                return said
        raise CallError(400, "notImplemented", f"{verb} {path}")

    def _get_table(self, name: str, body: Any) -> Any:
        if name not in self.tables:
            raise CallError(404, "notFound", f"Not found: Table {PROJECT}:{DATASET}.{name}")
        table = self.tables[name]
        fields = [
            {"name": column, "type": kind, "mode": "NULLABLE"}
            for column, kind in table.schema.items()
        ]
        return {
            "tableReference": _reference(name),
            "schema": {"fields": fields},
            "numRows": str(len(table.rows)),
            "numBytes": str(len(table.to_avro())),
            "location": "US",
        }

    def _insert_table(self, body: Any) -> Any:
        name = body["tableReference"]["tableId"]
        self.tables[name] = Table(_columns(body["schema"]))
        return self._get_table(name, None)

    def _insert_all(self, name: str, body: Any) -> Any:
        self._get_table(name, None)
        wrong = self.tables[name].insert(body["rows"])
        return {"insertErrors": wrong} if wrong else {}

    def _insert_job(self, body: Any) -> Any:
        id = body["jobReference"]["jobId"]
        if id in self.jobs:
            raise CallError(409, "duplicate", f"Already Exists: Job {PROJECT}:US.{id}")
        asked, status = body["configuration"], {"state": "DONE"}
        try:
            if "load" in asked:
                self._load(asked["load"])
            else:
                self._extract(asked["extract"])
        except CallError as error:
            _, reason, message = error.args
            status["errorResult"] = {"reason": reason, "message": message}
        reference = {**body["jobReference"], "location": "US"}
        self.jobs[id] = {"id": id, **body, "jobReference": reference, "status": status}
        return self.jobs[id]

    def _get_job(self, id: str, body: Any) -> Any:
        if id not in self.jobs:
            raise CallError(404, "notFound", f"Not found: Job {PROJECT}:US.{id}")
        return self.jobs[id]

    def _load(self, asked: Any) -> None:
        """Load files of JSON lines, all or none."""
        _check(
            asked,
            sourceFormat="NEWLINE_DELIMITED_JSON",
            writeDisposition="WRITE_APPEND",
            createDisposition="CREATE_IF_NEEDED",
        )
        texts = [_blob(uri).download_as_text() for uri in asked["sourceUris"]]
        rows = [json.loads(line) for text in texts for line in text.splitlines()]
        name = asked["destinationTable"]["tableId"]
        table = self.tables.get(name, Table(_columns(asked["schema"])))
        unknown = [field for row in rows for field in table.unknown(row)]
        if unknown:
            raise CallError(400, "invalid", f"JSON parsing error: No such field: {unknown[0]}.")
        table.rows += rows
        self.tables[name] = table

    def _extract(self, asked: Any) -> None:
        """Write a table to a file of Avro."""
        _check(asked, destinationFormat="AVRO", useAvroLogicalTypes=True)
        [uri] = asked["destinationUris"]
        content = self.tables[asked["sourceTable"]["tableId"]].to_avro()
        _blob(uri.replace("*", "000000000000")).upload_from_string(content)


_TABLES = f"/projects/{PROJECT}/datasets/{DATASET}/tables"
_JOBS = f"/projects/{PROJECT}/jobs"
_METHODS = {
    "get_table": ("GET", rf"{_TABLES}/(\w+)"),
    "insert_table": ("POST", _TABLES),
    "insert_all": ("POST", rf"{_TABLES}/(\w+)/insertAll"),
    "insert_job": ("POST", _JOBS),
    "get_job": ("GET", rf"{_JOBS}/([\w-]+)"),
}


def _check(asked: Any, **served: Any) -> None:
    """Check that a job is of the kind that the server does."""
    other = {name: asked.get(name) for name in served if asked.get(name) != served[name]}
    if other:
        raise CallError(400, "notImplemented", f"not served: {other}")


def _reference(name: str) -> dict[str, str]:
    return {"projectId": PROJECT, "datasetId": DATASET, "tableId": name}


def _columns(schema: Any) -> dict[str, str]:
    return {field["name"]: field["type"] for field in schema["fields"]}


def _blob(uri: str) -> storage.Blob:
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return storage.Client.create_anonymous_client().bucket(bucket).blob(name)


def _handler(fake: FakeRest) -> type[server.BaseHTTPRequestHandler]:
    class Handler(server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes | None) -> None:
            path = urllib.parse.urlsplit(self.path).path
            if path == "/token":
                self._send(200, {"access_token": "a token", "expires_in": 3600})
                return
            try:
                asked = None if body is None else json.loads(body)
                self._send(200, fake.answer(self.command, path.removeprefix(_ROOT), asked))
            except CallError as error:
                status, reason, message = error.args
                errors = [{"reason": reason, "message": message}]
                said = {"code": status, "message": message, "errors": errors}
                self._send(status, {"error": said})

        def _send(self, status: int, content: Any) -> None:
            encoded = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler


_ROOT = "/bigquery/v2"


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[FakeRest]:
    """Serve, to this process alone.

    Beam finds the server in place of Google's by the URL of its client, which is replaced, and
    the credentials by a file of a service account in a folder, as a user's program does.
    """
    fake = FakeRest()
    http = server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    address = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    timeout = socket.getdefaulttimeout()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(_account(directory, address)))
        patch.setenv("BIGQUERY_EMULATOR_HOST", address)
        patch.setattr(BigqueryV2, "BASE_URL", f"{address}{_ROOT}/")
        patch.setattr(auth._Credentials, "_credentials_init", False)  # those of another test
        patch.setattr(beam_bigquery, "_KNOWN_TABLES", set())
        try:
            yield fake
        finally:
            http.shutdown()
            thread.join()
            http.server_close()
            auth._Credentials._credentials_init = False
            socket.setdefaulttimeout(timeout)  # Beam sets it.


def _account(directory: Path, address: str) -> Path:
    """Write the file of a service account, whose tokens the server gives."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": PROJECT,
        "client_email": f"tests@{PROJECT}.iam.gserviceaccount.com",
        "private_key": key.decode(),
        "token_uri": f"{address}/token",
    }
    path = directory / "account.json"
    path.write_text(json.dumps(account), "utf-8")
    return path
