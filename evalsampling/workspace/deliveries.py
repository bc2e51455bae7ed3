"""Deliveries: the labels of a workspace, as they came in."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.storage import Store, checksums_of
from evalsampling.storage.checksums import Checksums
from evalsampling.workspace.workspace import Workspace, read_together


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Labels that came in together.

    Attributes:
        name: hash of the file's content, and a number if that content had come before.
        votes: those that count: columns line, task, id, label, annotator, time, skipped.
        order: in which deliveries came in, from 1.
        rejects: number of votes that do not count.
        rounds: how many rounds there were then.
        file: name of the file; None of a withdrawal.
        replace: whether its labels replace earlier ones.
        withdraws: the round that it withdraws, if it is a withdrawal and no labels.
        rejected: number of votes that do not count, by task.
    """

    name: str
    votes: pa.Table
    order: int
    rejects: int
    rounds: int
    file: str | None = None
    replace: bool = False
    withdraws: int | None = None
    rejected: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, workspace: Workspace, name: str, checksums: Checksums) -> "Delivery":
        """Return a delivery, given the name of its file."""
        votes = workspace.store.read_table(f"labels/{name}", checksums)
        details = details_of(workspace.store, f"labels/{name}", votes)
        _, _, *kept = (field.name for field in dataclasses.fields(cls))
        own = {key: details[key] for key in kept if key in details}
        return cls(name.removesuffix(".parquet"), votes, **own)

    @property
    def digest(self) -> str:
        """Hash of the file's content."""
        return self.name.partition("-")[0]


def details_of(store: Store, name: str, votes: pa.Table) -> dict[str, Any]:
    """Return what is kept of a delivery beside its votes."""
    try:
        details = json.loads(votes.schema.metadata[b"evalsampling"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{store.url(name)}: not a delivery that was taken here") from error
    store.check_version(name, details)
    return dict(details)


def read_deliveries(workspace: Workspace) -> list[Delivery]:
    """Return all deliveries of a workspace, in the order they came in."""
    store = workspace.store

    def read_taken(name: str) -> tuple[list[str], Checksums]:
        marker = store.read_json(f"taken/{name}", ["deliveries"])
        return marker["deliveries"], checksums_of(marker)

    # A file in place was named by a marker before; a file that a marker names may not be in place.
    files = [name for name in store.names("labels") if name.endswith(".parquet")]
    # Other files, such as an editor's copy, are not ours.
    markers = [name for name in store.names("taken") if name.removesuffix(".json").isdecimal()]
    marked = read_together(read_taken, markers)
    names = sorted({*files, *(f"{name}.parquet" for names, _ in marked for name in names)})
    checksums = {name: checksum for _, part in marked for name, checksum in part.items()}
    read = functools.partial(Delivery.read, workspace, checksums=checksums)
    deliveries = read_together(read, names)
    return sorted(deliveries, key=lambda delivery: (delivery.order, delivery.name))
