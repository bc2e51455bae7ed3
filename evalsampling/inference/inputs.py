"""The data that estimates are computed from: cells, labels, weighted rows, facts of the design."""

import dataclasses
import functools

import numpy as np

from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.inference.class_curves import below_all_met
from evalsampling.inference.domains import Domain
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.unsearched import chances_of_labels, most_positives
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History, Votes
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class EstimationInput:
    """The data that an estimate is computed from."""

    table: CellTable
    history: History
    sample: WeightedSample  # the labelled rows with their weights
    confidence: float
    # whether every row of the pool could always be drawn, whatever its label
    covers_pool: bool = False
    # (cells,): probability that the next draw takes a given unlabelled row; None if there is no
    # next draw
    chance: FloatArray | None = None
    stochastic: bool = False  # whether answers about the same row may differ
    # draws of all labels, for model-based intervals; None for no such intervals
    model: LabelModel | None = None
    # (cells, classes): rates of the classes that the difference estimator assumes for rows without
    # a label; None for estimates from weights alone
    response: FloatArray | None = None
    with_replacement: bool = True  # whether draws of a round are independent of each other
    # whether labelled rows may have draw probabilities other than their cell's
    has_atoms: bool = False
    # whether weights are divided by their sum, which every sample of a design that covers the pool
    # allows
    self_normalised: bool = False
    # whether the reported value is a mean of the estimate and of the model's median
    combine: bool = False
    correct_bias: bool = False  # whether the estimated bias is subtracted from the value

    def all_known(self, cells: BoolArray, domain: Domain) -> bool:
        """Tell whether every row of some cells in a domain has a label that does not vary."""
        if self.stochastic:
            return False
        known = self.history.cell[domain.labelled(self.history)]
        labelled = np.bincount(known, minlength=len(self.table))
        return bool(np.all(labelled[cells] == domain.rows(self.table)[cells]))

    @functools.cached_property
    def unsearched(self) -> tuple[BoolArray, FloatArray] | None:
        """Which cells score lower than all positives, and most positives there: (cells,) each.

        None where no row scores so low, nothing orders the rows, or answers about a row differ.
        """
        table, history, kinds = self.table, self.history, self.table.kinds
        has_order = table.classes == 2 and kinds.tags is None and not table.leaves.exchangeable
        if self.stochastic or not has_order or not table.covers(self.label):
            return None
        below = below_all_met(table, history)
        chance = chances_of_labels(table, history, self.with_replacement)
        if chance is None or not below.any():
            return None
        labelled = np.bincount(history.cell[self.sample.question], minlength=len(table))
        left = np.where(below, table.count - labelled, 0)
        return below, most_positives(chance, left, 1 - self.confidence)

    @functools.cached_property
    def votes(self) -> Votes:
        """The answers about the labelled rows: one a row, unless answers about a row differ."""
        if self.sample.answer is not None:
            return Votes.of_labels(self.sample.answer)
        return self.history.votes(self.sample.question)

    @functools.cached_property
    def outputs(self) -> Outputs:
        """The systems' outputs for the row of each answer."""
        return self.history.outputs.take(self.sample.question[self.votes.row])

    @property
    def label(self) -> IntArray:
        """The class code of each answer."""
        return self.votes.label

    @functools.cached_property
    def row(self) -> IntArray:
        """A number that identifies the row of each labelled question, shape (n,)."""
        question = self.sample.question
        places = np.stack([self.history.cell[question], self.history.rank[question]], axis=1)
        return distinct_rows(places)[1]

    @functools.cached_property
    def unit(self) -> IntArray:
        """A number of the cluster of each labelled question or, without clusters, its row: (n,)."""
        return self.row if self.sample.cluster is None else self.sample.cluster

    def prior(self, system: int) -> FloatArray:
        """Return the prior calibrated on all labels, if they are classes: (cells, classes)."""
        if not self.table.covers(self.history.label):
            return self.table.prior
        if system not in self._priors:
            seen = self.history.seen(len(self.table), self.table.classes)
            self._priors[system] = calibrated_prior(self.table, seen, system)
        return self._priors[system]

    @functools.cached_property
    def _priors(self) -> dict[int, FloatArray]:
        """The calibrated priors that were computed before, by system."""
        return {}
