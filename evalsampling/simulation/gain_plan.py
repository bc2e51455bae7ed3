"""Plans for rankings: expected standard errors and powers, in closed form.

Moments of the gains of queries are in the cell table, so no labels need be simulated.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, lemma 3.4 and
    section 5.1.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.significance import power, required_draws_of_student
from evalsampling.measures.base import Measure
from evalsampling.measures.build import Range, build_gains, build_measures
from evalsampling.measures.comparisons import Difference, Quotient, difference
from evalsampling.measures.gains import GainMoments
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.effort import effort_of, effort_of_draws, paid_by
from evalsampling.simulation.selection import Candidates, candidates_of, mean_selection
from evalsampling.simulation.simulate import title
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History

IMAGINED = 4000
"""Estimates that are imagined for a choice of systems: the standard error of a share is .008."""


@dataclasses.dataclass(frozen=True)
class GainPlanner:
    """Predictions of the errors and tests of one sampler, from its first proposal.

    Attributes:
        sampler: a sampler that draws with replacement.
        table: the cells.
        moments: moments of the gains in each cell.
        confidence: level of the intervals.
    """

    sampler: Sampler
    table: CellTable
    moments: GainMoments
    confidence: float

    @property
    def no_queries(self) -> History:
        """The history before the first round."""
        return History.start(self.moments.mean.shape[2], 1)

    @functools.cached_property
    def proposal(self) -> Proposal:
        """The first proposal of the sampler."""
        proposal = self.sampler.proposal(self.table, self.no_queries)
        assert proposal is not None
        return proposal

    @property
    def reach(self) -> float:
        """Half-width of an interval in standard errors."""
        return float(scipy.special.ndtri((1 + self.confidence) / 2))

    def one_draw(self, measure: Measure) -> tuple[float, float]:
        """Return the expected value R of a measure, and the standard deviation of one draw's term.

        Its square is the sum over queries of E (L - R)^2 / (M^2 q) if weights are self-normalised
        (lemma 3.4), otherwise the sum of E L^2 / (M^2 q) minus R^2.
        """
        mean, square = self.moments.of(measure)
        count, rows = self.table.count, self.table.rows
        value = float(count @ mean) / rows
        inputs = self.sampler.inputs(self.table, self.no_queries, self.confidence)
        normalised = inputs.self_normalised
        if normalised:
            square = square - 2 * value * mean + value**2
        chance = self.proposal.cell_probability
        ratio = np.divide(1 / rows, chance, out=np.zeros(len(count)), where=chance > 0)
        variance = float((count / rows * ratio) @ square) - (0.0 if normalised else value**2)
        return value, math.sqrt(max(variance, 0.0))

    def at(self, measure: Measure, budget: float, by_cost: bool) -> dict[str, float | None]:
        """Return the expected error, half-width and power of a budget of queries, or of money."""
        effort = effort_of(self.sampler, self.table, budget, by_cost)
        draws, queries = effort["draws"], effort["labels"]
        if not self.sampler.can_estimate(self.table, measure):
            return {"standard_error": None, "half_width": None, "power": None, **effort}
        value, deviation = self.one_draw(measure)
        error = 0.0 if draws is None else deviation / math.sqrt(max(draws, 1.0))
        rejects = None
        if isinstance(measure, Difference):
            rejects = 1.0
            if error:
                rejects = power(value, deviation, draws, 1 - self.confidence, max(draws - 1, 1.0))
            if queries is not None and round(queries) < FEWEST_EVIDENCE:
                rejects = 0.0
        spread = {"standard_error": error, "half_width": self.reach * error, "power": rejects}
        return {**spread, **effort}

    def select(
        self, candidates: Candidates, measures: Sequence[Measure], draws: float | None, seed: int
    ) -> dict[str, float | None]:
        """Return how often the wrong system is chosen, and the regret, if estimates are normal.

        Differences to the first system have the covariances that the variances of all differences
        give: 2 Cov(d_i, d_j) = Var d_i + Var d_j - Var (d_i - d_j).

        Args:
            candidates: the systems.
            measures: those that `candidates` has the places of.
            draws: made; None or 0 for no answer.
            seed: of `IMAGINED` estimates.
        """
        pairs = [measures[place] for place in candidates.differences]
        if not draws or not all(self.sampler.can_estimate(self.table, pair) for pair in pairs):
            return mean_selection([])
        others = [pair.other for pair in pairs if isinstance(pair, Difference)]
        value, deviation = np.array([self.one_draw(pair) for pair in pairs]).T
        covariance = np.diag(deviation**2)
        for i, j in itertools.combinations(range(len(others)), 2):
            between = self.one_draw(difference(others[j], others[i]))[1]
            half = (deviation[i] ** 2 + deviation[j] ** 2 - between**2) / 2
            covariance[i, j] = covariance[j, i] = half
        rng = np.random.default_rng(seed)
        estimates = rng.multivariate_normal(value, covariance / draws, IMAGINED)
        return mean_selection([candidates.choose(estimate, value) for estimate in estimates])

    def for_power(
        self, measure: Difference, wanted: float, effect: float | None
    ) -> dict[str, float | int | None]:
        """Return the draws whose test has a given power, and the labels and cost they take.

        By the noncentral t distribution, with at least the queries that a claim needs.

        Args:
            measure: the difference that is tested.
            wanted: the power.
            effect: the true difference; None for the expected one.
        """
        unknown = dict.fromkeys(("standard_error", "half_width", "draws", "labels", "cost"))
        if not self.sampler.can_estimate(self.table, measure):
            return {**unknown, "power": wanted}
        value, deviation = self.one_draw(measure)
        effect = value if effect is None else effect
        if not effect or not deviation:
            return {**unknown, "power": wanted}
        fewest = effort_of(self.sampler, self.table, FEWEST_EVIDENCE, by_cost=False)["draws"]
        draws = required_draws_of_student(effect, deviation, wanted, 1 - self.confidence)
        draws = max(draws, int(fewest or 0) + 1)
        error = deviation / math.sqrt(draws)
        effort = effort_of_draws(self.proposal, self.table, draws)
        return {**unknown, "power": wanted, "standard_error": error, **effort}

    def for_half_width(self, measure: Measure, wanted: float) -> dict[str, float | None]:
        """Return the fewest draws with the wanted half-width, and the labels and cost they take."""
        unknown = dict.fromkeys(("standard_error", "power", "draws", "labels", "cost"))
        if not self.sampler.can_estimate(self.table, measure):
            return {**unknown, "half_width": wanted}
        deviation = self.one_draw(measure)[1]
        draws = math.ceil((self.reach * deviation / wanted) ** 2)
        effort = effort_of_draws(self.proposal, self.table, draws)
        return {**unknown, "half_width": wanted, "standard_error": wanted / self.reach, **effort}


def plan_gains(
    spec: EvaluationSpec,
    table: CellTable,
    ranges: Sequence[Range | None],
    names: Sequence[str],
    budgets: Sequence[float],
    half_width: float | None = None,
    wanted_power: float | None = None,
    effect: float | None = None,
) -> list[dict[str, Any]]:
    """Return predicted errors of gains of rankings if the probabilities of the grades are right.

    Args:
        spec: of the evaluation of queries.
        table: the cells of the pool.
        ranges: of the systems' scores, none of which is known.
        names: names of the samplers.
        budgets: numbers of queries, or money if the spec's budget is money.
        half_width: if given, the budget for it is returned too.
        wanted_power: if given, the budgets of differences for it are returned too.
        effect: the true difference that the power is for; by default the expected one.

    Returns:
        The same as `simulation.plan.plan`.
    """
    systems = tuple(system.name for system in spec.pool.systems)
    moments = GainMoments.of_cells(build_gains(spec), table)
    by_cost = spec.money is not None
    built = build_measures(spec, ranges)
    measures = [item for item in built if not isinstance(item, Quotient)]
    choices = candidates_of(measures)
    entries: list[dict[str, Any]] = []
    for name in names:
        sampler = build_sampler(spec, ranges, name)
        planner = GainPlanner(sampler, table, moments, spec.confidence)
        for measure, choice in zip(measures, choices, strict=True):
            head = {"sampler": sampler.name, "measure": title(measure, systems)}
            for budget in budgets:
                plan = planner.at(measure, budget, by_cost)
                if choice is not None:
                    plan |= planner.select(choice, measures, plan["draws"], spec.seed)
                entries.append(head | {"budget": budget} | plan)
            goals = []
            if half_width is not None:
                goals.append(planner.for_half_width(measure, half_width))
            if wanted_power is not None and isinstance(measure, Difference):
                goals.append(planner.for_power(measure, wanted_power, effect))
            entries += [head | {"budget": paid_by(goal, by_cost)} | goal for goal in goals]
    return entries
