"""Adjudication batches: rows on which the annotators disagreed."""

import dataclasses
import functools

import pyarrow as pa

from evalsampling.labels.tasks import LINKED
from evalsampling.storage import checksums_of
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import adjudication_folder, read_together


@dataclasses.dataclass(frozen=True)
class Adjudication:
    """A batch of rows on which the annotators disagreed.

    Attributes:
        number: from 1.
        tasks: columns task, id, kind, question (from 1) and payload.
        exported: path or URL of the file for the adjudicator.
    """

    number: int
    tasks: pa.Table
    exported: str

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "Adjudication":
        """Return an adjudication batch."""
        store, folder = pool.workspace.store, adjudication_folder(number)
        design = store.read_json(f"{folder}/design.json", ["exported"])
        tasks = store.read_table(f"{folder}/{LINKED}", checksums_of(design))
        return cls(number, tasks, store.url(f"{folder}/{design['exported']}"))


def read_adjudications(pool: PreparedPool) -> list[Adjudication]:
    """Return all adjudication batches of a workspace, in their order."""
    numbers = pool.workspace.numbers("adjudications")
    return read_together(functools.partial(Adjudication.read, pool), numbers)
