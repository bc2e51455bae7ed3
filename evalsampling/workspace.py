"""The workspace: the directory of one evaluation, the interface between its jobs.

Files are only added, never rewritten: each is written to a temporary name and moved, a round
as a whole directory. See docs/workspace.md for every file and column.
"""

import contextlib
import dataclasses
import functools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from evalsampling.errors import InputError
from evalsampling.evaluation import Evaluation
from evalsampling.labels.tasks import task_name
from evalsampling.partition import Partition
from evalsampling.reserve import (
    CELL,
    FILE,
    HASH,
    ID,
    PAYLOAD_PREFIX,
    RANK,
    ROW,
    SLICE_PREFIX,
    Reserve,
    output_names,
    outputs_of_columns,
)
from evalsampling.slicing import Slices
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.storage import (
    entries,
    locked,
    new_directory,
    new_file,
    read_json,
    read_table,
    remove_drafts,
    write_json,
    write_table,
)

VERSION = 2
MARKER = "evaluation.json"
_MARKER_KEYS = (
    "spec", "directory", "rows", "partition", "pool", "seconds", "runner", "versions",
)  # fmt: skip
_PREPARING = ".preparing"
_IN_USE = ".in-use"
_RESERVE_GROUP_ROWS = 1024


@dataclasses.dataclass(frozen=True)
class RoundFiles:
    """What one round left behind.

    Attributes:
        number: from 1.
        design: contents of design.json.
        draws: contents of draws.parquet.
        batch: contents of batch.parquet.
        exported: path of the file for the annotators, None if it had no new rows.
        closed: whether it was closed by hand.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: Path | None
    closed: bool

    @functools.cached_property
    def asked(self) -> pa.Table:
        """The draws that asked a question."""
        return self.draws.filter(self.draws["new"])

    def new_tasks(self, spec: EvaluationSpec) -> list[str]:
        """Return the tasks of the questions it asked, in the order of their draws."""
        ids, questions = self.asked[ID].to_pylist(), self.asked["question"].to_pylist()
        return [
            task_name(spec, self.number, id, question)
            for id, question in zip(ids, questions, strict=True)
        ]


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Labels that came in together.

    Attributes:
        name: hash of the file's content, and a number if that content had come before.
        votes: those that count: columns line, id, label, annotator, time, skipped.
        order: from 1, in which deliveries came in.
        rejects: votes that do not count.
    """

    name: str
    votes: pa.Table
    order: int
    rejects: int


class Workspace:
    """Reads and adds to the files of one evaluation."""

    def __init__(self, path: str | Path) -> None:
        """Name a workspace; nothing is read yet."""
        self.path = Path(path)

    # --- what `prepare` writes

    @property
    def prepared(self) -> bool:
        """Whether `prepare` has finished here."""
        return (self.path / MARKER).is_file()

    @functools.cached_property
    def marker(self) -> dict[str, Any]:
        """Contents of evaluation.json.

        Raises:
            InputError: if the workspace is not prepared, or by another version.
        """
        self.check_prepared()
        path = self.path / MARKER
        version = read_json(path, ["version"])["version"]
        if version != VERSION:
            raise InputError(
                f"{path}: version {version!r}, expected {VERSION}; prepare a workspace anew"
            )
        return read_json(path, _MARKER_KEYS)

    @functools.cached_property
    def spec(self) -> EvaluationSpec:
        """The spec the workspace was prepared with."""
        return EvaluationSpec.from_mapping(self.marker["spec"], Path(self.marker["directory"]))

    @functools.cached_property
    def partition(self) -> Partition:
        """How the pool is cut into cells."""
        return Partition.from_mapping(self.marker["partition"], self.spec)

    def check_prepared(self) -> None:
        """Check that `prepare` has finished here.

        Raises:
            InputError: if it has not.
        """
        if not self.prepared:
            raise InputError(
                f"{self.path}: not a prepared workspace ({MARKER} is missing); "
                "run `evalsampling prepare` first"
            )

    def commit(self, content: dict[str, Any]) -> None:
        """Write the marker that makes the workspace prepared."""
        write_json(self.path / MARKER, {"version": VERSION, **content})

    @contextlib.contextmanager
    def preparing(self) -> Iterator[None]:
        """Hold the workspace while it is prepared; unless it is then, all that was written goes.

        What a killed `prepare` has left is removed first. It is known by its lock file, so no
        directory of anything else is ever touched.

        Raises:
            InputError: if the directory holds anything else, or somebody is preparing it or has
                just done so.
        """
        lock = self.path / _PREPARING
        if self.path.exists() and not lock.exists():
            held = sorted(os.listdir(self.path))
            if held:
                raise InputError(
                    f"{self.path}: not empty and not a workspace, it holds {held[0]}; "
                    "choose another directory"
                )
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with locked(lock, wait=False):
                if self.prepared:
                    lock.unlink()
                    raise InputError(f"{self.path}: another prepare has finished there meanwhile")
                self._clear()
                try:
                    yield
                finally:
                    if not self.prepared:
                        self._clear()
                    lock.unlink()
                    with contextlib.suppress(OSError):
                        self.path.rmdir()
        except BlockingIOError as error:
            raise InputError(f"{self.path}: another prepare is at work there") from error

    def _clear(self) -> None:
        remove_drafts(self.path)
        for name in ("reserve", "scored"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("cells.parquet", "slices.parquet"):
            (self.path / name).unlink(missing_ok=True)

    def write_job(self, name: str, content: dict[str, Any]) -> None:
        """Keep the record of a job."""
        write_json(self.path / "jobs" / f"{name}.json", content)

    @functools.cached_property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Records of the jobs that were waited for, by name."""
        return {
            path.stem: read_json(path, ["steps"])
            for path in entries(self.path / "jobs")
            if path.suffix == ".json"
        }

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Let one command at a time add rounds and labels; others wait.

        Raises:
            InputError: if the workspace is not prepared.
        """
        self.check_prepared()
        with locked(self.path / _IN_USE, wait=True):
            for name in ("rounds", "labels", "estimates"):
                remove_drafts(self.path / name)
            self._forget()
            yield

    def write_cells(
        self, table: CellTable, mean: npt.NDArray[np.float64], partition: Partition
    ) -> None:
        """Write cells.parquet: for each cell that holds rows its code, leaf, rows and means.

        Args:
            table: the cells.
            mean: shape (cells, columns): what the table was made from, see `CellGrid.table`.
            partition: how the pool is cut into them.
        """
        bin, slot = np.divmod(table.code, partition.grid.signatures.slots)
        columns = {
            CELL: table.code, "leaf": table.leaf, "bin": bin, "signature": slot,
            "count": table.count,
        }  # fmt: skip
        for place, column in enumerate(mean.T):
            system, y = divmod(place - table.classes, table.classes)
            columns[f"prior.{place}" if system < 0 else f"system.{system}.{y}"] = column
        write_table(self.path / "cells.parquet", pa.table(columns))

    @functools.cached_property
    def table(self) -> CellTable:
        """The cell table."""
        stored = read_table(self.path / "cells.parquet")
        names = [name for name in stored.column_names if name.startswith(("prior.", "system."))]
        return self.partition.grid.table(
            code=stored[CELL].to_numpy(),
            count=stored["count"].to_numpy(),
            mean=np.stack([stored[name].to_numpy() for name in names], axis=1),
            classes=len(self.spec.labels.classes),
        )

    def write_slices(self, slices: Slices, table: CellTable) -> None:
        """Write slices.parquet: rows of each value of each slice column in each cell."""
        if not slices.names:
            return
        columns: dict[str, list[Any]] = {"column": [], "value": [], CELL: [], "count": []}
        for name, values, counts in zip(slices.names, slices.values, slices.counts, strict=True):
            for value, by_cell in zip(values, counts, strict=True):
                there = np.flatnonzero(by_cell)
                columns["column"] += [name] * len(there)
                columns["value"] += [value] * len(there)
                columns[CELL] += table.code[there].tolist()
                columns["count"] += by_cell[there].tolist()
        write_table(self.path / "slices.parquet", pa.table(columns))

    @functools.cached_property
    def slices(self) -> Slices:
        """The slices of the pool."""
        names = self.spec.pool.slices
        if not names:
            return Slices()
        stored = read_table(self.path / "slices.parquet")
        values, counts = [], []
        for name in names:
            rows = stored.filter(pc.equal(stored["column"], name))
            known = sorted(set(rows["value"].to_pylist()))
            by_cell = np.zeros((len(known), len(self.table)), dtype=np.int64)
            place = pc.index_in(rows["value"], value_set=pa.array(known, pa.string())).to_numpy()
            cell = np.searchsorted(self.table.code, rows[CELL].to_numpy())
            by_cell[place, cell] = rows["count"].to_numpy()
            values.append(tuple(known))
            counts.append(by_cell)
        return Slices(names, tuple(values), tuple(counts))

    def write_reserve(self, name: str, reserve: Reserve, first_rank: int = 0) -> None:
        """Write a part of the reserve; its cells are in no other part of the same rank."""
        assert reserve.rows is not None
        rows = reserve.rows.append_column(RANK, pa.array(reserve.ranks + first_rank))
        path = self.path / "reserve" / f"{name}.parquet"
        write_table(path, rows, row_group_size=_RESERVE_GROUP_ROWS)

    def read_reserve(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> pa.Table:
        """Look up rows of the reserve.

        Args:
            cell: shape (n,): cell codes.
            rank: shape (n,): places in the cells' permanent order.

        Returns:
            Columns id, outputs, slices and payload, the last two with their prefixes; rows in the
            order asked for.

        Raises:
            InputError: if the reserve of a cell is too short.
        """
        stride = int(rank.max(initial=0)) + 1
        keys = cell * stride + rank
        key = pc.add(pc.multiply(pc.field(CELL), stride), pc.field(RANK))
        # The first two conditions pass over whole row groups, the last finds the rows.
        wanted = pc.field(CELL).isin(pa.array(np.unique(cell)))
        wanted &= (pc.field(RANK) >= int(rank.min(initial=0))) & (pc.field(RANK) < stride)
        wanted &= key.isin(pa.array(np.unique(keys)))
        kept = [ID, *self._described, *(PAYLOAD_PREFIX + n for n in self.spec.pool.payload)]
        found = read_table(self.path / "reserve", columns=[CELL, RANK, *kept], filters=wanted)
        there = found[CELL].to_numpy() * stride + found[RANK].to_numpy()
        missing = ~np.isin(keys, there)
        if missing.any():
            raise InputError(
                f"{self.path}: cell {cell[missing][0]} needs more rows than its reserve holds; "
                f"run `evalsampling prepare SPEC --top-up {len(cell)}` and then this command again"
            )
        order = np.argsort(there)
        rows = order[np.searchsorted(there, keys, sorter=order)]
        return found.select(kept).take(pa.array(rows, type=pa.int64())).combine_chunks()

    @property
    def _described(self) -> list[str]:
        """Columns that tell what rows are: outputs and slices."""
        systems, classes = len(self.spec.pool.systems), len(self.spec.labels.classes)
        return [
            *output_names(systems, classes),
            *(SLICE_PREFIX + name for name in self.spec.pool.slices),
        ]

    def read_reserve_places(self) -> pa.Table:
        """Return cell, rank, hash and id of all rows of the reserve."""
        return read_table(self.path / "reserve", columns=[CELL, RANK, HASH, ID])

    def read_reserve_of(self, hashes: npt.NDArray[np.uint64]) -> pa.Table:
        """Return hash, id, file and row of the rows of the reserve that have some hashes."""
        wanted = pc.field(HASH).isin(pa.array(hashes))
        return read_table(self.path / "reserve", columns=[HASH, ID, FILE, ROW], filters=wanted)

    @property
    def top_ups(self) -> int:
        """Number of the last `prepare --top-up` that added to the reserve, 0 for none."""
        names = [path.stem.split("-") for path in entries(self.path / "reserve")]
        return max((int(name[2]) for name in names if name[0] == "top"), default=0)

    # --- rounds

    @functools.cached_property
    def rounds(self) -> list[RoundFiles]:
        """All rounds, in order."""
        directory = self.path / "rounds"
        numbers = sorted(int(entry.name) for entry in entries(directory) if entry.name.isdecimal())
        if numbers != list(range(1, len(numbers) + 1)):
            raise InputError(f"{directory}: rounds are missing, there are {numbers}")
        return [self._read_round(directory / f"{number:04d}", number) for number in numbers]

    def _read_round(self, directory: Path, number: int) -> RoundFiles:
        design = read_json(directory / "design.json", ["exported", "posterior"])
        exported = design["exported"]
        return RoundFiles(
            number=number,
            design=design,
            draws=read_table(directory / "draws.parquet"),
            batch=read_table(directory / "batch.parquet"),
            exported=None if exported is None else directory / exported,
            closed=(directory / "closed.json").exists(),
        )

    @contextlib.contextmanager
    def new_round(self) -> Iterator[Path]:
        """Give a directory to fill, which becomes the next round when the block ends well.

        Raises:
            InputError: if somebody else added a round meanwhile; nothing of theirs is changed.
        """
        path = self.path / "rounds" / f"{len(self.rounds) + 1:04d}"
        try:
            with new_directory(path) as draft:
                yield draft
        except FileExistsError as error:
            raise InputError(
                f"{path}: another command made this round meanwhile; run this one again"
            ) from error
        self._forget()

    def close_round(self, number: int, reason: str) -> None:
        """Close a round by hand; twice is once."""
        write_json(self.path / "rounds" / f"{number:04d}" / "closed.json", {"reason": reason})
        self._forget()

    # --- labels and estimates

    @functools.cached_property
    def deliveries(self) -> list[Delivery]:
        """All deliveries of labels, in the order they came in."""
        found = []
        for path in entries(self.path / "labels"):
            if path.suffix == ".parquet":
                votes = read_table(path)
                try:
                    details = json.loads(votes.schema.metadata[b"evalsampling"])
                except (KeyError, TypeError) as error:
                    raise InputError(f"{path}: not a delivery that was taken here") from error
                found.append(Delivery(path.stem, votes, details["order"], details["rejects"]))
        return sorted(found, key=lambda delivery: (delivery.order, delivery.name))

    def add_delivery(self, name: str, votes: pa.Table, details: dict[str, Any]) -> None:
        """Take a delivery; ``details`` are kept beside its rows."""
        details = {**details, "order": len(self.deliveries) + 1}
        stored = votes.replace_schema_metadata({"evalsampling": json.dumps(details)})
        write_table(self.path / "labels" / f"{name}.parquet", stored)
        self._forget()

    def write_rejects(self, name: str, rows: pa.Table) -> Path:
        """List the rejected rows of a delivery beside it: columns file, line, reason."""
        path = self.path / "labels" / f"{name}.rejects.csv"
        with new_file(path) as temporary:
            pa.csv.write_csv(rows, temporary)
        return path

    def add_estimate(self, name: str, content: dict[str, Any]) -> None:
        """Keep an estimate."""
        write_json(self.path / "estimates" / f"{name}.json", content)

    @property
    def rejects(self) -> int:
        """Rows of all deliveries that were rejected."""
        # The same content delivered again is judged anew: the last judgement counts.
        return sum({d.name.partition("-")[0]: d.rejects for d in self.deliveries}.values())

    # --- the evaluation

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history's."""
        return [task for files in self.rounds for task in files.new_tasks(self.spec)]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Ids of the rows asked about as text, in the order of the history's questions."""
        return [str(id) for files in self.rounds for id in files.asked[ID].to_pylist()]

    @functools.cached_property
    def labels(self) -> dict[str, str]:
        """Class of each answered task as text; later deliveries win."""
        return {
            task: label
            for delivery in self.deliveries
            for task, label in zip(
                delivery.votes["task"].to_pylist(), delivery.votes["label"].to_pylist(), strict=True
            )
            if label is not None
        }

    def history(self) -> History:
        """Return the rounds and labels of the files."""
        systems, classes = len(self.spec.pool.systems), self.table.classes
        history = History.start(systems, classes, len(self.spec.pool.slices))
        for files in self.rounds:
            draws = files.draws
            new = draws["new"].to_numpy(zero_copy_only=False)
            posterior = files.design["posterior"]
            drawn = Round(
                question=draws["question"].to_numpy() - 1,
                probability=draws["q"].to_numpy(),
                new=new,
                posterior=None if posterior is None else np.array(posterior),
            )
            asked = files.asked
            cell = np.searchsorted(self.table.code, asked[CELL].to_numpy())
            columns = [asked[SLICE_PREFIX + name] for name in self.spec.pool.slices]
            history = history.with_round(
                drawn,
                cell,
                asked[RANK].to_numpy(),
                outputs_of_columns(asked, systems, classes),
                self.slices.codes(columns, len(asked)),
            )
        known = self.spec.labels.codes
        return history.with_labels(
            np.array(
                [known[self.labels[t]] if t in self.labels else NO_LABEL for t in self.tasks],
                dtype=np.int64,
            )
        )

    @functools.cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation with all rounds and labels so far."""
        evaluation = Evaluation.from_spec(self.spec, self.table, self.partition, self.slices)
        evaluation.history = self.history()
        return evaluation

    def _forget(self) -> None:
        """Drop what was read of files that may have come to be more."""
        for name in ("rounds", "deliveries", "tasks", "ids", "labels", "evaluation"):
            self.__dict__.pop(name, None)


def load(path: str | Path) -> Evaluation:
    """Return the evaluation of a prepared workspace, with all rounds and labels so far.

    Raises:
        InputError: if there is no prepared workspace.
    """
    return Workspace(path).evaluation
