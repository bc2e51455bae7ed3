"""Sizes of rows: what their chance of being drawn goes with, row by row or by cell."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.measures.build import build_driver
from evalsampling.measures.deviation import Deviation
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.parameters import check_share
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.costs import per_root_cost


@dataclasses.dataclass(frozen=True)
class RowSizes:
    """What rows are drawn in proportion to: their deviation h over the root of their cost.

    Attributes:
        table: the cells of the pool.
        deviation: h.
        delta: share of the draws that is spread evenly, in [0, 1].
    """

    table: CellTable
    deviation: Deviation
    delta: float

    @classmethod
    def from_spec(
        cls,
        spec: EvaluationSpec,
        stratification: Stratification,
        sums: CellSums | None,
        parameters: Mapping[str, Any],
    ) -> "RowSizes":
        """Return the sizes for the measure that drives a spec.

        Args:
            spec: of the evaluation.
            stratification: of its pool.
            sums: over the cells of the pool.
            parameters: of its sampler; of these `delta` and `smoothing` count.

        Raises:
            InputError: if a parameter is wrong, or the pool empty, or the measure undefined on it.
        """
        delta, smoothing = parameters.get("delta", 0.1), parameters.get("smoothing", 1.0)
        try:
            check_share("delta", delta)
            check_share("smoothing", smoothing)
        except ValueError as error:
            raise InputError(f"sampler: {spec.sampler.name}: {error}") from error
        table = stratification.table(sums)
        measure = build_driver(spec, stratification.ranges)
        deviation = Deviation.from_cells(measure, table, table.prior, smoothing)
        return cls(table, deviation, delta)

    def of_cells(self) -> FloatArray:
        """Return the size of the rows of each cell, shape (cells,)."""
        size = self.deviation.of_cells(self.table, self.table.prior)
        return per_root_cost(size, self.table.cost)


def sizes_of_rows(deviation: Deviation, cells: CellBatch) -> FloatArray:
    """Return the size of each row of a batch, shape (n,)."""
    size = deviation.of_rows(cells.outputs, cells.prior)
    return per_root_cost(size, cells.outputs.cost)
