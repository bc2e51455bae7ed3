"""Model-based estimates and intervals, from predictive draws of all labels of the pool."""

import dataclasses
import functools
import math
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from evalsampling.inference.domains import value_among
from evalsampling.inference.drawn_range import DrawnRange, simultaneous
from evalsampling.inference.estimand import Estimand
from evalsampling.inference.evidence import FEWEST_EVIDENCE, NARROW
from evalsampling.inference.intervals import MODEL_BASED, SIMULTANEOUS, Interval
from evalsampling.inference.linearisation import OwnProbabilities
from evalsampling.inference.predictive import FEWEST_EFFECTIVE, LabelModel, Predictive
from evalsampling.inference.results import TIE, Estimate, Sensitivity
from evalsampling.inference.sample import effective_size
from evalsampling.inference.significance import Significance, two_sided_p_value
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import FloatArray

DRAWS_ERR = 0.6
"""Factor of the error probability of the interval of the draws.

The curve is never exactly right: on 53 real pools 95 % intervals of draws missed the truth in one
of twelve runs."""

FULL_EVIDENCE = 25
"""Labelled rows of the scarcest share from which an interval has its nominal confidence."""

LEAST_ERROR = 0.1
"""Further factor of the error probability with `FEWEST_EVIDENCE` rows of the scarcest share."""

_FINENESS = 0.01
"""Share of itself to which a p-value is found."""

_MOST_UNDEFINED = 0.5
"""Largest share of draws in which a measure with an interval may be undefined."""


@dataclasses.dataclass(frozen=True)
class DrawnNumber:
    """A number by the model of the labels, beside its design-based estimate.

    The ends of its interval are weighted means of those of the design-based interval and of the
    shortest interval that holds a share of the draws, widened to hold the value. However the errors
    of two numbers correlate, the weighted mean of their intervals holds their weighted mean if each
    holds its number. Positives without a label skew the draws against a bound, which equal tails
    would miss.
    """

    design: Estimate  # the design-based estimate; of a ratio above 0, that of its logarithm
    drawn: DrawnRange | None = None  # draws of the number; None without any
    weight: float = 1.0  # weight of the draws in the interval, in [0, 1]
    # weight of their median in the value, in [0, 1]; 0 if the value is the design's
    pull: float = 0.0
    evidence: int = 0  # labelled rows of the scarcest share that the number depends on
    observed: float = math.nan  # the measure on the labelled rows alone, NaN where undefined
    # whether the design knows which rows count: `Measure.is_of_known_rows`
    of_known_rows: bool = False
    is_binary: bool = True  # whether labels are of two classes
    holds_draws: bool = False  # whether the interval also holds that of the draws alone
    method: str = LabelModel.method
    # draws under other shares of hidden positives, by share
    other_shares: Mapping[float, DrawnRange] = dataclasses.field(default_factory=dict)
    # draws without positives scored below any that was met; None if there are none such
    aside: DrawnRange | None = None
    # ends at this number of a band of all draws of a curve; None without a band
    ends_of_band: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()  # why there are no draws, if a reader must know

    @functools.cached_property
    def known(self) -> DrawnRange | None:
        """The draws if cells fix enough of them for value and chance, else None."""
        drawn = self.drawn
        is_known = drawn is not None and drawn.defined.any() and drawn.is_informative
        return drawn if is_known else None

    @functools.cached_property
    def _mean(self) -> tuple[float | None, float | None]:
        """The weighted means of the design's value and the median of draws, and of their errors."""
        value, error, drawn = self.design.value, self.design.standard_error, self.known
        if value is None or error is None or drawn is None or not self.pull:
            return value, error
        deviation = math.sqrt(drawn.variance)
        if error == 0 and deviation == 0:
            return value, error
        value = (1 - self.pull) * value + self.pull * drawn.median
        if self.design.claims:
            value = min(max(value, self.design.low), self.design.high)
        return value, (1 - self.pull) * error + self.pull * deviation

    @property
    def value(self) -> float | None:
        """The design's value, moved towards the median of draws."""
        return self._mean[0]

    @property
    def error(self) -> float | None:
        """Standard error of the value."""
        return self._mean[1]

    @functools.cached_property
    def interval(self) -> Interval | None:
        """The model-based interval, None where draws or cells leave too much open."""
        if self.drawn is None or self.drawn.defined.mean() < 1 - _MOST_UNDEFINED:
            return None
        interval = self._holding(self.drawn)
        is_whole = (interval.low, interval.high) == self.design.target.bounds
        return None if is_whole and self.drawn.gap > 0 else interval

    @property
    def band(self) -> list[Interval]:
        """The simultaneous interval, none of a number that is on no curve."""
        if self.ends_of_band is None:
            return []
        of_design, method = self.design.interval(SIMULTANEOUS), f"{self.method}, {SIMULTANEOUS}"
        return [self._averaged(*self.ends_of_band, of_design, method)]

    @property
    def sensitivity(self) -> tuple[Sensitivity, ...]:
        """The interval under other shares of hidden positives."""
        others = {share: self._holding(drawn) for share, drawn in self.other_shares.items()}
        return tuple(Sensitivity(share, each.low, each.high) for share, each in others.items())

    @property
    def without_unmet(self) -> Interval | None:
        """The part of the interval without positives that score below all labelled positives.

        None if it is nothing. Draws without them have more of a measure than the draws that they
        were: they say which part is left, not how far it would reach elsewhere.
        """
        if self.aside is None or self.interval is None or not self.aside.defined.any():
            return None
        left = self._holding(self.aside)
        low, high = max(left.low, self.interval.low), min(left.high, self.interval.high)
        return Interval(low, high, MODEL_BASED, self.method) if low <= high else None

    @property
    def test(self) -> Significance | None:
        """The test of two systems that goes with the interval; None of other numbers.

        The p-value is the least error probability at which the interval leaves out what equal
        systems have. Below the share of one draw the interval goes on as a normal one, and is 0
        where all draws agree.
        """
        null = self.design.target.null
        if null is None or self.drawn is None or self.interval is None:
            return None
        level = round(1 - self.design.confidence, 12)  # .05 and not .0500...04
        out, within = (level, 0.0) if self._side(null, level) else (1.0, level)
        floor = 1 / len(self.drawn.low)
        while out > floor and out - within > _FINENESS * out:
            middle = (out + within) / 2
            out, within = (middle, within) if self._side(null, middle) else (out, middle)
        side, p_value = self._side(null, out), out
        if side and out <= floor:
            ends = self._at(out)
            width, off = ends.high - ends.low, abs(2 * null - ends.low - ends.high)
            distance = off / width if width else math.inf
            p_value = two_sided_p_value(distance * float(scipy.special.ndtri(1 - out / 2)))
        chance = {-1: p_value / 2, 0: 0.5, 1: 1 - p_value / 2}[side]
        return Significance(p_value, chance_above=chance)

    def _at(self, level: float) -> Interval:
        """Return the interval with an error probability, on a number with draws."""
        assert self.drawn is not None
        return self._holding(self.drawn, 1 - level)

    def _side(self, null: float, level: float) -> int:
        """Return 1 if the interval with an error probability is above a value, -1 below, else 0."""
        interval = self._at(level)
        return int(interval.low > null + TIE) - int(interval.high < null - TIE)

    def _holding(self, drawn: DrawnRange, confidence: float | None = None) -> Interval:
        """Return an interval of some draws, averaged with the design's.

        Of another confidence than the design's, that is stretched about its middle as a normal one.
        """
        own, design = self.design.confidence, self.design.intervals[0]
        confidence = confidence or own
        reaches = scipy.special.ndtri((1 + np.array([confidence, own])) / 2)
        more = (design.high - design.low) / 2 * float(reaches[0] / reaches[1] - 1)
        stretched = dataclasses.replace(design, low=design.low - more, high=design.high + more)
        ends = drawn.interval(share_held(confidence, self.evidence))
        return self._averaged(*ends, stretched, self.method)

    def _averaged(
        self, low: float, high: float, of_design: Interval | None, method: str
    ) -> Interval:
        """Return ends of draws, averaged with the design's claim, around the value.

        They extend to a bound that the labelled rows alone attain.
        """
        lowest, highest = self.design.target.bounds
        if not (np.isfinite(low) and np.isfinite(high)):
            return Interval(lowest, highest, MODEL_BASED, method)
        if self.design.claims and of_design is not None:
            least, greatest = (low, high) if self.holds_draws else (math.inf, -math.inf)
            low = min((1 - self.weight) * of_design.low + self.weight * low, least)
            high = max((1 - self.weight) * of_design.high + self.weight * high, greatest)
        if self.value is not None:
            low, high = min(low, self.value), max(high, self.value)
        low = lowest if self.observed == lowest else low
        high = highest if self.observed == highest else high
        return Interval(low, high, MODEL_BASED, method)


def by_model(estimates: Sequence[Estimate], estimand: Estimand, band: bool) -> list[DrawnNumber]:
    """Return the components of a measure by the model of the labels; without draws if it has none.

    The weight of the draws is 1 where the model assumes no more than the design does. A value is
    weighted by the error estimated from labels, an interval by the one `between` that and the
    error that the draws predict.
    """
    measure, inputs, model = estimand.measure, estimand.inputs, estimand.inputs.model
    # Rows that are predicted alike are alike in the pool, and may not be in a slice of it.
    of_slice = not estimand.is_pool or measure.has_slices
    if model is None or not len(inputs.history.labelled) or (model.is_exact and of_slice):
        return [DrawnNumber(one) for one in estimates]
    if model.contradiction is not None:
        reason = (
            "scores and labels do not fit a curve, so value and interval are the design's alone: "
            f"{model.contradiction}"
        )
        return [DrawnNumber(one, notes=(f"{one.target.title}: {reason}",)) for one in estimates]
    predictive = model.within(estimand.domain)
    expected = estimand.expected_error(model.mean_rates)
    evidence = estimand.fewest_rows(predictive).tolist()
    effects = [each.cluster_effect or 1.0 for each in estimates]
    effect = np.array(effects) if max(effects) > 1 else None
    in_logs = all(each.value and each.target.null == 1 for each in estimates)
    if in_logs:
        expected = expected / np.array([each.value for each in estimates])
        estimates = [each.rescaled(np.log, (-math.inf, math.inf)) for each in estimates]
    own = OwnProbabilities.of_labelled(estimand.linearisation)
    of_measure = DrawnMeasure(measure, model.seed, own, effect, in_logs)
    ends = of_measure.ends(predictive)
    drawn = ranges_of(ends)
    is_number_of_pool = estimand.is_pool and len(estimates) == 1
    other_shares, aside = {}, None
    for share in model.other_shares if is_number_of_pool else ():
        of_draws = model.weights(share)[predictive.of_draw]
        if effective_size(of_draws) >= FEWEST_EFFECTIVE:
            other_shares[share] = dataclasses.replace(drawn[0], weight=of_draws)
        else:  # the prior's spread is small, so hardly any draw lies where the new prior does
            of_share = model.with_share(share).within(estimand.domain)
            (other_shares[share],) = ranges_of(of_measure.ends(of_share))
    if is_number_of_pool and predictive.without_unmet is not None:
        (aside,) = ranges_of(of_measure.ends(predictive.without_unmet))
    observed = of_measure.told(value_among(measure, model.history, estimand.domain)).tolist()
    bands = _band(ends, estimates, of_measure, model) if band and len(drawn) > 1 else None
    is_exact, of_known_rows = model.is_exact, measure.is_of_known_rows
    least = 0.0 if inputs.combine else NARROW
    is_sure = model.table.kinds.prediction.shape[1] < 2 and not measure.finds_threshold
    holds_draws = not (is_exact or of_known_rows or is_sure)
    numbers = []
    for i, (design, of_number) in enumerate(zip(estimates, drawn, strict=True)):
        if estimand.evidence[i].unseen is not None:
            numbers.append(DrawnNumber(design))
            continue
        pull = weight = 1.0
        if not is_exact:
            bias = bias_of_draws(design, of_number) if of_known_rows else 0.0
            error = between(design.standard_error, float(expected[i]), least)
            pull = weight_of_draws(design.standard_error, of_number, bias)
            weight = weight_of_draws(error, of_number, bias)
        numbers.append(
            DrawnNumber(
                design,
                of_number,
                weight,
                pull if inputs.combine else 0.0,
                evidence[i],
                observed[i],
                of_known_rows and not is_exact,
                model.table.classes == 2,
                holds_draws,
                model.method,
                other_shares,
                aside,
                None if bands is None else bands[i],
            )
        )
    return numbers


def bias_of_draws(estimate: Estimate, drawn: DrawnRange) -> float:
    """Return how far draws are off, as far as the design-based estimate tells, at least 0.

    It is the root of what their squared distance leaves of both variances.
    """
    if not estimate.standard_error or estimate.value is None or not drawn.defined.any():
        return 0.0
    left = (estimate.value - drawn.median) ** 2 - estimate.standard_error**2 - drawn.variance
    return math.sqrt(max(left, 0.0))


def weight_of_draws(error: float | None, drawn: DrawnRange, bias: float = 0.0) -> float:
    """Return the weight, in [0, 1], of the draws of a number beside its design-based estimate.

    The root of the inverse-variance weight, since the estimated variance of the design is too small
    where draws matter most. It is 1 where the design has no error, or one of 0.
    """
    if not error or not drawn.defined.any():
        return 1.0
    return error / math.hypot(error, math.sqrt(drawn.variance), bias)


def between(error: float | None, expected: float, least: float = 0.0) -> float | None:
    """Return the geometric mean of a standard error and the error that draws predict.

    The one estimated from labels is too small until the rows that matter most are labelled; the
    predicted one is too large if fewer positives are hidden than the prior expects.

    `least`: share of the predicted one, which is returned if the estimated one is below: `NARROW`
    of estimates from weights alone, 0 where the model stands for rows without a label.
    """
    if not error:
        return error
    if error < least * expected:
        return expected
    return math.sqrt(error * expected) if expected > 0 else error


def _band(
    ends: tuple[FloatArray, FloatArray],
    estimates: Sequence[Estimate],
    of_measure: "DrawnMeasure",
    model: LabelModel,
) -> list[tuple[float, float]]:
    """Return the m ends of a band that holds a share of the curves entirely.

    It does so under the expected share of hidden positives, half of it and twice of it, on which
    points near the bottom of the ranking depend, and holds the design-based value of each point.
    """
    confidence = estimates[0].confidence
    others = [model.with_share(share).everywhere for share in model.other_shares]
    draws = [ends, *map(of_measure.ends, others)]
    value = np.array([np.nan if each.value is None else each.value for each in estimates])
    low = np.fmin.reduce([value, *(simultaneous(least, confidence)[0] for least, _ in draws)])
    high = np.fmax.reduce([value, *(simultaneous(most, confidence)[1] for _, most in draws)])
    least, greatest = np.transpose([estimate.target.bounds for estimate in estimates])
    ends_of_band = (np.clip(end, least, greatest).tolist() for end in (low, high))
    return list(zip(*ends_of_band, strict=True))


def share_held(confidence: float, evidence: int) -> float:
    """Return the share of draws that an interval must hold, above its nominal confidence.

    The error probability is multiplied by `DRAWS_ERR`, and by a factor from `LEAST_ERROR` with
    `FEWEST_EVIDENCE` rows to 1 with `FULL_EVIDENCE`: samples that have enough rows for an interval
    by chance miss more often.
    """
    wanting = (FULL_EVIDENCE - evidence) / (FULL_EVIDENCE - FEWEST_EVIDENCE)
    return 1 - (1 - confidence) * DRAWS_ERR * LEAST_ERROR ** min(max(wanting, 0.0), 1.0)


@dataclasses.dataclass(frozen=True)
class DrawnMeasure:
    """A measure, with its value for each draw of all labels."""

    measure: Measure
    seed: Sequence[int]  # seed of the model of the labels
    # what the rows' own probabilities add to the measure; None if they add nothing
    own: OwnProbabilities | None = None
    # (m,): by which the variance of the draws is multiplied, as labels of a cluster are more alike
    # than the model knows; None for 1
    cluster_effect: FloatArray | None = None
    # whether draws are of the logarithm, so that a ratio is told as its inverse is
    in_logs: bool = False

    def ends(self, predictive: Predictive) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest value of each draw, shape (draws, m) each."""
        low, high = predictive.bounds(self.measure)
        if self.cluster_effect is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # One may be undefined in all.
                median = np.nanmedian((low + high) / 2, axis=0)
            least, greatest = np.transpose([each.bounds for each in self.measure.components])
            spread = (median + np.sqrt(self.cluster_effect) * (end - median) for end in (low, high))
            low, high = (np.clip(end, least, greatest) for end in spread)
        if self.own is not None:
            place = predictive.domain.column, predictive.domain.value
            rng = np.random.Generator(np.random.PCG64([*self.seed, *place, 3]))
            noise = rng.standard_normal(len(low))
            low, high = self.own.added_to(low, noise), self.own.added_to(high, noise)
        return self.told(low), self.told(high)

    def told(self, values: FloatArray) -> FloatArray:
        """Return values, or their logarithms if the logarithm is estimated."""
        with np.errstate(divide="ignore"):
            return np.log(values) if self.in_logs else values


def ranges_of(ends: tuple[FloatArray, FloatArray]) -> list[DrawnRange]:
    """Return the draws of each component, from their ends, shape (draws, m) each."""
    return [DrawnRange(low, high) for low, high in zip(ends[0].T, ends[1].T, strict=True)]
