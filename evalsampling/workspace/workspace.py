"""The workspace: where the files of one evaluation are, and how they come in.

Files are only added, never rewritten; what belongs together comes in together. See
docs/workspace.md for every file and column, `storage` for where they are, and `snapshot` for what
they hold.
"""

import contextlib
import csv
import dataclasses
import functools
import json
import secrets
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.vendor import escaped
from evalsampling.storage import Draft, folder_of, open_store, write_parquet
from evalsampling.storage.base import FORGOTTEN
from evalsampling.storage.checksums import sealed
from evalsampling.workspace.versions import latest_version, with_version

MARKER = "evaluation.json"
BUDGETS = "budgets"
"""Folder of what the budget was raised to."""

ANNOTATORS, FOLDED = "annotators", "folded"
"""Key of the marker, and what it says: spellings of an annotator's name are one person."""

_PRODUCTS = ("cells.parquet", "reserve", "scored", "slices.parquet")
"""What `prepare` writes before the marker."""

_KEY_BYTES = 16

_READERS = 8
"""Files read at once: a request to a store takes its time."""


@dataclasses.dataclass(frozen=True)
class NewDelivery:
    """Labels that are about to be taken.

    Attributes:
        name: see `deliveries.Delivery`.
        votes: those that count, columns as of `deliveries.Delivery`.
        rejects: those that do not: columns file, line, task, id, label, reason.
        details: kept beside the votes.
    """

    name: str
    votes: pa.Table
    rejects: pa.Table
    details: dict[str, Any]


class Workspace:
    """Adds to the files of one evaluation, and knows where they are."""

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
        """Check that `prepare` has finished here.

        Raises:
            InputError: if it has not.
        """
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
        """Write cells, slices, manifest and the marker that makes the workspace prepared.

        Args:
            content: of the marker.
            cells: contents of cells.parquet.
            slices: contents of slices.parquet, None if the pool has no slices.
            manifest: of the job.

        Raises:
            InputError: if another `prepare` has finished here; nothing of it is changed.
        """
        attempt = content["attempt"]
        with self.store.draft() as draft:
            write_parquet(cells, draft.path("cells.parquet"), "snappy")
            if slices is not None:
                write_parquet(slices, draft.path("slices.parquet"), "snappy")
            _write_manifest(draft, manifest)
            try:
                # No option of a job and no part of its graph: who sees those sees no secret.
                key = secrets.token_hex(_KEY_BYTES)
                draft.commit(MARKER, {**content, ANNOTATORS: FOLDED, "key": key})
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

    # --- jobs

    @contextlib.contextmanager
    def temporary_result(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Give a URL for a job to write JSON to, and a function that reads it, for one block."""
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

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Let one command at a time add rounds and labels; others wait.

        Raises:
            InputError: if the workspace is not prepared.
        """
        self.check_prepared()
        with self.store.one_at_a_time():
            yield

    def add_budget(self, number: int, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Keep a larger budget.

        Args:
            number: of the budget, from 1.
            content: of its file.
            manifest: of the job.

        Raises:
            InputError: if somebody else raised it meanwhile; nothing of theirs is changed.
        """
        with self.store.draft() as draft:
            _write_manifest(draft, manifest)
            self._commit_next(draft, f"{BUDGETS}/{number:04d}.json", content, "raised the budget")

    def next_number(self, folder: str) -> int:
        """Return the number of the next of the JSON files that a folder numbers."""
        stems = (name.removesuffix(".json") for name in self.store.names(folder))
        return 1 + max((int(stem) for stem in stems if stem.isdecimal()), default=0)

    def add_forgotten(self, number: int, content: dict[str, Any]) -> None:
        """Keep a record of what files are like once something in them is forgotten.

        Args:
            number: of the record, from 1: the next when the files were read.
            content: of its file.

        Raises:
            InputError: if somebody else kept one meanwhile; nothing of theirs is changed.
        """
        with self.store.draft() as draft:
            self._commit_next(draft, f"{FORGOTTEN}/{number:04d}.json", content, "erased something")

    @property
    def next_forgotten(self) -> int:
        """Number of the next record of what is forgotten."""
        return self.next_number(FORGOTTEN)

    def _check_forgotten(self, then: int) -> None:
        """Check that nothing was forgotten since the number of the next record was ``then``.

        Who forgets writes a record and looks at all drafts afterwards: either sees the other.

        Raises:
            InputError: if something was.
        """
        if self.next_forgotten != then:
            raise _meanwhile(self.path, "erased something")

    def _commit_next(self, draft: Draft, name: str, content: dict[str, Any], done: str) -> None:
        """End a draft with a numbered file; ``done`` is what another command that has it did."""
        try:
            draft.commit(name, content)
        except FileExistsError as error:
            raise _meanwhile(self.path, done) from error

    def check_outside(self, file: str) -> None:
        """Check that a file which is written for people is not among those of the workspace.

        Args:
            file: what `--to` named, or its URL.

        Raises:
            InputError: if it is.
        """
        below = folder_of(f"{self.path.rstrip('/')}/file")
        if f"{folder_of(file)}/".startswith(f"{below}/"):
            raise InputError(f"--to: {file}: is in the workspace; write it beside it")

    # --- rounds

    @contextlib.contextmanager
    def new_round(
        self, number: int, design: dict[str, Any], manifest: dict[str, Any], forgotten: int
    ) -> Iterator[Path]:
        """Give a directory for the other files of a round, which comes in when all is well.

        Args:
            number: of the round, the next one.
            design: for design.json.
            manifest: of the job.
            forgotten: number of the next record of what is forgotten, before the payload was read.

        Raises:
            InputError: if somebody else added a round or erased something meanwhile; nothing of
                theirs is changed.
        """
        folder = round_folder(number)
        with self._new_batch(folder, design, manifest, "round", forgotten) as directory:
            yield directory

    @contextlib.contextmanager
    def new_adjudication(
        self, number: int, design: dict[str, Any], manifest: dict[str, Any], forgotten: int
    ) -> Iterator[Path]:
        """Give a directory for the other files of an adjudication batch, as `new_round` does."""
        folder = adjudication_folder(number)
        with self._new_batch(folder, design, manifest, "batch", forgotten) as directory:
            yield directory

    @contextlib.contextmanager
    def _new_batch(
        self,
        folder: str,
        design: dict[str, Any],
        manifest: dict[str, Any],
        called: str,
        forgotten: int,
    ) -> Iterator[Path]:
        with self.store.draft() as draft:
            directory = draft.directory / folder
            directory.mkdir(parents=True)
            _write_manifest(draft, manifest)
            yield directory
            try:
                check = functools.partial(self._check_forgotten, forgotten)
                draft.commit(f"{folder}/design.json", design, check)
            except FileExistsError as error:
                raise _meanwhile(self.store.url(folder), f"made this {called}") from error

    def tasks_of(self, number: int, exported: str | None) -> str | None:
        """Return where the tasks of a round are, None if it had no new rows.

        Args:
            number: of the round.
            exported: what its design calls the file.
        """
        return None if exported is None else self.store.url(f"{round_folder(number)}/{exported}")

    def close_round(self, number: int, reason: str) -> None:
        """Close a round by hand; twice is once."""
        self.store.write_json(f"{round_folder(number)}/closed.json", {"reason": reason})

    # --- labels and estimates

    def add_deliveries(self, first: int, deliveries: Sequence[NewDelivery], forgotten: int) -> None:
        """Take deliveries: all of them, or none.

        Args:
            first: place of the first one in the order they came in, from 1.
            deliveries: to take.
            forgotten: number of the next record of what is forgotten, when they were cleared.

        Raises:
            InputError: if somebody else took a delivery or erased something meanwhile; nothing of
                theirs is changed.
        """
        with self.store.draft() as draft:
            for order, new in enumerate(deliveries, start=first):
                name = f"labels/{new.name}.parquet"
                told = {**new.details, "rejects": len(new.rejects), "order": order}
                details = json.dumps(with_version(name, told))
                stored = new.votes.replace_schema_metadata({"evalsampling": details})
                write_parquet(stored, draft.path(name))
                if len(new.rejects):
                    _write_rejects(new.rejects, draft.path(_rejects(new.name)))
            try:
                names = [new.name for new in deliveries]
                check = functools.partial(self._check_forgotten, forgotten)
                draft.commit(f"taken/{first:04d}.json", {"deliveries": names}, check)
            except FileExistsError as error:
                raise _meanwhile(self.store.url("labels"), "took labels") from error

    def rejects_of(self, name: str) -> str:
        """Return where the rejected rows of a delivery are listed: see docs/workspace.md."""
        return self.store.url(_rejects(name))

    def has_estimate(self, name: str) -> bool:
        """Tell whether an estimate is kept."""
        return self.store.exists(f"estimates/{name}.json")

    def add_estimate(self, name: str, content: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Keep an estimate and the manifest of its job, which is first: no estimate lacks one."""
        self.add_manifest(manifest)
        self.store.write_json(f"estimates/{name}.json", content)


def read_together(read: Callable[[Any], Any], names: Sequence[Any]) -> list[Any]:
    """Read several things at once, in the order they are asked for."""
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


def _rejects(name: str) -> str:
    return f"labels/{name}.rejects.csv"


def _write_rejects(rejects: pa.Table, path: Path) -> None:
    """Write rejected rows as CSV that a spreadsheet opens; what was given may be a formula."""
    columns = [[escaped(value) for value in column.to_pylist()] for column in rejects.columns]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(rejects.column_names)
        lines.writerows(zip(*columns, strict=True))


def _manifest(job: str) -> str:
    return f"jobs/{job}.json"


def _write_manifest(draft: Draft, manifest: dict[str, Any]) -> None:
    path = draft.path(_manifest(manifest["job"]))
    told = sealed(with_version(_manifest(manifest["job"]), manifest))
    text = json.dumps(told, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
