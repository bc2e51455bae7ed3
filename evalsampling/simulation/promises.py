"""How often a promise is proved, how often one that was proved is broken, what is given away."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.certificate import certify
from evalsampling.inference.bets import term
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec.promise import Promise
from evalsampling.stats.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a promise in one repeat at one budget.

    Attributes:
        proved: whether a threshold was certified.
        broken: whether the promise is false there.
        rows: rows above the threshold, as a share of those above the best one by the truth; 0 if
            nothing was proved, None if no threshold keeps the promise.
    """

    proved: bool
    broken: bool
    rows: float | None


def outcome_of(pool: KnownPool, analysis: Analysis, promise: Promise, planned: int) -> Outcome:
    """Return what becomes of a promise of the pool, which has no slices here."""
    found = certify(analysis, promise, planned=planned)
    table = pool.table
    score = table.outputs.score[table.first_kind, 0]
    thresholds = np.unique(score)
    kept = _keep(pool, promise, score, thresholds)
    rows = (score >= thresholds[:, None]) @ table.count
    best = (rows[kept].min() if promise.goes_up else rows[kept].max()) if kept.any() else None
    if found.threshold is None:
        return Outcome(False, False, None if best is None else 0.0)
    place = int(np.searchsorted(thresholds, found.threshold))
    share = None if best is None else float(rows[place] / best)
    return Outcome(True, not bool(kept[place]), share)


def _keep(pool: KnownPool, promise: Promise, score: FloatArray, thresholds: FloatArray) -> Any:
    """Return at which thresholds the promise is true, shape (m,)."""
    labels = pool.labels
    negative, positive = labels.sum(axis=1) - labels[:, 1], labels[:, 1]
    kept = np.ones(len(thresholds), dtype=np.bool_)
    above = (score >= thresholds[:, None]).astype(np.float64)
    for name, goal in promise.goals.items():
        total = term(name, above, 0.0, goal) @ negative + term(name, above, 1.0, goal) @ positive
        kept &= total >= -1e-9 * pool.table.rows
    return kept


def summary_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return shares over repeats: proved, broken, and rows beside the best threshold's."""
    rows = [outcome.rows for outcome in outcomes if outcome.rows is not None]
    return {
        "proved": float(np.mean([outcome.proved for outcome in outcomes])),
        "broken": float(np.mean([outcome.broken for outcome in outcomes])),
        "rows": float(np.mean(rows)) if rows else None,
    }
