"""Preparing a pool: the plain functions that the pipeline `prepare` is wired from."""

import dataclasses
import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.commands.options import SpecOptions, flag, option, positive
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.pool.files import changes_of
from evalsampling.pool.source import pinned, planned_files
from evalsampling.pool.stored_columns import CELL, GIVEN, HASH
from evalsampling.pool.tables.spark import stored_in
from evalsampling.preparation.assignment import check_slices
from evalsampling.preparation.reserve import Reserve, check_complete, check_unique, repeated_values
from evalsampling.preparation.reserve_builder import reserve_capacity
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted, check_not_empty
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.clusters import ClusterSums
from evalsampling.stats.orders import OrderCounts, about_orders
from evalsampling.stats.slices import SliceCounts
from evalsampling.storage import open_store
from evalsampling.storage.checksums import FILES
from evalsampling.telemetry import progress
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.prepared import CLUSTERS, PreparedPool, cells_to_store, slices_to_store
from evalsampling.workspace.reserve import ReserveFiles
from evalsampling.workspace.workspace import STORED, Workspace

JOB = "prepare"
"""What its manifest is called."""

CHECK_IDS = "check_ids"
"""Option in the manifest: whether all ids were checked."""

_COUNTS = ("rows", "leaves", "cells", "reserve_rows")
"""Of a result, for the record."""


@dataclasses.dataclass(frozen=True)
class PrepareOptions(SpecOptions):
    """What a job of `prepare` asks for."""

    check_ids: bool = flag("check that all ids of the pool differ")


@dataclasses.dataclass(frozen=True)
class PrepareCommandOptions(PrepareOptions):
    """What the command asks for, which reads without Beam too; 0 rows are ``round_size``."""

    check: bool = flag("find what is wrong with the spec, by the first rows; write nothing")
    in_process: bool = flag("read the pool in this process: what is done without options of Beam")
    threads: int | None = option(
        "that read the pool in this process (default: one for each core, at most 8)",
        type=positive, metavar="N",
    )  # fmt: skip
    top_up: int | None = option(
        "add rows to the reserve of cells that hold fewer than ROWS (default: round_size) rows "
        "that were never drawn",
        type=positive, metavar="ROWS", alone=0,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PrepareResult(Result):
    """A pool that is prepared."""

    only_if_any = ("answers",)

    workspace: str
    rows: int  # of the pool
    leaves: int  # strata of the scores
    cells: int  # leaves divided by predictions
    reserve_rows: int  # rows that are kept to be drawn from
    seconds: float  # it took
    runner: str | None  # name of the Beam runner
    warnings: tuple[str, ...] = ()  # what is odd about the pool
    # what was made of the scores, in a sentence; None where labels are no classes
    scores: str | None = None
    answers: int | None = None  # wanted in all, where a row is to have several; else None

    @classmethod
    def of(cls, pool: PreparedPool) -> "PrepareResult":
        """Return the result that `prepare` printed of a pool."""
        marker, votes = pool.marker, pool.spec.labels.votes
        return cls(
            workspace=pool.workspace.path,
            **{key: marker[key] for key in (*_COUNTS, "seconds", "runner")},
            warnings=tuple(marker["warnings"]),
            scores=marker["scores"],
            answers=pool.spec.budget.labels * votes if votes > 1 else None,
        )


_ANEW = "choose another workspace or remove this one"


@dataclasses.dataclass(frozen=True)
class Preparation:
    """One run of `prepare`."""

    spec: EvaluationSpec
    context: ExecutionContext  # what it runs on, for the record
    # in the names of what it writes where others may be preparing the same workspace; empty where
    # they are locked out
    attempt: str
    # whether all ids of the pool are checked, not only those of the reserve
    check_ids: bool = False

    @classmethod
    def from_spec(
        cls,
        spec: EvaluationSpec,
        context: ExecutionContext,
        check_ids: bool = False,
        detached: bool = False,
    ) -> "Preparation":
        """Return the preparation of a spec."""
        if spec.pool.lists is not None:
            raise InputError(
                "pool.lists: rankings have no workspace: draw and grade queries in Python, by "
                "`Evaluation.from_frame`, or compare samplers by `simulate`"
            )
        if spec.workspace is None:
            raise InputError("the spec names no workspace; add `workspace: DIRECTORY`")
        shared = detached or Workspace(spec.workspace).store.shared
        preparation = cls(spec, context, uuid.uuid4().hex if shared else "", check_ids)
        return preparation.settled() if detached else preparation

    def settled(self) -> "Preparation":
        """Return this preparation with the version of its table, if the pool is one.

        It is that of a killed preparation of the same table, else the current one or the spec's.
        """
        table = self.spec.pool.table
        if table is None or table.pinned is not None:
            return self
        kept = self.workspace.table
        same = kept.get("table") == table.to_mapping()
        pool = self.spec.pool
        pool = pool.at_version(kept["pinned"]) if same else pinned(pool)
        spec = self.spec.with_pool(stored_in(pool, self.stored_directory))
        return dataclasses.replace(self, spec=spec)

    @property
    def table(self) -> dict[str, Any] | None:
        """Which table is read at which version, None if the pool is none."""
        table = self.spec.pool.table
        return None if table is None else {"table": table.to_mapping(), "pinned": table.pinned}

    @property
    def workspace(self) -> Workspace:
        """Where the results go."""
        assert self.spec.workspace is not None
        return Workspace(self.spec.workspace)

    @property
    def scored_directory(self) -> str:
        """Where the scorer's output goes."""
        return self.workspace.store.url(f"scored/{self.attempt}".rstrip("/"))

    @property
    def stored_directory(self) -> str:
        """Where the rows of a pool go whose files are not Parquet, or that has no files."""
        return self.workspace.store.url(f"{STORED}/{self.attempt}".rstrip("/"))

    @property
    def reserve(self) -> ReserveFiles:
        """Where the rows go that are kept to be drawn from."""
        return ReserveFiles(self.workspace.store, self.attempt)

    def plan(self, files: Collection[PoolFile]) -> Catalog:
        """Check that files go together, and make room for what is written."""
        catalog = Catalog.from_files(files, self.spec.reading)
        progress.expect(catalog.rows, self.passes)
        self.workspace.store.make()
        if self.spec.pool.scorer:
            open_store(self.scored_directory).make()
        return catalog

    @property
    def passes(self) -> int:
        """How often the rows are read, by the scorer or without."""
        return 1 + (self.spec.pool.scorer is not None or Wanted.of(self.spec.reading).anything)

    def write_reserve(self, part: int, reserve: Reserve) -> pa.Table:
        """Write a part of the reserve, with its checksum; return cells and hashes of rows."""
        name, checksum = self.reserve.write_part(part, reserve)
        assert reserve.rows is not None
        metadata = {name: json.dumps(dataclasses.asdict(checksum))}
        names = [name for name in (CELL, HASH, GIVEN) if name in reserve.rows.column_names]
        return reserve.rows.select(names).replace_schema_metadata(metadata)

    def commit(
        self,
        catalog: Catalog,
        started: float,
        stratification: Stratification,
        sums: CellSums,
        counts: SliceCounts,
        located: Sequence[pa.Table],
        orders: OrderCounts | None = None,
        clusters: ClusterSums | None = None,
        *_: Any,
        capacity: int | None = None,
    ) -> None:
        """Write the cell table, the slices and, when all else is done, the marker."""
        spec, names = self.spec, self.spec.pool.slices
        catalog.check_unchanged(spec.pool)
        check_not_empty(sums.count.sum(), spec.pool)
        capacity = capacity or reserve_capacity(spec.reading.most_drawn, stratification.grid.cells)
        reserve_rows = self._check_reserve(located, sums, capacity)
        check_slices(counts, names)
        check_gated_slices(spec, counts)
        table, mean = stratification.table(sums), sums.means()[2]
        counted = (table.rows, len(table.leaves), len(table), reserve_rows)
        sizes = dict(zip(_COUNTS, counted, strict=True))
        slices = slices_to_store(Slices.from_counts(names, counts, table), table) if names else None
        options = {CHECK_IDS: self.check_ids}
        manifest = self.context.manifest(
            JOB, spec, catalog.fingerprint, options=options, counts=sizes, started=started
        )
        content = {
            "attempt": self.attempt,
            FILES: {
                name.decode(): json.loads(checksum)
                for part in located
                for name, checksum in (part.schema.metadata or {}).items()
            },
            "spec": spec.to_mapping(),
            "directory": spec.pool.directory,
            **sizes,
            "partition": stratification.to_mapping(),
            "pool": catalog.fingerprint,
            **({} if self.table is None else {"table": self.table}),
            **({} if clusters is None else {CLUSTERS: dataclasses.asdict(clusters.shared())}),
            **({"both_orders": orders.pairs[0]} if orders and orders.pairs[0] else {}),
            "warnings": [*catalog.warnings, *stratification.warnings(table), *about_orders(orders)],
            "scores": stratification.said_of_scores(table),
            "seconds": manifest["seconds"],
            "runner": self.context.runner,
            "versions": manifest["versions"],
        }
        cells = cells_to_store(table, mean, stratification)
        self.workspace.commit(content, cells, slices, manifest)

    def _check_reserve(self, located: Sequence[pa.Table], sums: CellSums, capacity: int) -> int:
        """Check that the reserve is whole and no id is in it twice; return its rows."""
        nothing = pa.schema([(CELL, pa.int64()), (HASH, pa.uint64())]).empty_table()
        rows = pa.concat_tables([nothing, *located], promote_options="default")
        repeated = repeated_values(rows[HASH].to_numpy())
        if len(repeated):
            check_unique(self.reserve.with_hashes(repeated), self.spec.pool.id)
        if self.reserve.parts != len(located):
            others = self.workspace.prepared
            why = "another prepare has finished there" if others else "files of it were removed"
            raise InputError(f"{self.workspace.path}: {why} meanwhile")
        check_complete(rows, sums.count, capacity)
        return len(rows)

    def check_same(self) -> None:
        """Check that the workspace was prepared like this: by spec, pool and check of ids."""
        prepared = PreparedPool.read(self.workspace)
        self.check_same_spec(prepared)
        self.check_same_pool(prepared.marker["pool"])
        if self.check_ids and not prepared.options.get(CHECK_IDS):
            raise InputError(f"{self.workspace.path}: prepared without --check-ids; {_ANEW}")

    def check_same_spec(self, prepared: PreparedPool) -> None:
        """Check that a workspace was prepared with this spec."""
        own = self.spec.budget
        here, there = self.spec.to_mapping(), prepared.own_spec.to_mapping()
        if own in prepared.budgets:
            here["budget"] = there["budget"]  # It was raised there.
        differing = _differing(here, there)
        if not differing:
            return
        path, now = self.workspace.path, prepared.spec.budget
        sections = {name.partition(".")[0] for name in differing}
        what = f"another {', '.join(differing)}; {_ANEW}"
        if sections == {"budget"} and own.allows(now):
            raising = f"`evalsampling sample {path} {own.arguments}` raises it"
            what = f"a budget of {now.words}; {raising}"
        elif sections == {"gates"}:
            what = (
                "other gates, which stay; options of `evalsampling estimate` take their place: "
                "--at-least, --at-most"
            )
        raise InputError(f"{path}: prepared with {what}")

    def check_same_pool(self, pool: Sequence[Mapping[str, Any]]) -> None:
        """Check that the readable files of the pool are as they were when it was prepared."""
        changed, absent = changes_of(pool)
        if changed:
            raise InputError(f"{changed[0]} in {self.workspace.path}; {_ANEW}")
        if absent or not pool or self.spec.pool.table is not None:
            return
        names = {file["path"] for file in pool}
        for path in (file.stored.path for file in planned_files(self.spec.pool)):
            if path not in names:
                raise InputError(
                    f"{path}: was not in the pool when {self.workspace.path} was prepared; {_ANEW}"
                )


def check_gated_slices(spec: EvaluationSpec, counts: SliceCounts) -> None:
    """Check that the pool has rows of the slices that gates of its spec are about."""
    if spec.gates and spec.pool.slices:
        from evalsampling.evaluation.specs import check_own_gates  # Few specs have gates.

        check_own_gates(spec, dict(zip(spec.pool.slices, counts.columns, strict=True)))


def _differing(here: Any, there: Any, key: str = "") -> list[str]:
    """Return the keys by which two values of a key of the spec differ, none if they are alike."""
    if here == there:
        return []
    if not isinstance(here, Mapping) or not isinstance(there, Mapping):
        return [key]
    return [
        differing
        for name in dict.fromkeys([*here, *there])
        for differing in _differing(here.get(name), there.get(name), f"{key}.{name}".lstrip("."))
    ] or [key]
