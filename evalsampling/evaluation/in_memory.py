"""A pool held in memory: both passes are made at once, and every row is kept."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.specs import check_buildable
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.stored_columns import CELL, HASH, ID, SLICE_PREFIX, outputs_of_columns
from evalsampling.preparation.local import SecondPass, stratify
from evalsampling.preparation.reserve import Reserve, ReserveBuilder, check_unique
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.permanent import PermanentNumbers


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
        for name, values in there.items():
            if np.ndim(values) != 1:
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

    def numbers(self) -> PermanentNumbers:
        """Return the permanent random numbers of all rows."""
        rows = self.reserve.rows
        assert rows is not None
        cell = np.searchsorted(self.table.code, rows[CELL].to_numpy())
        return PermanentNumbers.of_hashes(cell, rows[HASH].to_numpy(), self.table.count)

    def describe(self, history: History) -> tuple[Outputs, npt.NDArray[np.int64]]:
        """Return outputs and slice codes of the rows of all questions of a history."""
        rows = self._rows(history.cell, history.rank)
        outputs = outputs_of_columns(rows, len(self.spec.pool.systems), self.table.classes)
        columns = [rows[SLICE_PREFIX + name] for name in self.spec.pool.slices]
        return outputs, self.slices.codes(columns, len(rows))

    def _rows(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> pa.Table:
        assert self.reserve.rows is not None
        first = np.searchsorted(self.reserve.rows[CELL].to_numpy(), self.table.code[cell])
        return self.reserve.rows.take(pa.array(first + rank))
