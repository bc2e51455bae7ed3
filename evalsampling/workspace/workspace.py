"""The workspace: the files of one evaluation, where they are and how they are added.

Files are only added, never rewritten; files that belong together come in together. See
docs/workspace.md for every file and column, `storage` for where they are, and `snapshot` for their
contents.
"""

import contextlib
import dataclasses
import functools
import json
import re
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.vendor import write_csv
from evalsampling.storage import Draft, folder_of, open_store, write_parquet
from evalsampling.storage.base import FORGOTTEN
from evalsampling.storage.checksums import sealed
from evalsampling.storage.durability import naming
from evalsampling.workspace.versions import latest_version, with_version

MARKER = "evaluation.json"
BUDGETS = "budgets"
"""Folder of raised budgets."""

_TABLE = "table.json"
"""Which version of a table a `prepare` reads that has not finished."""

STORED = "stored"
"""Folder of the rows of a pool that has no files of its own."""

_PRODUCTS = ("cells.parquet", "reserve", "scored", "slices.parquet", STORED, _TABLE)
"""Files and folders that `prepare` writes before the marker."""

_KEY_BYTES = 16

_MOST_OF_A_NAME = 60
"""Characters of a delivery's name that its list of rejects has."""

_OF_A_HASH = 12
"""Characters of the hash of its content after them."""

_READERS = 8
"""Files read concurrently, as each request to a store takes a while."""


@dataclasses.dataclass(frozen=True)
class NewDelivery:
    """A delivery of labels that is to be stored.

    Attributes:
        name: see `deliveries.Delivery`.
        votes: those that count, with the columns of `deliveries.Delivery`.
        rejects: votes that do not count: columns file, line, task, id, label, reason.
        details: metadata to store with the votes.
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
                    "as `workspace`"
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
        with self.store.draft() as draft:
            write_parquet(cells, draft.path("cells.parquet"), "snappy")
            if slices is not None:
                write_parquet(slices, draft.path("slices.parquet"), "snappy")
            _write_manifest(draft, manifest)
            try:
                # Made here, so that no option of a job and no part of its graph shows the secret.
                key = secrets.token_hex(_KEY_BYTES)
                draft.commit(MARKER, {**content, "key": key})
            except FileExistsError as error:
                if self.store.read_json(MARKER)["attempt"] != attempt:
                    raise self.store.overtaken() from error
            else:
                failed = self.store.written(_PRODUCTS, lambda name: attempt not in name)
                self.store.remove([*failed, _TABLE] if "table" in content else failed)

    @property
    def table(self) -> dict[str, Any] | None:
        """What `preparing` was given by a `prepare` that was killed, None if there is nothing."""
        return self.store.read_json(_TABLE) if self.store.exists(_TABLE) else None

    @contextlib.contextmanager
    def preparing(self, attempt: str = "", table: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold the workspace while it is prepared; a failed `prepare` leaves nothing behind."""
        with self.store.preparing(MARKER, attempt, _PRODUCTS):
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
        self.store.check_free(_PRODUCTS)

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
        self.store.write_json(_manifest(manifest["job"]), manifest)

    def add_steps(self, job: str, steps: dict[str, dict[str, float]]) -> None:
        """Store rows, time and memory of the steps of a job."""
        self.store.write_json(f"steps/{job}.json", steps)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the workspace to add rounds and labels; other commands wait."""
        self.check_prepared()
        with self.store.one_at_a_time():
            yield

    def add_budget(self, number: int, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Store a larger budget."""
        with self.store.draft() as draft:
            _write_manifest(draft, manifest)
            self._commit_next(draft, f"{BUDGETS}/{number:04d}.json", content, "raised the budget")

    def numbers(self, folder: str, end: str = "") -> list[int]:
        """Return the numbers, in order, by which folders in a folder are called, or files."""
        stems = (name.removesuffix(end) for name in self.store.names(folder))
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def next_number(self, folder: str) -> int:
        """Return the next free number, from 1, of the numbered JSON files in a folder."""
        return max(self.numbers(folder, ".json"), default=0) + 1

    def add_forgotten(self, number: int, content: dict[str, Any]) -> None:
        """Store a record of erased payload, with the checksums of the files after it."""
        with self.store.draft() as draft:
            self._commit_next(draft, f"{FORGOTTEN}/{number:04d}.json", content, "erased something")

    @property
    def next_forgotten(self) -> int:
        """Number of the next record of erased payload."""
        return self.next_number(FORGOTTEN)

    def _check_forgotten(self, number: int) -> None:
        """Check that no payload was erased since `number` was that of the next record.

        `forget` writes a record and looks at all drafts afterwards, so either sees the other.
        """
        if self.next_forgotten != number:
            raise _meanwhile(self.path, "erased something")

    def _commit_next(self, draft: Draft, name: str, content: dict[str, Any], done: str) -> None:
        """Commit a draft by a numbered file; ``done`` says what another command did that has it."""
        try:
            draft.commit(name, content)
        except FileExistsError as error:
            raise _meanwhile(self.path, done) from error

    def check_outside(self, file: str, option: str = "--to") -> None:
        """Check that the file or folder of an option is outside the workspace."""
        below = folder_of(f"{self.path.rstrip('/')}/file")
        if f"{folder_of(f'{file}/-')}/".startswith(f"{below}/"):
            raise InputError(f"{option}: {file}: is in the workspace; write it beside it")

    # --- rounds

    @contextlib.contextmanager
    def new_batch(
        self, folder: str, design: dict[str, Any], manifest: dict[str, Any], forgotten: int
    ) -> Iterator[Path]:
        """Yield a directory for the other files of a batch, added if the block succeeds."""
        with self.store.draft() as draft:
            directory = draft.directory / folder
            directory.mkdir(parents=True)
            _write_manifest(draft, manifest)
            yield directory
            try:
                check = functools.partial(self._check_forgotten, forgotten)
                draft.commit(f"{folder}/design.json", design, check)
            except FileExistsError as error:
                called = "round" if folder.startswith("rounds/") else "batch"
                raise _meanwhile(self.store.url(folder), f"made this {called}") from error

    def tasks_of(self, number: int, exported: str | None) -> str | None:
        """Return the path or URL of the tasks of a round, None if it had no new rows."""
        return None if exported is None else self.store.url(f"{round_folder(number)}/{exported}")

    def close_round(self, number: int, reason: str) -> None:
        """Close a round by hand; closing it again changes nothing."""
        self.store.write_json(f"{round_folder(number)}/closed.json", {"reason": reason})

    # --- labels and estimates

    def add_deliveries(self, first: int, deliveries: Sequence[NewDelivery], forgotten: int) -> None:
        """Store deliveries: all of them, or none."""
        with self.store.draft() as draft:
            for order, new in enumerate(deliveries, start=first):
                name = f"labels/{new.name}.parquet"
                details = {**new.details, "rejects": len(new.rejects), "order": order}
                metadata = {"evalsampling": json.dumps(with_version(name, details))}
                stored = new.votes.replace_schema_metadata(metadata)
                write_parquet(stored, draft.path(name))
                if len(new.rejects):
                    path = draft.path(self.rejects_name(new.name, new.details["file"]))
                    with naming(path):
                        write_csv(new.rejects, path, escape=True, encoding="utf-8-sig")
            try:
                names = [new.name for new in deliveries]
                check = functools.partial(self._check_forgotten, forgotten)
                draft.commit(f"taken/{first:04d}.json", {"deliveries": names}, check)
            except FileExistsError as error:
                raise _meanwhile(self.store.url("labels"), "took labels") from error

    def rejects_of(self, name: str, file: str) -> str:
        """Return the path or URL of a delivery's rejected rows: see docs/workspace.md."""
        return self.store.url(self.rejects_name(name, file))

    @staticmethod
    def rejects_name(name: str, file: str) -> str:
        """Return the name of a list of rejects: the file delivered, and the start of its hash."""
        stem = re.sub(r"[^\w.-]", "_", file.rpartition(".")[0] or file, flags=re.ASCII)
        stem = stem[:_MOST_OF_A_NAME].lstrip(".-") or "delivery"
        digest, dash, number = name.partition("-")
        return f"labels/{stem}-{digest[:_OF_A_HASH]}{dash}{number}.rejects.csv"

    def has_estimate(self, name: str) -> bool:
        """Return whether an estimate is stored."""
        return self.store.exists(f"estimates/{name}.json")

    def add_estimate(self, name: str, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Store an estimate after the manifest of its job, so that no estimate lacks one."""
        self.add_manifest(manifest)
        self.store.write_json(f"estimates/{name}.json", content)


def read_together(read: Callable[[Any], Any], names: Sequence[Any]) -> list[Any]:
    """Return the results of reading names concurrently, in the order of the names."""
    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(read, names))


def round_folder(number: int) -> str:
    """Return the name of the folder of a round."""
    return f"rounds/{number:04d}"


def adjudication_folder(number: int) -> str:
    """Return the name of the folder of an adjudication batch."""
    return f"adjudications/{number:04d}"


def _meanwhile(where: str, done: str) -> InputError:
    return InputError(f"{where}: another command {done} meanwhile; run this one again")


def _manifest(job: str) -> str:
    return f"jobs/{job}.json"


def _write_manifest(draft: Draft, manifest: dict[str, Any]) -> None:
    path = draft.path(_manifest(manifest["job"]))
    content = sealed(with_version(_manifest(manifest["job"]), manifest))
    text = json.dumps(content, indent=1, allow_nan=False)
    with naming(path):
        path.write_text(text + "\n", encoding="utf-8")
