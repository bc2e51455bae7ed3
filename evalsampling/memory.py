"""A pool held in memory: the same two passes, with every row kept."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool import PoolBatch, Strata, assign_cells, score_histogram
from evalsampling.reserve import CELL, ID, Reserve, ReserveBuilder, check_unique
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable


@dataclasses.dataclass(frozen=True)
class MemoryPool:
    """The rows of a pool in their permanent order.

    Attributes:
        spec: what was asked for.
        table: its cells.
        reserve: all of its rows.
    """

    spec: EvaluationSpec
    table: CellTable
    reserve: Reserve

    @classmethod
    def from_arrays(
        cls,
        score: npt.NDArray[np.floating],
        prediction: npt.NDArray[Any],
        id: npt.NDArray[Any] | None,
        probability: npt.NDArray[np.floating] | None,
        spec: dict[str, Any],
    ) -> "MemoryPool":
        """Prepare columns; see `Evaluation.from_arrays`.

        Raises:
            InputError: naming the key, or the column and row, that is wrong.
        """
        columns: dict[str, Any] = {
            "id": np.arange(len(score)) if id is None else id,
            "score": score,
            "prediction": prediction,
        }
        pool: dict[str, Any] = {"path": "arrays"}
        if probability is not None and np.ndim(probability) == 2:
            classes = spec.get("labels", {}).get("classes", [0, 1])
            pool["probability"] = {value: f"probability {value}" for value in classes}
            columns |= dict(
                zip(pool["probability"].values(), np.transpose(probability), strict=True)
            )
        elif probability is not None:
            pool["probability"] = "probability"
            columns["probability"] = probability
        for name, values in columns.items():
            if np.ndim(values) != 1:
                raise InputError(f"{name}: must have one dimension, got {np.ndim(values)}")
            if len(values) != len(score):
                raise InputError(f"{name}: {len(values)} values for {len(score)} scores")
        checked = EvaluationSpec.from_mapping(
            {"pool": pool, "budget": max(len(score), 1), **spec}, Path()
        )
        return cls.prepare(checked, PoolBatch(pa.record_batch(columns)))

    @classmethod
    def prepare(cls, spec: EvaluationSpec, batch: PoolBatch) -> "MemoryPool":
        """Make both passes over a pool that is one batch."""
        strata = Strata.from_histogram(score_histogram(batch, spec), spec)
        shape = strata.shape(spec)
        cells = assign_cells(batch, spec, strata)
        reserve = ReserveBuilder(spec, int(np.prod(shape)), capacity=len(cells.cell))
        reserve.add(cells)
        kept = reserve.build()
        check_unique(kept.rows, spec.pool.id)
        return cls(spec, cells.sums(shape).table(), kept)

    def ids(self, cell: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the ids of rows given by their place in the cell table and their rank."""
        assert self.reserve.rows is not None
        first = np.searchsorted(self.reserve.rows[CELL].to_numpy(), self.table.code[cell])
        taken = self.reserve.rows[ID].take(pa.array(first + rank))
        return taken.to_numpy(zero_copy_only=False)
