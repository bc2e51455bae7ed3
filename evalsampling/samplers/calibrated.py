"""The calibrated design: rows without replacement, chosen and estimated by a calibration curve.

This project's own; docs/studies/calibrated-trials.md has what was tried. Its parts are known: the
difference estimator and probabilities proportional to anticipated standard deviations (C.-E.
Särndal, B. Swensson and J. Wretman, *Model Assisted Survey Sampling*, Springer 1992, sections 6.3
and 12.2), and the choice among designs by the expected fall of the posterior variance (K. Chaloner
and I. Verdinelli, *Bayesian experimental design: a review*, Statistical Science 10, 1995). Whole
clusters are drawn after W. G. Cochran, *Sampling Techniques*, 3rd edition, Wiley 1977, section 9A.1
(clusters of unequal sizes, drawn with equal chances; the ratio to size).
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.class_curves import obstacle
from evalsampling.inference.class_rates import expected_rates, fit_labels
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import influences_by_cell, variance_of_any
from evalsampling.inference.nonresponse import response_by_cell
from evalsampling.inference.own_chances import mean_chances
from evalsampling.inference.predictive import LabelModel, expected_labels
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure, check_defined
from evalsampling.measures.on_cells import cells_adding_to
from evalsampling.samplers.base import Rng, Sampler
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.hamiltonian import Schedule
from evalsampling.stats.history import ELSEWHERE, History
from evalsampling.stats.inclusion import compromise, draw_these, draw_unseen, mix_evenly, water_fill

POWERS = (0.7, 1.0, 1.5, 2.0, 3.0)
"""Powers of the rate of positives that a row's measure of size may follow where they are rare."""

DESIGN_SHARE = 0.01
"""What the share of hidden positives is multiplied by for the model that designs are compared on:
the part of a round that is spread evenly looks for them, the others go by the scores."""

EVEN_SHARE = 0.1
"""Share of a round that is spread evenly over all rows."""

STRATA_SHARE = 0.02
"""Share of a round that is spread evenly over the strata, so that small ones are looked at too."""

_SCHEDULE = Schedule(kept=4)
"""Of the model that designs are compared on: rough, as they are compared on the same draws."""

_MOST_INFLUENCES = 1 << 21
"""Most influences of kinds of rows that are worked out before a round, but for those of 4 draws."""


@dataclasses.dataclass(frozen=True)
class CalibratedDesign(Sampler):
    """Rounds without replacement, in proportion to what the label of a row may still change.

    Before each round the calibration curve is fitted to all labels so far, with next to no hidden
    positives (`DESIGN_SHARE`): with more, rounds would go to the tail to learn their number, which
    a few hundred labels cannot tell. Candidates are designs with the measure of size
    sd_c (1 - p_c)^(e - 1/2), sd_c^2 being the mean variance of the influence of a row's label, p_c
    the rate of the most frequent class. Taken is the one that is expected to remove most of the
    posterior variance of the measure, of labels that differ in cost by the money.

    A labelled row weighs one over the chance that any round so far would have taken it. The
    estimate is the difference estimator; then the mean of it and of the posterior median
    (`inference.model_based.weight_of_draws`). docs/calibrated.md has the reasons.

    Attributes:
        hidden: prior of the positives that scores do not tell.
        importance: weight of each component of the measure; the measure's own if empty.
    """

    hidden: HiddenPrior = HiddenPrior()
    importance: tuple[float, ...] = ()
    name = "calibrated"
    models_classes = True
    takes = frozenset({"weights", "looks"})

    @property
    def weights(self) -> FloatArray:
        """The weight of each component of the measure, shape (m,)."""
        return np.array(self.importance or self.measure.importance)

    def remarks(self, table: CellTable) -> list[str]:
        reason = obstacle(table)
        return [] if reason is None else [f"sampler calibrated draws rows evenly: {reason}"]

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        left = table.count - history.drawn_by_cell(len(table))
        wanted = min(new_rows, int(left.sum()), new_rows if budget is None else budget)
        model_seed = int(rng.integers(1 << 62))
        if obstacle(table):
            chance = np.full(len(table), wanted / max(int(left.sum()), 1))
            return draw_unseen(table, history, chance, rng)
        hidden = self.hidden.with_share(self.hidden.share * DESIGN_SHARE)
        model = fit_labels(table, history.as_if_drawn, (model_seed,), hidden, _SCHEDULE)
        labels = len(history.labelled) + wanted
        comparison = _Comparison.of_designs(self.measure, self.weights, model, labels)
        sizes = [per_root_cost(comparison.size(power), table.cost) for power in POWERS]
        left_in_leaf = table.sum_by_leaf(left[:, None])[table.leaf, 0]
        by_strata = 1 / np.maximum(left_in_leaf, 1) / len(table.leaves)
        candidates = [
            water_fill(mix_evenly(size, left, EVEN_SHARE) + STRATA_SHARE * by_strata, left, wanted)
            for size in sizes
        ]
        removed = [comparison.removed_variance(chance * left) for chance in candidates]
        if table.cost is not None and wanted:
            money = [float(table.cost @ (chance * left)) for chance in candidates]
            removed = [gain / price for gain, price in zip(removed, money, strict=True)]
        chance = candidates[int(np.argmax(removed))]
        posterior = table.mean_by_leaf(comparison.rate)
        return draw_unseen(table, history, chance, rng, posterior=posterior)

    def exhausted(self, table: CellTable, history: History) -> bool:
        """Whether all rows that can add to the measure sampled for have been drawn."""
        unseen = table.count - history.drawn_by_cell(len(table))
        return not unseen[cells_adding_to(self.measure, table)].any()

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows, each weighing one over the chance that some round labels it.

        Rows of a round without a label are missing at random within response classes
        (`inference.nonresponse`), so the chance is that of the round times the share with a label.

        Rows drawn elsewhere have chances c of their own, which are unknown of the others. With a
        chance q of a label in later rounds, two totals are unbiased: of rows drawn elsewhere, by
        1 / c; and of these as known with later rows for all others, by 1 / q. Taken is their mean,
        in the parts m (1 - q) to q, m the harmonic mean of c: if all c are m, by all chances.
        """
        inclusion, stratum = np.zeros(len(history)), None
        for drawn in reversed(history.rounds):
            question, later = drawn.question, inclusion
            if not len(question):  # no row was left to be drawn
                continue
            chance = drawn.chances(history.cell)
            if drawn.origin == ELSEWHERE:
                chance = mean_chances(table, history, question, drawn.probability)
            answered = response_by_cell(table, history, question)[history.cell]
            inclusion = chance * answered + (1 - chance) * later
            if drawn.origin == ELSEWHERE:
                stands_for = chance[question] / drawn.probability
                inclusion[question] /= stands_for * (1 - later[question]) + later[question]
            if drawn.origin == ELSEWHERE and drawn.stratum is not None:
                stratum = np.full(len(history), -1)
                stratum[question] = drawn.stratum
        known = history.labelled
        strata = None if stratum is None else stratum[known]
        sample = WeightedSample.without_replacement(known, inclusion[known], table.rows, strata)
        drawn_rows = int(np.count_nonzero(~history.picked[known]))
        return dataclasses.replace(sample, draws=drawn_rows, answered=drawn_rows)

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        table, history, model = inputs.table, inputs.history, inputs.model
        if obstacle(table) or not len(history.labelled):
            return inputs
        own = model if model is not None and model.hidden == self.hidden else None
        response = own.likely_rates if own else expected_rates(table, history, self.hidden)
        return dataclasses.replace(inputs, response=response, combine=True)


@dataclasses.dataclass(frozen=True)
class Clusters(CalibratedDesign):
    """Draws whole clusters (`pool.cluster`) at random; estimates as the sampler `calibrated` does.

    A round takes clusters in the order of their permanent random numbers until it has the rows that
    were asked for, the last one whole. Stopping with that cluster, not before it, keeps the ratio
    of rows of a kind to all rows unbiased but for terms of the order of one over the number of
    clusters (Wald's identity). Each row of the pool has the same chance.

    How far sizes of clusters vary is known of the whole pool, and a sample without the largest ones
    tells too little of it: see `WeightedSample.together`.
    """

    name = "clusters"
    takes = frozenset({"numbers", "looks"})
    needs = frozenset({"cluster"})
    by_row = False

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        """Draw one round, of single rows where those of the pool are unknown."""
        drawn = history.drawn_by_cell(len(table))
        left = table.rows - int(drawn.sum())
        wanted = min(new_rows, left, new_rows if budget is None else budget)
        if self.numbers is None:
            chance = np.full(len(table), wanted / max(left, 1))
            return draw_unseen(table, history, chance, rng)
        cell, rank = self.numbers.next_clusters(drawn, wanted, rng)
        chance = np.full(len(table), len(cell) / max(left, 1))
        return draw_these(table, history, chance, cell, rank)

    def remarks(self, table: CellTable) -> list[str]:
        return []


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """Summary of the model before a round, to compare designs."""

    rate: FloatArray  # (cells, classes): mean rate of each class
    frequent: int  # the class of most rows
    spread: FloatArray  # (cells,): standard deviation of the influence of a label: `_spread`
    alike: IntArray  # (cells,): which of the groups of cells with the same rates each is in
    deviation: FloatArray  # (classes, draws, groups): rates less their means
    value: FloatArray  # (draws, m): of the measure, standardised, times the roots of the weights

    @classmethod
    def of_designs(
        cls, measure: Measure, weights: FloatArray, model: LabelModel, labels: int
    ) -> "_Comparison":
        """Return the summary of a model, given the number of labels after the round."""
        rates = model.rates
        risks = expected_labels(model, rates).risks(measure)
        values = measure.values(risks)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(_are_ratios(measure), np.log(values), values)
        defined = np.isfinite(values).all(axis=0)
        values = values[:, defined]
        deviation = values - values.mean(axis=0)
        scale = np.sqrt(np.mean(deviation**2, axis=0))
        rate = model.mean_rates
        first, alike = model.alike
        mean = rate[first].T[:, None]
        return cls(
            rate=rate,
            frequent=int(np.argmax(model.table.count @ rate)),
            spread=_spread(measure, weights, model, risks, labels),
            alike=alike,
            deviation=np.stack([y.take(first, axis=1) for y in np.moveaxis(rates, 2, 0)]) - mean,
            value=(deviation * np.sqrt(weights[defined]))[:, scale > 0] / scale[scale > 0],
        )

    def size(self, power: float) -> FloatArray:
        """Return the measure of size of the rows of each cell, shape (cells,)."""
        rare = 1 - self.rate[:, self.frequent]
        return np.asarray(self.spread * rare ** (power - 0.5))

    def removed_variance(self, rows: FloatArray) -> float:
        """Return the posterior variance that rows, shape (cells,), are expected to remove.

        By linear regression of the measure on the numbers of each class that a round finds: with
        deviations A (draws x cells) of the rates, K = A diag(rows / (rate (1 - rate))) A' / draws,
        it is f' K (K + I)^-1 f for f the standardised values; summed over the components.
        """
        draws = len(self.value)
        noise = np.maximum(self.rate * (1 - self.rate), 1e-12)
        kernel = np.zeros((draws, draws))
        for y in range(1, self.rate.shape[1]):
            informative = np.bincount(self.alike, rows / noise[:, y])
            scaled = self.deviation[y] * np.sqrt(informative)
            kernel += scaled @ scaled.T / draws
        left = np.linalg.solve(kernel + np.eye(draws), self.value)
        return float(np.sum(self.value * (self.value - left)))


def _spread(
    measure: Measure, weights: FloatArray, model: LabelModel, risks: FloatArray, labels: int
) -> FloatArray:
    """Return the standard deviation of the influence of a row's label on a measure, (cells,).

    Of several components it is their `compromise`. Of one component it is the root of the mean
    variance over draws of the rates, each with its own influences: at the mean rates, a draw with
    many positives in the tail would hide how much a positive there matters if there are few. The
    contribution of a draw is capped, so that the variance left by the best design for it is at most
    that of a number anywhere in the measure's range: with very few positives influences are
    unbounded. The influence on an undefined component is 0; ratios count by their logarithms.
    ``risks``, shape (draws, d): expected mean losses; ``labels``: their number after the round.
    """
    table = model.table
    entries = table.classes * len(table.kinds) * len(measure.components)
    step = -(-len(risks) // max(_MOST_INFLUENCES // entries, 4))
    check_defined(measure, risks.mean(axis=0))
    rates, risks = model.rates[::step], risks[::step]
    parts = min(len(measure.components), len(risks))  # so that arrays are small
    values = np.where(_are_ratios(measure), np.nan_to_num(measure.values(risks)), 1.0)
    scale = np.divide(1, values**2, out=np.zeros_like(values), where=values > 0)[:, :, None]
    influences = influences_by_cell(measure, table, np.array_split(risks, parts))
    total = np.zeros((len(measure.components), len(table)))
    by_part = (np.array_split(each, parts) for each in (rates, scale))
    for rate, factor, of_part in zip(*by_part, influences, strict=True):
        total += (_counted_variance(measure, table, rate, of_part, labels) * factor).sum(axis=0)
    return compromise(total / len(risks), table.count / table.rows, weights)


def _are_ratios(measure: Measure) -> BoolArray:
    """Return which components are ratios of two systems, shape (m,)."""
    return np.array(
        [c.against is not None and c.bounds == (0.0, np.inf) for c in measure.components]
    )


def _counted_variance(
    measure: Measure,
    table: CellTable,
    rates: FloatArray,
    influences: Sequence[FloatArray],
    labels: int,
) -> FloatArray:
    """Return the variance of a row's influence as `_spread` counts it, shape (draws, m, cells)."""
    mean = rates[:, None, :, 0] * influences[0]
    square = mean * influences[0]
    for y, influence in enumerate(influences[1:], 1):
        weighted = rates[:, None, :, y] * influence
        mean += weighted
        weighted *= influence
        square += weighted
    mean *= mean
    square -= mean
    variance = np.maximum(square, 0.0, out=square)
    left = (np.sqrt(variance) @ (table.count / table.rows)) ** 2 / max(labels, 1)
    variance /= np.maximum(left / variance_of_any(measure), 1.0)[:, :, None]
    return variance
