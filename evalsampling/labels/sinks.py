"""Formats of batches: files of tasks for annotators, and the registry of their names."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.labels import label_studio, splink, vendor, workbook
from evalsampling.labels.tasks import LINKED
from evalsampling.labels.vote import Vote
from evalsampling.pool.rendering import json_text
from evalsampling.spec import LabellingPlan
from evalsampling.spec.sink import SINKS
from evalsampling.storage.filesystems import naming

_TAKEN = ("design.json", "closed.json", "draws.parquet", "batch.parquet", "controls.parquet")
"""Files of a round beside that of the tasks, whose names no batch may have."""


class Sink(Protocol):
    """A format of batches: how tasks go out to annotators, and how their answers come back."""

    @property
    def batch(self) -> str:
        """Name of the file of a batch, or of the folder of its files."""

    @property
    def checks_tasks(self) -> bool:
        """Whether names of tasks end in a check character: people may cut or mistype one."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Extensions, in lower case, of the files that `read` takes.

        Files with other extensions are read by `labels.formats`.
        """

    def write(self, table: pa.Table, path: Path, plan: LabellingPlan, batch: str) -> None:
        """Write the tasks of a batch.

        Args:
            table: columns ``task``, ``label``, which is empty, and the payload between them.
            path: path of the file or folder, which does not exist yet.
            plan: the question is in ``plan.sink``, the classes in ``plan.labels``.
            batch: opaque name of the batch.

        Raises:
            InputError: if it cannot be written.
        """

    def read(self, path: str, content: bytes) -> Iterable[Vote]:
        """Yield the votes of a file that came back.

        Args:
            path: of the file, for messages.
            content: of the file.

        Raises:
            InputError: if the file is not of this format. A problem of one line goes into
                `Vote.problem`.
        """


@dataclasses.dataclass(frozen=True)
class _Format:
    """One of our own sinks, whose deliveries `labels.formats` reads."""

    batch: str
    writer: Callable[[pa.Table, Path, LabellingPlan, str], None]  # as `Sink.write`
    checks_tasks: bool = False
    endings: tuple[str, ...] = ()

    def write(self, table: pa.Table, path: Path, plan: LabellingPlan, batch: str) -> None:
        self.writer(table, path, plan, batch)

    def read(self, path: str, content: bytes) -> Iterable[Vote]:
        raise NotImplementedError


def sink_of(plan: LabellingPlan) -> Sink:
    """Return the sink that a plan names, checked not to take the name of another file."""
    name = plan.sink.format
    sink: Sink = SINKS.find("sink.format", name, plan.pool.directory)
    if sink.batch in _TAKEN or "/" in sink.batch or sink.batch.startswith("."):
        raise InputError(f"sink.format: {name}: no batch can be called {sink.batch!r}")
    return sink


def reader_of(plan: LabellingPlan) -> Sink | None:
    """Return the sink of a plan if it is of another package and reads deliveries, else None."""
    return None if plan.sink.format in SINKS.own else sink_of(plan)


def task_file(plan: LabellingPlan, disputed: bool = False) -> str:
    """Return the name of the file or folder of a batch; of disputes it is another than `LINKED`."""
    name = sink_of(plan).batch
    return "disputed.parquet" if disputed and name == LINKED else name


def write_tasks(table: pa.Table, path: Path, plan: LabellingPlan, batch: str) -> None:
    """Write the tasks for the annotators, as `tasks.blind` makes them: see `Sink.write`."""
    with naming(path):
        sink_of(plan).write(table, path, plan, batch)


def _write_csv(table: pa.Table, path: Path, plan: LabellingPlan, _: str) -> None:
    vendor.write_csv(table, path, plan.sink.escape)


def _write_json_lines(table: pa.Table, path: Path, *_: object) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(json_text(row) + "\n" for row in table.to_pylist())


def _write_parquet(table: pa.Table, path: Path, *_: object) -> None:
    pq.write_table(table, path)


CSV: Sink = _Format("batch.csv", _write_csv)
JSON_LINES: Sink = _Format("batch.jsonl", _write_json_lines)
PARQUET: Sink = _Format(LINKED, _write_parquet)
VENDOR: Sink = _Format(vendor.BATCH, vendor.write_tasks, checks_tasks=True)
WORKBOOK: Sink = _Format(workbook.BATCH, workbook.write_tasks, checks_tasks=True)
LABEL_STUDIO: Sink = _Format(label_studio.FOLDER, label_studio.write_tasks)
SPLINK: Sink = _Format("clerical-labels.csv", splink.write_tasks)
