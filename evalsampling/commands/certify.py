"""Certificates of a workspace: made, kept as files, and checked again."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.evaluation.certificate import Certificate, certify
from evalsampling.spec.promise import Promise
from evalsampling.workspace.snapshot import Snapshot

FOLDER = "certificates"
"""Where they are in a workspace, each by the hash of what it says."""


def certificate_of(
    snapshot: Snapshot, promise: Promise, confidence: float | None = None
) -> Certificate:
    """Return the certificate of a promise, by the labels of a workspace."""
    pool = snapshot.pool
    files = json.dumps(pool.marker["pool"], sort_keys=True)
    made = certify(
        snapshot.analysis,
        promise,
        confidence,
        planned=pool.own_spec.budget.planned,
        pool=hashlib.sha256(files.encode()).hexdigest(),
    )
    return dataclasses.replace(
        made, rounds=len(snapshot.rounds), deliveries=len(snapshot.deliveries)
    )


def certificates_of(
    snapshot: Snapshot, promises: Sequence[Promise], confidence: float | None = None
) -> tuple[Certificate, ...]:
    """Return the certificates of promises; those that hold are kept as files of the workspace."""
    made = tuple(certificate_of(snapshot, promise, confidence) for promise in promises)
    store = snapshot.pool.workspace.store
    for certificate in made:
        if certificate.holds:
            store.write_json(f"{FOLDER}/{certificate.name}.json", certificate.to_json())
    return made


def check_certificate(snapshot: Snapshot, name: str, content: Mapping[str, Any]) -> None:
    """Check that a certificate follows from the rounds and deliveries that there were by then."""
    then = dataclasses.replace(
        snapshot,
        rounds=snapshot.rounds[: content["rounds"]],
        deliveries=snapshot.deliveries[: content["deliveries"]],
    )
    now = certificate_of(then, Promise.read(content["promise"]), content["confidence"]).to_json()
    for key, value in now.items():
        if key != "version" and content[key] != value:
            url = snapshot.pool.workspace.store.url(name)
            other = content["version"] != now["version"]
            by = f" (evalsampling {content['version']} made it)" * other
            raise InputError(
                f"{url}: does not follow from the workspace: {key} is {content[key]!r}, and the "
                f"workspace makes it {value!r}{by}"
            )
