"""An evaluation at one moment: cell table, sampler and history, with no rows, input or output.

Every entry point (command line, Beam pipelines, notebooks, simulation) goes through this class.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.graded import empty_history
from evalsampling.evaluation.statement import stated
from evalsampling.inference.class_curves import obstacle
from evalsampling.inference.class_rates import fit_labels
from evalsampling.inference.domains import WHOLE_POOL, Domain, ReportedDomains
from evalsampling.inference.estimates import estimate_region
from evalsampling.inference.interval_methods import check_names
from evalsampling.inference.label_likelihood import label_likelihood
from evalsampling.inference.own_chances import go_with_scores
from evalsampling.inference.precision_curve import PrecisionCurve
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.random_answers import one_answer_a_row
from evalsampling.inference.regions import Ellipsoid
from evalsampling.inference.results import SAID, Estimate
from evalsampling.label_spaces.classes import Classes
from evalsampling.measures.base import Measure, is_ours
from evalsampling.measures.build import (
    as_one,
    build_entry,
    build_measures,
    check_applies,
    choose_measures,
    with_weights,
)
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.extremes import Extreme
from evalsampling.preparation.slices import Slices
from evalsampling.preparation.stratification import Stratification
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.spec import AnalysisPlan, LabelsSpec, MeasureSpec, PoolSpec, ReadingPlan
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.labels_at_hand import PICKED, WITHIN
from evalsampling.spec.rounds import StopSpec
from evalsampling.spec.strata import StrataSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.costs import Price
from evalsampling.stats.counted import counted
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.permanent import PermanentNumbers
from evalsampling.stats.poisson import PoissonSize
from evalsampling.stats.slices import SliceCodes

Named = str | Mapping[str, Any]
"""A measure by its name, or by its keys as in a spec."""

Measures = Measure | Named | Sequence[Measure | Named]
"""One measure or several."""

UNNAMED = ReadingPlan(PoolSpec("", "id"), LabelsSpec(Classes()), StrataSpec())
"""What is read where parts are put together by hand: one system, and two classes, without names."""


class Pool(Protocol):
    """A pool with its cells and their cut, in memory or in a workspace."""

    @property
    def table(self) -> CellTable:
        """The cell table of the pool."""

    @property
    def stratification(self) -> Stratification:
        """How the pool was cut into cells."""

    @property
    def slices(self) -> Slices:
        """The slices of the pool."""

    @property
    def clusters(self) -> SharedClusters | None:
        """How its rows are spread over clusters; None if the spec names none."""

    def numbers(self) -> PermanentNumbers:
        """Return the permanent random numbers of the rows of the pool."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """Cell table, sampler, measures and history of an evaluation at one moment; never changed."""

    table: CellTable  # the cells of the pool
    sampler: Sampler  # how rows are chosen and estimates made
    measures: Sequence[Measure]  # what is reported
    seed: int  # seed of the draws; a round's generator is seeded by it and by the round's number
    confidence: float  # level of the intervals, in (0, 1)
    history: History  # rounds, draws and labels so far
    scope: ReportedDomains = WHOLE_POOL  # systems and slices that are reported
    # prior of positives that scores do not show; None for no model-based intervals
    hidden: HiddenPrior | None = None
    # reads the permanent random numbers of the rows, for samplers that draw by them; None where
    # there are no rows behind the cells
    numbers: Callable[[], PermanentNumbers] | None = None
    # what is read of the pool, which says what its labels and scores are
    reading: ReadingPlan = UNNAMED
    stop: StopSpec = StopSpec()  # how narrow intervals, or how sure comparisons, are wanted
    # how the rows of the pool are spread over clusters; None where none are named
    clusters: SharedClusters | None = None

    def with_history(self, history: History) -> Self:
        """Return the analysis with a history; the same object if it has that history already."""
        return self if history is self.history else dataclasses.replace(self, history=history)

    def with_round(
        self, new_rows: int, budget: int | None = None, money: float | None = None
    ) -> Self:
        """Return the analysis with one round more; itself if the money buys no label.

        A round is so large that its expected cost and one standard deviation more are within the
        money: which rows it draws does not answer to what they cost. ``new_rows`` were never drawn
        before (of a stochastic oracle, draws), at most ``budget``; a sampler with a fixed number of
        draws does not heed them.
        """
        check_new_rows(new_rows)
        rows = new_rows if budget is None else min(new_rows, budget)
        drawn = self._designed(new_rows, budget)
        if money is not None:
            most = self._price_after(drawn).labels_within(money)
            if most < 1:
                return self
            drawn = drawn if rows <= most else self._designed(most, most)
        return self.with_history(drawn)

    def _designed(self, new_rows: int, budget: int | None) -> History:
        """Return the history with one round more, whose draws depend on the seed alone."""
        rng = np.random.Generator(np.random.PCG64([self.seed, len(self.history.rounds)]))
        sampler = self.sampler
        if "numbers" in sampler.takes and self.numbers is not None:
            sampler = dataclasses.replace(sampler, numbers=self.numbers())
        drawn = sampler.design(self.table, self.history, new_rows, rng, budget)
        if self.clusters is None or "cluster" not in sampler.needs:
            return drawn
        return drawn.with_last(together=self.clusters.rows_together)

    def affords(self, money: float | None) -> bool:
        """Return whether the expected cost of one label more is at most an amount of money."""
        if money is None:
            return True
        if self.exhausted:
            return False
        return self._price_after(self._designed(1, 1)).labels_within(money) > 0

    def _price_after(self, drawn: History) -> Price:
        """Return the price of a label in the last round of a history that a design drew.

        Rows are weighted by the chances of their cells; equally if the round did not keep them.
        """
        table, chance = self.table, drawn.rounds[-1].cell_probability
        rows = table.count.astype(np.float64)
        if not self.sampler.stochastic:
            rows -= self.history.drawn_by_cell(len(table))
        return Price.of_rows(rows if chance is None else rows * chance, table.cost)

    @property
    def exhausted(self) -> bool:
        """Whether every question that can be asked has been."""
        return self.sampler.exhausted(self.table, self.history)

    @property
    def sample_size(self) -> PoissonSize | None:
        """Rows expected and rows drawn by all rounds so far, if coins decide how many there are."""
        return self.sampler.sample_size(self.table, self.history)

    @property
    def _settled(self) -> History:
        """The history that estimates are made from: ordered, unless the order of draws counts."""
        return self.history if self.sampler.keeps_order else self.history.ordered

    def spent(self, answers: int) -> int:
        """Return how much of the budget is spent, given the number of answers: see `Sampler`."""
        return self.sampler.spent(self.table, self.history, answers)

    def estimate(
        self,
        measures: "Measures | None" = None,
        intervals: Sequence[str] = (),
        scope: ReportedDomains | None = None,
    ) -> list[Estimate]:
        """Return estimates of measures, by default of its own: see `notebook.Evaluation`."""
        scope = self.scope if scope is None else scope
        if intervals:
            scope = dataclasses.replace(scope, methods=check_names(intervals))
        estimates = self.sampler.estimate(
            self.table,
            self._settled,
            self.measures if measures is None else self.chosen(measures),
            self.confidence,
            scope,
            self.label_model,
        )
        labels, goal = len(self.history.labelled), self.stop.half_width
        systems = self.reading.pool.systems
        scored = [one.name for one in systems if one.name and (one.score or one.probability)]
        said = self.said_of_labels
        return [
            dataclasses.replace(each, notes=(*each.notes, *said))
            for each in (stated(estimate, labels, goal, scored) for estimate in estimates)
        ]

    @property
    def said_of_labels(self) -> tuple[str, ...]:
        """A sentence on how the rows with labels at hand were drawn; empty without any."""
        at_hand, space = self.reading.labels.at_hand, self.reading.labels.space
        if at_hand is None or not self.history.rounds or at_hand.drawn == PICKED:
            return ()
        labels = counted(len(self.history.rounds[0].question), "label")
        drawn = f"of the {labels} of column {at_hand.column}: the rows were drawn {at_hand.words}"
        of_one = space.is_binary or space.positive in self.of_one_class
        about = f"; positive is {space.text(space.positive)}" if of_one else ""
        return (f"{SAID} {drawn}{about}",)

    @property
    def of_one_class(self) -> Mapping[int, tuple[str, ...]]:
        """The names of its measures that are about one class and do not name it, by its code."""
        about: dict[int, dict[str, None]] = {}
        for measure in self.measures:
            code = _class_of(measure)
            if code is not None and "positive=" not in measure.name:
                about.setdefault(code, {})[measure.name] = None
        return {code: tuple(names) for code, names in about.items()}

    def chosen(self, measures: Any) -> Sequence[Measure]:
        """Return the measures given by name, mapping or object; by default the analysis' own."""
        listed = list(measures) if isinstance(measures, list | tuple) else [measures]
        if not listed:
            return self.measures
        chosen: list[Measure] = []
        for entry in listed:
            if isinstance(entry, str | Mapping):
                chosen += choose_measures(entry, self.measures, self.reading)
            elif isinstance(entry, Measure):
                _check_classes(entry, len(self.reading.labels.space.names))
                is_own = any(entry is own for own in self.measures)
                chosen.append(entry if is_own else with_weights(entry, self.reading.pool))
            else:
                raise InputError(f"no measure: {entry!r}")
        for measure in chosen:
            check_applies(measure, self._no_rows)
        return chosen

    @functools.cached_property
    def _no_rows(self) -> Outputs:
        """Outputs of all systems for no rows, with the slices that cells tell apart."""
        nothing = self.table.kinds.no_rows
        none_named = SliceCodes({}, np.zeros((0, 0), dtype=np.int64))
        return dataclasses.replace(nothing, slices=nothing.slices or none_named)

    @functools.cached_property
    def label_model(self) -> LabelModel | None:
        """Draws of all labels given those so far; None where there is no such model.

        There is no model for a pool to which `inference.class_curves.obstacle` objects, before the
        first label, and where rows of equal scores had unequal chances: they may differ in what
        these depended on.
        """
        if self.hidden is None or obstacle(self.table) or not len(self.history.labelled):
            return None
        if not go_with_scores(self.table, self.history):
            return None
        stochastic, history = self.sampler.stochastic, self._settled
        if stochastic:
            history = one_answer_a_row(history, self.table.classes)
        return fit_labels(self.table, history, (self.seed,), self.hidden, stochastic=stochastic)

    def region(self, measure: "Measures") -> Ellipsoid:
        """Return the joint confidence region of a measure's components, as [MR], section 3.

        By default it is about the values that `estimate` reports, and of the kind of their default
        intervals, which are its projections, widened to the joint level. The measure is usually a
        `measures.Joint`, or several; differences that come by themselves are left out.
        """
        parts: list[Measure] = []
        asked: Any = measure if isinstance(measure, list | tuple) else [measure]
        for entry in asked:
            if isinstance(entry, Mapping):
                parts += build_entry(MeasureSpec.parse(entry), self.reading)
                continue
            chosen = self.chosen(entry)
            plain = [each for each in chosen if not isinstance(each, Comparison)]
            parts += plain or chosen
        if not parts:
            raise InputError("a region needs a measure")
        return self.region_of(parts)

    def region_of(self, parts: Sequence[Measure]) -> Ellipsoid:
        """Return the joint region of measures as they are: see `region`."""
        for part in parts:
            check_applies(part, self._no_rows)
            if isinstance(part, Extreme):
                raise InputError(f"{part.name}: it has no region, which needs a derivative")
        asked = as_one(parts)
        if not self.sampler.can_estimate(self.table, asked):
            raise InputError(f"{asked.name}: rows that add to it had no chance of being drawn")
        try:
            inputs = self.sampler.inputs(self.table, self._settled, self.confidence)
            return estimate_region(asked, inputs)
        except ValueError as error:
            raise InputError(f"{asked.name}: {error}") from error

    @functools.cached_property
    def curve(self) -> PrecisionCurve | None:
        """The precision at every rank, with measures that follow from it and a guarantee.

        None if the sampler gives none, or before there are labels enough for any.
        """
        return self.sampler.curve(self.table, self.history)

    @property
    def label_likelihood(self) -> float | None:
        """How good the scores' probabilities are by the labels so far, in (0, 1].

        See `inference.label_likelihood`; None if there are too few labels, or they are no classes
        of rows.
        """
        return self.label_likelihoods.get(None)

    @functools.cached_property
    def label_likelihoods(self) -> dict[str | None, float]:
        """The `label_likelihood` of the pool and of each slice with enough labels, by titles."""
        is_known = self.reading.has_classes and not self.table.leaves.exchangeable
        if not (is_known and len(self.history.labelled)):
            return {}
        sample, history = self.sampler.weigh(self.table, self.history), self.history
        every, found = np.arange(len(history)), {}
        for domain in self.scope.domains:
            inside = None if domain.count is None else domain.holds(history, every)
            value = label_likelihood(self.table, history, sample, inside)
            if value is not None:
                found[domain.title] = value
        return found

    @classmethod
    def of_pool(cls, pool: Pool, plan: AnalysisPlan) -> Self:
        """Return the analysis of a pool before the first round, as a plan asks for it."""
        plan = pool.stratification.decided(plan)
        reading = plan.reading
        return cls(
            table=pool.table,
            sampler=build_sampler(plan),
            measures=build_measures(reading),
            seed=reading.seed,
            confidence=plan.confidence,
            history=empty_history(reading, pool.table),
            scope=ReportedDomains(
                domains=_domains(pool.slices, reading),
                systems=tuple(system.name for system in reading.pool.systems),
                bands_seed=reading.seed,
            ),
            hidden=plan.label_prior,
            numbers=pool.numbers,
            reading=reading,
            stop=plan.stop,
            clusters=pool.clusters,
        )


def _check_classes(measure: Measure, classes: int) -> None:
    """Raise an `InputError` if a measure of ours is of other classes than there are."""
    of, place = getattr(measure, "classes", classes), getattr(measure, "positive", 0)
    if classes and is_ours(measure) and of != classes:
        raise InputError(f"measure {measure.name}: is of {of} classes, there are {classes}")
    if classes and is_ours(measure) and place >= classes:
        raise InputError(
            f"measure {measure.name}: positive is a place in labels.classes, of {classes} from 0, "
            f"got {place}"
        )


def _class_of(measure: Measure) -> int | None:
    """Return the code of the class that a measure is about, maybe in a slice; None of several."""
    inner = [getattr(measure, "measure", None), *getattr(measure, "parts", ())]
    of_each = {_class_of(one) for one in inner if isinstance(one, Measure)}
    return of_each.pop() if len(of_each) == 1 else getattr(measure, "positive", None)


def check_new_rows(new_rows: int) -> None:
    """Check the number of new rows that is asked for."""
    if isinstance(new_rows, bool) or not isinstance(new_rows, int | np.integer) or new_rows < 1:
        raise InputError(f"new rows must be a whole number of at least 1, got {new_rows!r}")


def _domains(slices: Slices, reading: ReadingPlan) -> tuple[Domain, ...]:
    """Return the domains of estimates: the whole pool, then each slice that has rows.

    No slices are the verdicts themselves, which are counted if labels were drawn within each.
    """
    at_hand, verdicts = reading.labels.at_hand, [one.prediction for one in reading.pool.systems]
    by_verdict = at_hand is not None and at_hand.drawn == WITHIN and at_hand.source in verdicts
    return (
        Domain(),
        *(
            Domain(f"{name}={value}", column, code, slices.counts[column][code])
            for column, name in enumerate(slices.names)
            for code, value in enumerate(slices.values[column])
            if slices.counts[column][code].any() and not (by_verdict and name in verdicts)
        ),
    )
