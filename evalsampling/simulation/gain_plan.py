"""Plans of rankings: standard errors and powers to expect, in closed form.

What is expected of the gain of each query stands in the cell table, so nothing need be imagined.

References:
    C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, lemma 3.4 and
    section 5.1.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import optimize, special

from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.significance import power, required_draws_of_student
from evalsampling.measures.base import FloatArray, Measure
from evalsampling.measures.build import Range, build_gains, build_measures
from evalsampling.measures.calibrated import measure_of
from evalsampling.measures.comparisons import Difference, Quotient
from evalsampling.measures.gains import GainMoments
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import title
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import expected_distinct
from evalsampling.stats.history import History

_MOST_DRAWS = 1e12


@dataclasses.dataclass(frozen=True)
class GainPlanner:
    """One sampler and what its queries are expected to say.

    Attributes:
        sampler: draws with replacement.
        table: the cells.
        moments: of the gains in each cell.
        confidence: level of the intervals.
    """

    sampler: Sampler
    table: CellTable
    moments: GainMoments
    confidence: float

    @property
    def chance(self) -> FloatArray:
        """The chance of a query of each cell to be taken by one draw, shape (cells,)."""
        history = History.start(self.moments.mean.shape[2], 1)
        proposal = self.sampler.proposal(self.table, history)
        assert proposal is not None
        return proposal.cell_probability

    def draws(self, queries: int) -> float:
        """Return the draws that are expected to meet so many queries; infinite if none do."""
        count, chance = self.table.count, self.chance

        def missing(draws: float) -> float:
            return expected_distinct(chance, count, draws) - queries

        if missing(_MOST_DRAWS) <= 0:
            return math.inf
        return float(optimize.brentq(missing, 0.0, _MOST_DRAWS, xtol=1e-6, rtol=1e-9))

    def one_draw(self, measure: Measure) -> tuple[float, float]:
        """Return what is expected of a measure, and the deviation of one draw's contribution.

        The root of sum over queries of E (L - R)^2 / (M^2 q) if weights are self-normalised (lemma
        3.4), else of that of E L^2, less R^2.
        """
        mean, square = self.moments.of(measure)
        count, rows = self.table.count, self.table.rows
        value = float(count @ mean) / rows
        normalised = self.sampler.inputs(
            self.table, History.start(self.moments.mean.shape[2], 1), self.confidence
        ).self_normalised
        if normalised:
            square = square - 2 * value * mean + value**2
        chance = self.chance
        ratio = np.divide(1 / rows, chance, out=np.zeros(len(count)), where=chance > 0)
        variance = float((count / rows * ratio) @ square) - (0.0 if normalised else value**2)
        return value, math.sqrt(max(variance, 0.0))

    def at(self, measure: Measure, queries: int) -> dict[str, float | None]:
        """Return what to expect of a number of graded queries; of too few there is no test."""
        if not self.sampler.can_estimate(self.table, measure):
            return {"standard_error": None, "half_width": None, "power": None}
        value, deviation = self.one_draw(measure)
        draws = self.draws(queries)
        error = 0.0 if math.isinf(draws) else deviation / math.sqrt(draws)
        rejects = None
        if isinstance(measure, Difference):
            rejects = 1.0 if not error else power(
                value, deviation, draws, 1 - self.confidence, max(draws - 1, 1.0)
            ) * (queries >= FEWEST_EVIDENCE)  # fmt: skip
        reach = float(special.ndtri((1 + self.confidence) / 2))
        return {"standard_error": error, "half_width": reach * error, "power": rejects}

    def for_power(
        self, measure: Difference, wanted: float, effect: float | None
    ) -> dict[str, float | int | None]:
        """Return the queries, and the draws, whose test has a power.

        By the noncentral t distribution; as many queries at least as a claim takes.

        Args:
            measure: the difference that is tested.
            wanted: the power.
            effect: the true difference; None for the expected one.
        """
        entry: dict[str, float | int | None] = {
            "budget": None, "standard_error": None, "half_width": None, "power": wanted,
        }  # fmt: skip
        if not self.sampler.can_estimate(self.table, measure):
            return entry
        value, deviation = self.one_draw(measure)
        effect = value if effect is None else effect
        if not effect or not deviation:
            return entry
        draws: float = required_draws_of_student(effect, deviation, wanted, 1 - self.confidence)
        draws = math.ceil(max(draws, self.draws(FEWEST_EVIDENCE)))
        met = expected_distinct(self.chance, self.table.count, draws)
        error = deviation / math.sqrt(draws)
        return entry | {"budget": math.ceil(met), "standard_error": error, "draws": draws}

    def for_half_width(self, measure: Measure, wanted: float) -> dict[str, float | int | None]:
        """Return the fewest queries whose half-width is as small as wanted."""
        entry: dict[str, float | int | None] = {
            "budget": None, "standard_error": None, "half_width": wanted, "power": None,
        }  # fmt: skip
        if not self.sampler.can_estimate(self.table, measure):
            return entry
        deviation = self.one_draw(measure)[1]
        reach = float(special.ndtri((1 + self.confidence) / 2))
        draws = (reach * deviation / wanted) ** 2
        met = expected_distinct(self.chance, self.table.count, draws)
        return entry | {"budget": math.ceil(met), "standard_error": wanted / reach}


def plan_gains(
    spec: EvaluationSpec,
    table: CellTable,
    ranges: Sequence[Range | None],
    names: Sequence[str],
    budgets: Sequence[int],
    half_width: float | None = None,
    wanted_power: float | None = None,
    effect: float | None = None,
) -> list[dict[str, Any]]:
    """Predict errors of gains of rankings, if the probabilities of the grades are right.

    Args:
        spec: of the evaluation of queries.
        table: the cells of the pool.
        ranges: of the systems' scores, none of which is known.
        names: of the samplers.
        budgets: numbers of queries.
        half_width: to find the number of queries for, too.
        wanted_power: of a difference, to find the draws for, too.
        effect: the true difference that the power is for; by default the expected one.

    Returns:
        As `simulation.plan.plan`.
    """
    systems = tuple(system.name for system in spec.pool.systems)
    moments = GainMoments.of_cells(build_gains(spec), table)
    measures = [one for one in build_measures(spec, ranges)
                if not isinstance(measure_of(one), Quotient)]  # fmt: skip
    told: list[dict[str, Any]] = []
    for name in names:
        sampler = build_sampler(spec, ranges, name)
        planner = GainPlanner(sampler, table, moments, spec.confidence)
        for requested in measures:
            measure = measure_of(requested)
            head = {"sampler": sampler.name, "measure": title(requested, systems)}
            told += [head | {"budget": one} | planner.at(measure, one) for one in budgets]
            if half_width is not None:
                told.append(head | planner.for_half_width(measure, half_width))
            if wanted_power is not None and isinstance(measure, Difference):
                told.append(head | planner.for_power(measure, wanted_power, effect))
    return told
