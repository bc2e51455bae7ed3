"""The batches of a workspace: its rounds, and the rows on which annotators disagreed."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.controls import Controls
from evalsampling.labels.tasks import KIND, LINKED, TASK, task_name
from evalsampling.parts.records import read_record
from evalsampling.pool.stored_columns import ID
from evalsampling.stats.history import Round
from evalsampling.storage import checksums_of, parse_parquet
from evalsampling.storage.checksums import Checksum, place_of
from evalsampling.storage.filesystems import at_once, readable
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import adjudication_folder, round_folder

STRATUM = "stratum"
"""Column of the draws of rows that were drawn by strata, before the workspace was made."""

CLOSES = "closes"
"""Key of a round's design: rounds that it closed by being drawn; of a manifest: closed by then."""


@dataclasses.dataclass(frozen=True)
class RoundFiles:
    """The contents of one round's files, which are in a folder.

    ``exported`` is the path or URL of the file for the annotators, None if nobody was asked;
    ``closed`` tells of closed.json, written when the round is closed by hand.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: str | None
    closed: bool
    controls: Controls
    folder: str

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "RoundFiles":
        """Return the contents of a round's files."""
        store, folder = pool.workspace.store, round_folder(number)
        design = store.read_json(f"{folder}/design.json", ["exported", "posterior"])
        checksums, closing = checksums_of(design), f"{folder}/closed.json"
        name = place_of("batch.parquet", checksums)
        folder = name.rpartition("/")[0]
        with readable(store.url(name)):
            content = store.read(name)
            batch = parse_parquet(content)
        controls, exported = f"{folder}/controls.parquet", design["exported"]
        closed = store.exists(closing)
        if closed:
            store.read_json(closing)  # It must be as it was written.
        files = cls(
            number=number,
            design=design,
            draws=store.read_table(f"{folder}/draws.parquet", checksums),
            batch=batch,
            exported=None if exported is None else store.url(f"{folder}/{exported}"),
            closed=closed,
            controls=Controls(store.read_table(controls, checksums))
            if controls in checksums
            else Controls.concatenate([]),
            folder=folder,
        )
        if Checksum.from_content(content) != checksums[name]:
            files._check_batch(pool, store.url(name))
        return files

    def _check_batch(self, pool: PreparedPool, url: str) -> None:
        """Check that a batch which is not as it was written lacks only its payload."""
        asked = dict(zip(self.new_tasks(pool), self.subjects, strict=True))
        try:
            names = [name for name in self.batch.column_names if name != KIND]
            columns = (self.batch[name].to_pylist() for name in names)
            same = names == [TASK, ID] and dict(zip(*columns, strict=True)) == asked
        except ValueError:  # Text of a damaged file is not UTF-8.
            same = False
        if not same:
            raise InputError(f"{url}: damaged, it is not as it was written")

    @functools.cached_property
    def asked(self) -> pa.Table:
        """The draws that asked a question."""
        return self.draws.filter(self.draws["new"])

    @property
    def subjects(self) -> list[Any]:
        """The ids of the rows that the round asked about, in order."""
        return list(self.asked[ID].to_pylist())

    def new_tasks(self, pool: PreparedPool) -> list[str]:
        """Return the tasks of the round's questions, in the order of their draws."""
        plan, key, check = pool.spec.labelling, pool.task_key, self.design["check"]
        return [
            task_name(plan, key, self.number, id, question, check)
            for id, question in zip(self.subjects, self.asked["question"].to_pylist(), strict=True)
        ]

    @property
    def closes(self) -> Sequence[int]:
        """Earlier rounds that were closed when this one was drawn."""
        return tuple(self.design[CLOSES])

    @property
    def round(self) -> Round:
        """The draws of the round, without outputs and labels of their rows."""
        columns = {
            "question": self.draws["question"].to_numpy() - 1,
            "probability": self.draws["q"].to_numpy(),
            "new": self.draws["new"].to_numpy(zero_copy_only=False),
        }
        if STRATUM in self.draws.column_names:
            columns["stratum"] = self.draws[STRATUM].to_numpy()
        return read_record(Round, self.design | columns)


@dataclasses.dataclass(frozen=True)
class Adjudication:
    """A batch of rows on which the annotators disagreed, with a file for who settles them.

    ``tasks`` has the columns task, id, kind, question (from 1) and payload.
    """

    number: int
    tasks: pa.Table
    exported: str
    folder: str

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "Adjudication":
        """Return an adjudication batch."""
        store = pool.workspace.store
        design = store.read_json(f"{adjudication_folder(number)}/design.json", ["exported"])
        checksums = checksums_of(design)
        name = place_of(LINKED, checksums)
        folder = name.rpartition("/")[0]
        exported = store.url(f"{folder}/{design['exported']}")
        return cls(number, store.read_table(name, checksums), exported, folder)


def read_batches(pool: PreparedPool) -> tuple[list[RoundFiles], list[Adjudication]]:
    """Return all rounds of a workspace and all its adjudication batches, in their order."""
    numbers = pool.workspace.batches("rounds")
    if numbers != list(range(1, len(numbers) + 1)):
        url = pool.workspace.store.url("rounds")
        raise InputError(f"{url}: rounds are missing, there are {numbers}")
    rounds = at_once(functools.partial(RoundFiles.read, pool), numbers)
    numbers = pool.workspace.batches("adjudications")
    return rounds, at_once(functools.partial(Adjudication.read, pool), numbers)
