"""Rows that were sampled from a pool without a workspace, and what a spec reports of them."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.inference.results import Target
from evalsampling.label_spaces.base import NO_PROBABILITY
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_outputs, required_columns
from evalsampling.pool.frames import Frame, Table, to_array
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class SampledRows:
    """Rows of a sample with a column that says how they came into it.

    Attributes:
        spec: of the evaluation.
        batch: the columns that estimates are made from, and that one.
        column: its name.
    """

    spec: EvaluationSpec
    batch: PoolBatch
    column: str

    @classmethod
    def read(cls, spec: EvaluationSpec, rows: Frame, column: str) -> "SampledRows":
        """Return the rows of a table of any kind.

        Args:
            spec: of the evaluation, which names the columns.
            rows: the table.
            column: how the rows came into the sample.

        Raises:
            InputError: naming the column that is missing.
        """
        table = Table.of(rows, "the rows")
        names = [*required_columns(spec, payload=False), column]
        columns = {name: to_array(table.column(name), name) for name in names}
        return cls(spec, PoolBatch(pa.record_batch(columns)), column)

    @property
    def numbers(self) -> FloatArray:
        """How each row came into the sample, shape (rows,)."""
        return self.batch.numbers(self.column).astype(np.float64)

    def refuse(self, wrong: BoolArray, rule: str) -> None:
        """Refuse numbers of that column that break a rule.

        Args:
            wrong: shape (rows,): whether the number of each row does.
            rule: the rule in words.

        Raises:
            InputError: naming the first such row.
        """
        self.batch.refuse(self.column, wrong, lambda row: f"{rule}, got {self.numbers[row]:g}")

    @property
    def rules(self) -> Sequence[str]:
        """Where the probabilities of each system come from: a column, or nowhere."""
        rule = self.spec.labels.space.prior_rule
        return [rule(system.probability, None) for system in self.spec.pool.systems]

    @property
    def outputs(self) -> Outputs:
        """What the systems say of the rows."""
        return read_outputs(self.batch, self.spec, tuple(self.rules))

    def targets(self, measure: Measure, slice: str | None = None) -> list[Target]:
        """Return what the components of a measure are called, on the pool or on a slice of it."""
        systems = tuple(system.name for system in self.spec.pool.systems)
        return ReportedDomains(systems=systems).targets(measure, Domain(slice))

    def measures(self) -> Iterator[Measure]:
        """Yield what the spec reports.

        Raises:
            InputError: for what rows alone cannot tell.
        """
        for measure in build_measures(self.spec, [None] * len(self.rules)):
            if measure.looks_at == {"probability"} and NO_PROBABILITY in self.rules:
                raise InputError(f"{measure.name}: needs pool.probability here")
            yield measure
