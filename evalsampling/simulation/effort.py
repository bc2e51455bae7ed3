"""What a budget buys, and what a test takes, by formula: draws, labels, cost, savings."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from evalsampling.errors import InputError
from evalsampling.inference.anticipation import draw_moments
from evalsampling.inference.linearisation import influence_by_cell
from evalsampling.inference.significance import required_draws_of_student
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Comparison, Quotient
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.joint import parts_of
from evalsampling.measures.on_cells import model_risk
from evalsampling.samplers.base import ReplacementSampler, Sampler, no_rounds
from evalsampling.samplers.calibrated import CalibratedDesign
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import draws_within, predicted_saving
from evalsampling.stats.draws import Proposal
from evalsampling.stats.inclusion import compromise, distinct_rows, least_variance

MOST_DRAWS = 1e15
"""Most draws: a number of distinct rows that takes more is treated as out of reach."""


def effort_of(sampler: Sampler, table: CellTable, budget: float, by_cost: bool) -> dict[str, Any]:
    """Return draws, distinct rows and cost of a budget under a sampler's first proposal.

    Draws are for money n* ([AE] theorem 4.2), for labels those that are expected to take so many
    distinct rows. All are None of samplers without a proposal.
    """
    proposal = sampler.proposal(table, no_rounds(table))
    draws = None
    if proposal is not None and not sampler.stochastic:
        if by_cost:
            draws = draws_within(budget, proposal.cell_probability, table.count, _costs(table))
        else:
            draws = _draws_for_labels(budget, proposal, table)
    if proposal is None or draws is None:
        return dict.fromkeys(("draws", "labels", "cost"))
    return dict(effort_of_draws(proposal, table, draws))


def _costs(table: CellTable) -> FloatArray:
    return np.ones(len(table)) if table.cost is None else table.cost


def effort_of_draws(proposal: Proposal, table: CellTable, draws: float) -> dict[str, float]:
    """Return the whole number of draws, and the expected number and cost of distinct rows."""
    chance, rows = proposal.cell_probability, table.count
    return {
        "draws": float(math.floor(draws)),
        "labels": distinct_rows(chance, rows, draws),
        "cost": distinct_rows(chance, rows * _costs(table), draws),
    }


def paid_by(effort: Mapping[str, float | None], by_cost: bool) -> float | None:
    """Return the budget that pays for an effort: whole labels, or money; None if that is None."""
    if by_cost:
        return effort["cost"]
    return None if effort["labels"] is None else math.ceil(effort["labels"])


def _draws_for_labels(labels: float, proposal: Proposal, table: CellTable) -> float | None:
    """Return the draws that are expected to take ``labels`` distinct rows; None if out of reach."""

    def excess(logarithm: float) -> float:
        draws = math.exp(logarithm)
        return distinct_rows(proposal.cell_probability, table.count, draws) - labels

    low, high = 0.0, math.log(MOST_DRAWS)
    if excess(low) >= 0:
        return 1.0
    if excess(high) < 0:
        return None
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-12)))


def saving_of(measure: Measure, table: CellTable) -> float | None:
    """Return the error variance of the best proposal divided by that of even draws, at equal cost.

    None if the measure is undefined, or no label is expected to change it: see
    `stats.costs.predicted_saving`.
    """
    try:
        size = Deviation.from_cells(measure, table, table.prior).of_cells(table, table.prior)
    except InputError:
        return None
    return predicted_saving(size, table.count, table.cost) if size.any() else None


def draws_for(
    measure: Comparison,
    sampler: Sampler,
    table: CellTable,
    confidence: float,
    power: float,
    effect: float | None,
) -> dict[str, Any] | None:
    """Return the draws that a test needs under a sampler's first proposal, if scores are right.

    By the noncentral t distribution: of few draws, whose tails are heavier, too few. Another
    ``effect`` (of a ratio its logarithm) than scores expect leaves the mean square of a draw as it
    is. All are None if no number of draws has the power.
    """
    start = no_rounds(table)
    proposal = sampler.proposal(table, start)
    if not isinstance(sampler, ReplacementSampler) or not sampler.can_estimate(table, measure):
        return None
    if len(measure.components) > 1:
        return None
    assert proposal is not None
    unknown = dict.fromkeys(("standard_error", "draws", "labels", "cost"))
    normalised = sampler.inputs(table, start, confidence).self_normalised
    value, deviation = draw_moments(measure, table, proposal.cell_probability, normalised)
    if isinstance(measure, Quotient):
        if value <= 0:
            return unknown
        value, deviation = math.log(value), deviation / value
    wanted = value if effect is None else effect
    variance = deviation**2 + value**2 - wanted**2
    if wanted == 0 or not math.isfinite(variance) or variance <= 0:
        return unknown
    deviation = math.sqrt(variance)
    draws = required_draws_of_student(wanted, deviation, power, 1 - confidence)
    effort = effort_of_draws(proposal, table, draws)
    if sampler.stochastic:
        effort |= {"labels": float(draws)}
    return {"standard_error": deviation / math.sqrt(draws), **effort}


def prices_of(sampler: Sampler, table: CellTable) -> list[tuple[Measure, float]]:
    """Return how much wider intervals are for rounds that serve several measures, for each.

    It is the standard error under rounds for all of them by that under rounds for the one alone, at
    least 1, if the prior is right. There is none of a sampler that draws for one measure, nor of a
    measure that no label is expected to change.
    """
    parts = parts_of(sampler.measure)
    if len(parts) < 2 or not isinstance(sampler, CalibratedDesign):
        return []
    share = table.count / table.rows
    risk = model_risk(sampler.measure, table, share[:, None] * table.prior)
    influence = influence_by_cell(sampler.measure, table, risk)
    mean, square = (
        np.einsum("cy,cym->mc", table.prior, power) for power in (influence, influence**2)
    )
    variance = np.maximum(square - mean**2, 0.0)
    least, size = least_variance(variance, share), compromise(variance, share, sampler.weights)
    drawn = size > 0
    of_joint = (variance[:, drawn] / size[drawn]) @ share[drawn] * (size @ share)
    ends = np.cumsum([len(part.components) for part in parts])[:-1]
    return [
        (part, float(np.sqrt(np.max(joint / alone))))
        for part, joint, alone in zip(
            parts, np.split(of_joint, ends), np.split(least, ends), strict=True
        )
        if np.all(alone > 0)
    ]
