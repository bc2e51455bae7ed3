"""Base of samplers with strata of equal counts: the strata, their allocation, their estimate.

References:
    W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, theorem 5.6 (Neyman allocation with
    costs).
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, 2012, section 4.4 (a baseline).
"""

import abc
import dataclasses

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.samplers.base import Sampler
from evalsampling.spec.parameters import check_count
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.equal_strata import equal_strata, with_labels
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen, water_fill


@dataclasses.dataclass(frozen=True)
class EqualCountStrata(Sampler):
    """Draws without replacement from strata of equal counts, cut by the system's confidence.

    Confidence is the prior probability of the class that the system predicts. Strata are unions of
    whole cells. A stratum gets rows in proportion to M_k s_k / sqrt(c_k), where M_k is its number
    of rows, s_k the standard deviation of its losses and c_k the mean cost of its labels.

    The estimate is the mean of the strata's means, weighted by their rows. A stratum without a
    label is joined to the next, which biases the estimate while there are such strata. An
    allocation that depends on labels biases the estimate and the intervals slightly; the intervals
    are computed as if it did not depend on them.

    Attributes:
        strata: greatest number of strata, at least 1.
    """

    strata: int = 10
    takes_stochastic_oracle = False
    needs_classes = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_count("strata", self.strata)

    @abc.abstractmethod
    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return the standard deviation of the losses of each stratum, shape (strata,), above 0.

        `stratum`: shape (cells,): number of each cell's stratum.
        """

    def error(self, table: CellTable) -> FloatArray:
        """Return the prior probability that the system is wrong, shape (cells,)."""
        prediction = table.outputs.prediction[:, self.measure.system]
        return 1 - table.mean_by_cell(table.prior[table.kind_cell, prediction])

    def stratum(self, table: CellTable) -> IntArray:
        """Return the number of each cell's stratum, shape (cells,), least confident first."""
        return equal_strata(-self.error(table), table.count, self.strata)

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        """Return the history with one round more: see `Sampler.design`."""
        wanted = new_rows if budget is None else min(new_rows, budget)
        stratum = self.stratum(table)
        cost = None
        if table.cost is not None:
            rows = np.bincount(stratum, table.count)
            cost = np.bincount(stratum, table.count * table.cost) / rows
        size = per_root_cost(self.deviations(table, history, stratum), cost)
        left = table.count - history.drawn_by_cell(len(table))
        chance = water_fill(size[stratum], left, wanted)
        return draw_unseen(table, history, chance, rng, group=stratum)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows with equal weights within a stratum, for all of its rows."""
        question = history.labelled
        stratum = self.stratum(table)
        labels = np.bincount(stratum[history.cell[question]], minlength=stratum.max() + 1)
        joined = with_labels(labels)[stratum]
        rows = np.bincount(joined, table.count).astype(np.int64)
        return WeightedSample.stratified(question, joined[history.cell[question]], rows)
