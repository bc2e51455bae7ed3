"""The workspace: the files of one evaluation, where they are and how they are added.

Files are only added, never rewritten; files that belong together come in by one commit. See
docs/workspace.md for every file and column, `storage` for where they are, and `snapshot` for their
contents.
"""

import contextlib
import dataclasses
import json
import re
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.vendor import write_csv
from evalsampling.storage import folder_of, open_store, write_parquet
from evalsampling.storage.base import VERSION
from evalsampling.storage.commits import Commit, begin, uncommitted
from evalsampling.storage.preparing import check_free, overtaken, preparing, written

MARKER = "evaluation.json"
BUDGETS = "budgets"
"""Folder of raised budgets."""

_TABLE = "table.json"
"""Which version of a table a `prepare` reads that has not finished."""

STORED = "stored"
"""Folder of the rows of a pool that has no files of its own."""

_TABLES = "tables"
"""Folder of cells and slices in a store that is shared, where each attempt has its own."""

_PRODUCTS = (
    "cells.parquet", "jobs", "reserve", "scored", "slices.parquet", STORED, _TABLE, _TABLES,
)  # fmt: skip
"""Files and folders that `prepare` writes before the marker."""

_LATEST = (
    (r"evaluation\.json", 5),
    (r"rounds/\d+/design\.json", 1),
    (r"rounds/\d+/closed\.json", 1),
    (r"adjudications/\d+/design\.json", 1),
    (r"taken/\d+\.json", 1),
    (r"labels/.+\.parquet", 1),
    (r"budgets/\d+\.json", 1),
    (r"jobs/.+\.json", 1),
    (r"estimates/[^/]+\.json", 1),
)
"""Pattern of the names of each kind of files, and the version that this package writes and reads.

The version of a marker is also that of the Parquet files it names; a delivery has its own."""

_KEY_BYTES = 16

_MOST_OF_A_NAME = 60
"""Characters of a delivery's name that its list of rejects has."""

_OF_A_HASH = 12
"""Characters of the hash of its content after them."""


@dataclasses.dataclass(frozen=True)
class NewDelivery:
    """A delivery that is to be stored: see `deliveries.Delivery` for its name and votes.

    Rejects have the columns file, line, task, id, label, reason; details are stored with the votes.
    """

    name: str
    votes: pa.Table
    rejects: pa.Table
    details: dict[str, Any]


class Workspace:
    """The files of one evaluation: their places, and methods that add to them."""

    def __init__(self, path: str | Path) -> None:
        """Name a workspace, a directory or ``gs://bucket/prefix``; nothing is read yet."""
        self.store = open_store(path)
        self.store.latest_version = latest_version
        self.path = self.store.root

    # --- what `prepare` writes

    @property
    def prepared(self) -> bool:
        """Whether `prepare` has finished here."""
        return self.store.exists(MARKER)

    def check_prepared(self) -> None:
        """Check that `prepare` has finished here."""
        if not self.prepared:
            if Path(self.path).is_file():
                raise InputError(
                    f"{self.path}: a file, and no workspace: give the directory that a spec names "
                    "as `workspace`. `estimate` takes a table with labels by --label COLUMN"
                )
            raise InputError(
                f"{self.path}: not a prepared workspace ({MARKER} is missing); "
                "run `evalsampling prepare` first"
            )

    def commit(
        self,
        content: dict[str, Any],
        cells: pa.Table,
        slices: pa.Table | None,
        manifest: dict[str, Any],
    ) -> None:
        """Write cells, slices, manifest and the marker that makes the workspace prepared."""
        attempt = content["attempt"]
        with begin(self.store, _TABLES if self.store.shared else "", attempt) as files:
            write_parquet(cells, files.path("cells.parquet"), "snappy")
            if slices is not None:
                write_parquet(slices, files.path("slices.parquet"), "snappy")
            try:
                # Made here, so that no option of a job and no part of its graph shows the secret.
                key = secrets.token_hex(_KEY_BYTES)
                files.write(MARKER, {**content, "key": key}, beside=_job(manifest))
            except FileExistsError as error:
                if self.store.read_json(MARKER)["attempt"] != attempt:
                    raise overtaken(self.store) from error
        others = written(self.store, _PRODUCTS, lambda name: attempt not in name)
        # Other jobs may have begun by now. On a disk no manifest has an attempt in its name.
        failed = [
            name
            for name in others
            if not name.startswith("jobs/") or (self.store.shared and "prepare" in name)
        ]
        self.store.remove([*failed, _TABLE] if "table" in content else failed)

    @property
    def table(self) -> dict[str, Any]:
        """The table that a killed `prepare` was reading, and its version; empty if none."""
        return self.store.find_json(_TABLE)

    @contextlib.contextmanager
    def preparing(self, attempt: str = "", table: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold the workspace while it is prepared; a failed `prepare` leaves nothing behind."""
        with preparing(self.store, MARKER, attempt, _PRODUCTS):
            if table is None:
                yield
                return
            self.store.write_json(_TABLE, table)
            try:
                yield
            except InputError:
                self.store.remove([_TABLE])
                raise

    def check_free(self) -> None:
        """Check that a `prepare` which holds no lock may be started."""
        check_free(self.store, _PRODUCTS)

    # --- jobs

    @contextlib.contextmanager
    def temporary_result(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield a URL for a job to write JSON to, and a function that reads it."""
        name = f".answer-{uuid.uuid4().hex}.json"
        try:
            yield self.store.url(name), lambda: json.loads(self.store.read(name))
        finally:
            self.store.remove([name])

    def add_manifest(self, manifest: dict[str, Any]) -> None:
        """Store the manifest of a job."""
        for name, content in _job(manifest).items():
            self.store.write_json(name, content)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the workspace to add rounds and labels; other commands wait."""
        self.check_prepared()
        with self.store.one_at_a_time():
            yield

    def add_budget(self, number: int, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Store a larger budget."""
        with begin(self.store, BUDGETS) as files, _alone(self.path, "raised the budget"):
            files.write(f"{BUDGETS}/{number:04d}.json", content, beside=_job(manifest))

    def batches(self, folder: str) -> list[int]:
        """Return the numbers of the rounds, or of the batches of adjudication, in order.

        One whose design has gone is among them, unlike one that is being written.
        """
        held = self.store.sizes(f"{folder}/")
        begun = uncommitted(self.store) if len(held) else set()
        counted = {name.split("/")[1] for name in held if name not in begun}
        return sorted(int(number) for number in counted if number.isdecimal())

    def next_number(self, folder: str) -> int:
        """Return the next free number, from 1, of the numbered JSON files in a folder."""
        stems = (name.removesuffix(".json") for name in self.store.names(folder))
        return max((int(stem) for stem in stems if stem.isdecimal()), default=0) + 1

    def check_outside(self, file: str, option: str = "--to") -> None:
        """Check that the file or folder of an option is outside the workspace."""
        below = folder_of(f"{self.path.rstrip('/')}/file")
        if f"{folder_of(f'{file}/-')}/".startswith(f"{below}/"):
            raise InputError(f"{option}: {file}: is in the workspace; write it beside it")

    # --- rounds

    @contextlib.contextmanager
    def new_batch(
        self, folder: str, design: dict[str, Any], manifest: dict[str, Any]
    ) -> Iterator[Commit]:
        """Yield the commit of a batch, to be filled; it is written if the block succeeds."""
        with begin(self.store, folder) as files:
            yield files
            called = "round" if folder.startswith("rounds/") else "batch"
            with _alone(self.store.url(folder), f"made this {called}"):
                files.write(f"{folder}/design.json", design, _job(manifest))

    def close_round(self, number: int, reason: str) -> None:
        """Close a round by hand; closing it again changes nothing."""
        self.store.write_json(f"{round_folder(number)}/closed.json", {"reason": reason})

    # --- labels and estimates

    def add_deliveries(self, first: int, deliveries: Sequence[NewDelivery]) -> str:
        """Store deliveries, all or none, and return their folder."""
        with begin(self.store, "labels") as files:
            for order, new in enumerate(deliveries, start=first):
                name = files.place(f"{new.name}.parquet")
                counts = {"rejects": len(new.rejects), "order": order}
                details = {VERSION: latest_version(name), **new.details, **counts}
                stored = new.votes.replace_schema_metadata({"evalsampling": json.dumps(details)})
                write_parquet(stored, files.path(f"{new.name}.parquet"))
                if len(new.rejects):
                    path = files.path(rejects_file(new.name, new.details["file"]))
                    write_csv(new.rejects, path, escape=True, encoding="utf-8-sig")
            names = [new.name for new in deliveries]
            with _alone(self.store.url("labels"), "took labels"):
                files.write(f"taken/{first:04d}.json", {"deliveries": names})
            return files.folder

    def has_estimate(self, name: str) -> bool:
        """Return whether an estimate is stored."""
        return self.store.exists(f"estimates/{name}.json")

    def add_estimate(self, name: str, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Store an estimate after the manifest of its job, so that no estimate lacks one."""
        self.add_manifest(manifest)
        self.store.write_json(f"estimates/{name}.json", content)


def latest_version(name: str) -> int | None:
    """Return the version that this package writes in a file of a name; None if it has none."""
    return next((latest for names, latest in _LATEST if re.fullmatch(names, name)), None)


def rejects_file(name: str, file: str) -> str:
    """Return the name of a list of rejects: the file delivered, and the start of its hash."""
    stem = re.sub(r"[^\w.-]", "_", file.rpartition(".")[0] or file, flags=re.ASCII)
    stem = stem[:_MOST_OF_A_NAME].lstrip(".-") or "delivery"
    digest, dash, number = name.partition("-")
    return f"{stem}-{digest[:_OF_A_HASH]}{dash}{number}.rejects.csv"


def round_folder(number: int) -> str:
    """Return the name of the folder of a round."""
    return f"rounds/{number:04d}"


def adjudication_folder(number: int) -> str:
    """Return the name of the folder of an adjudication batch."""
    return f"adjudications/{number:04d}"


def _job(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the manifest of a job by the name of its file."""
    return {f"jobs/{manifest['job']}.json": manifest}


@contextlib.contextmanager
def _alone(where: str, done: str) -> Iterator[None]:
    """Turn a `FileExistsError` into the error that another command was first."""
    try:
        yield
    except FileExistsError as error:
        told = f"{where}: another command {done} meanwhile; run this one again"
        raise InputError(told) from error
