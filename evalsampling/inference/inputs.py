"""What estimates are made from: cells, labels, weighted rows and what is known of the design."""

import dataclasses
import functools

import numpy as np

from evalsampling.arrays import BoolArray, FloatArray, IntArray
from evalsampling.inference.anticipation import calibrated_prior
from evalsampling.inference.census import is_census
from evalsampling.inference.domains import Domain
from evalsampling.inference.exposure import RoundOfTrials, rounds_of_trials
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.sample import WeightedSample
from evalsampling.stats.cells import CellTable
from evalsampling.stats.distinct import distinct_rows
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.votes import Votes


@dataclasses.dataclass(frozen=True)
class EstimationInput:
    """All that an estimate is made from.

    Attributes:
        table: the cells.
        history: rounds and labels.
        sample: the labelled rows with their weights.
        confidence: in (0, 1).
        covers_pool: whether every row of the pool always had a chance, whatever its label.
        chance: shape (cells,): of the next draw to take a given row without a label; None if
            there is no next draw.
        stochastic: whether a row has more labels than one.
        model: draws of all labels, for model-based intervals; None for no such intervals.
        response: shape (cells, classes): rates of the classes that the difference estimator takes
            for rows without a label; None for estimates from weights alone.
        combine: whether the estimate is to become a mean of itself and of the model's median.
        correct_bias: whether the bias of a value is subtracted.
        with_replacement: whether draws of a round are independent of each other.
        has_atoms: whether labelled rows may have chances of their own.
        self_normalised: whether weights are divided by their sum, which every sample of a design
            that covers the pool allows.
    """

    table: CellTable
    history: History
    sample: WeightedSample
    confidence: float
    covers_pool: bool = False
    chance: FloatArray | None = None
    stochastic: bool = False
    model: LabelModel | None = None
    response: FloatArray | None = None
    with_replacement: bool = True
    has_atoms: bool = False
    self_normalised: bool = False
    combine: bool = False
    correct_bias: bool = False

    def all_known(self, cells: BoolArray, domain: Domain) -> bool:
        """Tell whether every row of some cells in a domain has the one label it can have.

        Args:
            cells: shape (cells,): of a measure those that may add to it.
            domain: a part of the pool, or all of it.
        """
        return not self.stochastic and is_census(cells, self.table, self.history, domain)

    @functools.cached_property
    def trials(self) -> list[RoundOfTrials] | None:
        """What each round searched; None if that was not kept."""
        return rounds_of_trials(self.table, self.history, self.with_replacement, self.stochastic)

    @functools.cached_property
    def votes(self) -> Votes:
        """The answers about the labelled rows; as many, unless answers about one differ."""
        return self.history.votes(self.sample.question)

    @functools.cached_property
    def outputs(self) -> Outputs:
        """Outputs of the row that each answer is about."""
        return self.history.outputs.take(self.sample.question[self.votes.row])

    @property
    def label(self) -> IntArray:
        """The answers, as class codes."""
        return self.votes.label

    @functools.cached_property
    def row(self) -> IntArray:
        """Numbers that tell the rows of the pool apart, of each labelled question."""
        question = self.sample.question
        places = np.stack([self.history.cell[question], self.history.rank[question]], axis=1)
        return distinct_rows(places)[1]

    def prior(self, system: int) -> FloatArray:
        """Return the prior calibrated by all labels, for a system's measures: (cells, classes).

        The prior as it is where labels are none of the classes, as numbers are.
        """
        if not self.table.covers(self.history.label):
            return self.table.prior
        if system not in self._priors:
            seen = self.history.seen(len(self.table), self.table.classes)
            self._priors[system] = calibrated_prior(self.table, seen, system)
        return self._priors[system]

    @functools.cached_property
    def _priors(self) -> dict[int, FloatArray]:
        return {}
