"""Interface of samplers, and the base class of those that draw with replacement."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np

from evalsampling.errors import InputError
from evalsampling.inference.domains import WHOLE_POOL, Domain, ReportedDomains, known_value
from evalsampling.inference.estimates import estimate_measure, point_estimate, refuse, take_nil
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.nonresponse import adjust_for_nonresponse
from evalsampling.inference.precision_curve import PrecisionCurve
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import is_aimed_at, is_nil
from evalsampling.measures.joint import parts_of
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.spec.parameters import check_parameters
from evalsampling.spec.values import Count, Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW, Proposal, StopRule, draw_rows
from evalsampling.stats.history import History
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.poisson import PoissonSize

Rng = np.random.Generator

_PICKED = "people picked all rows with a label; draw rows by chance"
"""Why there are no estimates where no row was drawn."""

_ROUNDING = 1e-6
"""Most by which the chances of all rows may differ from 1."""


@dataclasses.dataclass(frozen=True)
class Sampler(abc.ABC):
    """A published way to choose rows and to estimate from them.

    A pure function of the cell table, the history and a seeded generator: started again from
    files it takes the same next step.

    Attributes:
        with_replacement: whether the draws of a round are independent of each other.
        takes: what it can do with beside rows of one class that answers tell for certain:
            ``stochastic`` oracles, ``tags`` (rows with any number of many labels,
            `Kinds.expected`), ``queries`` (with lists of items), ``weights`` of measures (it draws
            for all, not the first alone), ``numbers`` (see below), ``looks`` (its default intervals
            hold the truth as often as they say where the first narrow one ends an evaluation).
        needs: what a pool must have: a ``score`` to rank rows by; the ``cost`` of labels; the
            ``cluster`` of rows, of which it draws whole ones.
        trusts_prior: whether rows are chosen by the prior probabilities, whatever labels say.
        has_atoms: whether labelled rows may have chances of their own.
        by_row: whether a round draws rows that were not drawn before, each with a chance that its
            cell alone decides.
        measure: the measure whose variance is to be small.
        oracle: ``deterministic`` if a row has one label, ``stochastic`` if asking again may bring
            another.
        numbers: permanent random numbers of the first rows of each cell, for those that draw by
            them; None where they are not known, so that rows of a cell are exchangeable.
    """

    name = "sampler"
    with_replacement = False
    takes = frozenset({"stochastic"})
    needs = frozenset[str]()
    trusts_prior = False
    has_atoms = False
    by_row = True
    measure: Measure
    oracle: str = "deterministic"
    numbers: PermanentNumbers | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.stochastic and "stochastic" not in self.takes:
            raise ValueError(f"{self.name} draws each row once, so it takes a deterministic oracle")

    @property
    def models_classes(self) -> bool:
        """Whether it has a model of labels that are classes, as it stands."""
        return False

    @property
    def stochastic(self) -> bool:
        """Whether the same row is worth asking about again."""
        return self.oracle == "stochastic"

    @property
    def keeps_order(self) -> bool:
        """Whether the order of draws counts in estimates."""
        return self.with_replacement or self.stochastic

    @abc.abstractmethod
    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        """Return the history with one more round.

        Args:
            table: the cells.
            history: rounds so far.
            new_rows: questions wanted: rows never drawn before, or, of a stochastic oracle, draws.
            rng: source of randomness.
            budget: most such questions, whatever the sampler's own idea of a round.

        Returns:
            The history; the new questions of the round have no label yet.

        Raises:
            InputError: by samplers that need the measure's value, if it is undefined on the pool.
        """

    @abc.abstractmethod
    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows with their weights; of a round any may lack a label."""

    def can_estimate(self, table: CellTable, measure: Measure) -> bool:
        """Tell whether every row that can add to the measure's risk always has a chance."""
        if self.covers_pool(table):
            return True
        return bool(np.all(self.support(table) | ~cells_adding_to(measure, table)))

    def aims_at(self, measure: Measure) -> bool:
        """Tell whether rows are drawn for a measure."""
        return is_aimed_at(measure, self.measure)

    def covers_pool(self, table: CellTable) -> bool:
        """Tell whether every row of the pool always has a chance, whatever its label."""
        return bool(np.all(self.support(table)))

    def proposal(self, table: CellTable, history: History) -> Proposal | None:
        """Return the sampling probabilities of the next round, if it draws with replacement."""
        return None

    def support(self, table: CellTable) -> BoolArray:
        """Return which cells have rows that can be drawn, shape (cells,): all unless overridden."""
        return np.ones(len(table), dtype=bool)

    def unseen(self, table: CellTable, history: History) -> int:
        """Return how many rows can be drawn and never were."""
        unseen = table.count - history.drawn_by_cell(len(table))
        return int(unseen[self.support(table)].sum())

    def remarks(self, table: CellTable) -> list[str]:
        """Return warnings, in words, about how rows of this pool are drawn."""
        return []

    def spent(self, table: CellTable, history: History, answers: int) -> int:
        """Return how much of the budget is spent: the number of answers, unless overridden.

        Args:
            table: the cells.
            history: rounds so far.
            answers: number of questions that have, or are assumed to have, an answer.
        """
        return answers

    def sample_size(self, table: CellTable, history: History) -> PoissonSize | None:
        """Return the expected and the realised sample size if the size is random, else None."""
        return None

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether every question that can be asked has been."""
        return not self.stochastic and self.unseen(table, history) == 0

    def curve(self, table: CellTable, history: History) -> PrecisionCurve | None:
        """Return the precision at every rank with a guarantee, if the sampler gives one."""
        return None

    def value(
        self, table: CellTable, history: History, measure: Measure, confidence: float
    ) -> FloatArray:
        """Return the design-based value of a measure on the pool, shape (m,), without intervals.

        NaN if there is no estimate. It is fast: of the sampler `calibrated` it is the difference
        estimator, not the mean of that and of the model's median that `estimate` gives.
        """
        if not self.can_estimate(table, measure):
            return np.full(len(measure.components), np.nan)
        return point_estimate(measure, self.inputs(table, history, confidence))

    def estimate(
        self,
        table: CellTable,
        history: History,
        measures: Sequence[Measure],
        confidence: float,
        scope: ReportedDomains = WHOLE_POOL,
        model: LabelModel | None = None,
    ) -> list[Estimate]:
        """Return estimates of measures on the pool, or on parts of it, from all rounds so far.

        Args:
            table: the cells.
            history: rounds and labels.
            measures: what to estimate.
            confidence: level of the intervals, in (0, 1).
            scope: systems and slices.
            model: draws of all labels given those of the history; with them the default interval
                is the model-based one.
        """
        inputs = self.with_next_draw(self.inputs(table, history, confidence, model))
        estimates: list[Estimate] = []
        for measure in (part for each in measures for part in parts_of(each)):
            if is_nil(measure, table.kinds):
                estimates += take_nil(measure, inputs, scope)
            elif len(history) and history.picked.all() and not _is_census(inputs, measure):
                estimates += refuse(measure, "picked rows", _PICKED, scope, confidence)
            elif self.can_estimate(table, measure) or _is_census(inputs, measure):
                estimates += estimate_measure(measure, inputs, scope, self.aims_at(measure))
            else:
                reason = (
                    f"{measure.name} cannot be estimated from rows drawn for {self.measure.name}: "
                    "rows that add to it had no chance of being drawn"
                )
                estimates += refuse(measure, "no support", reason, scope, confidence)
        return estimates

    def with_next_draw(self, inputs: EstimationInput) -> EstimationInput:
        """Return inputs with what is known of the next draw, as estimates use them.

        Unchanged before the first label, and where the measure is undefined though all is known.
        """
        if not inputs.sample.draws:
            return inputs
        if _is_census(inputs, self.measure):
            value = known_value(self.measure, inputs.table, inputs.history, Domain())
            if np.isnan(value).all():
                return inputs
        return self._with_next_draw(inputs)

    def _with_next_draw(self, inputs: EstimationInput) -> EstimationInput:
        """Return inputs with the chances of the next draw and the weights under its proposal."""
        table, history = inputs.table, inputs.history
        # Rounds without any label yet come later: they must not change the estimates.
        answered = history.until_last_answered_round()
        proposal = self.proposal(table, answered)
        if proposal is None:
            return dataclasses.replace(inputs, chance=np.full(len(table), 1 / table.rows))
        weights = weights_under(proposal, table, answered, len(history))
        return dataclasses.replace(
            inputs, sample=inputs.sample.with_latest(weights), chance=proposal.cell_probability
        )

    def inputs(
        self, table: CellTable, history: History, confidence: float, model: LabelModel | None = None
    ) -> EstimationInput:
        """Return the input of the estimators; for the arguments see `estimate`."""
        inputs = EstimationInput(
            table,
            history,
            self.weigh(table, history).clustered(history.outputs.cluster, history.together),
            confidence,
            self.covers_pool(table),
            stochastic=self.stochastic,
            with_replacement=self.with_replacement,
            has_atoms=self.has_atoms,
            model=model,
        )
        return self.adapted(inputs)

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        """Return the input changed for the sampler's own estimator; unchanged by default."""
        return inputs


def _is_census(inputs: EstimationInput, measure: Measure) -> bool:
    """Tell whether every row of the pool that can add to a measure has its label."""
    return inputs.all_known(cells_adding_to(measure, inputs.table), Domain())


@dataclasses.dataclass(frozen=True)
class ReplacementSampler(Sampler):
    """Draws with replacement from a proposal, estimates by importance weighting.

    Attributes:
        heeds_costs: whether rows whose labels are cheap are drawn more often.
        draws: draws of a round; None to draw until the questions wanted were asked, at most
            `DRAWS_PER_NEW_ROW` for each.
        delta: share of the pool's own distribution mixed into the proposal, in [0, 1]: a
            positive one lets other measures be estimated from the same draws.
    """

    with_replacement = True
    by_row = False
    heeds_costs = True
    draws: Count | None = None
    delta: Proportion = 0.0

    @abc.abstractmethod
    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        """Return the sampling probabilities of the next round, before any mixing.

        Those of all rows sum to 1: where there are no atoms, ``table.count @ cell_probability``.

        Raises:
            InputError: if the measure is undefined on the pool.
        """

    def unmixed_support(self, table: CellTable) -> BoolArray:
        """Return which cells can be drawn before any mixing, shape (cells,): all by default."""
        return np.ones(len(table), dtype=bool)

    def support(self, table: CellTable) -> BoolArray:
        return np.ones(len(table), dtype=bool) if self.delta else self.unmixed_support(table)

    def proposal(self, table: CellTable, history: History) -> Proposal:
        """Return the sampling probabilities of the next round: (1 - delta) q + delta p.

        q is `variance_minimising`, over the root of the costs if the sampler heeds them. An
        estimate and the round after it ask for the same one, which is worked out once.
        """
        sampler, of_table, latest = history.memory.get("proposal", (None, None, None))
        if sampler is self and of_table is table:
            return cast(Proposal, latest)
        proposal = self.variance_minimising(table, history)
        self._check(proposal, table, history)
        proposal = proposal.per_cost(table, history) if self.heeds_costs else proposal
        proposal = proposal.mixed(self.delta, table.rows) if self.delta else proposal
        history.memory["proposal"] = self, table, proposal
        return proposal

    def _check(self, proposal: Proposal, table: CellTable, history: History) -> None:
        """Check what `variance_minimising` returned."""
        what, cells = f"sampler {self.name}: variance_minimising must return", len(table)
        if not isinstance(proposal, Proposal):
            raise InputError(f"{what} a Proposal, got {type(proposal).__name__}")
        cell, atom = proposal.cell_probability, proposal.atom_probability
        if np.shape(cell) != (cells,) or np.shape(atom) != np.shape(proposal.atom):
            raise InputError(f"{what} chances of shape ({cells},), got {np.shape(cell)}")
        if not all(np.all(np.isfinite(chance) & (chance >= 0)) for chance in (cell, atom)):
            raise InputError(f"{what} chances that are finite and at least 0")
        free = table.count - np.bincount(history.cell[proposal.atom], minlength=cells)
        total = float(free @ cell + atom.sum())
        if abs(total - 1) > _ROUNDING:
            raise InputError(
                f"{what} chances of rows that sum to 1, and table.count @ chance is {total:.6g}"
            )
        lost = (cell == 0) & (free > 0)
        if not self.delta and lost.any() and np.any(lost & self.unmixed_support(table)):
            raise InputError(
                f"sampler {self.name}: a cell whose chance was above 0 at first, as "
                "unmixed_support says, must not have 0 later"
            )

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        """Return the history with one round more; a fixed number of draws replaces ``new_rows``."""
        draws = self.draws or DRAWS_PER_NEW_ROW * new_rows
        if self.draws or self.stochastic:
            most = self.draws or new_rows
        else:
            most = min(new_rows, self.unseen(table, history) or new_rows)
        stop = StopRule(most if budget is None else min(most, budget), draws)
        proposal = self.proposal(table, history)
        return draw_rows(proposal, table, history, stop, rng, self.stochastic)

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows, each draw with weight w = 1 / (M q) ([MR] eq. 1).

        Rows with a label stand for those of their round that have none (`inference.nonresponse`).
        """
        response = adjust_for_nonresponse(history, table, self.stochastic)
        weights = response.factor / (table.rows * history.probability[response.draw])
        question = history.question[response.draw]
        known = response.known / table.rows
        return WeightedSample.with_replacement(question, weights, len(history), known)


class CellSampler(ReplacementSampler):
    """Base of samplers that give all rows of a cell the same chance, whatever their labels."""

    @abc.abstractmethod
    def probability(self, table: CellTable, history: History) -> FloatArray:
        """Return the chance of a row of each cell before costs and mixing, shape (cells,)."""

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        return Proposal(self.probability(table, history))

    def unmixed_support(self, table: CellTable) -> BoolArray:
        return self.probability(table, no_rounds(table)) > 0


def weights_under(
    proposal: Proposal, table: CellTable, answered: History, questions: int
) -> FloatArray:
    """Return what each question would weigh under a proposal, shape (questions,)."""
    chance = proposal.cell_probability[answered.cell]
    chance[proposal.atom] = proposal.atom_probability
    weights = np.zeros(questions)
    np.divide(1 / table.rows, chance, out=weights[: len(answered)], where=chance > 0)
    return weights


def no_rounds(table: CellTable) -> History:
    """Return the history of a pool before the first round, without slices."""
    return History.start(table.kinds.prediction.shape[1], table.classes)
