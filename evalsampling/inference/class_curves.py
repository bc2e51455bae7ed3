"""The calibration curve of each class, fitted to all labels so far."""

from collections.abc import Sequence

import numpy as np
import scipy

from evalsampling.inference.calibration_curve import PREDICTION_SPREAD, CalibrationCurve, CurveFit
from evalsampling.inference.domains import Domain
from evalsampling.spec.hidden import MOST_CLASSES, HiddenPrior
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.log_odds import log_odds_of_rank

_WEIGHT_SPREAD, _SLOPE_SPREAD = 2.0, 0.5
"""Standard deviations of the priors of a log-weight of a class, about 0, and of a slope."""

_LEAST = 1e-9
"""Least probability whose logarithm is taken."""

_SAME_PRIOR = 1e-9
"""Largest difference between prior probabilities that counts as rounding error."""


def obstacle(table: CellTable) -> str | None:
    """Return in words why the labels of a pool cannot be modelled; None if they can."""
    if table.classes == 1:
        return "no model of queries: their items have the labels"
    if table.classes > MOST_CLASSES:
        return f"no model of {table.classes} classes, at most {MOST_CLASSES}"
    if table.leaves.exchangeable:
        return None  # Strata have rates of their own, or each verdict has an effect.
    prior = table.leaf_prior[table.leaf_count > 0]
    if len(prior) > 1 and np.ptp(prior, axis=0).max() <= _SAME_PRIOR:
        return "the prior probability is the same in all leaves, so no curve can order them"
    return None


def fit_curves(table: CellTable, history: History, hidden: HiddenPrior) -> dict[int, CurveFit]:
    """Return the fitted curve of each class; with two classes that of the second alone.

    Of several classes the labels calibrate the probabilities first, as training on as many rows of
    each ranks common classes too high, and they say which system to go by.
    """
    seen = labels_by_cell(table, history, Domain(), picked=False)
    classes, prior = (1,) if table.classes == 2 else range(table.classes), None
    if table.classes > 2 and not table.leaves.exchangeable:
        prior = pooled(_priors(table), seen)
    return {y: fit_either_way(table, y, seen, hidden, prior) for y in classes}


def fit_either_way(
    table: CellTable, y: int, seen: IntArray, hidden: HiddenPrior, prior: FloatArray | None = None
) -> CurveFit:
    """Return the curve of a class under which the labels are likeliest: rising or falling.

    It is a rising one unless positives lie further down it than other labelled rows do. Of several
    classes it may jump where rows are predicted to be of the class: those next in rank, for which
    another class is likeliest, may be of it far more seldom. ``prior`` is that of `likeliness`.
    """
    labelled, positive = seen.sum(axis=1), seen[:, y]
    ways = [_curve(table, y, hidden, prior)]
    if table.classes > 2:
        ways.append(_curve(table, y, hidden, prior, jumps=True))
    rising = max((way.fit(labelled, positive) for way in ways), key=lambda fit: fit.log_evidence)
    corner, negative = rising.curve.corner, labelled - positive
    of_hits, of_misses = positive @ corner, negative @ corner
    if of_hits * max(negative.sum(), 1) <= of_misses * max(positive.sum(), 1):
        return rising
    falling = _curve(table, y, hidden, prior, falls=True).fit(labelled, positive)
    return falling if falling.log_evidence > rising.log_evidence else rising


def _curve(
    table: CellTable,
    y: int,
    hidden: HiddenPrior,
    prior: FloatArray | None,
    falls: bool = False,
    jumps: bool = False,
) -> CalibrationCurve:
    """Return the model of the curve of a class; the cells keep it, unless labels order them."""
    key, memory = ("curve", y, hidden, falls, jumps), table.memory if prior is None else {}
    if key not in memory:
        x = likeliness(table, y, prior)
        x = -x if falls else x
        predicted = _predicted(table, y)
        of_predictions = predicted if jumps else unexplained_predictions(table, y, x)
        effect = np.hstack([PREDICTION_SPREAD * of_predictions, apart_from_scores(table)])
        rows = table.count @ predicted.mean(axis=1)
        memory[key] = CalibrationCurve.from_cells(x, table.count, rows, effect, hidden)
    curve: CalibrationCurve = memory[key]
    return curve


def likeliness(table: CellTable, y: int, prior: FloatArray | None = None) -> FloatArray:
    """Return the order of cells by how likely their rows are of a class, shape (cells,).

    It is the rank by the prior probability; with several systems the greatest rank by any: a row
    that one of them holds likely is. Leaves by the greatest rank are in that order already.

    `prior`: probabilities by all systems, (cells, classes); by default each system has its own.
    """
    if table.leaves.exchangeable:  # What is expected of verdicts is no score that could order them.
        return np.zeros(len(table))
    if table.leaves.in_order:
        order = table.leaf if y else -table.leaf
        return log_odds_of_rank(order.astype(np.float64), table.count)
    first, *others = (each[:, y] for each in (_priors(table) if prior is None else [prior]))
    orders = first, *(order for order in others if np.ptp(order) > 0)
    return np.max([log_odds_of_rank(order, table.count) for order in orders], axis=0)


def _priors(table: CellTable) -> list[FloatArray]:
    """Return mean probabilities by each system that tells rows apart, (cells, classes) each."""
    own = np.moveaxis(table.kinds.probability[:, 1:], 1, 0)
    return [table.prior, *(table.kinds.by_cell(each) for each in own if np.ptp(each, axis=0).any())]


def pooled(priors: Sequence[FloatArray], seen: IntArray) -> FloatArray:
    """Return probabilities by all systems, by weights and slopes that labels make likeliest.

    p_c is in proportion to w_c times the product over systems of prior_c^slope: a logarithmic pool
    (C. Genest and J. V. Zidek, *Statistical Science* 1, 1986), of one system bias-corrected
    temperature scaling (A. Alexandari, A. Kundaje and A. Shrikumar, ICML 2020). Without labels each
    of s slopes is 1 / s. All arrays have the shape (cells, classes).
    """
    level, labelled = np.log(np.maximum(priors, _LEAST)), seen.sum(axis=1, keepdims=True)
    systems = len(priors)

    def logarithm(z: FloatArray) -> FloatArray:
        slope = 1 / systems + _SLOPE_SPREAD * z[:systems]
        weighted = _WEIGHT_SPREAD * z[systems:] + np.tensordot(slope, level, 1)
        return np.asarray(weighted - scipy.special.logsumexp(weighted, axis=1, keepdims=True))

    def objective(z: FloatArray) -> tuple[float, FloatArray]:
        log_p = logarithm(z)
        further = labelled * np.exp(log_p) - seen
        of_slopes = _SLOPE_SPREAD * np.tensordot(level, further, 2)
        gradient = z + np.append(of_slopes, _WEIGHT_SPREAD * further.sum(axis=0))
        return float(z @ z / 2 - (seen * log_p).sum()), gradient

    start = np.zeros(systems + level.shape[2])
    return np.exp(logarithm(scipy.optimize.minimize(objective, start, jac=True, tol=1e-10).x))


def below_all_met(table: CellTable, history: History) -> BoolArray:
    """Return whether rows of each cell score below all labelled positives; all do without any."""
    order = likeliness(table, 1)
    return order < order[history.cell[history.label == 1]].min(initial=np.inf)


def unexplained_predictions(table: CellTable, y: int, probability: FloatArray) -> FloatArray:
    """Return how far each system's predictions differ from a threshold on the prior.

    It is the share of a cell's rows that are predicted y, minus 1 above the threshold that agrees
    best: (cells, systems), in [-1, 1], without systems whose predictions are a threshold's.
    """
    predicted = _predicted(table, y)
    order = np.argsort(probability, kind="stable")
    is_first = np.diff(probability[order], prepend=-np.inf) > 0
    columns = []
    for column in predicted.T:
        weighted = table.count[order] * column[order]
        opposed = table.count[order] - weighted
        # Errors of a threshold at place i: predicted rows below it, others from it on.
        errors = np.append(0.0, np.cumsum(weighted))
        errors += np.append(np.cumsum(opposed[::-1])[::-1], 0.0)
        threshold = int(np.argmin(np.where(np.append(is_first, True), errors, np.inf)))
        above = np.zeros(len(table))
        above[order[threshold:]] = 1.0
        columns.append(column - above)
    kept = [column for column in columns if np.any(column)]
    if not kept:
        return np.zeros((len(table), 0))
    by_system = np.stack(kept)
    return np.asarray(by_system[distinct_rows(by_system)[0]].T)


def apart_from_scores(table: CellTable) -> FloatArray:
    """Return by what else than scores and predictions cells are cut, shape (cells, effects).

    Of weights and costs it is the logarithm, in standard deviations over the rows from its mean; of
    each slice that a spec names the share of a cell's rows in it.
    """
    kinds, columns = table.kinds, []
    for size in (kinds.weight, kinds.cost):
        if size is not None:
            log = np.log(size[kinds.first])
            log -= np.average(log, weights=table.count)
            columns.append(log / max(np.average(log**2, weights=table.count) ** 0.5, _SAME_PRIOR))
    if kinds.slices is not None:
        for values, code in zip(kinds.slices.named.values(), kinds.slices.code.T, strict=True):
            each = (code == i for i in range(1, len(values) + 1))
            columns += [kinds.by_cell(inside.astype(np.float64)) for inside in each]
    return np.array(columns).reshape(-1, len(table)).T


def _predicted(table: CellTable, y: int) -> FloatArray:
    """Return the share of each cell's rows that each system predicts y, shape (cells, systems)."""
    return table.kinds.by_cell((table.kinds.prediction == y).astype(np.float64))


def labels_by_cell(
    table: CellTable, history: History, domain: Domain, picked: bool = True
) -> IntArray:
    """Return the number of rows of a domain with each label, by cell: shape (cells, classes).

    By default with rows that people picked, which tell nothing of other rows.
    """
    labelled = domain.labelled(history)
    counted = labelled if picked else labelled[~history.picked[labelled]]
    return history.seen(len(table), table.classes, counted).astype(np.int64)
