"""A pool held in memory: both passes are made at once, and every row is kept."""

import dataclasses
import functools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.graded import known_outputs
from evalsampling.evaluation.specs import check_buildable
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.measures.build import entry_of as entry_of_measure
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.conditions import Filter
from evalsampling.pool.frames import Column, Frame, Table, has_index, is_column, is_table, to_array
from evalsampling.pool.one_order import orders_of, without_other_order
from evalsampling.pool.stored_columns import CELL, HASH, ID, RANK, SLICE_PREFIX, outputs_of_columns
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.ids import check_unique_ids
from evalsampling.preparation.plan import stratify_rows
from evalsampling.preparation.reserve import Reserve, check_unique, labelled
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.samplers.build import entry_of as entry_of_sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.budget import Budget
from evalsampling.spec.id_columns import columns_of, sides_of
from evalsampling.spec.labels import read_space
from evalsampling.spec.pool import KEYS as POOL_KEYS
from evalsampling.spec.sections import Section
from evalsampling.spec.strata import KD, PREDICTIONS
from evalsampling.spec.where import KEY as WHERE
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.history import History
from evalsampling.stats.orders import OrderCounts
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.slices import SliceCounts


@dataclasses.dataclass(frozen=True)
class MemoryPool:
    """A pool in memory with its cells and all its rows; without ``limits`` no budget was given."""

    spec: EvaluationSpec
    stratification: Stratification
    table: CellTable
    slices: Slices
    reserve: Reserve
    sums: CellSums
    counts: SliceCounts
    limits: Budget | None = None
    clusters: SharedClusters | None = None
    orders: OrderCounts | None = None

    @classmethod
    def from_arrays(
        cls,
        score: Column | None,
        prediction: Any,
        id: Column | Frame | None,
        probability: Any,
        columns: Frame | None,
        spec: dict[str, Any],
    ) -> "MemoryPool":
        """Prepare columns; see `Evaluation.from_arrays`."""
        spec = _named(spec, "arrays")
        given = {"score": score, "prediction": prediction}
        columns_by_name = {name: values for name, values in given.items() if values is not None}
        pool, space, strata = spec["pool"], _space_of(spec), spec.get("strata", {})
        if isinstance(prediction, float | int) or (type(prediction) is dict and not space.flags):
            pool["prediction"] = columns_by_name.pop("prediction")  # A threshold of the score.
        if score is not None and (space.tagged or {"columns", "features"} & {*strata, *pool}):
            pool.setdefault("score", "score")
        if space.flags and _is_matrix(prediction):
            pool["prediction"] = {name: f"prediction {name}" for name in space.flags}
            del columns_by_name["prediction"]
            columns_by_name |= _columns_of(prediction, pool["prediction"])
        classes = spec.get("labels", {}).get("classes", space.names)
        for key, matrix in (("probability", probability), ("logits", pool.get("logits"))):
            if _is_matrix(matrix):
                pool[key] = {name: f"{key} {name}" for name in classes}
                columns_by_name |= _columns_of(matrix, pool[key])
        if probability is not None and not _is_matrix(probability):
            pool["probability"] = "probability"
            columns_by_name["probability"] = probability
        if is_table(id):
            of_id = Table.of(id, "id")
            pool["id"] = [*of_id.names]
            columns_by_name |= {name: of_id.column(name) for name in of_id.names}
        others = Table.of({} if columns is None else columns, "columns")
        if columns_by_name and not others.ordered:
            raise InputError(
                "columns: rows of a query come in no fixed order, so that other columns do not "
                "belong to them by their places; put all into the query, or use from_frame"
            )
        names = [*columns_by_name, *others.names]
        spec = _without_score(_by_classes(spec, names), names)
        by_id = isinstance(pool.get("id"), list)
        wanted = others.names if isinstance(columns, Mapping) else _columns_named(spec, by_id)
        columns_by_name |= {name: others.column(name) for name in wanted if others.has(name)}
        if not columns_by_name:
            raise InputError("no columns are given")
        if id is not None and not is_table(id):
            columns_by_name["id"] = id
        return cls._of_columns(columns_by_name, spec)

    @classmethod
    def from_frame(cls, frame: Frame, named: dict[str, Any], spec: dict[str, Any]) -> "MemoryPool":
        """Prepare a table; see `Evaluation.from_frame`."""
        table, spec = Table.of(frame), _named(spec, "frame")
        own = {key: value for key, value in named.items() if value is not None}
        for key in (key for key in own if is_column(own[key])):
            raise InputError(f"{key}: name a column of the table; from_arrays takes its values")
        own |= {"id": [*own["id"]]} if isinstance(own.get("id"), tuple) else {}
        pool = spec["pool"] = {**spec["pool"], **own}
        spec = _by_classes(spec, table.names)
        with_id = "id" in {*pool, *table.names}
        if not (with_id or table.ordered):
            raise InputError(
                "id: name the column of ids: rows of a query come in no fixed order, so that "
                f"nothing else names them; there are: {', '.join(table.names)}"
            )
        spec = _without_score(spec, table.names)
        columns = {name: table.column(name) for name in _columns_named(spec, with_id)}
        if not columns:
            raise InputError("no columns are given")
        return cls._of_columns(columns, spec)

    @classmethod
    def _of_columns(cls, columns: dict[str, Any], spec: dict[str, Any]) -> "MemoryPool":
        """Prepare a pool of these columns; ids that are not among them come from an index."""
        rows = len(next(iter(columns.values())))
        indexed = [(name, values.index) for name, values in columns.items() if has_index(values)]
        for name, index in indexed:
            if len(index) == rows and not index.equals(indexed[0][1]):
                problem = f"its index is not that of {indexed[0][0]}"
                raise InputError(f"{name}: {problem}; bring the rows in one order first")
        checked = EvaluationSpec.from_mapping({"budget": max(rows, 1), **spec}, Path())
        if checked.pool.where is not None:
            raise InputError(
                f"{WHERE}: rows in memory are taken as they are; leave out those that are not "
                f"wanted, in place of {checked.pool.where}"
            )
        if isinstance(checked.pool.id, str) and checked.pool.id not in columns:
            columns[checked.pool.id] = indexed[0][1].to_series() if indexed else np.arange(rows)
        check_buildable(checked)
        arrays = {name: to_array(values, name) for name, values in columns.items()}
        for name, values in arrays.items():
            if len(values) != rows:
                raise InputError(f"{name}: {len(values)} values for {rows} rows")
        batch = PoolBatch(pa.record_batch(arrays))
        counts = Filter.of_pool(checked.pool, batch.rows.schema)
        batch = batch if counts is None else counts.kept(batch)
        sides = sides_of(checked.pool.id)
        if checked.pool.pairs is not None and sides is not None:
            batch = without_other_order(batch, sides, checked.seed)
        limits = checked.budget if "budget" in spec else None
        return dataclasses.replace(cls.prepare(checked, batch), limits=limits)

    @classmethod
    def prepare(cls, spec: EvaluationSpec, batch: PoolBatch) -> "MemoryPool":
        """Return the pool of one batch of rows, both passes made."""
        stratification = stratify_rows([batch], spec.reading)
        cells = assign_cells(batch, stratification)
        sums, counts = cells.sums(), cells.slice_counts()
        table = stratification.table(sums)
        builder = ReserveBuilder(stratification, capacity=len(cells))
        builder.add(cells)
        reserve = builder.build()
        if spec.reading.by_cluster:  # Then keys of rows of two clusters differ, whatever their ids.
            check_unique_ids([batch], spec.pool.id, spec.seed)
        else:
            check_unique(reserve.rows, spec.pool.id)
        slices = Slices.from_counts(spec.pool.slices, counts, table)
        clusters = None if spec.pool.cluster is None else cells.cluster_sums().shared()
        orders = orders_of(batch, spec.pool, spec.seed, len(batch))
        return cls(
            spec, stratification, table, slices, reserve, sums, counts, None, clusters, orders
        )

    @functools.cached_property
    def analysis(self) -> Analysis:
        """The analysis before the first round."""
        return Analysis.of_pool(self, self.spec.analysis)

    def ids(self, cell: IntArray, rank: IntArray) -> npt.NDArray[Any]:
        """Return the ids of rows given by cell and rank."""
        return self.stored(cell, rank)[ID].to_numpy(zero_copy_only=False)

    def stored(self, cell: IntArray, rank: IntArray) -> pa.Table:
        """Return rows given by cell and rank, as they are stored."""
        assert self.reserve.rows is not None
        first = np.searchsorted(self.reserve.rows[CELL].to_numpy(), self.table.code[cell])
        return self.reserve.rows.take(pa.array(first + rank))

    def given(self) -> pa.Table:
        """Return the rows that had a label already, as they are stored, with their ranks."""
        assert self.reserve.rows is not None
        rows = self.reserve.rows.append_column(RANK, pa.array(self.reserve.ranks))
        return rows.filter(pa.array(labelled(rows)))

    def numbers(self) -> PermanentNumbers:
        """Return the permanent random numbers of all rows."""
        rows = self.reserve.rows
        assert rows is not None
        cell = np.searchsorted(self.table.code, rows[CELL].to_numpy())
        return PermanentNumbers.of_hashes(cell, rows[HASH].to_numpy(), self.table.count)

    def describe(self, history: History) -> tuple[Outputs, IntArray]:
        """Return outputs and slice codes of the rows of all questions of a history."""
        rows = self.stored(history.cell, history.rank)
        if self.spec.pool.lists is None:
            systems, named = len(self.spec.pool.systems), self.spec.reading.named_slices
            outputs = outputs_of_columns(rows, systems, self.table.classes, named)
        else:
            outputs = known_outputs(rows, history, self.spec.reading, self.table)
        columns = [rows[SLICE_PREFIX + name] for name in self.spec.pool.slices]
        return outputs, self.slices.codes(columns, len(rows))


def _is_matrix(values: Any) -> bool:
    """Tell whether values have a column for each of several classes."""
    return hasattr(values, "__array__") and np.ndim(values) == 2


def _columns_of(matrix: Any, names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the columns of a matrix, shape (rows, classes), under the new name of each class.

    A table whose columns are not called as the classes are is taken in their order.
    """
    if not isinstance(matrix, np.ndarray):
        table = Table.of(matrix)
        by_text = {str(name): name for name in table.names}
        if {str(key) for key in names} == set(by_text):
            return {name: table.column(by_text[str(key)]) for key, name in names.items()}
        columns = [table.column(name) for name in table.names]
    else:
        columns = list(matrix.T)
    if len(columns) != len(names):
        first = next(iter(names.values())).split()[0]
        raise InputError(f"{first}: {len(columns)} columns for {len(names)} classes")
    return dict(zip(names.values(), columns, strict=True))


def _named(spec: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a spec whose pool has a path, and whose measures and samplers have their names.

    Keys of ``pool`` may be given by themselves, and what ``labels`` lists as arrays.
    """
    if spec.get("workspace") is not None:
        raise InputError("workspace: a pool in memory has none; `save` writes an evaluation to one")
    makers = {"labels": _listed, "measure": entry_of_measure, "sampler": entry_of_sampler}
    named = {key: makers[key](item) if key in makers else item for key, item in spec.items()}
    of_pool = {key: named.pop(key) for key in POOL_KEYS if key in named}
    return named | {"pool": {"path": path, **named.get("pool", {}), **of_pool}}


def _listed(keys: Any) -> Any:
    """Return keys of a spec with lists in place of arrays, as ``unique()`` of pandas gives them."""
    if isinstance(keys, Mapping):
        return {key: _listed(value) for key, value in keys.items()}
    if isinstance(keys, list | tuple):
        return [_listed(value) for value in keys]
    listed = getattr(keys, "tolist", None) or getattr(keys, "to_list", None)
    return keys if listed is None else listed()


def _space_of(spec: dict[str, Any], of_items: bool = False) -> LabelSpace:
    """Return the label space of a spec, by its keys."""
    return read_space(Section("labels", spec.get("labels", {})), of_items, "")[0]


def _by_classes(spec: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a spec completed from its columns for each class, given the names of all columns.

    These are the classes, if it names none and they are many: of two it does not follow which one
    is positive. And strata are cut from the columns, of all systems, in want of a score.
    """
    labels, pool, strata = spec.get("labels", {}), spec["pool"], spec.get("strata", {})
    systems = pool.get("systems", {})
    of_each = [pool, *(systems.values() if isinstance(systems, Mapping) else ())]
    of_each = [each for each in of_each if isinstance(each, Mapping)]
    mappings = (each.get("probability") or each.get("logits") for each in of_each)
    by_class = [mapping for mapping in mappings if isinstance(mapping, Mapping)]
    if not by_class:
        return spec
    if len(by_class[0]) > 2 and not {"classes", "multilabel", "range"} & set(labels):
        spec = {**spec, "labels": {**labels, "classes": list(by_class[0])}}
    is_scored = "score" in names or any("score" in each for each in of_each)
    is_cut = {"method", "columns"} & {*strata}
    if is_scored or is_cut or _space_of(spec, "lists" in pool).tagged:
        return spec
    columns = [column for mapping in by_class for column in mapping.values()]
    features = list(dict.fromkeys([*pool.get("features", []), *columns]))
    return {**spec, "strata": {**strata, "method": KD}, "pool": {**pool, "features": features}}


def _without_score(spec: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a spec with a stand-in for the score where there is none.

    It is the probability of the positive class or, for want of that, what is predicted.
    """
    strata, pool = spec.get("strata", {}), spec["pool"]
    if {"score", "systems", "lists"} & {*pool, *names}:
        return spec
    is_cut = {"method", "edges", "columns"} & {*strata}
    if isinstance(pool.get("probability"), str) and not is_cut:
        return {**spec, "pool": {**pool, "score": pool["probability"]}}
    if not EvaluationSpec.from_mapping({"budget": 1, **spec}, Path()).pool.assumes_score:
        return spec
    return {**spec, "strata": {**strata, "method": PREDICTIONS}}


def _columns_named(spec: dict[str, Any], with_id: bool) -> list[str]:
    """Return the columns that a spec names, the id only if it is asked for."""
    checked = EvaluationSpec.from_mapping(spec, Path())
    left_out = () if with_id else columns_of(checked.pool.id)
    return [name for name in checked.reading.all_columns if name not in left_out]
