"""The draws that a comparison of systems needs, before any label."""

import math
from typing import Any

from evalsampling.inference.anticipation import draw_moments
from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures.comparisons import Comparison, Quotient
from evalsampling.samplers.base import ReplacementSampler, Sampler, no_rounds
from evalsampling.simulation.effort import effort_of_draws
from evalsampling.simulation.imagined import with_value
from evalsampling.stats.cells import CellTable


def draws_for(
    measure: Comparison,
    sampler: Sampler,
    table: CellTable,
    confidence: float,
    power: float,
    effect: float | None,
) -> dict[str, Any] | None:
    """Return the draws that a test needs under a sampler's first proposal, if scores are right.

    By the noncentral t distribution: of few draws, whose tails are heavier, too few.

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
    effort = effort_of_draws(proposal, table, draws)
    if sampler.stochastic:
        effort |= {"labels": float(draws)}
    return {"standard_error": deviation / math.sqrt(draws), **effort}
