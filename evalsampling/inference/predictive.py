"""What the labels of the other rows may be, cell by cell, given scores and labels.

For two classes a calibration curve (`inference.calibration_curve`) tells the rate of the second
one; for more there is a curve for each class, fitted by itself, and the rates of a cell are
scaled to sum to 1.
"""

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from evalsampling.inference.calibration_curve import (
    HIDDEN,
    SCHEDULE,
    CalibrationCurve,
    CurveDraws,
    CurveFit,
)
from evalsampling.inference.domains import Domain
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import bounding_outputs, each_label
from evalsampling.spec.hidden import MOST_CLASSES, HiddenPrior
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.slice_sampling import Schedule

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_SAME_PRIOR = 1e-9
"""Prior probabilities that differ by no more are the same but for rounding."""

_ODDS_AGAINST_FALLING = 20.0
"""Prior odds that the rate of a class rises with its prior probability."""

_SHIFT_SPREAD = 1.0
"""Standard deviation of the log-odds by which the rates of a slice differ from the pool's."""

_SHIFTS = 4
"""Shifts tried for each draw of the curve."""

_MOST_RATES = 1 << 21
"""Most rates that are kept of all draws: of pools with thousands of cells fewer draws are."""

_FEWEST_DRAWS = 192
"""Draws that are kept however many cells there are."""

_LARGEST_MATRIX = 1 << 22
"""Most entries of a matrix of losses; of curves with more points, rows are summed draw by draw."""


@dataclasses.dataclass(frozen=True)
class LabelModel:
    """Draws of the rate of each class in each cell, given all labels so far.

    Attributes:
        table: the cells.
        history: the labels.
        curves: draws of the curve of each class; one, of the second class, if there are two.
        seed: of what is drawn from them.
    """

    table: CellTable
    history: History
    curves: tuple[CurveDraws, ...]
    seed: tuple[int, ...]

    @classmethod
    def fit(
        cls,
        table: CellTable,
        history: History,
        seed: tuple[int, ...],
        hidden: HiddenPrior = HIDDEN,
        schedule: Schedule = SCHEDULE,
    ) -> "LabelModel":
        """Return the model given the labels of a history.

        Args:
            table: the cells.
            history: rounds and labels of a deterministic oracle.
            seed: of the draws; the number of labels is added to it.
            hidden: what is thought of positives that the score does not tell from negatives.
            schedule: of the chains.

        Raises:
            ValueError: if there can be no model: see `obstacle`.
        """
        reason = obstacle(table)
        if reason:
            raise ValueError(reason)
        seed = (*seed, len(history.labelled))
        most = max(_MOST_RATES // (len(table) * table.classes), _FEWEST_DRAWS)
        curves = []
        for y, fitted in fit_curves(table, history, hidden).items():
            rng = np.random.Generator(np.random.PCG64([*seed, y]))
            curves.append(fitted.draw(rng, schedule).thinned(most))
        return cls(table, history, tuple(curves), seed)

    @functools.cached_property
    def rates(self) -> FloatArray:
        """The rate of each class in each cell, shape (draws, cells, classes), summing to 1."""
        if len(self.curves) == 1:
            positive = self.curves[0].rates()
            by_class = np.stack([1 - positive, positive])
        else:
            by_class = np.stack([curve.rates() for curve in self.curves])
            by_class /= by_class.sum(axis=0)
        return np.moveaxis(by_class, 0, 2)  # those of one class lie together

    def with_share(self, share: float) -> "LabelModel":
        """Return the model with another share of hidden positives, fitted to the same labels."""
        if share not in self._with_share:
            hidden = dataclasses.replace(self.curves[0].curve.hidden, share=share)
            model = LabelModel.fit(self.table, self.history, self.seed[:-1], hidden)
            self._with_share[share] = model
        return self._with_share[share]

    @functools.cached_property
    def _with_share(self) -> dict[float, "LabelModel"]:
        return {}

    @functools.cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """The first of the cells that have the same rates in every draw, and where each is."""
        groups = np.stack([curve.curve.group for curve in self.curves], axis=1)
        _, first, place = np.unique(groups, axis=0, return_index=True, return_inverse=True)
        return first, place.ravel()

    @functools.cached_property
    def everywhere(self) -> "Predictive":
        """The labels of the pool."""
        return Predictive.drawn(self, Domain(), self.rates, 0)

    def within(self, domain: Domain) -> "Predictive":
        """Return the labels of a part of the pool, or of all of it.

        The log-rates of a slice differ from those of the pool by a normal shift for each class;
        draws of curve and shift are taken in proportion to the likelihood of the slice's labels
        under the shifted rates, by that under the pool's, of which they are a part already.
        """
        if domain.count is None:
            return self.everywhere
        rng = np.random.Generator(np.random.PCG64([*self.seed, domain.column, domain.value, 1]))
        seen = labels_by_cell(self.table, self.history, domain)
        cells = np.flatnonzero(seen.any(axis=1))
        draws, classes = len(self.rates), self.table.classes
        shift = rng.normal(0, _SHIFT_SPREAD, (draws, _SHIFTS, 1, classes))
        shift[..., 0] = 0  # only differences matter
        rates = self.rates[:, None, cells]
        shifted = _shifted(rates, shift)
        tiny = 1e-300
        gain = np.log(np.maximum(shifted, tiny)) - np.log(np.maximum(rates, tiny))
        height = np.einsum("dsky,ky->ds", gain, seen[cells]).ravel()
        weight = np.exp(height - height.max())
        chosen = rng.choice(len(weight), draws, p=weight / weight.sum())
        draw, of_draw = np.divmod(chosen, _SHIFTS)
        return Predictive.drawn(self, domain, _shifted(self.rates[draw], shift[draw, of_draw]), 2)


@dataclasses.dataclass(frozen=True)
class Predictive:
    """Draws of all labels of the pool or of a part: those known, and those that are not.

    Attributes:
        table: the cells.
        history: the labels.
        domain: what part.
        unlabelled: shape (draws, cells, classes): rows without a label that have each one.
    """

    table: CellTable
    history: History
    domain: Domain
    unlabelled: IntArray | FloatArray

    @classmethod
    def drawn(
        cls, model: LabelModel, domain: Domain, rates: FloatArray, stream: int
    ) -> "Predictive":
        """Draw the labels of unlabelled rows of a domain from rates."""
        table, history = model.table, model.history
        left = domain.rows(table) - labels_by_cell(table, history, domain).sum(axis=1)
        place = (domain.column, domain.value) if domain.count is not None else ()
        rng = np.random.Generator(np.random.PCG64([*model.seed, *place, stream]))
        if table.classes == 2:
            positive = rng.binomial(left, np.minimum(rates[:, :, 1], 1.0))
            by_class = np.stack([left - positive, positive])
            return cls(table, history, domain, np.moveaxis(by_class, 0, 2))
        rates = rates / rates.sum(axis=2, keepdims=True)
        return cls(table, history, domain, rng.multinomial(left, rates))

    def values(self, measure: Measure) -> FloatArray:
        """Return the measure of each draw, shape (draws, m), NaN where it is undefined."""
        return np.stack([measure.value(risk) for risk in self.risks(measure)])

    def risks(self, measure: Measure) -> FloatArray:
        """Return the mean loss of each draw, shape (draws, d).

        Rows without a label count with the mean outputs of their cell.
        """
        known = self.history.labelled
        known = known[self.domain.holds(self.history, known)]
        rows = max(int(self.domain.rows(self.table).sum()), 1)
        outputs, label = self.history.outputs.take(known), self.history.label[known]
        risk = measure.mean_loss(outputs, label, np.full(len(known), 1 / rows))
        views = bounding_outputs(measure, self.table)
        scale = 1 / (rows * len(views))
        total = np.tile(risk, (len(self.unlabelled), 1))
        for view in views:
            for y in each_label(self.table):
                mass = self.unlabelled[:, :, y[0]] * scale
                if len(y) * len(risk) <= _LARGEST_MATRIX:
                    total += mass @ self.table.mean_by_cell(measure.loss(view, y))
                else:
                    by_kind = mass[:, self.table.kind_cell] * self.table.kind_share
                    total += np.stack([measure.mean_loss(view, y, weight) for weight in by_kind])
        return np.asarray(total)


def expected_labels(model: LabelModel, rates: FloatArray) -> Predictive:
    """Return what some draws of the rates make expect: labels in fractions, without their noise.

    Args:
        model: whose cells and labels.
        rates: shape (draws, cells, classes).
    """
    table = model.table
    left = table.count - labels_by_cell(table, model.history, Domain()).sum(axis=1)
    return Predictive(table, model.history, Domain(), left[:, None] * rates)


def likely_rates(table: CellTable, history: History, hidden: HiddenPrior = HIDDEN) -> FloatArray:
    """Return the rate of each class in each cell at the mode of the model: (cells, classes)."""
    fits = fit_curves(table, history, hidden).values()
    modes = tuple(CurveDraws(fitted.curve, fitted.mode[None]) for fitted in fits)
    return LabelModel(table, history, modes, ()).rates[0]


def obstacle(table: CellTable) -> str | None:
    """Return why there can be no model of the labels of a pool, in words; None if there can."""
    if table.classes == 1:
        return "no model of queries: their items have the labels"
    if table.classes > MOST_CLASSES:
        return f"no model of {table.classes} classes, at most {MOST_CLASSES}"
    prior = table.leaf_prior[table.leaf_count > 0]
    if len(prior) > 1 and np.ptp(prior, axis=0).max() <= _SAME_PRIOR:
        return "the prior probability is the same in all leaves, so no curve can order them"
    return None


def labels_by_cell(table: CellTable, history: History, domain: Domain) -> IntArray:
    """Return how many rows of each cell, of a domain, have each label: (cells, classes)."""
    known = history.labelled
    known = known[domain.holds(history, known)]
    seen = np.zeros((len(table), table.classes), dtype=np.int64)
    np.add.at(seen, (history.cell[known], history.label[known]), 1)
    return seen


def fit_curves(table: CellTable, history: History, hidden: HiddenPrior) -> dict[int, CurveFit]:
    """Return the curve of each class given all labels; of two classes that of the second."""
    seen = labels_by_cell(table, history, Domain())
    labelled = seen.sum(axis=1)
    return {
        y: fit_either_way(table, y, labelled, seen[:, y], hidden)
        for y in ((1,) if table.classes == 2 else range(table.classes))
    }


def fit_either_way(
    table: CellTable, y: int, labelled: IntArray, positive: IntArray, hidden: HiddenPrior
) -> CurveFit:
    """Return the curve of a class, rising with its prior probability unless labels say it falls.

    Scores are taken to mean what they should unless the labels make the opposite far more
    probable: the prior odds against it are `_ODDS_AGAINST_FALLING`.

    Args:
        table: the cells.
        y: the class.
        labelled: shape (cells,): rows with a label.
        positive: shape (cells,): those of the class.
        hidden: prior of the background.
    """
    fits = []
    for probability in (table.prior[:, y], 1 - table.prior[:, y]):
        effect = unexplained_predictions(table, y, probability)
        curve = CalibrationCurve.from_cells(probability, table.count, effect, hidden)
        fits.append(curve.fit(labelled, positive))
    rising, falling = fits
    gain = falling.log_evidence - rising.log_evidence
    return falling if gain > np.log(_ODDS_AGAINST_FALLING) else rising


def unexplained_predictions(table: CellTable, y: int, probability: FloatArray) -> FloatArray:
    """Return, for each system, where its prediction of a class is not a threshold on the prior.

    Whether a cell is predicted y, less whether its probability is above the threshold that agrees
    best with the predictions; systems that a threshold explains are left out.

    Args:
        table: the cells.
        y: the class.
        probability: shape (cells,): what the threshold is on.

    Returns:
        Shape (cells, systems that remain), in [-1, 1].
    """
    predicted = table.mean_by_cell((table.outputs.prediction == y).astype(np.float64))
    order = np.argsort(probability, kind="stable")
    is_first = np.diff(probability[order], prepend=-1.0) > 0
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
    return np.unique(kept, axis=0).T if kept else np.zeros((len(table), 0))


def _shifted(rates: FloatArray, shift: FloatArray) -> FloatArray:
    """Return rates whose logarithms are shifted, summing to 1 over the classes, the last axis."""
    scaled = rates * np.exp(shift)
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))
