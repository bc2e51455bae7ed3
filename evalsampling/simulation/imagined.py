"""Imagined pools for plans before any label: labels drawn from the scores' probabilities."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from evalsampling.inference.linearisation import influence_by_cell
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import model_risk
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.log_odds import logit
from evalsampling.stats.rank_prior import STEEPNESS, log_odds_by_rank
from evalsampling.stats.score_kinds import ORDER, fits

Off = Mapping[str, tuple[float, float]]
"""Means and standard deviations: see `miscalibrated`."""

OFF = {"slope": (-0.5, 0.8), "number": (0.0, 1.0), "hidden": (math.log(0.075), 2.0)}
"""Means and standard deviations of the logarithms of errors of real models' probabilities.

Slope and hidden positives are those of curves fitted to all labels of 53 real pools
(docs/studies/calibrated-trials.md). The number of positives is a judgement: it is within a factor
of e of that expected on 31 of these, and far below on most others, whose positives were thinned or
whose scores are no probabilities."""


def off_ranks(table: CellTable, positive: int) -> Off:
    """Return the same of the rates that follow from ranks: see `by_ranks`.

    Curves fitted to the ranks of 53 real pools and all their labels are the steeper the fewer rows
    are predicted positive: about (0.1 / share)^0.3. The number of positives is within a factor of e
    of that predicted on 38.

    Args:
        table: of two classes.
        positive: code of the positive class.
    """
    share = max(_predicted(table, positive), 1) / table.rows
    slope = 0.3 * math.log(0.1 / share) - math.log(STEEPNESS)
    return {"slope": (slope, 0.9), "number": (-0.3, 1.0), "hidden": OFF["hidden"]}


_LEAST_OF_POOL = 0.1
"""Least probability, and least share of positives, times the rows of the pool: smaller ones hardly
add a positive."""

_MOST = 1 - 1e-9
"""Greatest probability whose log-odds are changed."""

_FARTHEST = 1e3
"""Largest change of the logarithm of a probability: beyond it labels are practically certain."""


def imagine(table: CellTable, systems: tuple[str | None, ...], seed: Sequence[int]) -> KnownPool:
    """Return a pool whose labels are drawn from the prior probabilities of its cells."""
    rng = np.random.Generator(np.random.PCG64(list(seed)))
    kinds = len(table.kind_cell)
    rows = _whole_shares(table)
    prior = table.prior / table.prior.sum(axis=1, keepdims=True)
    counts = rng.multinomial(rows, prior[table.kind_cell])
    label = np.tile(np.arange(table.classes), kinds)
    kind = np.repeat(np.arange(kinds), table.classes)
    held = np.flatnonzero(counts.ravel())
    return KnownPool(
        table=table,
        cell=table.kind_cell[kind[held]],
        label=label[held],
        count=counts.ravel()[held],
        outputs=table.outputs.take(kind[held]),
        systems=systems,
    )


def miscalibrated(
    table: CellTable, rng: np.random.Generator, off: Off = OFF, positive: int = 1
) -> CellTable:
    """Return the table with its probabilities changed at random, as far as real models are off.

    The log-odds of the positive class are multiplied by exp(s), and shifted so that its expected
    number of rows is multiplied by exp(t). Then hidden positives are added, r times the overlap of
    the classes, spread evenly. s, t and log r are normal.

    Args:
        table: of two classes.
        rng: source of randomness.
        off: means and standard deviations of s, t and log r.
        positive: code of the positive class.
    """
    slope, number, hidden = (
        float(np.exp(rng.normal(*off[name]))) for name in ("slope", "number", "hidden")
    )
    least = _LEAST_OF_POOL / table.rows
    given = table.prior[:, positive]
    log_odds = slope * logit(np.clip(given, min(least, 0.25), _MOST))
    wanted = float(np.clip(number * (table.count @ given) / table.rows, least, 0.9))

    def excess(shift: float) -> float:
        return float(table.count @ scipy.special.expit(log_odds + shift)) / table.rows - wanted

    far = 50 + float(np.abs(log_odds).max())
    rate = scipy.special.expit(log_odds + scipy.optimize.brentq(excess, -far, far))
    overlap = float(table.count @ (rate * (1 - rate))) / table.rows
    background = min(hidden * overlap, 0.5)
    return _with_rate(table, rate + (1 - rate) * background, positive)


def _whole_shares(table: CellTable) -> IntArray:
    """Return the rows of each kind: shares of the cells' rows, rounded so that they add up."""
    ends = np.cumsum(table.kind_share) - np.arange(len(table))[table.kind_cell]
    count = table.count[table.kind_cell]
    upper = np.rint(np.clip(ends, 0, 1) * count).astype(np.int64)
    last = np.append(np.diff(table.kind_cell) > 0, True)
    upper[last] = count[last]
    lower = np.concatenate([[0], upper[:-1]])
    lower[table.first_kind] = 0
    return upper - lower


def is_believed(spec: EvaluationSpec, table: CellTable) -> bool:
    """Tell whether labels may be imagined from the prior of a pool.

    Not where it follows from ranks, or expects far more or fewer positives than are predicted.

    Args:
        spec: says what its scores are: see `preparation.stratification`.
        table: the cells.
    """
    pool, positive = spec.pool, spec.labels.positive
    if not (spec.has_classes and spec.labels.space.is_binary) or pool.lists is not None:
        return True
    if pool.score is None and pool.probability is None:
        return True  # Nothing is expected but even odds, which a warning says.
    if pool.probability is None and pool.score_is == ORDER:
        return False
    predicted = _predicted(table, positive)
    return fits(float(table.count @ table.prior[:, positive]), predicted, table.rows)


def by_ranks(table: CellTable, positive: int) -> CellTable:
    """Return the table of two classes with the prior that follows from the ranks of its own."""
    order, place = np.unique(table.prior[:, positive], return_inverse=True)
    rows = np.bincount(place, table.count, len(order)).astype(np.int64)
    log_odds = log_odds_by_rank(rows, _predicted(table, positive))
    rate = scipy.special.expit(log_odds)[place]
    return _with_rate(table, rate, positive)


def _with_rate(table: CellTable, rate: FloatArray, positive: int) -> CellTable:
    """Return the table of two classes with a probability of the positive one, shape (cells,)."""
    both = [1 - rate, rate] if positive else [rate, 1 - rate]
    return dataclasses.replace(table, prior=np.stack(both, axis=1))


def _predicted(table: CellTable, positive: int) -> float:
    """Return the rows that the first system predicts positive."""
    predicted = (table.outputs.prediction[:, 0] == positive).astype(np.float64)
    return round(float(table.count @ table.mean_by_cell(predicted)))


def with_value(measure: Measure, table: CellTable, wanted: float) -> CellTable | None:
    """Return the table with probabilities under which a measure has a wanted expected value.

    The probability of a label y is multiplied by exp(t d(y)), d being the influence of a row with
    that label on the measure: of all probabilities with the same mean of d, these are the nearest
    in relative entropy (I. Csiszár, *I-divergence geometry of probability distributions and
    minimization problems*, Annals of Probability 3, 1975).

    Args:
        measure: a measure of one component.
        table: the cells.
        wanted: the value.

    Returns:
        None if no t gives that value.
    """
    influence = influence_by_cell(measure, table, _expected_risk(measure, table))[:, :, 0]
    largest = float(np.abs(influence).max())
    if largest == 0:
        return None
    with np.errstate(divide="ignore"):
        logarithm = np.log(table.prior)

    def tilted(t: float) -> CellTable:
        height = logarithm + t * influence
        prior = np.exp(height - height.max(axis=1, keepdims=True))
        return dataclasses.replace(table, prior=prior / prior.sum(axis=1, keepdims=True))

    def excess(t: float) -> float:
        return float(measure.value(_expected_risk(measure, tilted(t)))[0]) - wanted

    far = math.copysign(1 / largest, -excess(0.0)) / 64
    while excess(far) * far < 0:
        if abs(far) * largest > _FARTHEST:
            return None
        far *= 2
    return tilted(float(scipy.optimize.brentq(excess, 0.0, far)))


def _expected_risk(measure: Measure, table: CellTable) -> FloatArray:
    """Return the expected mean loss under the probabilities of a table, shape (d,)."""
    return np.asarray(model_risk(measure, table, table.prior * table.count[:, None]) / table.rows)
