"""The prepared pool in a workspace: the marker, cells, slices and reserve."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.labels.tasks import opaque_name
from evalsampling.parts.records import read_record
from evalsampling.pool.stored_columns import CELL, ID, PAYLOAD_PREFIX, SLICE_PREFIX, output_columns
from evalsampling.preparation.slices import Slices
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.budget import Budget
from evalsampling.spec.sections import Section, absolute
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.magnitudes import POWERS
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.storage import checksums_of
from evalsampling.storage.checksums import Checksums, place_of
from evalsampling.workspace.reserve import ReserveFiles
from evalsampling.workspace.workspace import BUDGETS, MARKER, Workspace

if TYPE_CHECKING:
    from evalsampling.preparation.stratification import Stratification

_MARKER_KEYS = (
    "attempt", "key", "spec", "directory", "rows", "partition", "pool", "seconds", "runner",
    "versions",
)  # fmt: skip

CLUSTERS = "clusters"
"""Key of the marker: how the rows are spread over clusters, where the spec names them."""

_MEANS = ("prior.", "system.", "numbers.", *(f"{name}.relative" for name in POWERS))
"""Beginnings of the names of the columns that the cell table is made from."""


@dataclasses.dataclass(frozen=True)
class PreparedPool:
    """A pool as `prepare` stored it; tables are read when they are needed.

    ``marker`` is the content of evaluation.json, and ``budgets`` what the budget was raised to.
    """

    workspace: Workspace
    marker: dict[str, Any]
    budgets: tuple[Budget, ...] = ()

    @classmethod
    def read(cls, workspace: Workspace) -> "PreparedPool":
        """Return the prepared pool of a workspace, after reading its marker."""
        workspace.check_prepared()
        return cls(workspace, workspace.store.read_json(MARKER, _MARKER_KEYS)).reread()

    def reread(self) -> "PreparedPool":
        """Return the pool with its present budget, the only part that may change."""
        store = self.workspace.store
        names = sorted(name for name in store.names(BUDGETS) if name.endswith(".json"))
        contents = (store.read_json(f"{BUDGETS}/{name}", ["budget"]) for name in names)
        budgets = tuple(Budget.read(Section("", content)) for content in contents)
        return self if budgets == self.budgets else dataclasses.replace(self, budgets=budgets)

    @functools.cached_property
    def spec(self) -> EvaluationSpec:
        """The spec the workspace was prepared with, with the present budget."""
        spec = self.own_spec
        if "table" in self.marker:
            spec = spec.with_pool(spec.pool.at_version(self.marker["table"]["pinned"]))
        return dataclasses.replace(spec, budget=self.budgets[-1]) if self.budgets else spec

    @functools.cached_property
    def own_spec(self) -> EvaluationSpec:
        """The spec the workspace was prepared with, and the path where the workspace is now."""
        content, directory = self.marker["spec"], self.marker["directory"]
        spec = EvaluationSpec.from_mapping(content, directory, is_stored=True)
        here = absolute("workspace", self.workspace.path, os.getcwd(), ["gs"])
        return dataclasses.replace(spec, workspace=here)

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the job that prepared the pool; none if its manifest has gone."""
        store = self.workspace.store
        folder = f"jobs/{self.marker['attempt']}" if store.shared else "jobs"
        return dict(store.find_json(f"{folder}/prepare.json").get("options", {}))

    @property
    def task_key(self) -> bytes:
        """The key of the names of tasks, a secret of the workspace."""
        return bytes.fromhex(self.marker["key"])

    def batch_name(self, number: int) -> str:
        """Return the opaque name of the batch of a round, or of an adjudication (negative)."""
        return "b" + opaque_name(self.task_key, "batch", number)[1:]

    @functools.cached_property
    def checksums(self) -> Checksums:
        """Checksums of the files that `prepare` wrote."""
        return checksums_of(self.marker)

    def _read(self, file: str) -> pa.Table:
        return self.workspace.store.read_table(place_of(file, self.checksums), self.checksums)

    @functools.cached_property
    def stratification(self) -> "Stratification":
        """The partition of the pool into cells; commands that only count labels never load it."""
        from evalsampling.preparation.stratification import Stratification

        return Stratification.from_mapping(self.marker["partition"], self.spec.reading)

    @functools.cached_property
    def table(self) -> CellTable:
        """The cell table."""
        stored = self._read("cells.parquet")
        names = [name for name in stored.column_names if name.startswith(_MEANS)]
        return self.stratification.table_of_means(
            code=stored[CELL].to_numpy(),
            count=stored["count"].to_numpy(),
            mean=np.stack([stored[name].to_numpy() for name in names], axis=1),
        )

    @functools.cached_property
    def slices(self) -> Slices:
        """The slices of the pool."""
        names = self.spec.pool.slices
        if not names:
            return Slices()
        stored = self._read("slices.parquet")
        values, counts = [], []
        for name in names:
            rows = stored.filter(pc.equal(stored["column"], name))
            distinct = sorted(set(rows["value"].to_pylist()))
            by_cell = np.zeros((len(distinct), len(self.table)), dtype=np.int64)
            place = pc.index_in(rows["value"], value_set=pa.array(distinct, pa.string())).to_numpy()
            cell = np.searchsorted(self.table.code, rows[CELL].to_numpy())
            by_cell[place, cell] = rows["count"].to_numpy()
            values.append(tuple(distinct))
            counts.append(by_cell)
        return Slices(names, tuple(values), tuple(counts))

    @property
    def clusters(self) -> SharedClusters | None:
        """How the rows are spread over clusters; None if the spec names none."""
        content = self.marker.get(CLUSTERS)
        return None if content is None else read_record(SharedClusters, content)

    @property
    def reserve(self) -> ReserveFiles:
        """The reserve."""
        return ReserveFiles(self.workspace.store, self.marker["attempt"])

    def numbers(self) -> PermanentNumbers:
        """Return the permanent random numbers of the rows of the reserve."""
        code, hashes = self.reserve.hashes()
        cell = np.searchsorted(self.table.code, code)
        return PermanentNumbers.of_hashes(cell, hashes, self.table.count)

    def read_rows(self, cell: IntArray, rank: IntArray) -> pa.Table:
        """Return id, outputs, slices and payload of rows of the reserve, in the order asked for."""
        pool, nothing = self.spec.pool, self.table.kinds.no_rows
        if nothing.tags is not None:  # Cells have shares of rows in their place.
            nothing = dataclasses.replace(nothing, tags=nothing.tags.astype(np.bool_))
        if pool.cluster is not None:
            nothing = dataclasses.replace(nothing, cluster=np.zeros(0, dtype=np.int64))
        slices = [SLICE_PREFIX + name for name in pool.slices]
        payload = [PAYLOAD_PREFIX + name for name in pool.payload]
        return self.reserve.read(cell, rank, [ID, *output_columns(nothing), *slices, *payload])


def cells_to_store(
    table: CellTable, mean: FloatArray, stratification: "Stratification"
) -> pa.Table:
    """Return the contents of cells.parquet: for each cell its code, leaf, rows and means."""
    bin, slot, of_class = stratification.grid.places(table.code)
    columns = {
        CELL: table.code, "leaf": table.leaf, "bin": bin, "signature": slot,
        "count": table.count,
    }  # fmt: skip
    magnitudes: dict[str, Any] = {}
    mean, relative = np.split(mean, [mean.shape[1] - len(of_class)], axis=1)
    for name, share in zip(stratification.magnitudes, relative.T, strict=True):
        magnitudes[f"{name}.class"] = of_class[name]
        magnitudes[f"{name}.mean"] = table.kinds.magnitudes[name][table.kinds.first]
        magnitudes[f"{name}.relative"] = share
    for place, column in enumerate(mean.T):
        system, y = divmod(place - table.classes, table.classes)
        name = f"prior.{place}" if system < 0 else f"system.{system}.{y}"
        columns[name if stratification.compared is None else f"numbers.{place}"] = column
    return pa.table(columns | magnitudes)


def slices_to_store(slices: Slices, table: CellTable) -> pa.Table:
    """Return the contents of slices.parquet: counts of rows by column, value and cell."""
    columns: dict[str, list[Any]] = {"column": [], "value": [], CELL: [], "count": []}
    for name, values, counts in zip(slices.names, slices.values, slices.counts, strict=True):
        for value, by_cell in zip(values, counts, strict=True):
            cells = np.flatnonzero(by_cell)
            columns["column"] += [name] * len(cells)
            columns["value"] += [value] * len(cells)
            columns[CELL] += table.code[cells].tolist()
            columns["count"] += by_cell[cells].tolist()
    return pa.table(columns)
