"""Preparing a pool: the plain functions that the pipeline `prepare` is wired from."""

import dataclasses
import json
import time
import uuid
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.pool.stored_columns import CELL, HASH
from evalsampling.preparation.assignment import check_slices
from evalsampling.preparation.reserve import (
    Reserve,
    check_complete,
    check_unique,
    repeated_values,
    reserve_capacity,
)
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.slices import SliceCounts
from evalsampling.storage import open_store
from evalsampling.storage.checksums import FILES
from evalsampling.telemetry import progress
from evalsampling.workspace.manifest import Run, versions
from evalsampling.workspace.reserve import ReserveFiles
from evalsampling.workspace.workspace import Workspace

JOB = "prepare"
"""What its manifest is called."""


@dataclasses.dataclass(frozen=True)
class Preparation:
    """One run of `prepare`.

    Attributes:
        spec: of the evaluation.
        run: what it runs on, for the record.
        attempt: in the names of what it writes where others may be preparing the same workspace;
            empty where they are locked out.
        check_ids: whether all ids of the pool are checked, not only those of the reserve.
    """

    spec: EvaluationSpec
    run: Run
    attempt: str
    check_ids: bool = False

    @classmethod
    def of(
        cls, spec: EvaluationSpec, run: Run, check_ids: bool = False, detached: bool = False
    ) -> "Preparation":
        """Return the preparation of a spec.

        Args:
            spec: of the evaluation.
            run: what it runs on, for the record.
            check_ids: see `Preparation`.
            detached: whether nobody waits for it, who would lock out others and clear away what
                is left of it.

        Raises:
            InputError: if the spec names no workspace.
        """
        if spec.workspace is None:
            raise InputError("the spec names no workspace; add `workspace: DIRECTORY`")
        shared = detached or Workspace(spec.workspace).store.shared
        return cls(spec, run, uuid.uuid4().hex if shared else "", check_ids)

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
    def _reserve(self) -> ReserveFiles:
        return ReserveFiles(self.workspace.store, self.attempt)

    def plan(self, files: Collection[PoolFile]) -> Catalog:
        """Check that files go together, and make room for what is written.

        Raises:
            InputError: as `io.catalog.Catalog.of` says.
        """
        catalog = Catalog.of(files, self.spec)
        progress.expect(catalog.rows * self.passes)
        self.workspace.store.make()
        if self.spec.pool.scorer:
            open_store(self.scored_directory).make()
        return catalog

    @property
    def passes(self) -> int:
        """How often the rows are read, by the scorer or without."""
        return 1 if Stratification.given(self.spec) is not None and not self.spec.pool.scorer else 2

    def write_reserve(self, part: int, reserve: Reserve) -> pa.Table:
        """Write one part of the reserve and return cells and hashes of its rows.

        The metadata of the table has the file's checksum by its name.
        """
        name, checksum = self._reserve.write_part(part, reserve)
        assert reserve.rows is not None
        told = {name: json.dumps(dataclasses.asdict(checksum))}
        return reserve.rows.select([CELL, HASH]).replace_schema_metadata(told)

    def commit(
        self,
        catalog: Catalog,
        started: float,
        stratification: Stratification,
        sums: CellSums,
        counts: SliceCounts,
        located: Sequence[pa.Table],
    ) -> dict[str, Any]:
        """Write the cell table, the slices and, last of all, the marker.

        Args:
            catalog: what was read.
            started: when the job began, in seconds since 1970.
            stratification: leaves, cells and prior.
            sums: over all rows.
            counts: of the slice columns, over all rows.
            located: what `write_reserve` returned for each part.

        Returns:
            The object `prepare --json` prints.

        Raises:
            InputError: if an id is in the reserve twice, a slice column has too many values, or
                the pool changed meanwhile.
        """
        catalog.check_unchanged(self.spec.pool.path)
        nothing = pa.schema([(CELL, pa.int64()), (HASH, pa.uint64())]).empty_table()
        rows = pa.concat_tables([nothing, *located])
        repeated = repeated_values(rows[HASH].to_numpy())
        if len(repeated):
            found = self._reserve.with_hashes(repeated)
            check_unique(found, self.spec.pool.id)
        if self._reserve.parts != len(located):
            others = self.workspace.prepared
            why = "another prepare has finished there" if others else "files of it were removed"
            raise InputError(f"{self.workspace.path}: {why} meanwhile")
        check_complete(rows, sums.count, reserve_capacity(self.spec, stratification.grid.cells))
        check_slices(counts, self.spec.pool.slices)
        classes = len(self.spec.labels.classes)
        code, count, mean = sums.means()
        table = stratification.grid.table(code, count, mean, classes)
        told = {
            "rows": table.rows,
            "leaves": table.leaves,
            "cells": len(table),
            "reserve_rows": len(rows),
        }
        self.workspace.commit(
            {
                "attempt": self.attempt,
                FILES: {
                    name.decode(): json.loads(checksum)
                    for table in located
                    for name, checksum in (table.schema.metadata or {}).items()
                },
                "spec": self.spec.to_mapping(),
                "directory": self.spec.pool.directory,
                **told,
                "partition": stratification.to_mapping(),
                "pool": catalog.fingerprint,
                "warnings": catalog.warnings,
                "seconds": round(time.time() - started, 3),
                "runner": self.run.runner,
                "versions": versions(),
            },
            table,
            mean,
            stratification,
            Slices.of(self.spec.pool.slices, counts, table),
            self.run.manifest(
                JOB,
                self.spec,
                catalog.fingerprint,
                options={"check_ids": self.check_ids},
                counts=told,
                started=started,
            ),
        )
        return self.result()

    def result(self) -> dict[str, Any]:
        """Return the object `prepare --json` prints, of a workspace that is prepared."""
        keys = ("rows", "leaves", "cells", "reserve_rows", "seconds", "runner")
        marker = self.workspace.marker
        return {
            "workspace": self.workspace.path,
            **{key: marker[key] for key in keys},
            "warnings": marker.get("warnings", []),
        }

    def check_same_spec(self) -> None:
        """Check that the workspace was prepared with this spec.

        Raises:
            InputError: naming the first part of the spec that differs.
        """
        here, there = self.spec.to_mapping(), self.workspace.spec.to_mapping()
        for key, value in here.items():
            if value != there[key]:
                raise InputError(
                    f"{self.workspace.path}: prepared with another {key}; "
                    "choose another workspace or remove this one"
                )
