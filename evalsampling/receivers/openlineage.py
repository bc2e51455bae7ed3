"""Events of OpenLineage: which pool was read, and which estimates were made of it.

The events are JSON of our own, as https://openlineage.io/spec/2-0-2/OpenLineage.json has them.
"""

import dataclasses
import datetime
import itertools
import json
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.records import finite
from evalsampling.receivers.registry import within
from evalsampling.receivers.run import TITLE, Run
from evalsampling.receivers.table import write
from evalsampling.report.numbers import Number, label_of
from evalsampling.storage import is_url
from evalsampling.storage.outputs import Output
from evalsampling.telemetry.redaction import without_passwords
from evalsampling.version import __version__

PRODUCER = f"urn:evalsampling:{__version__}"
"""The project has no public address yet, so its names are URNs."""

FACET = "urn:evalsampling:facets:1-0-0:EstimatesDatasetFacet"
"""Identifier of the schema of our own facet, which is beside this module."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
_CONNECT_SECONDS, _ANSWER_SECONDS = 5, 30

SECONDS = 60.0
"""That a server has for all events of a run."""


def output(where: str | None) -> Output | None:
    """Return the file of the events; None if a server gets them."""
    place = where or os.environ["OPENLINEAGE_URL"]
    return None if _is_server(place) else Output(place, b'{"producer": "urn:evalsampling:')


def check(where: str | None) -> None:
    """Check that a file, or a server, is named."""
    if not (where or os.environ.get("OPENLINEAGE_URL")):
        raise InputError(
            "--report-to openlineage: name a file, or a server: openlineage:events.jsonl, "
            "openlineage:http://host:5000 or OPENLINEAGE_URL"
        )


def send(run: Run, where: str | None) -> str:
    """Write the events of a run to a file as a whole, a line each, or post each to a server."""
    place = where or os.environ["OPENLINEAGE_URL"]
    lines = [json.dumps(event, allow_nan=False) for event in events(run)]
    if _is_server(place):
        within(SECONDS, lambda: _post(place, lines))
        return without_passwords(place)
    write(place, "".join(f"{line}\n" for line in lines).encode())
    return place


def _is_server(place: str) -> bool:
    return place.lower().startswith(("http://", "https://"))


def _post(server: str, events: Sequence[str]) -> None:
    """Post events; a key in OPENLINEAGE_API_KEY goes along, and to no other server."""
    import requests  # Few runs have a server.

    path = os.environ.get("OPENLINEAGE_ENDPOINT", "api/v1/lineage")
    key = os.environ.get("OPENLINEAGE_API_KEY")
    headers = {"Content-Type": "application/json"}
    for event in events:
        answer = requests.post(
            f"{server.rstrip('/')}/{path.lstrip('/')}",
            data=event.encode(),
            headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
            allow_redirects=False,
        )
        answer.raise_for_status()
        if answer.is_redirect:
            raise InputError(f"{server}: sends events elsewhere; name the server that takes them")


def events(run: Run) -> list[dict[str, Any]]:
    """Return the events of a run: its start, and its end with what it read and made."""
    ended = {"inputs": [_input(run)], "outputs": [_output(run)]}
    return [_event(run, "START", run.started), _event(run, "COMPLETE", run.time) | ended]


def _event(run: Run, kind: str, time: datetime.datetime) -> dict[str, Any]:
    engine = {"name": "evalsampling", "version": __version__}
    job_type = {"processingType": "BATCH", "integration": "EVALSAMPLING", "jobType": "ESTIMATE"}
    return {
        "producer": PRODUCER,
        "eventType": kind,
        "eventTime": time.isoformat(timespec="milliseconds"),
        "schemaURL": _SPEC,
        "run": {
            "runId": str(uuid.UUID(run.id)),
            "facets": {"processing_engine": _facet("1-1-1", "ProcessingEngineRunFacet", engine)},
        },
        "job": {
            "namespace": "evalsampling",
            "name": f"{run.name}.estimate",
            "facets": {"jobType": _facet("2-0-4", "JobTypeJobFacet", job_type)},
        },
    }


def _facet(version: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    url = f"{_FACETS}/{version}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": url, **content}


def _version(version: str | None) -> dict[str, Any]:
    """Return the facet of the version of a dataset; none if it has no version."""
    named = _facet("1-0-1", "DatasetVersionDatasetFacet", {"datasetVersion": version})
    return {} if version is None else {"version": named}


def _input(run: Run) -> dict[str, Any]:
    """Return the pool, with the gates as assertions about it.

    A gate that cannot be decided is no success, and a warning alone.
    """
    checks: dict[str, Any] = {}
    if run.gates is not None:
        assertions = [
            {
                "assertion": gate.bound,
                "name": f"{gate.number} {gate.bound} {gate.target:g}",
                "success": gate.reached is True,
                "severity": "warn" if gate.reached is None else "error",
                "description": gate.statement,
                "expected": f"{gate.target!r}",
                **({} if gate.value is None else {"actual": f"{gate.value!r}"}),
            }
            for gate in run.gates.gates
        ]
        name = "DataQualityAssertionsDatasetFacet"
        checks = {"dataQualityAssertions": _facet("1-1-0", name, {"assertions": assertions})}
    return {**_pool_name(run), "facets": _version(run.pool_version), "inputFacets": checks}


def _output(run: Run) -> dict[str, Any]:
    """Return the estimates, with their values; points of curves are left out."""
    dataset = _unstored(run, "estimates")
    if run.workspace is not None:
        dataset = dataset_name(f"{run.workspace.rstrip('/')}/estimates")
    content = {
        "_producer": PRODUCER,
        "_schemaURL": f"{FACET}#/$defs/EstimatesDatasetFacet",
        "round": run.round,
        "labels": run.labels,
        "specVersion": run.spec_digest,
        "estimates": [_estimate(number) for number in run.numbers if not number.is_point],
        "gates": None if run.gates is None else dataclasses.asdict(run.gates),
    }
    statistics = {"rowCount": len(run.numbers)}
    output = {"outputStatistics": _facet("1-0-2", "OutputStatisticsOutputDatasetFacet", statistics)}
    facets = {**_version(run.id), "evalsampling_estimates": finite(content)}
    return {**dataset, "facets": facets, "outputFacets": output}


def _estimate(number: Number) -> dict[str, Any]:
    names = (*TITLE[:-1], "value", "low", "high", "confidence", "method")
    own = {name: getattr(number, name) for name in names}
    return {"label": label_of(number.measure), **own, "claims": number.claims}


def _unstored(run: Run, what: str) -> dict[str, str]:
    """Return the name of a dataset that is in no store."""
    return {"namespace": "evalsampling", "name": f"{run.name}.{what}"}


def _pool_name(run: Run) -> dict[str, str]:
    """Return namespace and name of the pool: kind and name of a table in a catalog."""
    table, name = run.source.table, run.pool_name
    if not run.pool:
        return _unstored(run, "pool")
    if table is None or name.startswith("/") or is_url(name):
        return dataset_name(name)
    return {"namespace": table.kind, "name": name}


def dataset_name(path: str) -> dict[str, str]:
    """Return namespace and name of a dataset, as OpenLineage names those of each store."""
    parts = itertools.takewhile(lambda part: not re.search(r"[*?\[]", part), path.split("/"))
    whole = "/".join(parts) or "/"
    if not is_url(path):
        return {"namespace": "file", "name": whole}
    scheme, _, place = whole.partition("://")
    authority, _, name = place.partition("/")
    return {"namespace": f"{scheme}://{authority}", "name": name or "/"}
