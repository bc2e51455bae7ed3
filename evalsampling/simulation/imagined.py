"""Imagined pools for plans before any label: labels drawn from the scores' probabilities."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy

from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import ReadingPlan
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.log_odds import log_odds_of_rank, logit
from evalsampling.stats.rank_prior import ONE_CLASS
from evalsampling.stats.score_kinds import ORDER, fits

RECALL_SPREAD = 1.0
"""Standard deviation of the log-odds of the recall about that which probabilities expect.

Of 35 real pools whose probabilities are believed 20 are within one, 23 within 1.1."""

_GENTLEST, _STEEPEST = 0.02, 20.0
"""Least and greatest factor by which log-odds are multiplied."""

_CLOSE = 0.02
"""By how much the logarithm of that factor may be off."""

LEAST_RECALL = 0.15
"""Least recall of a curve where only the order of scores counts: of 53 real pools 3 have less."""

_LEAST_OF_POOL = 0.1
"""Least probability, and least share of positives, times the rows of the pool: smaller ones hardly
add a positive."""

_MOST = 1 - 1e-9
"""Greatest probability whose log-odds are changed."""


def imagine(table: CellTable, systems: tuple[str | None, ...], seed: Sequence[int]) -> KnownPool:
    """Return a pool whose labels are drawn from the prior probabilities of its cells."""
    rng = np.random.Generator(np.random.PCG64(list(seed)))
    kinds = len(table.kinds)
    rows = _whole_shares(table)
    prior = table.prior / table.prior.sum(axis=1, keepdims=True)
    counts = rng.multinomial(rows, prior[table.kinds.cell])
    label = np.tile(np.arange(table.classes), kinds)
    kind = np.repeat(np.arange(kinds), table.classes)
    held = np.flatnonzero(counts.ravel())
    return KnownPool(
        table=table,
        cell=table.kinds.cell[kind[held]],
        label=label[held],
        count=counts.ravel()[held],
        outputs=table.kinds.take(kind[held]),
        systems=systems,
    )


@dataclasses.dataclass(frozen=True)
class Curves:
    """Curves of labels by score that real pools might have, as far as scores tell before any label.

    What is not known is the precision and the recall of the first system. Those of 53 real pools
    are spread about evenly between 0 and 1: quartiles .18, .47, .83 and .37, .52, .83. So they are
    here, but that no recall is below `LEAST_RECALL`, nor the share of rows predicted positive, as
    blind guesses have. Believed probabilities (`is_believed`) tell the recall roughly
    (`RECALL_SPREAD`), the precision hardly; of others only the order counts.
    """

    table: CellTable
    positive: int
    hidden: HiddenPrior
    believed: bool

    def spread(self, seed: int, repeat: int, repeats: int) -> CellTable:
        """Return one of some curves that are spread evenly: a Latin hypercube."""
        strata = np.tile(np.arange(repeats), (3, 1))
        place = np.random.default_rng(seed).permuted(strata, axis=1)[:, repeat]
        return self.at((place + 0.5) / repeats)

    def at(self, chance: FloatArray) -> CellTable:
        """Return the table with the rates of a curve.

        The log-odds of the prior, or of the ranks, are multiplied by a factor and shifted, and
        hidden positives added, so that precision and recall come out, or are as near as can be.
        """
        table, given = self.table, self.table.prior[:, self.positive]
        predicted = table.count * table.kinds.predicted(self.positive)
        positives = float(predicted.sum()) or ONE_CLASS * table.rows
        least = _LEAST_OF_POOL / table.rows
        precision, recall = np.maximum(chance[:2], least)
        blind = max(positives / table.rows, least)
        if self.believed:
            log_odds = logit(np.clip(given, min(least, 0.25), _MOST))
            found = float((predicted @ given + 0.5) / (table.count @ given + 1))
            away = RECALL_SPREAD * scipy.special.ndtri(recall)
            recall = max(float(scipy.special.expit(logit(min(found, _MOST)) + away)), blind)
        else:
            lowest = max(LEAST_RECALL, blind)
            recall = lowest + (1 - lowest) * recall
            log_odds = log_odds_of_rank(given, table.count)
        wanted = float(np.clip(positives * precision / recall / table.rows, least, 0.9))
        hidden = self.hidden.share * np.exp(self.hidden.spread * scipy.special.ndtri(chance[2]))

        def rates(factor: float) -> FloatArray:
            return self._with_share(np.exp(factor) * log_odds, float(hidden), wanted)

        def excess(factor: float) -> float:
            return float(predicted @ rates(factor)) / table.rows - recall * wanted

        ends = np.log([_GENTLEST, _STEEPEST])
        if not 0 < predicted.sum() < table.rows:
            factor = 0.0
        elif excess(ends[0]) >= 0:
            factor = ends[0]
        elif excess(ends[1]) <= 0:
            factor = ends[1]
        else:
            factor = scipy.optimize.brentq(excess, *ends, xtol=_CLOSE)
        return _with_rate(table, rates(factor), self.positive)

    def _with_share(self, log_odds: FloatArray, hidden: float, wanted: float) -> FloatArray:
        """Return rates with these log-odds but for a shift, and a wanted mean, hidden included."""
        share = self.table.count / self.table.rows
        is_over_all = self.hidden.relative_to == "positives"

        def rates(shift: float) -> FloatArray:
            rate = scipy.special.expit(log_odds + shift)
            odds = hidden * float(share @ (rate if is_over_all else rate * (1 - rate)))
            return np.asarray((odds + rate) / (1 + odds))

        far = 50 + float(np.abs(log_odds).max())
        shift = scipy.optimize.brentq(lambda shift: float(share @ rates(shift)) - wanted, -far, far)
        return rates(shift)


def _whole_shares(table: CellTable) -> IntArray:
    """Return the rows of each kind: shares of the cells' rows, rounded so that they add up."""
    ends = np.cumsum(table.kinds.share) - np.arange(len(table))[table.kinds.cell]
    count = table.count[table.kinds.cell]
    upper = np.rint(np.clip(ends, 0, 1) * count).astype(np.int64)
    last = np.append(np.diff(table.kinds.cell) > 0, True)
    upper[last] = count[last]
    lower = np.concatenate([[0], upper[:-1]])
    lower[table.kinds.first] = 0
    return upper - lower


def is_believed(plan: ReadingPlan, table: CellTable) -> bool:
    """Tell whether labels may be imagined from the prior of a pool.

    Not where it follows from ranks, or expects far more or fewer positives than are predicted.
    """
    pool, positive = plan.pool, plan.labels.positive
    if not (plan.has_classes and plan.labels.space.is_binary) or pool.lists is not None:
        return True
    if pool.score is None and pool.probability is None:
        return True  # Nothing is expected but even odds, which a warning says.
    if pool.probability is None and pool.score_is == ORDER:
        return False
    predicted = round(float(table.count @ table.kinds.predicted(positive)))
    return fits(float(table.count @ table.prior[:, positive]), predicted, table.rows)


def _with_rate(table: CellTable, rate: FloatArray, positive: int) -> CellTable:
    """Return the table of two classes with a probability of the positive one, shape (cells,)."""
    both = [1 - rate, rate] if positive else [rate, 1 - rate]
    return dataclasses.replace(table, prior=np.stack(both, axis=1))
