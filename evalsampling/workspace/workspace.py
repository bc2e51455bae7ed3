"""The workspace: the files of one evaluation, the interface between its jobs.

Files are only added, never rewritten; what belongs together comes in together. See
docs/workspace.md for every file and column, and `storage` for where they are.
"""

import contextlib
import dataclasses
import functools
import json
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.labels.tasks import KIND, TASK, task_key, task_name
from evalsampling.pool.stored_columns import (
    CELL,
    ID,
    PAYLOAD_PREFIX,
    RANK,
    SLICE_PREFIX,
    output_names,
    outputs_of_columns,
)
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.storage import Draft, checksums_of, open_store, write_parquet
from evalsampling.storage.checksums import Checksum, Checksums, sealed
from evalsampling.workspace.reserve import ReserveFiles

VERSION = 2
MARKER = "evaluation.json"
_MARKER_KEYS = (
    "spec", "directory", "rows", "partition", "pool", "seconds", "runner", "versions",
)  # fmt: skip
_MANIFEST_KEYS = ("started", "seconds", "runner", "counts")
_PRODUCTS = ("cells.parquet", "reserve", "scored", "slices.parquet")
"""What `prepare` writes before the marker."""

_KEY_BYTES = 16

_READERS = 8
"""Files read at once: a request to a store takes its time."""


@dataclasses.dataclass(frozen=True)
class RoundFiles:
    """What one round left behind.

    Attributes:
        number: from 1.
        design: contents of design.json.
        draws: contents of draws.parquet.
        batch: contents of batch.parquet.
        exported: where the file for the annotators is, None if it had no new rows.
        closed: whether it was closed by hand.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: str | None
    closed: bool

    @functools.cached_property
    def asked(self) -> pa.Table:
        """The draws that asked a question."""
        return self.draws.filter(self.draws["new"])

    def new_tasks(self, spec: EvaluationSpec, key: bytes) -> list[str]:
        """Return the tasks of the questions it asked, in the order of their draws.

        Args:
            spec: of the evaluation.
            key: of the workspace's task names.
        """
        ids, questions = self.asked[ID].to_pylist(), self.asked["question"].to_pylist()
        return [
            task_name(spec, key, self.number, id, question)
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


@dataclasses.dataclass(frozen=True)
class NewDelivery:
    """Labels that are about to be taken.

    Attributes:
        name: see `Delivery`.
        votes: those that count, columns as of `Delivery`.
        rejects: those that do not: columns file, line, reason.
        details: kept beside the votes.
    """

    name: str
    votes: pa.Table
    rejects: pa.Table
    details: dict[str, Any]


class Workspace:
    """Reads and adds to the files of one evaluation."""

    def __init__(self, path: str | Path) -> None:
        """Name a workspace, a directory or ``gs://bucket/prefix``; nothing is read yet."""
        self.store = open_store(path)
        self.path = self.store.root

    # --- what `prepare` writes

    @property
    def prepared(self) -> bool:
        """Whether `prepare` has finished here."""
        return self.store.exists(MARKER)

    @functools.cached_property
    def marker(self) -> dict[str, Any]:
        """Contents of evaluation.json.

        Raises:
            InputError: if the workspace is not prepared, or by another version.
        """
        self.store.settle_if_allowed()
        self.check_prepared()
        version = self.store.read_json(MARKER, ["version"])["version"]
        if version != VERSION:
            raise InputError(
                f"{self.store.url(MARKER)}: version {version!r}, expected {VERSION}; "
                "prepare a workspace anew"
            )
        return self.store.read_json(MARKER, _MARKER_KEYS)

    @functools.cached_property
    def spec(self) -> EvaluationSpec:
        """The spec the workspace was prepared with."""
        return EvaluationSpec.from_mapping(self.marker["spec"], self.marker["directory"])

    @property
    def task_key(self) -> bytes:
        """The key of the names of tasks, a secret of the workspace."""
        return task_key(self.marker.get("key"), self.spec.seed)

    @functools.cached_property
    def checksums(self) -> Checksums:
        """Of the files that `prepare` wrote; none in a workspace of before there were any."""
        return checksums_of(self.marker)

    @functools.cached_property
    def stratification(self) -> Stratification:
        """How the pool is cut into cells."""
        return Stratification.from_mapping(self.marker["partition"], self.spec)

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

    def commit(
        self,
        content: dict[str, Any],
        table: CellTable,
        mean: npt.NDArray[np.float64],
        stratification: Stratification,
        slices: Slices,
        manifest: dict[str, Any],
    ) -> None:
        """Write cells, slices, manifest and the marker that makes the workspace prepared.

        Args:
            content: of the marker.
            table: the cells.
            mean: shape (cells, columns): what the table was made from, see `CellGrid.table`.
            stratification: how the pool is cut into them.
            slices: of the pool.
            manifest: of the job.

        Raises:
            InputError: if another `prepare` has finished here; nothing of it is changed.
        """
        attempt = content["attempt"]
        with self.store.draft() as draft:
            cells = _cells(table, mean, stratification)
            write_parquet(cells, draft.path("cells.parquet"), "snappy")
            if slices.names:
                write_parquet(_slices(slices, table), draft.path("slices.parquet"), "snappy")
            _write_manifest(draft, manifest)
            try:
                # No option of a job and no part of its graph: who sees those sees no secret.
                key = secrets.token_hex(_KEY_BYTES)
                draft.commit(MARKER, {"version": VERSION, **content, "key": key})
            except FileExistsError as error:
                if self.store.read_json(MARKER).get("attempt") != attempt:
                    raise InputError(
                        f"{self.path}: another prepare has finished there meanwhile"
                    ) from error
            else:
                others = self.store.written(_PRODUCTS, lambda name: attempt not in name)
                self.store.remove(others)

    def preparing(self, attempt: str = "") -> contextlib.AbstractContextManager[None]:
        """Hold the workspace while it is prepared; unless it is then, all that was written goes.

        Args:
            attempt: part of the names of what this `prepare` writes.

        Raises:
            InputError: if there is anything else, or, where it can be known, somebody is preparing
                it or has just done so.
        """
        return self.store.preparing(MARKER, attempt, _PRODUCTS)

    def check_free(self) -> None:
        """Check that a `prepare` which holds no lock may be started.

        Raises:
            InputError: if there is anything but what such a `prepare` leaves when it fails.
        """
        self.store.check_free(_PRODUCTS)

    @contextlib.contextmanager
    def answer(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Give a URL that a job may write JSON to, and a way to read that; both end together."""
        name = f".answer-{uuid.uuid4().hex}.json"
        try:
            yield self.store.url(name), lambda: json.loads(self.store.read(name))
        finally:
            self.store.remove([name])

    def add_manifest(self, manifest: dict[str, Any]) -> None:
        """Keep the manifest of a job."""
        self.store.write_json(_manifest(manifest["job"]), manifest)

    def add_steps(self, job: str, steps: dict[str, dict[str, float]]) -> None:
        """Keep what the steps of a job have cost."""
        self.store.write_json(f"steps/{job}.json", steps)

    @functools.cached_property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Manifests of all jobs by name, in the order they were started.

        Each has its ``steps``, of which there are none if nobody waited for the job.
        """
        manifests, steps = self._read_folder("jobs", _MANIFEST_KEYS), self._read_folder("steps")
        order = sorted(manifests, key=lambda name: (manifests[name]["started"], name))
        return {name: {"steps": steps.get(name, {}), **manifests[name]} for name in order}

    def _read_folder(self, folder: str, keys: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Return the JSON objects of a folder, which have some keys, by name."""
        stems = [n.removesuffix(".json") for n in self.store.names(folder) if n.endswith(".json")]
        found = self._read_together(
            lambda stem: self.store.read_json(f"{folder}/{stem}.json", keys), stems
        )
        return dict(zip(stems, found, strict=True))

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Let one command at a time add rounds and labels; others wait.

        Raises:
            InputError: if the workspace is not prepared.
        """
        self.check_prepared()
        with self.store.one_at_a_time():
            self._forget()
            yield

    @functools.cached_property
    def table(self) -> CellTable:
        """The cell table."""
        stored = self.store.read_table("cells.parquet", self.checksums)
        names = [name for name in stored.column_names if name.startswith(("prior.", "system."))]
        return self.stratification.grid.table(
            code=stored[CELL].to_numpy(),
            count=stored["count"].to_numpy(),
            mean=np.stack([stored[name].to_numpy() for name in names], axis=1),
            classes=len(self.spec.labels.classes),
        )

    @functools.cached_property
    def slices(self) -> Slices:
        """The slices of the pool."""
        names = self.spec.pool.slices
        if not names:
            return Slices()
        stored = self.store.read_table("slices.parquet", self.checksums)
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

    @functools.cached_property
    def reserve(self) -> ReserveFiles:
        """The reserve."""
        return ReserveFiles(self.store, self.marker.get("attempt", ""))

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
        pool = self.spec.pool
        outputs = output_names(len(pool.systems), len(self.spec.labels.classes))
        slices = [SLICE_PREFIX + name for name in pool.slices]
        payload = [PAYLOAD_PREFIX + name for name in pool.payload]
        return self.reserve.read(cell, rank, [ID, *outputs, *slices, *payload])

    # --- rounds

    @functools.cached_property
    def rounds(self) -> list[RoundFiles]:
        """All rounds, in order."""
        _ = self.deliveries  # First: the rounds they are about are there by then.
        numbers = sorted(int(name) for name in self.store.names("rounds") if name.isdecimal())
        if numbers != list(range(1, len(numbers) + 1)):
            url = self.store.url("rounds")
            raise InputError(f"{url}: rounds are missing, there are {numbers}")
        return self._read_together(self.read_round, numbers)

    def read_round(self, number: int) -> RoundFiles:
        """Return what a round left behind.

        Raises:
            InputError: naming the file that is missing or damaged.
        """
        folder = _round(number)
        design = self.store.read_json(f"{folder}/design.json", ["exported", "posterior"])
        exported, checksums = design["exported"], checksums_of(design)
        name = f"{folder}/batch.parquet"
        content = self.store.read_checked(name, None)
        files = RoundFiles(
            number=number,
            design=design,
            draws=self.store.read_table(f"{folder}/draws.parquet", checksums),
            batch=self.store.parse_table(name, content),
            exported=None if exported is None else self.store.url(f"{folder}/{exported}"),
            closed=self.store.exists(f"{folder}/closed.json"),
        )
        if name in checksums and checksums[name] != Checksum.of(content):
            self._check_batch(files, self.store.url(name))
        return files

    def _check_batch(self, files: RoundFiles, url: str) -> None:
        """Check a batch that is not as it was written: the payload may have been removed.

        Raises:
            InputError: if anything else was done to it.
        """
        ids = files.asked[ID].to_pylist()
        asked = dict(zip(files.new_tasks(self.spec, self.task_key), ids, strict=True))
        try:
            names = [name for name in files.batch.column_names if name != KIND]
            same = names == [TASK, ID] and _pairs(files.batch, names) == asked
        except ValueError:  # Text of a damaged file is not UTF-8.
            same = False
        if not same:
            raise InputError(f"{url}: damaged, it is not as it was written")

    @staticmethod
    def _read_together(read: Callable[[Any], Any], names: Sequence[Any]) -> list[Any]:
        """Read several things at once, in the order they are asked for."""
        with ThreadPoolExecutor(_READERS) as readers:
            return list(readers.map(read, names))

    @contextlib.contextmanager
    def new_round(self, design: dict[str, Any], manifest: dict[str, Any]) -> Iterator[Path]:
        """Give a directory for the other files of the next round, which comes in when all is well.

        Args:
            design: for design.json.
            manifest: of the job.

        Raises:
            InputError: if somebody else added a round meanwhile; nothing of theirs is changed.
        """
        folder = _round(len(self.rounds) + 1)
        with self.store.draft() as draft:
            directory = draft.directory / folder
            directory.mkdir(parents=True)
            _write_manifest(draft, manifest)
            yield directory
            try:
                draft.commit(f"{folder}/design.json", design)
            except FileExistsError as error:
                raise InputError(
                    f"{self.store.url(folder)}: another command made this round meanwhile; "
                    "run this one again"
                ) from error
        self._forget()

    def close_round(self, number: int, reason: str) -> None:
        """Close a round by hand; twice is once."""
        self.store.write_json(f"{_round(number)}/closed.json", {"reason": reason})
        self._forget()

    # --- labels and estimates

    @functools.cached_property
    def deliveries(self) -> list[Delivery]:
        """All deliveries of labels, in the order they came in."""
        # What is in place was named by a marker before; what a marker names may not be in place.
        files = [name for name in self.store.names("labels") if name.endswith(".parquet")]
        taken = self._read_together(self._read_taken, self.store.names("taken"))
        checksums = {name: found for _, known in taken for name, found in known.items()}
        names = sorted({*files, *(f"{name}.parquet" for names, _ in taken for name in names)})
        found = self._read_together(lambda name: self._read_delivery(name, checksums), names)
        return sorted(found, key=lambda delivery: (delivery.order, delivery.name))

    def _read_taken(self, name: str) -> tuple[list[str], Checksums]:
        marker = self.store.read_json(f"taken/{name}", ["deliveries"])
        return marker["deliveries"], checksums_of(marker)

    def _read_delivery(self, name: str, checksums: Checksums) -> Delivery:
        votes = self.store.read_table(f"labels/{name}", checksums)
        try:
            details = json.loads(votes.schema.metadata[b"evalsampling"])
        except (KeyError, TypeError) as error:
            url = self.store.url(f"labels/{name}")
            raise InputError(f"{url}: not a delivery that was taken here") from error
        stem = name.removesuffix(".parquet")
        return Delivery(stem, votes, details["order"], details["rejects"])

    def add_deliveries(self, deliveries: Sequence[NewDelivery]) -> None:
        """Take deliveries: all of them, or none.

        Raises:
            InputError: if somebody else took a delivery meanwhile; nothing of theirs is changed.
        """
        first = len(self.deliveries) + 1
        with self.store.draft() as draft:
            for order, new in enumerate(deliveries, start=first):
                details = {**new.details, "rejects": len(new.rejects), "order": order}
                stored = new.votes.replace_schema_metadata({"evalsampling": json.dumps(details)})
                path = draft.path(f"labels/{new.name}.parquet")
                write_parquet(stored, path)
                if len(new.rejects):
                    pa.csv.write_csv(new.rejects, draft.path(_rejects(new.name)))
            try:
                names = [new.name for new in deliveries]
                draft.commit(f"taken/{first:04d}.json", {"deliveries": names})
            except FileExistsError as error:
                raise InputError(
                    f"{self.store.url('labels')}: another command took labels meanwhile; "
                    "run this one again"
                ) from error
        self._forget()

    def rejects_of(self, name: str) -> str:
        """Return where the rejected rows of a delivery are listed: columns file, line, reason."""
        return self.store.url(_rejects(name))

    def has_estimate(self, name: str) -> bool:
        """Tell whether an estimate is kept."""
        return self.store.exists(f"estimates/{name}.json")

    def add_estimate(self, name: str, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Keep an estimate and the manifest of its job, which is first: no estimate lacks one."""
        self.add_manifest(manifest)
        self.store.write_json(f"estimates/{name}.json", content)

    @property
    def rejects(self) -> int:
        """Rows of all deliveries that were rejected."""
        # The same content delivered again is judged anew: the last judgement counts.
        return sum({d.name.partition("-")[0]: d.rejects for d in self.deliveries}.values())

    # --- the evaluation

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history's."""
        return [task for files in self.rounds for task in files.new_tasks(self.spec, self.task_key)]

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
        evaluation = Evaluation.from_spec(self.spec, self.table, self.stratification, self.slices)
        evaluation.history = self.history()
        return evaluation

    def _forget(self) -> None:
        """Drop what was read of files that may have come to be more."""
        for name in ("rounds", "deliveries", "tasks", "ids", "labels", "evaluation"):
            self.__dict__.pop(name, None)


def _round(number: int) -> str:
    return f"rounds/{number:04d}"


def _pairs(table: pa.Table, names: Sequence[str]) -> dict[Any, Any]:
    """Return two columns as a mapping."""
    keys, values = (table[name].to_pylist() for name in names)
    return dict(zip(keys, values, strict=True))


def _rejects(name: str) -> str:
    return f"labels/{name}.rejects.csv"


def _manifest(job: str) -> str:
    return f"jobs/{job}.json"


def _write_manifest(draft: Draft, manifest: dict[str, Any]) -> None:
    path = draft.path(_manifest(manifest["job"]))
    text = json.dumps(sealed(manifest), indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _cells(
    table: CellTable, mean: npt.NDArray[np.float64], stratification: Stratification
) -> pa.Table:
    """Return the contents of cells.parquet: for each cell its code, leaf, rows and means."""
    bin, slot = np.divmod(table.code, stratification.grid.signatures.slots)
    columns = {
        CELL: table.code, "leaf": table.leaf, "bin": bin, "signature": slot,
        "count": table.count,
    }  # fmt: skip
    for place, column in enumerate(mean.T):
        system, y = divmod(place - table.classes, table.classes)
        columns[f"prior.{place}" if system < 0 else f"system.{system}.{y}"] = column
    return pa.table(columns)


def _slices(slices: Slices, table: CellTable) -> pa.Table:
    """Return the contents of slices.parquet: rows of each value of each column in each cell."""
    columns: dict[str, list[Any]] = {"column": [], "value": [], CELL: [], "count": []}
    for name, values, counts in zip(slices.names, slices.values, slices.counts, strict=True):
        for value, by_cell in zip(values, counts, strict=True):
            there = np.flatnonzero(by_cell)
            columns["column"] += [name] * len(there)
            columns["value"] += [value] * len(there)
            columns[CELL] += table.code[there].tolist()
            columns["count"] += by_cell[there].tolist()
    return pa.table(columns)


def load(path: str | Path) -> Evaluation:
    """Return the evaluation of a prepared workspace, with all rounds and labels so far.

    Raises:
        InputError: if there is no prepared workspace.
    """
    return Workspace(path).evaluation
