"""What the labels of the other rows may be, cell by cell, given scores and labels.

For two classes a calibration curve (`inference.calibration_curve`) tells the rate of the second
one; for more there is a curve for each class, fitted by itself, and the rates of a cell are
scaled to sum to 1.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.inference.breakdown import below_all_met
from evalsampling.inference.calibration_curve import (
    HIDDEN,
    SCHEDULE,
    CurveDraws,
)
from evalsampling.inference.class_curves import fit_curves, labels_by_cell, obstacle
from evalsampling.inference.domains import Domain
from evalsampling.inference.model_check import MOST_R_HAT, misfit
from evalsampling.inference.weights import effective_size
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.on_cells import LARGEST_MATRIX, bounding_outputs, extreme_outputs
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import CellTable
from evalsampling.stats.distinct import distinct_rows
from evalsampling.stats.hamiltonian import Schedule
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import water_fill
from evalsampling.stats.outputs import Outputs

_SHIFT_SPREAD = 1.0
"""Standard deviation of the log-odds by which the rates of a slice differ from the pool's."""

_SHIFTS = 4
"""Shifts tried for each draw of the curve."""

_LEAST_LOG_WEIGHT = -500.0
"""Least logarithm of a weight by the greatest one: it is still a number after division."""

FEWEST_EFFECTIVE = 100.0
"""Equal draws that weighted ones must be worth; with fewer the model is fitted anew."""

_MOST_RATES = 1 << 21
"""Most rates that are kept of all draws: of pools with thousands of cells fewer draws are."""

_FEWEST_DRAWS = 192
"""Draws that so many cells leave, or a few less: draws are kept evenly apart."""


@dataclasses.dataclass(frozen=True)
class LabelModel:
    """Draws of the rate of each class in each cell, given all labels so far.

    Attributes:
        table: the cells.
        history: the labels.
        curves: draws of the curve of each class; one, of the second class, if there are two.
        modes: the mode of each curve in place of its draws; those of a model that was made from
            another one have the rates of that one's.
        seed: of what is drawn from them.
    """

    table: CellTable
    history: History
    curves: tuple[CurveDraws, ...]
    modes: tuple[CurveDraws, ...]
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
        curves, modes = [], []
        for y, fitted in fit_curves(table, history, hidden).items():
            rng = np.random.Generator(np.random.PCG64([*seed, y]))
            curves.append(fitted.draw(rng, schedule).thinned(most))
            modes.append(fitted.at_mode)
        return cls(table, history, tuple(curves), tuple(modes), seed)

    @property
    def hidden(self) -> HiddenPrior:
        """What was thought of hidden positives before any label."""
        return self.curves[0].curve.hidden

    @functools.cached_property
    def rates(self) -> FloatArray:
        """The rate of each class in each cell, shape (draws, cells, classes), summing to 1."""
        return _rates_of_classes(self.curves)

    @functools.cached_property
    def mean_rates(self) -> FloatArray:
        """The mean rate of each class in each cell, shape (cells, classes)."""
        return np.asarray(self.rates.mean(axis=0))

    @functools.cached_property
    def likely_rates(self) -> FloatArray:
        """The rate of each class in each cell at the mode, shape (cells, classes)."""
        return np.asarray(_rates_of_classes(self.modes)[0])

    @functools.cached_property
    def contradiction(self) -> str | None:
        """Why the model is not to be used, in words; None if labels and chains agree with it."""
        r_hat = max(curve.r_hat for curve in self.curves)
        if r_hat > MOST_R_HAT:
            return f"chains from different starts disagree (R-hat {r_hat:.2f})"
        rng = np.random.Generator(np.random.PCG64([*self.seed, 5]))
        seen = labels_by_cell(self.table, self.history, Domain())
        return misfit(self.table, seen, self.rates, rng)

    def with_share(self, share: float) -> "LabelModel":
        """Return the model with another share of hidden positives, given the same labels.

        Of several classes the draws of each curve are taken anew by weights of their own: new
        chains for all would take most of the time of an estimate. The curve of two classes is
        fitted anew, and so are several if the draws of one would be worth too few.
        """
        if share not in self._with_share:
            worth = [effective_size(curve.weights(share)) for curve in self.curves]
            if len(worth) > 1 and min(worth) >= FEWEST_EFFECTIVE:
                rng = np.random.Generator(np.random.PCG64([*self.seed, 4]))
                curves = tuple(curve.with_share(share, rng) for curve in self.curves)
                modes = tuple(curve.with_share(share, rng) for curve in self.modes)
                model = dataclasses.replace(self, curves=curves, modes=modes)
            else:
                hidden = dataclasses.replace(self.hidden, share=share)
                model = LabelModel.fit(self.table, self.history, self.seed[:-1], hidden)
            self._with_share[share] = model
        return self._with_share[share]

    @functools.cached_property
    def _with_share(self) -> dict[float, "LabelModel"]:
        return {}

    @functools.cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """The first of the cells that have the same rates in every draw, and where each is."""
        return distinct_rows(np.stack([curve.curve.group for curve in self.curves], axis=1))

    @functools.cached_property
    def everywhere(self) -> "Predictive":
        """The labels of the pool."""
        return Predictive.drawn(self, Domain(), self.rates, np.arange(len(self.rates)), 0)

    def within(self, domain: Domain) -> "Predictive":
        """Return the labels of a part of the pool, or of all of it.

        The log-rates of a slice differ from those of the pool by a normal shift for each class;
        draws of curve and shift are taken in proportion to the likelihood of the slice's labels
        under the shifted rates, by that under the pool's, of which they are a part already. Of n
        pairs none counts for more than 1 / sqrt(n) (truncated importance sampling: E. L. Ionides,
        JCGS 17, 2008): where a slice is most of the pool a few would outvote all others.
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
        weight = np.exp(np.maximum(height - height.max(), _LEAST_LOG_WEIGHT))
        pairs = len(weight)
        weight = water_fill(weight, np.ones(pairs, dtype=np.int64), np.sqrt(pairs))
        chosen = rng.choice(pairs, draws, p=weight / weight.sum())
        draw, of_draw = np.divmod(chosen, _SHIFTS)
        moved = _shifted(self.rates[draw], shift[draw, of_draw])
        return Predictive.drawn(self, domain, moved, draw, 2)


@dataclasses.dataclass(frozen=True)
class Predictive:
    """Draws of all labels of the pool or of a part: those known, and those that are not.

    Attributes:
        table: the cells.
        history: the labels.
        domain: what part.
        unlabelled: shape (draws, cells, classes): rows without a label that have each one; in
            memory those of one class lie together if there are two.
        of_draw: shape (draws,): the draw of the curves that each is made from.
    """

    table: CellTable
    history: History
    domain: Domain
    unlabelled: IntArray | FloatArray
    of_draw: IntArray

    @classmethod
    def drawn(
        cls,
        model: LabelModel,
        domain: Domain,
        rates: FloatArray,
        of_draw: IntArray,
        stream: int,
    ) -> "Predictive":
        """Draw the labels of unlabelled rows of a domain from rates."""
        table, history = model.table, model.history
        left = domain.rows(table) - labels_by_cell(table, history, domain).sum(axis=1)
        place = (domain.column, domain.value) if domain.count is not None else ()
        rng = np.random.Generator(np.random.PCG64([*model.seed, *place, stream]))
        if table.classes == 2:
            by_class = np.empty((2, *rates.shape[:2]))
            by_class[1] = rng.binomial(left, np.minimum(rates[:, :, 1], 1.0))
            np.subtract(left, by_class[1], out=by_class[0])
            return cls(table, history, domain, np.moveaxis(by_class, 0, 2), of_draw)
        rates = rates / rates.sum(axis=2, keepdims=True)
        return cls(table, history, domain, rng.multinomial(left, rates), of_draw)

    @functools.cached_property
    def without_unmet(self) -> "Predictive | None":
        """The same draws without positives scored below any that was met; None if none could be.

        Of two classes only: of several, a row that is not of one class is of some other.
        """
        if self.table.classes != 2:
            return None
        known = self.history.labelled
        met = self.history.cell[known[self.history.label[known] == 1]]
        unsearched = below_all_met(self.table, 1, met)
        if not unsearched.any():
            return None
        unlabelled = self.unlabelled.copy()
        unlabelled[:, unsearched, 0] += unlabelled[:, unsearched, 1]
        unlabelled[:, unsearched, 1] = 0
        return dataclasses.replace(self, unlabelled=unlabelled)

    @functools.cached_property
    def expected(self) -> FloatArray:
        """Rows without a label that have each one, in the mean of the draws: (cells, classes)."""
        return np.asarray(self.unlabelled.mean(axis=0))

    @functools.cached_property
    def _mass(self) -> list[FloatArray]:
        """`unlabelled` of each class, shape (draws, cells), as numbers that are quick to sum."""
        by_class = np.moveaxis(self.unlabelled, 2, 0)
        return list(np.asarray(by_class, dtype=np.float64))

    def bounds(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """Return between what the measure of each draw lies, shape (draws, m) each.

        They differ where cells do not tell which rows reach a threshold: then whichever they are,
        rows of a class lie where the measure is least, or greatest. The scores of two systems that
        are compared are not great for the same rows: one's least stands against the other's
        greatest.
        """
        is_told = len(bounding_outputs(measure, self.table)) == 1
        if isinstance(measure, Comparison) and not is_told:
            return measure.extremes(self.bounds(measure.first), self.bounds(measure.other))
        ways = [
            measure.values(self._risks(measure, [[outputs] for outputs in way]))
            for way in extreme_outputs(measure, self.table)
        ]
        return np.fmin.reduce(ways), np.fmax.reduce(ways)

    def risks(self, measure: Measure) -> FloatArray:
        """Return the mean loss of each draw, shape (draws, d).

        Rows without a label count with the mean outputs of their cell.
        """
        return self._risks(measure, [bounding_outputs(measure, self.table)] * self.table.classes)

    def losses_if(self, measure: Measure, label: int, true: int) -> FloatArray:
        """Return what rows of one label add to the mean loss if their class is another.

        Args:
            measure: of the losses.
            label: whose rows are meant, known and drawn.
            true: the class that their losses are taken under.

        Returns:
            Shape (draws, d).
        """
        return self._losses(measure, label, true, bounding_outputs(measure, self.table))

    def _risks(self, measure: Measure, views: Sequence[Sequence[Outputs]]) -> FloatArray:
        """Return the mean loss of each draw, given outputs of unlabelled rows of each class.

        Of several outputs each stands for an equal part of the rows.
        """
        parts = [self._losses(measure, y, y, of_class) for y, of_class in enumerate(views)]
        return np.asarray(np.sum(parts, axis=0))

    def _losses(
        self, measure: Measure, label: int, true: int, views: Sequence[Outputs]
    ) -> FloatArray:
        """Return what `losses_if` does, given outputs of unlabelled rows."""
        known = self.domain.labelled(self.history)
        known = known[self.history.label[known] == label]
        rows = max(int(self.domain.rows(self.table).sum()), 1)
        y = np.full(len(known), true, dtype=np.int64)
        weight = np.full(len(known), 1 / rows)
        risk = measure.mean_loss(self.history.outputs.take(known), y, weight)
        total = np.tile(risk, (len(self.unlabelled), 1))
        mass, share = self._mass[label], 1 / (rows * len(views))
        y = np.full(len(self.table.outputs), true, dtype=np.int64)
        for view in views:
            if len(y) * len(risk) <= LARGEST_MATRIX:
                total += mass @ (self.table.mean_by_cell(measure.loss(view, y)) * share)
            else:
                by_kind = mass[:, self.table.kind_cell] * (self.table.kind_share * share)
                total += np.stack([measure.mean_loss(view, y, weight) for weight in by_kind])
        return total


def expected_labels(model: LabelModel, rates: FloatArray) -> Predictive:
    """Return what some draws of the rates make expect: labels in fractions, without their noise.

    Args:
        model: whose cells and labels.
        rates: shape (draws, cells, classes).
    """
    table = model.table
    left = table.count - labels_by_cell(table, model.history, Domain()).sum(axis=1)
    unlabelled = left[:, None] * rates
    return Predictive(table, model.history, Domain(), unlabelled, np.arange(len(rates)))


def likely_rates(table: CellTable, history: History, hidden: HiddenPrior = HIDDEN) -> FloatArray:
    """Return the rate of each class in each cell at the mode of the model: (cells, classes)."""
    fits = fit_curves(table, history, hidden).values()
    return np.asarray(_rates_of_classes([fitted.at_mode for fitted in fits])[0])


def _rates_of_classes(curves: Sequence[CurveDraws]) -> FloatArray:
    """Return the rate of each class in each cell, shape (draws, cells, classes), summing to 1."""
    if len(curves) == 1:
        of_groups, group = curves[0].drawn.rates, curves[0].curve.group
        by_class = np.empty((2, len(of_groups), len(group)))
        np.take(of_groups, group, axis=1, out=by_class[1], mode="clip")
        np.subtract(1, by_class[1], out=by_class[0])
    else:
        by_class = np.stack([curve.rates() for curve in curves])
        by_class /= by_class.sum(axis=0)
    return np.moveaxis(by_class, 0, 2)  # those of one class lie together


def _shifted(rates: FloatArray, shift: FloatArray) -> FloatArray:
    """Return rates whose logarithms are shifted, summing to 1 over the classes, the last axis."""
    scaled = rates * np.exp(shift)
    return np.asarray(scaled / scaled.sum(axis=-1, keepdims=True))
