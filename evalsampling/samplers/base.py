"""What a sampler is, and what all that draw with replacement share."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import IntArray, Measure
from evalsampling.samplers.variance import cells_adding_to
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW, Proposal, StopRule, draw_rows
from evalsampling.stats.estimation import (
    Estimate,
    census,
    estimate_measure,
    unsupported,
    weighted_risk,
)
from evalsampling.stats.history import History
from evalsampling.stats.nonresponse import respond


class Sampler(Protocol):
    """A published way to choose rows and to estimate from them.

    A pure function of the cell table, the history and a seeded generator: started again from
    files it takes the same next step.
    """

    @property
    def name(self) -> str:
        """Name in specs and results."""

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether every row that can be drawn has been."""

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        """Draw one round.

        Args:
            table: the cells.
            history: rounds so far.
            new_rows: rows wanted that were never drawn before.
            rng: source of randomness.
            budget: most such rows, whatever the sampler's own idea of a round.

        Returns:
            The history with one round more.
        """

    def estimate(
        self,
        table: CellTable,
        history: History,
        measures: Sequence[Measure],
        confidence: float,
    ) -> list[Estimate]:
        """Estimate measures from all rounds so far."""


@dataclasses.dataclass(frozen=True)
class ReplacementSampler(abc.ABC):
    """Draws with replacement from a proposal, estimates by importance weighting.

    Attributes:
        measure: the measure whose variance is to be small.
        draws: draws of a round; None to draw until the new rows wanted were met, at most
            `DRAWS_PER_NEW_ROW` for each.
    """

    measure: Measure
    draws: int | None = None

    def __post_init__(self) -> None:
        """Check the number of draws."""
        if self.draws is None:
            return
        if isinstance(self.draws, bool) or not isinstance(self.draws, int):
            raise ValueError(f"draws must be a whole number, got {self.draws!r}")
        if self.draws < 1:
            raise ValueError(f"draws must be at least 1, got {self.draws}")

    @abc.abstractmethod
    def proposal(self, table: CellTable, history: History) -> Proposal:
        """Return the sampling probabilities of the next round."""

    @abc.abstractmethod
    def supports(self, table: CellTable, measure: Measure) -> bool:
        """Whether every row that can add to the measure's risk always has a chance."""

    def reach(self, table: CellTable) -> npt.NDArray[np.bool_]:
        """Return which cells have rows that can be drawn, shape (cells,).

        They are the cells that can add to the measure sampled for.
        """
        return cells_adding_to(self.measure, table)

    def _unseen(self, table: CellTable, history: History) -> int:
        """Return how many rows can be drawn and never were."""
        unseen = table.count - history.drawn_by_cell(len(table))
        return int(unseen[self.reach(table)].sum())

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether every row that can be drawn has been."""
        return self._unseen(table, history) == 0

    def design(
        self,
        table: CellTable,
        history: History,
        new_rows: int,
        rng: np.random.Generator,
        budget: int | None = None,
    ) -> History:
        """Draw one round: see `Sampler.design`. A fixed number of draws replaces ``new_rows``."""
        draws = self.draws or DRAWS_PER_NEW_ROW * new_rows
        most = self.draws or min(new_rows, self._unseen(table, history) or new_rows)
        stop = StopRule(most if budget is None else min(most, budget), draws)
        return draw_rows(self.proposal(table, history), table.count, history, stop, rng)

    def estimate(
        self,
        table: CellTable,
        history: History,
        measures: Sequence[Measure],
        confidence: float,
    ) -> list[Estimate]:
        """Estimate by R^ = (1/N) sum_j l_j / (M q_j), N all draws so far ([MR] eq. 1).

        Rows with a label stand for those of their round that have none (`stats.nonresponse`).
        """
        response = respond(history, table.count)
        row = history.row[response.draw]
        weights = response.factor / (table.rows * history.probability[response.draw])
        labelled = history.labelled
        known = table.signature[history.cell[labelled]], history.label[labelled]

        def estimate_one(measure: Measure) -> Estimate:
            name, bounds = measure.name, measure.bounds
            if not self.supports(table, measure):
                return unsupported(name, bounds, confidence, self.measure.name)
            if _is_census(table, history, measure):
                value = measure.value(measure.loss(*known).sum(axis=0) / table.rows)
                return census(name, bounds, value, confidence, measure.evidence_name)
            losses = measure.loss(table.signature[history.cell[row]], history.label[row])
            risk = weighted_risk(weights, losses)
            return estimate_measure(
                name=name,
                bounds=bounds,
                value=measure.value(risk.mean),
                jacobian=measure.jacobian(risk.mean),
                risk=risk,
                evidence=int(measure.evidence(*known).sum()),
                evidence_name=measure.evidence_name,
                confidence=confidence,
            )

        return [estimate_one(measure) for measure in measures]


def _is_census(table: CellTable, history: History, measure: Measure) -> bool:
    """Whether every row that can add to the risk of the measure has a label."""
    cells = cells_adding_to(measure, table)
    labelled = np.bincount(history.cell[history.labelled], minlength=len(table))
    return bool(np.all(labelled[cells] == table.count[cells]))


def no_atoms() -> IntArray:
    """Return the atoms of a proposal that has none."""
    return np.zeros(0, dtype=np.int64)
