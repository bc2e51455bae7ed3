"""Queries of a pool with the moments of their gains, from which strata and cells are made."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_driver, build_gains
from evalsampling.measures.gains import Gain, GainMoments
from evalsampling.measures.joint import parts_of
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_magnitudes
from evalsampling.pool.lists import QueryBatch, read_queries
from evalsampling.spec import ReadingPlan
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.outputs import Outputs

_DIGITS = 9
"""Of expected gains, so that no stratum depends on the order in which a sum was made."""


@dataclasses.dataclass(frozen=True)
class ExpectedQueries:
    """A batch of queries, and the moments of their gains."""

    queries: QueryBatch  # the lists
    gains: tuple[Gain, ...]  # all that the spec names
    moments: GainMoments  # of them
    # the measures that drive the sampling: gains, or differences of two
    drivers: tuple[Measure, ...]
    # shape (n,): the cost of grading each query, unless all cost the same
    magnitudes: Mapping[str, FloatArray]

    @classmethod
    def read(cls, batch: PoolBatch, plan: ReadingPlan) -> "ExpectedQueries":
        """Return the queries of a batch."""
        gains = build_gains(plan)
        queries = read_queries(batch, plan, max(gain.cut for gain in gains))
        moments = GainMoments.of_lists(gains, queries.lists)
        drivers = parts_of(build_driver(plan))
        return cls(queries, gains, moments, drivers, read_magnitudes(batch, plan.pool))

    @property
    def features(self) -> FloatArray:
        """Mean and deviation of each driver, and the logarithm of the cost: (n, features)."""
        columns = [np.log(values) for values in self.magnitudes.values()]
        for driver in self.drivers:
            mean, square = self.moments.of(driver)
            columns += [mean, np.sqrt(np.maximum(square - mean**2, 0.0))]
        return np.round(np.stack(columns, axis=1), _DIGITS) + 0.0

    @property
    def outputs(self) -> Outputs:
        """Outputs that cells sum up: moments as probabilities, differing lists as predictions."""
        differs = self.queries.differs
        shares, magnitudes = self.moments.shares(self.gains)[:, :, None], self.magnitudes
        return Outputs(differs, np.zeros(differs.shape), shares, magnitudes=magnitudes)
