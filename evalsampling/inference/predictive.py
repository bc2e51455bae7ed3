"""Predictive draws of the labels of unlabelled rows, cell by cell, given scores and labels.

For two classes a calibration curve (`inference.calibration_curve`) gives the rate of the second
class. For more classes each class has a curve of its own, and what the likeliest class of a cell
leaves is shared by the others. Whether labels contradict the draws is a posterior predictive check
(A. Gelman, X.-L. Meng and H. Stern, *Posterior predictive assessment of model fitness via realized
discrepancies*, Statistica Sinica 6, 1996).
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from evalsampling.inference.calibration_curve import HIDDEN, SCHEDULE, CurveDraws
from evalsampling.inference.class_curves import (
    below_all_met,
    fit_curves,
    labels_by_cell,
    likeliness,
    obstacle,
)
from evalsampling.inference.domains import Domain
from evalsampling.inference.sample import effective_size
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.on_cells import (
    LARGEST_MATRIX,
    bounding_outputs,
    each_label,
    extreme_outputs,
)
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.hamiltonian import Schedule, keep_freed_memory
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import water_fill
from evalsampling.stats.outputs import Outputs

_SHIFT_SPREAD = 1.0
"""Standard deviation of the log-odds by which the rates of a slice differ from the pool's."""

_STRETCH_SPREAD = 0.5
"""Standard deviation of the logarithm by which log-rates of a slice are stretched, if at all."""

_TRIED = 4
"""Number of shifts and stretches tried for each draw of the curve."""

_LEAST_RATE = 1e-300
"""Least rate of which a logarithm is taken."""

_LEAST_LOG_WEIGHT = -500.0
"""Least logarithm of a weight relative to the greatest: its exponential is above 0."""

OTHER_SHARES = (0.5, 2.0)
"""Factors of the share of hidden positives under which an interval is computed again."""

FEWEST_EFFECTIVE = 100.0
"""Least effective number of weighted draws; with fewer the model is fitted anew."""

_MOST_RATES = 1 << 21
"""Most rates that are kept in all draws; in pools with thousands of cells draws are thinned."""

_FEWEST_DRAWS = 192
"""About the least number of draws to which they are thinned, evenly apart."""

MOST_R_HAT = 1.3
"""Nested R-hat above which chains disagree: on 53 real pools it was 1.11 at most."""

LEAST_CHANCE = 0.01
"""Least posterior predictive p-value with which the model is used."""

_BANDS = 8
"""Number of bands of scores, with about as many labelled rows in each."""


@dataclasses.dataclass(frozen=True)
class LabelModel:
    """Draws of the rate of each class in each cell, given all labels so far."""

    method: ClassVar[str] = "calibration-curve"  # name of the model's intervals
    # whether it assumes no more than the design: that drawn rows are as likely of a class as others
    # of their stratum. Then the draws alone make an interval
    is_exact: ClassVar[bool] = False
    table: CellTable
    history: History
    # draws of the curve of each class; with two classes of the second class only
    curves: tuple[CurveDraws, ...]
    # the mode of each curve in place of its draws; a model made by `with_share` may keep the modes'
    # rates of the original model
    modes: tuple[CurveDraws, ...]
    seed: tuple[int, ...]  # seed of what is drawn from the curves
    # whether labels are answers at random, of which the model has one a row (`one_answer_a_row`):
    # then it knows no row, and rates of rows spread as widely as the curve allows
    stochastic: bool = False

    @classmethod
    def fit(
        cls,
        table: CellTable,
        history: History,
        seed: tuple[int, ...],
        hidden: HiddenPrior = HIDDEN,
        schedule: Schedule = SCHEDULE,
        stochastic: bool = False,
    ) -> "LabelModel":
        """Return the model fitted to the labels of a history, by the same seed in all rounds."""
        reason = obstacle(table)
        if reason:
            raise ValueError(reason)
        keep_freed_memory()
        most = max(_MOST_RATES // (len(table) * table.classes), _FEWEST_DRAWS)
        fits = fit_curves(table, history, hidden)
        of_class = {y: np.random.Generator(np.random.PCG64([*seed, y])) for y in fits}
        curves = tuple(fit.draw(of_class[y], schedule).thinned(most) for y, fit in fits.items())
        modes = tuple(fit.at_mode for fit in fits.values())
        return cls(table, history, curves, modes, seed, stochastic)

    @property
    def hidden(self) -> HiddenPrior:
        """The prior of hidden positives."""
        return self.curves[0].curve.hidden

    @property
    def other_shares(self) -> tuple[float, ...]:
        """Further shares of hidden positives, under which an interval is computed again."""
        return tuple(self.hidden.share * factor for factor in OTHER_SHARES)

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
        """The rate of each class in each cell at the mode of `curves`, shape (cells, classes)."""
        return np.asarray(_rates_of_classes(self.modes)[0])

    @functools.cached_property
    def contradiction(self) -> str | None:
        """Why the model should not be used, in words; None if labels and chains agree with it."""
        r_hat = max(curve.r_hat for curve in self.curves)
        if r_hat > MOST_R_HAT:
            return f"chains from different starts disagree (R-hat {r_hat:.2f})"
        rng = np.random.Generator(np.random.PCG64([*self.seed, 5]))
        seen = labels_by_cell(self.table, self.history, Domain(), picked=False)
        return misfit(self.table, seen, self.rates, rng)

    def weights(self, share: float) -> FloatArray:
        """Return importance weights of the draws under another prior share, shape (draws,)."""
        return np.asarray(np.prod([curve.weights(share) for curve in self.curves], axis=0))

    def with_share(self, share: float) -> "LabelModel":
        """Return the model with another prior share of hidden positives, given the same labels.

        With several classes the draws of each curve are resampled by weights, unless too few would
        be left: new chains for all curves would take most of the time of an estimate.
        """
        if share not in self._with_share:
            sizes = [effective_size(curve.weights(share)) for curve in self.curves]
            if len(sizes) > 1 and min(sizes) >= FEWEST_EFFECTIVE:
                rng = np.random.Generator(np.random.PCG64([*self.seed, 4]))
                curves = tuple(curve.with_share(share, rng) for curve in self.curves)
                modes = tuple(curve.with_share(share, rng) for curve in self.modes)
                model = dataclasses.replace(self, curves=curves, modes=modes)
            else:
                hidden = self.hidden.with_share(share)
                model = LabelModel.fit(
                    self.table, self.history, self.seed, hidden, stochastic=self.stochastic
                )
            self._with_share[share] = model
        return self._with_share[share]

    @functools.cached_property
    def _with_share(self) -> dict[float, "LabelModel"]:
        """Models with other prior shares that were made before, by share."""
        return {}

    @functools.cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """The first cell of each group of equal rates in every draw, and the group of each cell."""
        return distinct_rows(np.stack([curve.curve.group for curve in self.curves], axis=1))

    @functools.cached_property
    def everywhere(self) -> "Predictive":
        """Draws of all labels of the pool."""
        return Predictive.drawn(self, Domain(), self.rates, np.arange(len(self.rates)), 0)

    @functools.cached_property
    def _log_rates(self) -> FloatArray:
        """Logarithms of the rates, shape (draws, cells, classes)."""
        return np.log(np.maximum(self.rates, _LEAST_RATE))

    def within(self, domain: Domain) -> "Predictive":
        """Return draws of all labels of a part of the pool, or of all of it.

        The log-rates of a slice differ from the pool's by a normal shift for each class and, in
        half of the prior, by a stretch about their means. Pairs of a curve and such a difference
        are drawn in proportion to the likelihood of the slice's labels by that under the pool's
        rates. No weight of n pairs is above 1 / sqrt(n) (E. L. Ionides, JCGS 17, 2008), as a few
        might dominate in a large slice.
        """
        if domain.count is None:
            return self.everywhere
        rng = np.random.Generator(np.random.PCG64([*self.seed, domain.column, domain.value, 1]))
        seen = labels_by_cell(self.table, self.history, domain, picked=False)
        cells = np.flatnonzero(seen.any(axis=1))
        draws, classes = len(self.rates), self.table.classes
        shift = rng.normal(0, _SHIFT_SPREAD, (draws, _TRIED, 1, classes))
        shift[..., 0] = 0  # only differences matter
        stretch = np.expm1(rng.normal(0, _STRETCH_SPREAD, (draws, _TRIED, 1, 1)))
        stretch *= rng.integers(0, 2, stretch.shape)
        level, expected = self._log_rates, self.rates * domain.rows(self.table)[:, None]
        mean = (expected * level).sum(axis=1, keepdims=True)
        mean /= np.maximum(expected.sum(axis=1, keepdims=True), _LEAST_RATE)
        here = level[:, None, cells]
        moved = _moved(here, mean[:, None], shift, stretch)
        gain = np.log(np.maximum(moved, _LEAST_RATE)) - here
        height = np.einsum("dtky,ky->dt", gain, seen[cells]).ravel()
        weight = np.exp(np.maximum(height - height.max(), _LEAST_LOG_WEIGHT))
        weight = water_fill(weight, np.ones(len(weight), dtype=np.int64), np.sqrt(len(weight)))
        chosen = rng.choice(len(weight), draws, p=weight / weight.sum())
        draw, tried = np.divmod(chosen, _TRIED)
        moved = _moved(level[draw], mean[draw], shift[draw, tried], stretch[draw, tried])
        return Predictive.drawn(self, domain, moved, draw, 2)


@dataclasses.dataclass(frozen=True)
class Predictive:
    """Draws of all labels of the pool or of a part of it, with the known labels fixed."""

    table: CellTable
    history: History
    domain: Domain  # the part, or the whole pool
    # (draws, cells, classes): number of unlabelled rows of each class; with two classes each class
    # is contiguous in memory
    unlabelled: IntArray | FloatArray
    of_draw: IntArray  # (draws,): the draw of the curves that each draw is made from
    # whether labels are answers at random: then all rows count as unlabelled
    stochastic: bool = False

    @classmethod
    def drawn(
        cls, model: LabelModel, domain: Domain, rates: FloatArray, of_draw: IntArray, stream: int
    ) -> "Predictive":
        """Return draws of the labels of unlabelled rows of a domain, given rates of the classes."""
        table, history = model.table, model.history
        left = domain.rows(table)
        if not model.stochastic:
            left = left - labels_by_cell(table, history, domain).sum(axis=1)
        place = (domain.column, domain.value) if domain.count is not None else ()
        rng = np.random.Generator(np.random.PCG64([*model.seed, *place, stream]))
        if table.classes == 2:
            by_class = np.empty((2, *rates.shape[:2]))
            by_class[1] = rng.binomial(left, np.minimum(rates[:, :, 1], 1.0))
            np.subtract(left, by_class[1], out=by_class[0])
            drawn = np.moveaxis(by_class, 0, 2)
        else:
            drawn = rng.multinomial(left, rates / rates.sum(axis=2, keepdims=True))
        return cls(table, history, domain, drawn, of_draw, model.stochastic)

    @functools.cached_property
    def without_unmet(self) -> "Predictive | None":
        """The same draws without positives scored below all labelled ones, if any may be there."""
        if self.table.classes != 2 or self.table.leaves.exchangeable:
            return None
        unsearched = below_all_met(self.table, self.history)
        if not unsearched.any() or unsearched.all():  # All are where no positive has a label.
            return None
        negative, positive = np.moveaxis(self.unlabelled, 2, 0)
        kept = positive * ~unsearched
        unlabelled = np.moveaxis(np.stack([negative + (positive - kept), kept]), 0, 2)
        return dataclasses.replace(self, unlabelled=unlabelled)

    @functools.cached_property
    def expected(self) -> FloatArray:
        """The mean number of unlabelled rows of each class over the draws: (cells, classes)."""
        return np.asarray(self.unlabelled.mean(axis=0))

    @functools.cached_property
    def _mass(self) -> list[FloatArray]:
        """The numbers `unlabelled` of each class as floats, which sum fast: (draws, cells) each."""
        by_class = np.moveaxis(self.unlabelled, 2, 0)
        return list(np.asarray(by_class, dtype=np.float64))

    def bounds(self, measure: Measure) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest value of the measure in each draw, shape (draws, m) each.

        They differ if cells do not determine which of their rows reach a threshold, or pool several
        combinations of predictions: see `_slack`. Two systems may rank rows differently, so in a
        comparison the least of one goes with the greatest of the other.
        """
        is_exact = len(bounding_outputs(measure, self.table)) == 1
        if isinstance(measure, Comparison) and not is_exact:
            return measure.extremes(self.bounds(measure.first), self.bounds(measure.other))
        ways = [
            measure.values(self._risks(measure, [[outputs] for outputs in way]))
            for way in extreme_outputs(measure, self.table)
        ]
        low, high = np.fmin.reduce(ways), np.fmax.reduce(ways)
        if not self.table.kinds.mixed.any():
            return low, high
        slack = self._slack(measure)
        least, greatest = np.transpose([component.bounds for component in measure.components])
        return np.maximum(low - slack, least), np.minimum(high + slack, greatest)

    def _slack(self, measure: Measure) -> FloatArray:
        """Return how far labels that depend on a row's kind may move a measure, shape (m,).

        The model gives all rows of a cell the same rate. Other rates by kind move the mean
        influence by at most the standard deviation of a label times that of the influence over the
        kinds (Cauchy and Schwarz).
        """
        table, expected = self.table, self.expected
        risk = self.risks(measure)
        risk = risk[np.isfinite(risk).all(axis=1)].mean(axis=0)
        left = expected.sum(axis=1)
        rate = expected / np.maximum(left, 1)[:, None]
        outputs = bounding_outputs(measure, table)[0]
        influence = [np.nan_to_num(measure.influence(outputs, y, risk)) for y in each_label(table)]
        slack = np.zeros(len(measure.components))
        for y in range(1, table.classes):
            further = influence[y] - influence[0]
            variance = table.kinds.by_cell(further**2) - table.kinds.by_cell(further) ** 2
            of_labels = (rate[:, y] * (1 - rate[:, y]))[:, None]
            slack += left @ np.sqrt(np.maximum(variance, 0.0) * of_labels)
        return slack / max(int(self.domain.rows(table).sum()), 1)

    def risks(self, measure: Measure) -> FloatArray:
        """Return the mean losses in each draw, with the mean outputs of cells: (draws, d)."""
        return self._risks(measure, [bounding_outputs(measure, self.table)] * self.table.classes)

    def _risks(self, measure: Measure, views: Sequence[Sequence[Outputs]]) -> FloatArray:
        """Return the mean losses in each draw, each class divided among its outputs."""
        parts = [self.losses_if(measure, y, y, of_class) for y, of_class in enumerate(views)]
        return np.asarray(np.sum(parts, axis=0))

    def losses_if(
        self, measure: Measure, label: int, true: int, views: Sequence[Outputs] | None = None
    ) -> FloatArray:
        """Return the part of labelled rows in the mean losses, given a true class: (draws, d)."""
        views = bounding_outputs(measure, self.table) if views is None else views
        labelled = self.domain.labelled(self.history)
        is_known = (self.history.label[labelled] == label) & (not self.stochastic)
        labelled = labelled[is_known]
        rows = max(int(self.domain.rows(self.table).sum()), 1)
        y = np.full(len(labelled), true, dtype=np.int64)
        weight = np.full(len(labelled), 1 / rows)
        risk = measure.mean_loss(self.history.outputs.take(labelled), y, weight)
        total = np.tile(risk, (len(self.unlabelled), 1))
        mass, share = self._mass[label], 1 / (rows * len(views))
        y = np.full(len(self.table.kinds), true, dtype=np.int64)
        for view in views:
            if len(y) * len(risk) <= LARGEST_MATRIX:
                total += mass @ (self.table.kinds.by_cell(measure.loss(view, y)) * share)
            else:
                by_kind = mass[:, self.table.kinds.cell] * (self.table.kinds.share * share)
                total += np.stack([measure.mean_loss(view, y, weight) for weight in by_kind])
        return total


def expected_labels(model: LabelModel, rates: FloatArray) -> Predictive:
    """Return the expected labels given draws of the rates: fractional numbers of rows, no noise."""
    left = model.table.count - labels_by_cell(model.table, model.history, Domain()).sum(axis=1)
    rows, draws = left[:, None] * rates, np.arange(len(rates))
    return Predictive(model.table, model.history, Domain(), rows, draws)


def likely_rates(table: CellTable, history: History, hidden: HiddenPrior = HIDDEN) -> FloatArray:
    """Return the rate of each class in each cell at the mode of the model: (cells, classes)."""
    fits = fit_curves(table, history, hidden).values()
    return np.asarray(_rates_of_classes([fit.at_mode for fit in fits])[0])


def _rates_of_classes(curves: Sequence[CurveDraws]) -> FloatArray:
    """Return the rate of each class in each cell, shape (draws, cells, classes), summing to 1."""
    if len(curves) == 1:
        of_groups, group = curves[0].drawn.rates, curves[0].curve.group
        by_class = np.empty((2, len(of_groups), len(group)))
        np.take(of_groups, group, axis=1, out=by_class[1], mode="clip")
        np.subtract(1, by_class[1], out=by_class[0])
    else:
        # Each curve is of one class against all others, so their rates do not sum to 1. That of the
        # likeliest class is known best, and what it leaves is shared as the other curves have it.
        by_class = np.stack([curve.rates() for curve in curves])
        place = by_class.argmax(axis=0, keepdims=True)
        likeliest = np.take_along_axis(by_class, place, axis=0)
        others = by_class.sum(axis=0) - likeliest
        by_class *= (1 - likeliest) / np.maximum(others, _LEAST_RATE)
        np.put_along_axis(by_class, place, likeliest, axis=0)
    return np.moveaxis(by_class, 0, 2)  # those of one class lie together


def _moved(
    level: FloatArray, mean: FloatArray, shift: FloatArray, stretch: FloatArray
) -> FloatArray:
    """Return rates whose logarithms are shifted, and stretched about a mean, summing to 1."""
    moved = level + shift + stretch * (level - mean)
    rates = np.exp(moved - moved.max(axis=-1, keepdims=True))
    return np.asarray(rates / rates.sum(axis=-1, keepdims=True))


def misfit(
    table: CellTable, seen: IntArray, rates: FloatArray, rng: np.random.Generator
) -> str | None:
    """Return in words which labels contradict the model's draws of the rates; None if none do.

    Labelled rows are split by rank, and by what cells are cut by. The discrepancy is the greatest
    of |k - E| / sqrt(V + 1/4), k the labelled rows of a class in a part, E and V the mean and the
    variance of their number given a draw, and compared with that of labels simulated from the draw.
    """
    labelled = seen.sum(axis=1)
    cells = np.flatnonzero(labelled)
    if not len(cells):
        return None
    for y in range(1, table.classes):
        titles, holds = zip(*_parts(table, y, cells, labelled[cells]), strict=True)
        rows = np.stack(holds).astype(np.float64)
        rate = np.clip(rates[:, :, y].take(cells, axis=1), 0.0, 1.0)
        expected = (rate * labelled[cells]) @ rows.T
        spread = np.sqrt((rate * (1 - rate) * labelled[cells]) @ rows.T + 0.25)
        met = rows @ seen[cells, y]
        simulated = np.abs(rng.binomial(labelled[cells], rate) @ rows.T - expected) / spread
        observed = np.abs(met - expected) / spread
        chance = np.mean(simulated.max(axis=1) >= observed.max(axis=1))
        if chance < LEAST_CHANCE:
            worst = int(np.argmax(observed.mean(axis=0)))
            number = int(rows[worst] @ labelled[cells])
            what = "positive" if table.classes == 2 else f"of the class at place {y} (from 0)"
            return (
                f"of {number} labelled rows {titles[worst]} {int(met[worst])} are {what}, "
                f"where the curve makes {expected[:, worst].mean():.1f} likely"
            )
    return None


def _parts(
    table: CellTable, y: int, cells: IntArray, labelled: IntArray
) -> Iterator[tuple[str, BoolArray]]:
    """Yield words, as "ranked 201 to 5,000 by score", for cells whose labels are compared."""
    distinct, place_of = np.unique(likeliness(table, y), return_inverse=True)
    rows = np.bincount(place_of, table.count)
    above = (rows.sum() - np.cumsum(rows)).astype(np.int64)
    place, drawn = place_of[cells], np.bincount(place_of[cells], labelled, len(distinct))
    below = np.cumsum(drawn) - drawn / 2
    band = (below * _BANDS / labelled.sum()).astype(np.int64)
    for b in np.unique(band[place]):
        lowest, highest = np.flatnonzero(band == b)[[0, -1]]
        last = above[lowest] + int(rows[lowest])
        yield f"ranked {above[highest] + 1:,} to {last:,} by score", band[place] == b
    of_rows = table.kinds.of_cells(cells)
    for size, does in ((of_rows.weight, "count"), (of_rows.cost, "cost")):
        if size is not None:
            large = size > np.median(np.repeat(size, labelled))
            yield f"that {does} more than others", large
            yield f"that {does} less than others", ~large
    if of_rows.slices is not None:
        named = of_rows.slices.named.items()
        for (column, values), code in zip(named, of_rows.slices.code.T, strict=True):
            for i, value in enumerate(("any other value", *values)):
                yield f"with {value} in {column}", code == i
    for system in range(systems := table.kinds.prediction.shape[1]):
        mostly = table.kinds.predicted(y, system)[cells] > 0.5
        name = f" by system {system}" if systems > 1 else ""
        if mostly.any() and not mostly.all():
            yield f"predicted to be of it{name}", mostly
            yield f"not predicted to be of it{name}", ~mostly
