"""Several systems that predict numbers: the scores of strata, and the sums of cells."""

import dataclasses

import numpy as np

from evalsampling.label_spaces.numbers import ComparedNumbers
from evalsampling.measures.build import build_driver
from evalsampling.measures.comparisons import Difference, pairs_of
from evalsampling.measures.joint import parts_of
from evalsampling.measures.regression import MeanAbsoluteError
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import LabelColumns
from evalsampling.spec import ReadingPlan
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellGrid, CellTable
from evalsampling.stats.disagreement import Disagreement
from evalsampling.stats.outputs import Outputs

ROOT, DISTANCE, VARIANCE = "root", "distance", "variance"
"""Scores that strata may be cut from: see `ComparedSystems`."""


@dataclasses.dataclass(frozen=True)
class ComparedSystems:
    """Scores of strata and sums of cells from the predictions and variances of several systems."""

    space: ComparedNumbers  # what labels there are
    disagreement: Disagreement  # of the pairs of systems that the first measure is about
    # what strata are cut from, the mean over the pairs of sqrt(E d^2) or |f_i - f_j|, or the mean
    # of the systems' variances: `ROOT`, `DISTANCE` or `VARIANCE`
    by: str = ROOT

    @classmethod
    def of(cls, plan: ReadingPlan) -> "ComparedSystems | None":
        """Return the compared systems of a plan; None unless several predict numbers."""
        space = plan.labels.space
        if not isinstance(space, ComparedNumbers):
            return None
        driver = build_driver(plan)
        parts = parts_of(driver)
        pairs = pairs_of(driver)
        systems = sorted({system for part in (pairs or parts) for system in part.systems})
        places = tuple((pair.first.system, pair.other.system) for pair in pairs)
        disagreement = Disagreement(tuple(dict.fromkeys(places)), tuple(systems))
        if not (pairs and _compares(plan, parts)):
            return cls(space, disagreement, VARIANCE)
        is_absolute = any(isinstance(pair.first, MeanAbsoluteError) for pair in pairs)
        return cls(space, disagreement, DISTANCE if is_absolute else ROOT)

    def score_of(self, batch: PoolBatch, plan: ReadingPlan) -> FloatArray:
        """Return the score that strata are cut from, of each row of a batch, shape (n,)."""
        rows = LabelColumns.of(batch)
        codes = [self.space.predictions(rows, system, None) for system in plan.pool.systems]
        scores = [batch.numbers(str(system.score)) for system in plan.pool.systems]
        return self._score(np.stack(codes, axis=1), np.stack(scores, axis=1, dtype=np.float64))

    def score(self, outputs: Outputs) -> FloatArray:
        """Return the score that strata are cut from, shape (n,), per range or squared range."""
        return self._score(outputs.prediction, outputs.score)

    def _score(self, codes: IntArray, variances: FloatArray) -> FloatArray:
        position, variance = self.space.positions(codes), self.space.relative(variances)
        disagreement = self.disagreement
        if self.by == VARIANCE:
            sizes = variance[:, list(disagreement.mixture)]
        elif self.by == DISTANCE:
            sizes = disagreement.distance(position)
        else:
            sizes = disagreement.root(position, variance)
        return np.asarray(sizes.mean(axis=1))

    def shares(self, outputs: Outputs) -> FloatArray:
        """Return the columns that cells sum up, shape (n, columns), in [0, 1]."""
        position = self.space.positions(outputs.prediction)
        return self.disagreement.shares(position, self.space.relative(outputs.score))

    def table(self, grid: CellGrid, code: IntArray, count: IntArray, mean: FloatArray) -> CellTable:
        """Return the table of the cells that hold rows: see `CellGrid.table`.

        A cell's rows are represented by their mean predictions and variances. Predictions that
        are in the same order everywhere in a cell stay so.
        """
        columns = mean.shape[1] - len(grid.magnitudes)
        prior = np.tile(self.space.mixture(self.disagreement.mixture), (len(code), 1))
        mean_prior = np.concatenate([prior, mean[:, columns:]], axis=1)
        table = grid.table(code, count, mean_prior, prior.shape[1])
        position, variance, of_pairs = self.disagreement.means(
            mean[:, :columns], self.space.systems
        )
        own = self.space.own_probabilities()
        rank, cell = table.kinds.prediction, table.kinds.cell
        kinds = dataclasses.replace(
            table.kinds,
            prediction=self.space.codes_at(position)[cell] + rank,
            score=self.space.absolute(variance)[cell],
            probability=np.broadcast_to(own, (len(rank), *own.shape)),
            upper=None,
        )
        return dataclasses.replace(table, kinds=kinds, disagreement=of_pairs)


def _compares(plan: ReadingPlan, parts: tuple[object, ...]) -> bool:
    """Tell whether rounds are drawn for differences of systems."""
    if plan.of_differences is not None:
        return plan.of_differences
    return any(isinstance(part, Difference) for part in parts)
