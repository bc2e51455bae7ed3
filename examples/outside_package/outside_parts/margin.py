"""A sampler without replacement: specs name it ``margin``."""

import dataclasses

import numpy as np

from evalsampling.inference.nonresponse import response_by_cell
from evalsampling.inference.sample import WeightedSample
from evalsampling.samplers.base import Rng, Sampler
from evalsampling.spec.parameters import check_share
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import draw_unseen, mix_evenly, water_fill


@dataclasses.dataclass(frozen=True)
class Margin(Sampler):
    """Draws rows whose label the scores leave open, none of them twice.

    Attributes:
        even: share of a round that is spread evenly over all rows, in [0, 1].
    """

    even: float = 0.2
    name = "margin"
    takes = frozenset[str]()  # A row is asked about once, so by no stochastic oracle.

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        check_share("even", self.even)

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        """Return the history with one round more, of rows never drawn before."""
        left = table.count - history.drawn_by_cell(len(table))
        wanted = min(new_rows, int(left.sum()), new_rows if budget is None else budget)
        open_ = 1 - table.prior.max(axis=1)
        chance = water_fill(mix_evenly(open_, left, self.even), left, wanted)
        return draw_unseen(table, history, chance, rng)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows, each weighing one over the chance that a round labels it."""
        missed, inclusion = np.ones(len(history)), np.zeros(len(history))
        for drawn in history.rounds:
            if len(drawn.question):
                # Some rows of a round, or all, may have no label yet.
                answered = response_by_cell(table, history, drawn.question)[history.cell]
                chance = drawn.chances(history.cell)
                inclusion += missed * chance * answered
                missed *= 1 - chance
        known = history.labelled
        return WeightedSample.without_replacement(known, inclusion[known], table.rows)
