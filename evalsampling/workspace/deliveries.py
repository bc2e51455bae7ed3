"""Labels that came into a workspace, delivery by delivery."""

import dataclasses
import functools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
        order: from 1, in which deliveries came in.
        rejects: votes that do not count.
        rounds: how many there were then; None of a delivery that was taken before this was kept.
        replace: whether its labels replace earlier ones.
        withdraws: the round that was withdrawn, if it is no delivery but tells that.
        rejected: of votes that do not count, by the task they are about, how many; of a delivery
            that was taken before this was kept none.
        bytes: size of the file; None of a delivery that was taken before this was kept.
        unended: the last line of the file, if that has no end of its own.
        beginnings: hashes of earlier deliveries that the file begins with: it replaces them.
    """

    name: str
    votes: pa.Table
    order: int
    rejects: int
    rounds: int | None
    replace: bool
    withdraws: int | None
    rejected: Mapping[str, int] = dataclasses.field(default_factory=dict)
    bytes: int | None = None
    unended: int | None = None
    beginnings: Sequence[str] = ()

    @classmethod
    def read(cls, workspace: Workspace, name: str, checksums: Checksums) -> "Delivery":
        """Return a delivery, given the name of its file.

        Args:
            workspace: that it came into.
            name: of the file.
            checksums: by name, of the files that markers name.

        Raises:
            InputError: if it cannot be read, or was not written by `estimate`.
        """
        votes = workspace.store.read_table(f"labels/{name}", checksums)
        details = details_of(workspace.store, f"labels/{name}", votes)
        return cls(
            name.removesuffix(".parquet"),
            votes,
            order=details["order"],
            rejects=details["rejects"],
            rounds=details.get("rounds"),
            replace=details.get("replace", False),
            withdraws=details.get("withdraws"),
            rejected=details.get("rejected", {}),
            bytes=details.get("bytes"),
            unended=details.get("unended"),
            beginnings=details.get("beginnings", ()),
        )

    @property
    def digest(self) -> str:
        """Hash of the file's content."""
        return self.name.partition("-")[0]

    def replaced(self) -> "Delivery":
        """Return what stands of it once a file has come that begins with it and goes on.

        That says all that it said again, but what stood in a last line that was cut short; and its
        rejects are judged anew there.
        """
        votes = self.votes
        if self.unended is not None:
            votes = votes.filter(pc.not_equal(votes["line"], self.unended))
        return dataclasses.replace(self, votes=votes, rejects=0, rejected={})


def details_of(store: Store, name: str, votes: pa.Table) -> dict[str, Any]:
    """Return what is kept of a delivery beside its votes.

    Args:
        store: of the workspace.
        name: of the file.
        votes: what it holds.

    Raises:
        InputError: if it was not written by `estimate`, or is of a later version.
    """
    try:
        details = json.loads(votes.schema.metadata[b"evalsampling"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{store.url(name)}: not a delivery that was taken here") from error
    store.check_version(name, details)
    return dict(details)


def read_deliveries(workspace: Workspace) -> list[Delivery]:
    """Return all deliveries of a workspace, in the order they came in.

    Raises:
        InputError: as `Delivery.read` says, or if a marker cannot be read.
    """
    store = workspace.store

    def read_taken(name: str) -> tuple[list[str], Checksums]:
        marker = store.read_json(f"taken/{name}", ["deliveries"])
        return marker["deliveries"], checksums_of(marker)

    # What is in place was named by a marker before; what a marker names may not be in place.
    files = [name for name in store.names("labels") if name.endswith(".parquet")]
    # Whatever else somebody left there, an editor's copy say, is none of ours.
    markers = [name for name in store.names("taken") if name.removesuffix(".json").isdecimal()]
    taken = read_together(read_taken, markers)
    names = sorted({*files, *(f"{name}.parquet" for names, _ in taken for name in names)})
    checksums = {name: checksum for _, known in taken for name, checksum in known.items()}
    read = functools.partial(Delivery.read, workspace, checksums=checksums)
    deliveries = read_together(read, names)
    deliveries = sorted(deliveries, key=lambda delivery: (delivery.order, delivery.name))
    return with_replaced(deliveries, {one for later in deliveries for one in later.beginnings})


def with_replaced(deliveries: Sequence[Delivery], digests: Collection[str]) -> list[Delivery]:
    """Return deliveries, of those with some hashes what stands once they are replaced."""
    return [one.replaced() if one.digest in digests else one for one in deliveries]
