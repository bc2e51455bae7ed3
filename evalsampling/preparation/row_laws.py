"""Laws of draws row by row: what the chance of a row goes with, by what is known of that row alone.

Each is the proposal of the sampler of the same name with the row in place of its cell.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, 2012, theorems 4.1 and 4.2, section
    4.4.1; [MR] Marchant and Rubinstein, *Needle in a Haystack*, 2021, remark 4 and equation 5;
    [Y] Yilmaz et al., *Sample Efficient Model Evaluation*, 2021, equation 53.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from evalsampling.errors import InputError
from evalsampling.measures.base import Measure
from evalsampling.measures.binary import Accuracy
from evalsampling.measures.build import build_driver
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.joint import parts_of
from evalsampling.measures.loss_norms import ExpectedNorm
from evalsampling.measures.on_cells import predictive
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.parameters import check_share
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.outputs import Outputs


class RowSize(Protocol):
    """How far the label of a row is expected to move a measure, before costs."""

    def of_rows(self, outputs: Outputs, prior: FloatArray) -> FloatArray:
        """Return it for n rows, shape (n,), given their p(y|x), shape (n, classes)."""

    def of_cells(self, table: CellTable, prior: FloatArray) -> FloatArray:
        """Return it for the rows of each cell, shape (cells,), given their p(y|x)."""


@dataclasses.dataclass(frozen=True)
class Alike:
    """The size of rows that are all drawn alike."""

    def of_rows(self, outputs: Outputs, prior: FloatArray) -> FloatArray:
        """Return 1 for each of n rows, shape (n,)."""
        return np.ones(len(prior))

    def of_cells(self, table: CellTable, prior: FloatArray) -> FloatArray:
        """Return 1 for each cell, shape (cells,)."""
        return np.ones(len(table))


@dataclasses.dataclass(frozen=True)
class Believed:
    """What a law takes for the unknown p(y|x): the prior, unless another is chosen.

    Attributes:
        systems: the mean of the predictive distributions of these ([AE] eq. 5.11), if any.
        shares: shape (classes,): the same for every row, if given.
    """

    systems: tuple[int, ...] = ()
    shares: FloatArray | None = None

    def of_rows(self, cells: CellBatch) -> FloatArray:
        """Return p(y|x) of the rows of a batch, shape (n, classes)."""
        if self.shares is not None:
            return np.tile(self.shares, (len(cells), 1))
        if not self.systems:
            return cells.prior
        own = np.nan_to_num(cells.outputs.probability[:, self.systems])
        has_own = own.sum(axis=2, keepdims=True) > 0
        return np.asarray(np.where(has_own, own, cells.prior[:, None]).mean(axis=1))

    def of_cells(self, table: CellTable) -> FloatArray:
        """Return the mean p(y|x) of the rows of each cell, shape (cells, classes)."""
        if self.shares is not None:
            return np.tile(self.shares, (len(table), 1))
        if not self.systems:
            return table.prior
        return table.mean_by_cell(predictive(table, self.systems).mean(axis=1))


@dataclasses.dataclass(frozen=True)
class Design:
    """How a sampler of a spec draws row by row.

    Attributes:
        size: returns the size of rows from the measure, the cells, their p(y|x), and smoothing.
        delta: share of the pool's own distribution in the draws, unless the spec names another.
        smoothing: lambda of [Y] eq. 13, likewise; None if it takes none.
        has_model: whether the spec may choose what stands for p(y|x): `samplers.ActiveRisk`.
        heeds_costs: whether sizes are divided by the root of the cost.
        self_normalised: whether weights are divided by their sum: [AE] eq. 3.31, not [MR] eq. 1.
    """

    size: Callable[[EvaluationSpec, Measure, CellTable, FloatArray, float], RowSize]
    delta: float = 0.0
    smoothing: float | None = None
    has_model: bool = False
    heeds_costs: bool = True
    self_normalised: bool = True

    @classmethod
    def of(cls, spec: EvaluationSpec) -> "Design":
        """Return the design of a spec's sampler, with the spec's parameters.

        Raises:
            InputError: if its sampler draws nothing row by row, or a parameter is wrong.
        """
        name, given = spec.sampler.name, spec.sampler.parameters
        if spec.pool.lists is not None:
            raise InputError("pool.lists: queries are not drawn row by row")
        if name not in DESIGNS:
            raise InputError(
                f"sampler: {name}: has no chance of each row's own; row by row draw "
                f"{', '.join(DESIGNS)}"
            )
        design = DESIGNS[name]
        taken = {"delta", "draws"} | ({"smoothing"} if design.smoothing is not None else set())
        taken |= {"model", "class_prior"} if design.has_model else set()
        for key, value in given.items():
            if key not in taken and value is not None:
                raise InputError(
                    f"sampler.{key}: {name} takes none where rows are drawn one by one"
                )
        shares: dict[str, Any] = given_shares(name, given)
        return dataclasses.replace(design, **shares)

    @property
    def covers_pool(self) -> bool:
        """Whether every row has a chance, whatever the measure."""
        return self.delta > 0 or self.size is _alike


def given_shares(sampler: str, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Return ``delta`` and ``smoothing`` among the parameters of a sampler, as far as given.

    Raises:
        InputError: if one is not in [0, 1].
    """
    shares = {key: parameters[key] for key in ("delta", "smoothing") if key in parameters}
    try:
        for key, value in shares.items():
            check_share(key, value)
    except ValueError as error:
        raise InputError(f"sampler: {sampler}: {error}") from error
    return shares


def _alike(*_: Any) -> RowSize:
    return Alike()


def _deviation(
    spec: EvaluationSpec, measure: Measure, table: CellTable, prior: FloatArray, smoothing: float
) -> RowSize:
    return Deviation.from_cells(measure, table, prior, smoothing)


def _deviation_of_errors(spec: EvaluationSpec, measure: Measure, *cells: Any) -> RowSize:
    return _deviation(spec, Accuracy(system=measure.system), *cells)


def _norm(
    spec: EvaluationSpec, measure: Measure, table: CellTable, prior: FloatArray, smoothing: float
) -> RowSize:
    stochastic = spec.labels.oracle == "stochastic"
    return ExpectedNorm.from_cells(measure, table, prior, stochastic)


DESIGNS: Mapping[str, Design] = {
    "passive": Design(_alike, heeds_costs=False, self_normalised=False),
    "importance": Design(_norm, self_normalised=False),
    "optimal_importance": Design(_deviation, delta=0.1, smoothing=1.0),
    "active_risk": Design(_deviation, has_model=True),
    "active_uniC": Design(_deviation, smoothing=1.0, heeds_costs=False),
    "active_uniD": Design(_deviation, smoothing=0.0),
    "active_lambda": Design(_alike),
    "active_err": Design(_deviation_of_errors, smoothing=1.0),
}
"""Samplers whose proposal is a function of the row, by their names in a spec."""


@dataclasses.dataclass(frozen=True)
class RowLaw:
    """What rows are drawn in proportion to, apart from what is drawn evenly.

    Attributes:
        size: how far the label of a row is expected to move the measure.
        believed: p(y|x) of a row.
        heeds_costs: whether sizes are divided by the root of the cost ([AE] theorem 4.2).
    """

    size: RowSize
    believed: Believed = Believed()
    heeds_costs: bool = True

    @classmethod
    def from_spec(
        cls, spec: EvaluationSpec, stratification: Stratification, sums: CellSums | None
    ) -> tuple["RowLaw", CellTable]:
        """Return the law of a spec's sampler for the measure that drives it, and the cells.

        Args:
            spec: of the evaluation.
            stratification: of its pool.
            sums: over the cells of the pool.

        Raises:
            InputError: if the sampler draws nothing row by row, a parameter is wrong, the pool is
                empty, or the measure undefined on it.
        """
        design, table = Design.of(spec), stratification.table(sums)
        measure = build_driver(spec, stratification.ranges)
        believed = _believed(spec, design, measure, table)
        prior = believed.of_cells(table)
        smoothing = 1.0 if design.smoothing is None else design.smoothing
        size = design.size(spec, measure, table, prior, smoothing)
        return cls(size, believed, design.heeds_costs), table

    def of_rows(self, cells: CellBatch) -> FloatArray:
        """Return the size of each row of a batch, shape (n,), at least 0."""
        size = self.size.of_rows(cells.outputs, self.believed.of_rows(cells))
        return per_root_cost(size, cells.outputs.cost) if self.heeds_costs else size

    def of_cells(self, table: CellTable) -> FloatArray:
        """Return the size of the rows of each cell, shape (cells,)."""
        size = self.size.of_cells(table, self.believed.of_cells(table))
        return per_root_cost(size, table.cost) if self.heeds_costs else size


def _believed(spec: EvaluationSpec, design: Design, measure: Measure, table: CellTable) -> Believed:
    """Return what stands for p(y|x): see `samplers.ActiveRisk`."""
    if not design.has_model:
        return Believed()
    given, classes = spec.sampler.parameters, table.classes
    systems = Believed(
        tuple(sorted({system for part in parts_of(measure) for system in part.systems}))
    )
    model, shares = given.get("model", "scores"), given.get("class_prior")
    if model == "scores":
        return systems
    if model == "uniform":
        return Believed(shares=np.full(classes, 1 / classes))
    if model != "prior":
        raise InputError(f"sampler.model: must be scores, uniform or prior, got {model!r}")
    if shares is None:
        return Believed(shares=table.count @ systems.of_cells(table) / table.rows)
    if len(shares) != classes or min(shares) < 0 or not np.isclose(sum(shares), 1, atol=1e-6):
        raise InputError(f"sampler.class_prior: must be {classes} shares that sum to 1")
    return Believed(shares=np.asarray(shares, dtype=np.float64))
