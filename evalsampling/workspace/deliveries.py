"""Deliveries: the labels of a workspace, as they came in, and why some of them do not count."""

import collections
import csv
import dataclasses
import functools
import io
import json
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.vendor import unescaped
from evalsampling.storage import Store, checksums_of
from evalsampling.storage.checksums import Checksums
from evalsampling.storage.commits import uncommitted
from evalsampling.storage.filesystems import at_once
from evalsampling.workspace.workspace import Workspace, rejects_file

_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
"""What differs between reasons of one kind: texts in quotes, and numbers."""

_SHARED = 3
"""Fewest rejects with the same quoted text for it to be shown: a single row's never is."""


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Labels that came in together."""

    name: str  # hash of the file's content, and a number if that content had come before
    votes: pa.Table  # those that count: columns line, task, id, label, annotator, time, skipped
    order: int  # in which deliveries came in, from 1
    rejects: int  # number of votes that do not count
    rounds: int  # how many rounds there were then
    file: str | None = None  # name of the file; None of a withdrawal
    replace: bool = False  # whether its labels replace earlier ones
    withdraws: int | None = None  # the round that it withdraws, if it is a withdrawal and no labels
    rejected: Mapping[str, int] = dataclasses.field(default_factory=dict)  # rejects by task
    folder: str = "labels"  # where its files are

    @classmethod
    def read(cls, workspace: Workspace, place: str, checksums: Checksums) -> "Delivery":
        """Return a delivery, given the name of its file."""
        votes = workspace.store.read_table(place, checksums)
        details = details_of(workspace.store, place, votes)
        folder, _, name = place.rpartition("/")
        _, _, *kept, _ = (field.name for field in dataclasses.fields(cls))
        own = {key: details[key] for key in kept if key in details}
        return cls(name.removesuffix(".parquet"), votes, **own, folder=folder)

    @property
    def digest(self) -> str:
        """Hash of the file's content."""
        return self.name.partition("-")[0]


def details_of(store: Store, name: str, votes: pa.Table) -> dict[str, Any]:
    """Return the details that a delivery stores in the metadata of its votes."""
    try:
        details = json.loads(votes.schema.metadata[b"evalsampling"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{store.url(name)}: not a delivery that was taken here") from error
    store.check_version(name, details)
    return dict(details)


def read_deliveries(workspace: Workspace) -> list[Delivery]:
    """Return all deliveries of a workspace, in the order they came in."""
    store = workspace.store
    # In this order: what is there, and is not being written any more, has been taken before.
    there = [name for name in store.sizes("labels/") if name.endswith(".parquet")]
    begun = uncommitted(store)
    # Other files, such as an editor's copy, are not ours.
    markers = [name for name in store.names("taken") if name.removesuffix(".json").isdecimal()]
    taken = at_once(lambda name: store.read_json(f"taken/{name}", ["deliveries"]), markers)
    checksums = {
        name: checksum
        for marker in taken
        for name, checksum in checksums_of(marker).items()
        if name.endswith(".parquet")
    }
    for name in there:
        if name not in checksums and name not in begun:
            raise InputError(
                f"{store.url(name)}: no file of taken/ names it: that one is missing, or this is "
                "no delivery"
            )
    read = functools.partial(Delivery.read, workspace, checksums=checksums)
    deliveries = at_once(read, sorted(checksums))
    return sorted(deliveries, key=lambda delivery: (delivery.order, delivery.name))


def commonest_reason(workspace: Workspace, delivery: Delivery) -> tuple[str, int]:
    """Return the commonest reason of a delivery's rejects, and how many have one of its kind.

    Reasons that differ in ids, labels or lines alone are of one kind; what few share of these is
    left out. The text is empty if the list of rejects is not there any more.
    """
    assert delivery.file is not None
    listed = f"{delivery.folder}/{rejects_file(delivery.name, delivery.file)}"
    if not workspace.store.exists(listed):
        return "", 0
    text = workspace.store.read(listed).decode("utf-8-sig")
    reasons = [unescaped(row["reason"]) for row in csv.DictReader(io.StringIO(text, newline=""))]
    by_kind: dict[str, collections.Counter[str]] = {}
    for reason in reasons:
        by_kind.setdefault(_DETAIL.sub("", reason), collections.Counter())[reason] += 1
    most = max(by_kind.values(), key=collections.Counter.total)
    ((reason, shared),) = most.most_common(1)
    return reason if shared >= _SHARED else _DETAIL.sub("...", reason), most.total()
