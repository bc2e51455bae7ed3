"""Events of OpenLineage, held to its own schema.

The files in `schemas/` are those of https://github.com/OpenLineage/OpenLineage, as they were in
August 2026, under the Apache License 2.0.
"""

import dataclasses
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.receivers import openlineage
from evalsampling.receivers.openlineage import FACET, dataset_name, events
from evalsampling.receivers.registry import Address
from evalsampling.spec.tables import TableSpec
from tests.receivers.runs import lines_of, run
from tests.receivers.servers import serving

OWN = Path(openlineage.__file__).with_name("estimates_facet.json")
SCHEMAS = [
    json.loads(path.read_text())
    for path in [OWN, *(Path(__file__).parent / "schemas").glob("*.json")]
]


def problems(content: Any, url: str) -> list[Any]:
    """What a schema says against an event or a facet."""
    import jsonschema  # It takes a second, which only who runs such a test should wait.
    import referencing

    known: Any = referencing.Registry().with_resources(
        (schema["$id"], referencing.Resource.from_contents(schema)) for schema in SCHEMAS
    )
    draft = jsonschema.Draft202012Validator
    checker = draft({"$ref": url}, registry=known, format_checker=draft.FORMAT_CHECKER)
    return [*checker.iter_errors(content)]


def facets_of(event: Any) -> Iterator[dict[str, Any]]:
    """All facets of an event, wherever they are."""
    if isinstance(event, dict):
        if "_schemaURL" in event:
            yield event
        for part in event.values():
            yield from facets_of(part)
    elif isinstance(event, list):
        for part in event:
            yield from facets_of(part)


def test_events_and_facets_are_as_their_schemas_say() -> None:
    begin, end = json.loads(json.dumps(events(run()), allow_nan=False))
    facets = [*facets_of(begin), *facets_of(end)]
    assert len(facets) == 9
    for event in (begin, end):
        assert problems(event, event["schemaURL"]) == []
    for facet in facets:
        assert problems(facet, facet["_schemaURL"]) == []
    assert {facet["_schemaURL"].partition("#")[0] for facet in facets} <= {
        schema["$id"] for schema in SCHEMAS
    }


def test_the_schemas_refuse_what_is_no_event() -> None:
    _, end = events(run())
    for broken in ({**end, "eventType": "DONE"}, {**end, "eventTime": "now"}, {**end, "run": {}}):
        assert problems(broken, end["schemaURL"])
    facet = end["outputs"][0]["facets"]["evalsampling_estimates"]
    assert problems({**facet, "estimates": [{}]}, facet["_schemaURL"])
    assert facet["_schemaURL"].startswith(FACET)


def test_what_was_read_and_what_was_made() -> None:
    begin, end = events(run())
    assert (begin["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert begin["run"] == end["run"]
    assert end["run"]["runId"].replace("-", "") == run().id
    assert end["job"]["name"] == "pairs.estimate"
    [pool], [made] = end["inputs"], end["outputs"]
    assert (pool["namespace"], pool["name"]) == ("file", "/data/pool")
    assert pool["facets"]["version"]["datasetVersion"] == run().pool_version
    assert (made["namespace"], made["name"]) == ("file", "/data/pairs/estimates")
    shown = made["facets"]["evalsampling_estimates"]["estimates"]
    assert [each["value"] for each in shown] == [
        number.value for number in run().numbers if number.threshold is None
    ]


@pytest.mark.parametrize(
    ("table", "named", "version"),
    [
        (TableSpec("delta", "/data/events", pinned=5), ("file", "/data/events"), "5"),
        (TableSpec("delta", "s3://lake/events", pinned=5), ("s3://lake", "events"), "5"),
        (
            TableSpec("iceberg", "db.events", {"catalog": {"uri": "u"}}, {"snapshot": 7}),
            ("iceberg", "db.events"),
            '{"snapshot": 7}',
        ),
        (
            TableSpec("spark", "fraud.scored", pinned={"files": "/run/stored"}),
            ("spark", "fraud.scored"),
            '{"files": "/run/stored"}',
        ),
    ],
)
def test_a_table_is_named_with_its_version(
    table: TableSpec, named: tuple[str, str], version: str
) -> None:
    source = dataclasses.replace(run().source, table=table, path=table.name)
    _, end = events(dataclasses.replace(run(), source=source))
    [read] = end["inputs"]
    assert (read["namespace"], read["name"]) == named
    assert read["facets"]["version"]["datasetVersion"] == version


def test_gates_are_assertions_and_one_that_cannot_be_said_is_a_warning() -> None:
    _, end = events(run())
    listed = end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    reached = [gate.reached for gate in run().gates.gates]
    assert {True, False, None} == {*reached}
    for gate, assertion in zip(run().gates.gates, listed, strict=True):
        assert assertion["success"] is (gate.reached is True)
        assert assertion["severity"] == ("warn" if gate.reached is None else "error")
        assert assertion["description"] == gate.statement


def test_an_evaluation_in_memory_has_events_too() -> None:
    made = dataclasses.replace(run(), workspace=None, pool=(), gates=None, page=None)
    _, end = json.loads(json.dumps(events(made)))
    assert problems(end, end["schemaURL"]) == []
    assert end["inputs"][0]["name"] == "pairs.pool"
    assert end["inputs"][0]["inputFacets"] == {}


@pytest.mark.parametrize(
    ("path", "namespace", "name"),
    [
        ("/data/pool.parquet", "file", "/data/pool.parquet"),
        ("/data/*/part-*.parquet", "file", "/data"),
        ("/*.csv", "file", "/"),
        ("gs://bucket/pool/*.parquet", "gs://bucket", "pool"),
        ("s3://bucket/*.csv", "s3://bucket", "/"),
        ("hdfs://host:8020/a/b.csv", "hdfs://host:8020", "a/b.csv"),
    ],
)
def test_names_of_datasets(path: str, namespace: str, name: str) -> None:
    assert dataset_name(path) == {"namespace": namespace, "name": name}


def test_a_file_has_a_line_for_each_event(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "events.jsonl"
    for _ in range(2):
        assert openlineage.send(run(), str(path)) == str(path)
    assert lines_of(path) == json.loads(json.dumps(events(run())))


CODES = {"refused": 500, "moved": 307, "seen": 303}


@pytest.fixture
def server() -> Iterator[tuple[str, list[Any]]]:
    """A server that takes events, and what it was sent: path, key and event."""
    taken: list[Any] = []
    stop = threading.Event()

    def answer(handler: Any) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        taken.append((handler.path, handler.headers["Authorization"], json.loads(body)))
        if "dropped" in handler.path:
            return
        if "hung" in handler.path:
            stop.wait(10)
        while "trickles" in handler.path and not stop.wait(0.1):
            handler.wfile.write(b"H")  # A byte now and then: no single wait is long.
        codes = [code for word, code in CODES.items() if word in handler.path]
        handler.send_response(*codes or [201])
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()

    with serving(answer) as url:
        yield url, taken
        stop.set()


def test_a_server_is_sent_both(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, taken = server
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "abc")
    assert Address.read("openlineage").send(run()).where == url
    assert [(path, key) for path, key, _ in taken] == [("/api/v1/lineage", "Bearer abc")] * 2
    assert [event["eventType"] for _, _, event in taken] == ["START", "COMPLETE"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [("refused", "500 Server Error"), ("moved", "sends events elsewhere"),
     ("seen", "sends events elsewhere"), ("dropped", "without response"), ("hung", "timed out")],
)  # fmt: skip
def test_a_server_that_fails_gets_one_event_and_no_other_gets_any(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, path: str, problem: str
) -> None:
    url, taken = server
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "abc")
    monkeypatch.setattr(openlineage, "_ANSWER_SECONDS", 0.5)
    place = f"{url.replace('//', '//me:secret@')}/{path}"
    receipt = Address.read(f"openlineage:{place}").send(run())
    assert receipt.where is None
    assert problem in str(receipt.problem)
    assert "secret" not in receipt.words
    assert [path for path, _, _ in taken] == [f"/{path}/api/v1/lineage"]


def test_a_server_that_trickles_is_given_up(
    server: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, taken = server
    monkeypatch.setattr(openlineage, "SECONDS", 0.5)
    begin = time.monotonic()
    with pytest.raises(InputError, match="not answered everything within"):
        openlineage.send(run(), f"{url}/trickles")
    assert time.monotonic() - begin < 5
    assert len(taken) == 1


def test_a_server_by_capital_letters_is_one(server: tuple[str, list[Any]]) -> None:
    url, taken = server
    assert Address.read(f"openlineage:{url.replace('http', 'HTTP')}").output is None
    assert Address.read(f"openlineage:{url.replace('http', 'HTTP')}").send(run()).problem is None
    assert len(taken) == 2


def test_a_place_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENLINEAGE_URL", raising=False)
    with pytest.raises(InputError, match="name a file, or a server"):
        Address.read("openlineage")
