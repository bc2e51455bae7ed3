"""A pool held in memory: both passes are made at once, and every row is kept."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.specs import check_buildable
from evalsampling.labels.items import graded_outputs, item_ids
from evalsampling.measures.build import build_gains
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import CELL, ID, SLICE_PREFIX, outputs_of_columns
from evalsampling.preparation.local import SecondPass, stratify
from evalsampling.preparation.reserve import Reserve, ReserveBuilder, check_unique
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class MemoryPool:
    """A pool in memory with its cells and all its rows.

    Attributes:
        spec: what was asked for.
        stratification: how it is cut into cells.
        table: its cells.
        slices: its slices.
        reserve: all of its rows.
    """

    spec: EvaluationSpec
    stratification: Stratification
    table: CellTable
    slices: Slices
    reserve: Reserve

    @classmethod
    def from_arrays(
        cls,
        score: npt.NDArray[np.floating] | None,
        prediction: npt.NDArray[Any] | None,
        id: npt.NDArray[Any] | None,
        probability: npt.NDArray[np.floating] | None,
        columns: dict[str, npt.NDArray[Any]],
        spec: dict[str, Any],
    ) -> "MemoryPool":
        """Prepare columns; see `Evaluation.from_arrays`.

        Raises:
            InputError: naming the key, or the column and row, that is wrong.
        """
        given = {"score": score, "prediction": prediction}
        there = {name: values for name, values in given.items() if values is not None} | columns
        if not there:
            raise InputError("no columns are given")
        rows = len(next(iter(there.values())))
        there["id"] = np.arange(rows) if id is None else id
        pool: dict[str, Any] = {"path": "arrays", **spec.get("pool", {})}
        labels = spec.get("labels", {})
        known = labels.get("multilabel")
        if known and prediction is not None and np.ndim(prediction) == 2:
            pool["prediction"] = {value: f"prediction {value}" for value in known}
            del there["prediction"]
            columns_of = zip(pool["prediction"].values(), np.transpose(prediction), strict=True)
            there |= {name: np.asarray(values) for name, values in columns_of}
        if probability is not None and np.ndim(probability) == 2:
            classes = known or labels.get("classes", [0, 1])
            pool["probability"] = {value: f"probability {value}" for value in classes}
            there |= dict(zip(pool["probability"].values(), np.transpose(probability), strict=True))
        elif probability is not None:
            pool["probability"] = "probability"
            there["probability"] = probability
        if "lists" in pool:
            there = {name: _as_arrow(name, values) for name, values in there.items()}
        for name, values in there.items():
            if not isinstance(values, pa.Array) and np.ndim(values) != 1:
                raise InputError(f"{name}: must have one dimension, got {np.ndim(values)}")
            if len(values) != rows:
                raise InputError(f"{name}: {len(values)} values for {rows} rows")
        checked = EvaluationSpec.from_mapping(
            {"budget": max(rows, 1), **spec, "pool": pool}, Path()
        )
        check_buildable(checked)
        return cls.prepare(checked, PoolBatch(pa.record_batch(there)))

    @classmethod
    def prepare(cls, spec: EvaluationSpec, batch: PoolBatch) -> "MemoryPool":
        """Return the pool of one batch of rows, both passes made."""
        work = SecondPass(spec, stratify([batch], spec))
        (cells,) = work.over([batch])
        table = work.table()
        reserve = ReserveBuilder(spec, work.stratification, capacity=len(cells))
        reserve.add(cells)
        kept = reserve.build()
        check_unique(kept.rows, spec.pool.id)
        assert work.counts is not None
        slices = Slices.from_counts(spec.pool.slices, work.counts, table)
        return cls(spec, work.stratification, table, slices, kept)

    def ids(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the ids of rows given by cell and rank."""
        return self._rows(cell, rank)[ID].to_numpy(zero_copy_only=False)

    def describe(self, history: History) -> tuple[Outputs, npt.NDArray[np.int64]]:
        """Return outputs and slice codes of the rows of all questions of a history."""
        rows = self._rows(history.cell, history.rank)
        columns = [rows[SLICE_PREFIX + name] for name in self.spec.pool.slices]
        slices = self.slices.codes(columns, len(rows))
        if self.spec.pool.lists is not None:
            return self._with_known_grades(rows, history), slices
        outputs = outputs_of_columns(rows, len(self.spec.pool.systems), self.table.classes)
        return outputs, slices

    def items(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> list[list[Any]]:
        """Return the items to be graded of queries given by cell and rank."""
        found: list[list[Any]] = self._rows(cell, rank)[list_names(0)[0]].to_pylist()
        return found

    def graded(self, history: History, id: Sequence[Any], grades: Sequence[Any]) -> History:
        """Return a history with the grades of all items of some queries.

        Args:
            history: of this pool.
            id: of queries that were drawn.
            grades: of each, in the order of `items`.

        Raises:
            InputError: for a query that was not drawn, or grades that are not those of its items.
        """
        question = {one: q for q, one in enumerate(self.ids(history.cell, history.rank).tolist())}
        codes, labels = self.spec.labels.codes, history.label.copy()
        assert history.outputs.grades is not None
        known = history.outputs.grades.copy()
        for one, given in zip(id, grades, strict=True):
            if one not in question:
                raise InputError(f"id {one!r} was not drawn")
            q = question[one]
            rows = self._rows(history.cell[[q]], history.rank[[q]])
            items, told = len(item_ids(rows)), [str(grade) for grade in given]
            if len(told) != items:
                raise InputError(f"{len(told)} grades for the {items} items of id {one!r}")
            wrong = [grade for grade in told if grade not in codes]
            if wrong:
                raise InputError(f"grade {wrong[0]} of id {one!r} is not one of {[*codes]}")
            label = np.array([codes[grade] for grade in told], dtype=np.int64)
            of_query = self._graded(rows, label).grades
            assert of_query is not None
            known[q], labels[q] = of_query[0], 0
        outputs = dataclasses.replace(history.outputs, grades=known)
        return history.with_rows(outputs, history.slice).with_labels(labels)

    def _graded(self, rows: pa.Table, label: npt.NDArray[np.int64]) -> Outputs:
        """Return what is known of queries whose items have grades, one query after the other."""
        systems, moments = len(self.spec.pool.systems), self.table.outputs.probability.shape[1]
        depth = max(gain.cut for gain in build_gains(self.spec))
        return graded_outputs(rows, label, systems, moments, depth)[0]

    def _with_known_grades(self, rows: pa.Table, history: History) -> Outputs:
        """Return what is known of the queries of a history."""
        none = np.full(len(item_ids(rows)), NO_LABEL)
        outputs, known = self._graded(rows, none), history.labelled
        if len(known):
            assert outputs.grades is not None
            assert history.outputs.grades is not None
            outputs.grades[known] = history.outputs.grades[known]
        return outputs

    def _rows(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> pa.Table:
        assert self.reserve.rows is not None
        first = np.searchsorted(self.reserve.rows[CELL].to_numpy(), self.table.code[cell])
        return self.reserve.rows.take(pa.array(first + rank))


def _as_arrow(name: str, values: Any) -> pa.Array:
    """Return a column, maybe of lists."""
    try:
        return values if isinstance(values, pa.Array) else pa.array(values)
    except pa.ArrowException as error:
        raise InputError(f"{name}: {error}") from error
