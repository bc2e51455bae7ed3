"""The draws that a comparison of systems needs, before any label."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from evalsampling.inference.anticipation import draw_moments
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures.comparisons import Comparison, Quotient
from evalsampling.samplers.base import ReplacementSampler, Sampler, no_rounds
from evalsampling.simulation.effort import effort_of_draws
from evalsampling.simulation.imagined import imagine, with_value
from evalsampling.simulation.processes import repeat_all
from evalsampling.simulation.truth import KnownPool
from evalsampling.simulation.urns import Urns
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

TESTS = 200
"""Simulated tests for each number of draws: the standard error of a share is 3.5 % or less."""

MOST_DRAWS = 2000
"""Most draws of simulated tests; beyond, the formula is accurate, and simulations are slow."""

STEP = 1.4
"""Factor by which draws grow, or shrink, in search of a power."""


@dataclasses.dataclass(frozen=True)
class PowerPlanner:
    """Tests of one comparison under a sampler's first proposal, on pools whose labels are known.

    Attributes:
        measure: the comparison.
        sampler: a sampler that draws with replacement.
        pool: returns the pool of each test, by its number.
        confidence: 1 minus the level of the test.
        seed: seed of the draws.
        workers: processes; one a core by default.
    """

    measure: Comparison
    sampler: ReplacementSampler
    pool: Callable[[int], KnownPool]
    confidence: float
    seed: int
    workers: int | None = None

    def power(self, draws: int) -> float:
        """Return the share of simulated tests of a number of draws that are significant."""
        samplers = [dataclasses.replace(self.sampler, draws=draws)]
        (rejected,) = repeat_all(self.rejects, samplers, TESTS, self.workers, lambda _: None)
        return float(np.mean(rejected))

    def draws(self, start: int, wanted: float) -> int | None:
        """Return the draws that give tests a power, to 5 %; None if `MOST_DRAWS` are too few.

        Args:
            start: first guess, at least 2.
            wanted: the power.
        """
        few, many = (0, start) if self.power(start) >= wanted else (start, 0)
        while True:
            if not many:
                if few >= MOST_DRAWS:
                    return None
                n = min(math.ceil(few * STEP), MOST_DRAWS)
            elif not few:
                if many == 2:
                    return many
                n = max(math.floor(many / STEP), 2)
            elif many - few <= max(0.05 * few, 1):
                return many
            else:
                n = max(math.isqrt(few * many), few + 1)
            few, many = (few, n) if self.power(n) >= wanted else (n, many)

    def rejects(self, sampler: ReplacementSampler, repeat: int) -> bool:
        """Tell whether the test of one round on one pool is significant."""
        pool = self.pool(repeat)
        table, history = pool.table, History.start(len(pool.systems), pool.table.classes)
        rng = np.random.Generator(np.random.PCG64([self.seed, repeat]))
        history = Urns(pool, repeat).answer(sampler.design(table, history, table.rows, rng))
        scope = ReportedDomains(systems=pool.systems, anytime=False)
        (estimate,) = sampler.estimate(table, history, [self.measure], self.confidence, scope)
        p_value = None if estimate.significance is None else estimate.significance.p_value
        return p_value is not None and p_value <= 1 - self.confidence


def draws_for(
    measure: Comparison,
    sampler: Sampler,
    table: CellTable,
    confidence: float,
    power: float,
    effect: float | None,
    seed: int = 0,
    workers: int | None = None,
) -> dict[str, Any] | None:
    """Return the draws that a test needs under a sampler's first proposal, if scores are right.

    By the noncentral t distribution, and up to `MOST_DRAWS` by simulated tests, which account for
    the heavy tails of few draws and the evidence that claims need. They start at the formula's.

    Args:
        measure: the comparison to be tested.
        sampler: the result is None unless it draws with replacement and can estimate `measure`.
        table: the cells.
        confidence: 1 minus the level of the test.
        power: the wanted power; measures of several components have none.
        effect: the true difference, or logarithm of a ratio; None for the one expected by the
            scores. For any other, the nearest probabilities that expect it are used.
        seed: seed of the simulated tests.
        workers: processes for them; one a core by default.

    Returns:
        ``draws``, and their expected ``labels`` and ``cost``; each None if no number of draws has
        the power.
    """
    start = no_rounds(table)
    proposal = sampler.proposal(table, start)
    if not isinstance(sampler, ReplacementSampler) or not sampler.can_estimate(table, measure):
        return None
    if len(measure.components) > 1:
        return None
    assert proposal is not None
    unknown = dict.fromkeys(("standard_error", "draws", "labels", "cost"))
    imagined: CellTable | None = table
    if effect is not None:
        wanted = math.exp(effect) if isinstance(measure, Quotient) else effect
        imagined = with_value(measure, table, wanted)
    if imagined is None:
        return unknown
    normalised = sampler.inputs(table, start, confidence).self_normalised
    chance = proposal.cell_probability
    value, deviation = draw_moments(measure, imagined, chance, normalised)
    if isinstance(measure, Quotient):
        if value <= 0:
            return unknown
        value, deviation = math.log(value), deviation / value
    if value == 0 or not math.isfinite(value) or deviation == 0:
        return unknown
    draws = required_draws_of_student(value, deviation, power, 1 - confidence)
    if draws <= MOST_DRAWS and not sampler.stochastic:
        pool = functools.partial(imagined_pool, table, imagined, seed)
        planner = PowerPlanner(measure, sampler, pool, confidence, seed, workers)
        simulated = planner.draws(draws, power)
        if simulated is None:
            return unknown
        draws = simulated
    effort = effort_of_draws(proposal, table, draws)
    if sampler.stochastic:
        effort |= {"labels": float(draws)}
    return {"standard_error": deviation / math.sqrt(draws), **effort}


def imagined_pool(table: CellTable, imagined: CellTable, seed: int, repeat: int) -> KnownPool:
    """Return a pool with the cells of ``table`` and labels from ``imagined``'s probabilities."""
    systems = tuple(map(str, range(table.outputs.prediction.shape[1])))
    return dataclasses.replace(imagine(imagined, systems, (seed, repeat)), table=table)
