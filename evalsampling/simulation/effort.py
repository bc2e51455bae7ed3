"""What a budget buys by formula, before any label: draws, distinct labels, money, what is saved."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from evalsampling.errors import InputError
from evalsampling.measures.base import Measure
from evalsampling.measures.deviation import Deviation
from evalsampling.samplers.base import Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import draws_within, predicted_saving
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import distinct_rows

MOST_DRAWS = 1e15
"""Draws beyond which a number of distinct rows is taken never to be met."""


def effort_of(sampler: Sampler, table: CellTable, budget: float, by_cost: bool) -> dict[str, Any]:
    """Return what a budget buys under a sampler's first proposal, if it draws with replacement.

    Args:
        sampler: whose first proposal counts; one that adapts changes it later.
        table: the cells.
        budget: labels, or money.
        by_cost: whether it is money.

    Returns:
        ``draws``: of money n* (theorem 4.2 of Sawade), of labels those that meet so many distinct
        rows; ``labels``: distinct rows that they are expected to meet; ``cost``: what these are
        expected to cost; all None of other samplers.
    """
    start = History.start(table.outputs.prediction.shape[1], table.classes)
    proposal = sampler.proposal(table, start)
    if proposal is None or sampler.stochastic:
        return dict.fromkeys(("draws", "labels", "cost"))
    return _of_draws(proposal, table, budget, by_cost)


def _of_draws(
    proposal: Proposal, table: CellTable, budget: float, by_cost: bool
) -> dict[str, float | None]:
    """Return draws, and the distinct labels and their cost that are expected of them."""
    chance, rows = proposal.cell_probability, table.count
    cost = np.ones(len(table)) if table.cost is None else table.cost
    if by_cost:
        draws: float | None = draws_within(budget, chance, rows, cost)
    else:
        draws = _draws_to_meet(budget, proposal, table)
    if draws is None:
        return dict.fromkeys(("draws", "labels", "cost"))
    return dict(effort_of_draws(proposal, table, draws))


def effort_of_draws(proposal: Proposal, table: CellTable, draws: float) -> dict[str, float]:
    """Return the draws, whole ones, and the distinct rows and their cost that are expected."""
    chance, rows = proposal.cell_probability, table.count
    cost = np.ones(len(table)) if table.cost is None else table.cost
    return {
        "draws": float(math.floor(draws)),
        "labels": distinct_rows(chance, rows, draws),
        "cost": distinct_rows(chance, rows * cost, draws),
    }


def paid_by(effort: Mapping[str, float | None], by_cost: bool) -> float | None:
    """Return the budget that pays for an effort: whole labels, or money; None of none."""
    if by_cost:
        return effort["cost"]
    return None if effort["labels"] is None else math.ceil(effort["labels"])


def _draws_to_meet(labels: float, proposal: Proposal, table: CellTable) -> float | None:
    """Return the draws that are expected to meet so many distinct rows; None if none are."""

    def missing(logarithm: float) -> float:
        draws = math.exp(logarithm)
        return distinct_rows(proposal.cell_probability, table.count, draws) - labels

    low, high = 0.0, math.log(MOST_DRAWS)
    if missing(low) >= 0:
        return 1.0
    if missing(high) < 0:
        return None
    return math.exp(float(scipy.optimize.brentq(missing, low, high, xtol=1e-12)))


def saving_of(measure: Measure, table: CellTable) -> float | None:
    """Return the error variance of the best proposal over that of even draws, for equal money.

    None if the measure is undefined, or labels are not expected to move it: see
    `stats.costs.predicted_saving`.
    """
    try:
        size = Deviation.from_cells(measure, table, table.prior).of_cells(table, table.prior)
    except InputError:
        return None
    return predicted_saving(size, table.count, table.cost) if size.any() else None
