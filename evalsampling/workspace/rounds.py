"""The files of rounds in a workspace."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.controls import Controls
from evalsampling.labels.tasks import KIND, TASK, task_name
from evalsampling.pool.stored_columns import ID
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import Round
from evalsampling.storage import checksums_of
from evalsampling.storage.checksums import Checksum
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import read_together, round_folder

CLOSES = "closes"
"""Key of a round's design: rounds that it closed by being drawn; of a manifest: closed by then."""


@dataclasses.dataclass(frozen=True)
class RoundFiles:
    """The contents of one round's files.

    Attributes:
        number: from 1.
        design: contents of design.json.
        draws: contents of draws.parquet.
        batch: contents of batch.parquet.
        exported: path or URL of the file for the annotators, None if the round had no new rows.
        closed: whether the round has closed.json, written when it is closed by hand.
        controls: tasks of the batch that check annotators: gold rows and repeats.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: str | None
    closed: bool
    controls: Controls

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "RoundFiles":
        """Return the contents of a round's files."""
        store, folder = pool.workspace.store, round_folder(number)
        design = store.read_json(f"{folder}/design.json", ["exported", "posterior"])
        checksums, name = checksums_of(design), f"{folder}/batch.parquet"
        content = store.read_checked(name, None)
        controls, closing = f"{folder}/controls.parquet", f"{folder}/closed.json"
        closed = store.exists(closing)
        if closed:
            store.read_json(closing)  # It must be as it was written.
        files = cls(
            number=number,
            design=design,
            draws=store.read_table(f"{folder}/draws.parquet", checksums),
            batch=store.parse_table(name, content),
            exported=pool.workspace.tasks_of(number, design["exported"]),
            closed=closed,
            controls=Controls(store.read_table(controls, checksums))
            if controls in checksums
            else Controls.concatenate([]),
        )
        current = Checksum.from_content(content)
        if name in checksums and not store.is_as_written(name, checksums[name], current):
            files._check_batch(pool, store.url(name))
        return files

    def _check_batch(self, pool: PreparedPool, url: str) -> None:
        """Check that a batch which is not as it was written lacks only its payload."""
        asked = dict(zip(self.new_tasks(pool.spec, pool.task_key), self.subjects, strict=True))
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

    def new_tasks(self, spec: EvaluationSpec, key: bytes) -> list[str]:
        """Return the tasks of the round's questions, in the order of their draws."""
        return [
            task_name(spec, key, self.number, id, question, self.design["check"])
            for id, question in zip(self.subjects, self.asked["question"].to_pylist(), strict=True)
        ]

    @property
    def closes(self) -> Sequence[int]:
        """Earlier rounds that were closed when this one was drawn."""
        return tuple(self.design[CLOSES])

    @property
    def round(self) -> Round:
        """The draws of the round, without outputs and labels of their rows."""
        posterior = self.design["posterior"]
        chances = self.design["cell_probability"]
        return Round(
            question=self.draws["question"].to_numpy() - 1,
            probability=self.draws["q"].to_numpy(),
            new=self.draws["new"].to_numpy(zero_copy_only=False),
            posterior=None if posterior is None else np.array(posterior),
            cell_probability=None if chances is None else np.array(chances),
            wanted=self.design["wanted"],
        )


def read_rounds(pool: PreparedPool) -> list[RoundFiles]:
    """Return all rounds of a workspace, in their order."""
    numbers = pool.workspace.numbers("rounds")
    if numbers != list(range(1, len(numbers) + 1)):
        url = pool.workspace.store.url("rounds")
        raise InputError(f"{url}: rounds are missing, there are {numbers}")
    return read_together(functools.partial(RoundFiles.read, pool), numbers)
