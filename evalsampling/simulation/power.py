"""How many draws a comparison of systems takes, before any label."""

import math
from typing import Any

from evalsampling.inference.anticipation import draw_moments
from evalsampling.inference.significance import required_draws
from evalsampling.measures.comparisons import Comparison, Quotient
from evalsampling.samplers.base import Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


def draws_for(
    measure: Comparison,
    sampler: Sampler,
    table: CellTable,
    confidence: float,
    power: float,
    effect: float | None,
) -> dict[str, Any] | None:
    """Return the draws that a test needs under a sampler's first proposal, if scores are right.

    Args:
        measure: the comparison to be tested.
        sampler: draws with replacement; of any other there is no such number, None.
        table: the cells.
        confidence: one less the level of the test.
        power: wanted.
        effect: the true difference; None for that which the scores make expect.
    """
    systems = table.outputs.prediction.shape[1]
    start = History.start(systems, table.classes)
    proposal = sampler.proposal(table, start)
    if proposal is None or not sampler.can_estimate(table, measure):
        return None
    chance, alpha = proposal.cell_probability, 1 - confidence
    normalised = sampler.inputs(table, start, confidence).self_normalised
    value, deviation = draw_moments(measure, table, chance, normalised)
    if isinstance(measure, Quotient):
        value, deviation = math.log(value), deviation / value
    effect = value if effect is None else effect
    entry = {"budget": None, "standard_error": None, "half_width": None, "power": power}
    if effect == 0 or not math.isfinite(effect) or deviation == 0:
        return entry
    draws = max(required_draws(effect, deviation, power, alpha), 1.0)
    return entry | {"budget": math.ceil(draws), "standard_error": deviation / math.sqrt(draws)}
