"""Stratified sampling from strata of equal counts, with more labels where they vary.

References:
    P. N. Bennett and V. R. Carvalho, *Online stratified sampling: evaluating classifiers at
    web-scale*, CIKM 2010; G. Druck and A. McCallum, *Toward interactive training and evaluation*,
    CIKM 2011, section 4.
    W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 5.5 and theorem 5.6 (Neyman
    allocation with costs).
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, 2012, section 4.4.1 (its strat).
"""

import abc
import dataclasses
from typing import Annotated

import numpy as np

from evalsampling.inference.sample import WeightedSample
from evalsampling.samplers.base import Rng, Sampler
from evalsampling.spec.values import Count, Meta
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen, water_fill
from evalsampling.stats.strata import equal_strata, with_labels


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

    strata: Count = 10
    takes = frozenset[str]()
    models_classes = True

    @abc.abstractmethod
    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return the standard deviation of the losses of each stratum, shape (strata,), above 0."""

    def error(self, table: CellTable) -> FloatArray:
        """Return the prior probability that the system is wrong, shape (cells,)."""
        prediction = table.kinds.prediction[:, self.measure.system]
        return 1 - table.kinds.by_cell(table.prior[table.kinds.cell, prediction])

    def stratum(self, table: CellTable) -> IntArray:
        """Return the number of each cell's stratum, shape (cells,), least confident first."""
        return equal_strata(-self.error(table), table.count, self.strata)

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
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
        question = history.labelled
        stratum = self.stratum(table)
        labels = np.bincount(stratum[history.cell[question]], minlength=stratum.max() + 1)
        joined = with_labels(labels)[stratum]
        rows = np.bincount(joined, table.count).astype(np.int64)
        return WeightedSample.stratified(question, joined[history.cell[question]], rows)


@dataclasses.dataclass(frozen=True)
class OnlineStratified(EqualCountStrata):
    """Strata of equal counts with the Neyman allocation that the labels so far make best.

    The losses are those of the error rate: whether the system is wrong. A stratum's rate of errors
    is the posterior mean under an even prior, (errors + 1) / (labels + 2), so that no
    stratum is taken to have no errors. The published algorithm draws one row at a time; a round
    here draws several by the same allocation, and with ``round_size: 1`` it is as published.
    """

    name = "strat"

    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return sqrt(p (1 - p)), p being the rate of errors among the labels of a stratum."""
        labelled = history.labelled
        prediction = history.outputs.prediction[labelled, self.measure.system]
        own, strata = stratum[history.cell[labelled]], int(stratum.max()) + 1
        wrong = np.bincount(own, prediction != history.label[labelled], strata)
        rate = (wrong + 1) / (np.bincount(own, minlength=strata) + 2)
        return np.asarray(np.sqrt(rate * (1 - rate)))


@dataclasses.dataclass(frozen=True)
class ModelStratified(EqualCountStrata):
    """Strata of equal counts with the Neyman allocation that the prior makes best.

    The allocation is fixed before the first label, so that the estimate is unbiased once every
    stratum has labels.

    Attributes:
        least: least standard deviation of a stratum, in (0, 0.5], so that a stratum of which the
            model is certain gets labels too.
    """

    least: Annotated[float, Meta(gt=0, le=0.5, description="above 0 and at most 0.5")] = 0.01
    name = "strat_model"
    trusts_prior = True

    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return sqrt(e (1 - e)) of each stratum, e being its mean error under the prior."""
        rows = np.bincount(stratum, table.count)
        rate = np.bincount(stratum, table.count * self.error(table)) / rows
        return np.maximum(np.sqrt(np.maximum(rate * (1 - rate), 0.0)), self.least)
