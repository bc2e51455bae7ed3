"""Measures of scores, over thresholds tau_1 < ... < tau_L: curves, and areas below them.

All have the loss of the precision-recall curve of [MR] table 1,

    l = [1[s >= tau_i] (L), y 1[s >= tau_i] (L), y],    R = [F_i (L), T_i (L), P],

which depends on a row only through y and its bin, the number of thresholds that its score s
reaches. So sums of losses are cumulative sums of counts, norms are cumulative sums over the
thresholds, and neither needs a matrix.
"""

import abc
import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np

from evalsampling.measures.base import Component, Measure, Share, divide, set_own, takes_columns
from evalsampling.measures.binary import ROUNDING, is_inside
from evalsampling.spec.parameters import check_parameters
from evalsampling.spec.values import UpToOne
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.derivatives import partial_derivatives
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class Thresholded(Measure):
    """A measure of scores, over thresholds. The evidence is the positives.

    Attributes:
        thresholds: L finite numbers, strictly increasing; a spec may give their number instead.
        positive: code of the positive class.
    """

    thresholds: tuple[float, ...]
    positive: int = 1
    system: int = 0
    evidence_name = "positives"
    looks_at = frozenset({"score"})
    usual_thresholds: ClassVar[int] = 1024
    """The default of L, from [MR] section 5.3."""

    def __post_init__(self) -> None:
        if not self.thresholds:
            raise ValueError(f"{self.name} needs at least one threshold")
        if not (np.isfinite(self._edges).all() and (np.diff(self._edges) > 0).all()):
            raise ValueError(f"thresholds of {self.name} must be finite and strictly increasing")

    @property
    def size(self) -> int:
        return 2 * len(self.thresholds) + 1

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        bins, y = self._bins(outputs, label)
        reached = bins[:, None] > np.arange(len(self.thresholds))
        positive = y[:, None] == 1
        return np.concatenate([reached, reached & positive, positive], axis=1).astype(np.float64)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return label == self.positive

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the positives and the negatives: an area needs enough labels of both."""
        return (
            Share("positives", "positives", label == self.positive),
            Share("negatives", "negatives", label != self.positive),
        )

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        bins, y = self._bins(outputs, label)
        length = len(self.thresholds) + 1
        rows = _from_above(bins, weight, length)
        positives = _from_above(bins, weight * y, length)
        return np.concatenate([rows[1:], positives[1:], positives[:1]])

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        bins, y = self._bins(outputs, label)
        return (bins > 0) | (y == 1)

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        return bool(np.array_equal(self._reached(low), self._reached(high)))

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return self.adds(high, label)

    def squared_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        bins, y = self._bins(outputs, label)
        return self._squares(risk)[y, bins]

    @abc.abstractmethod
    def _squares(self, risk: FloatArray) -> FloatArray:
        """Return ||Dg(risk) l||^2 for y of 0 and 1 and every bin, shape (2, L + 1)."""

    @functools.cached_property
    def _edges(self) -> FloatArray:
        return np.array(self.thresholds, dtype=np.float64)

    def _reached(self, outputs: Outputs) -> IntArray:
        """Return how many thresholds each row reaches, shape (n,)."""
        return np.searchsorted(self._edges, outputs.score[:, self.system], side="right")

    def _bins(self, outputs: Outputs, label: IntArray) -> tuple[IntArray, IntArray]:
        """Return how many thresholds each row reaches, and y as a number, each of shape (n,)."""
        return self._reached(outputs), (label == self.positive).astype(np.int64)

    def _parts(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, Any]:
        """Return F and T, each of shape (L,) or (L, n), and P, a number or of shape (n,)."""
        length = len(self.thresholds)
        return risk[:length], risk[length:-1], risk[-1]


def _from_above(bins: IntArray, weight: FloatArray, length: int) -> FloatArray:
    """Return for every bin the weight in it and above: exactly 0 where no row is."""
    return np.cumsum(np.bincount(bins, weight, length)[::-1], dtype=np.float64)[::-1]


def _from_below(terms: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, ..., L terms."""
    return np.concatenate([[0.0], np.cumsum(terms)])


def _roc_points(passed: FloatArray, hits: FloatArray, positives: FloatArray) -> FloatArray:
    """Return true and false positive rates, shape (2, L, ...): NaN without such rows."""
    share = np.real(positives)
    negatives = np.where(share < 1 - ROUNDING, 1 - positives, 0.0)
    true_rate = divide(hits, np.where(share > 0, positives, 0.0))
    return np.array([true_rate, divide(passed - hits, negatives)])


class Curve(Thresholded):
    """k values at each threshold, each a function of F_i, T_i and P."""

    words: ClassVar[tuple[str, ...]]
    follow: ClassVar[frozenset[str]] = frozenset()
    """Values that follow from the others, so that rows are drawn for the others alone."""
    shares_of: ClassVar[tuple[tuple[str, tuple[str, ...], str, str, str, str, str], ...]]
    """Each share: name, values that depend on it, rows in words, their kind, that of hits, a hit
    and a miss."""

    @abc.abstractmethod
    def points(self, passed: FloatArray, hits: FloatArray, positives: FloatArray) -> FloatArray:
        """Return the values, shape (k, L) or (k, L, n), given F, T and P: see `_parts`."""

    @takes_columns
    def value(self, risk: FloatArray) -> FloatArray:
        return np.concatenate(self.points(*self._parts(risk)))

    def _partials(self, risk: FloatArray) -> FloatArray:
        """Return the derivatives for F_i, T_i and P, shape (3, k, L): NaN where undefined."""
        return partial_derivatives(self.points, *self._parts(risk))

    @functools.cached_property
    def components(self) -> tuple[Component, ...]:
        """The first value at each threshold, then the second, and so on."""
        return tuple(
            self._component(f".{word}", threshold=threshold, follows=word in self.follow)
            for word in self.words
            for threshold in self.thresholds
        )

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        length, positive = len(self.thresholds), (label == self.positive)[:, None]
        rows = {
            "reached": outputs.score[:, [self.system]] >= self._edges,
            "positive": np.broadcast_to(positive, (len(label), length)),
            "negative": np.broadcast_to(~positive, (len(label), length)),
        }
        return tuple(
            Share(share, name, rows[kind], rows[hits], hit, miss, (start, start + length))
            for share, words, name, kind, hits, hit, miss in self.shares_of
            for start in [length * self.words.index(word) for word in words]
        )

    def jacobian(self, risk: FloatArray) -> FloatArray:
        length = len(self.thresholds)
        by_rows, by_hits, by_positives = self._partials(risk)
        result = np.zeros((len(self.words), length, 2 * length + 1))
        place = np.arange(length)
        result[:, place, place] = by_rows
        result[:, place, length + place] = by_hits
        result[:, :, -1] = by_positives
        result[np.isnan(by_rows + by_hits + by_positives)] = np.nan
        return result.reshape(-1, 2 * length + 1)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l of each row, worked out once for each bin and y."""
        bins, y = self._bins(outputs, label)
        distinct, which = np.unique(2 * bins + y, return_inverse=True)
        reached = (distinct // 2)[:, None, None] > np.arange(len(self.thresholds))
        positive = (distinct % 2)[:, None, None]
        by_rows, by_hits, by_positives = self._partials(risk)
        result = reached * (by_rows + positive * by_hits) + positive * by_positives
        return result.reshape(len(distinct), len(self.components))[which]

    def _squares(self, risk: FloatArray) -> FloatArray:
        drawn_for = [word not in self.follow for word in self.words]
        by_rows, by_hits, by_positives = self._partials(risk)[:, drawn_for]
        negative = np.nansum(by_rows**2, axis=0)
        reached = np.nansum((by_rows + by_hits + by_positives) ** 2, axis=0)
        missed = np.nansum(by_positives**2, axis=0)
        above = _from_below(missed[::-1])[::-1]
        return np.stack([_from_below(negative), _from_below(reached) + above])


@dataclasses.dataclass(frozen=True)
class PRCurve(Curve):
    """Precision T_i / F_i, recall T_i / P ([MR] table 1) and F1 at each threshold.

    F1 is 2 T_i / (F_i + P). Precision is undefined where no row reaches the threshold, recall
    without positives, F1 where both are.
    """

    scale_free = True
    name = "pr_curve"
    undefined_without = "positives, or no rows at or above it"
    words = ("precision", "recall", "f1")
    follow = frozenset({"f1"})
    shares_of = (
        ("precision", ("precision", "f1"), "rows at or above it", "reached", "positive",
         "positive", "negative"),
        ("recall", ("recall", "f1"), "positives", "positive", "reached",
         "positive above", "positive below"),
    )  # fmt: skip

    def points(self, passed: FloatArray, hits: FloatArray, positives: FloatArray) -> FloatArray:
        f1 = divide(2 * hits, passed + positives)
        return np.array([divide(hits, passed), divide(hits, positives), f1])


@dataclasses.dataclass(frozen=True)
class ROCCurve(Curve):
    """True positive rate T_i / P and false positive rate (F_i - T_i) / (1 - P) at each threshold.

    The first is undefined without positives, the second without negatives.
    """

    name = "roc_curve"
    undefined_without = "positives, or no negatives"
    words = ("true_positive_rate", "false_positive_rate")
    shares_of = (
        ("true_positive_rate", ("true_positive_rate",), "positives", "positive", "reached",
         "positive above", "positive below"),
        ("false_positive_rate", ("false_positive_rate",), "negatives", "negative", "reached",
         "negative above", "negative below"),
    )  # fmt: skip

    def points(self, passed: FloatArray, hits: FloatArray, positives: FloatArray) -> FloatArray:
        return _roc_points(passed, hits, positives)


class Area(Thresholded):
    """Base of measures that are one number of a whole curve."""

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        bins, y = self._bins(outputs, label)
        return self._influences(risk)[y, bins][:, None]

    def _squares(self, risk: FloatArray) -> FloatArray:
        return np.nan_to_num(self._influences(risk) ** 2)

    def _influences(self, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l for y of 0 and 1 and every bin, shape (2, L + 1)."""
        slope = self.jacobian(risk)[0]
        if np.isnan(slope).any():
            return np.full((2, len(self.thresholds) + 1), np.nan)
        by_rows, by_hits, by_positives = self._parts(slope)
        return np.stack([_from_below(by_rows), _from_below(by_rows + by_hits) + by_positives])


@dataclasses.dataclass(frozen=True)
class AveragePrecision(Area):
    """Average precision: g(R) = sum_i (r_i - r_{i+1}) T_i / F_i, r_i = T_i / P, r_{L+1} = 0.

    As scikit-learn has it, if the thresholds are the scores. Where no row reaches a threshold
    there is no recall to add, so the term is 0. Undefined without positives.
    """

    scale_free = True
    name = "average_precision"

    def value(self, risk: FloatArray) -> FloatArray:
        passed, hits, positives = self._parts(risk)
        gain = hits - np.append(hits[1:], 0)
        return divide(np.sum(gain * divide(hits, passed, 0.0), keepdims=True), positives)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        passed, hits, positives = self._parts(risk)
        if not positives:
            return np.full((1, len(risk)), np.nan)
        gain = hits - np.append(hits[1:], 0)
        precision = divide(hits, passed, 0.0)
        per_row = divide(gain, passed, 0.0)
        by_hits = precision + per_row - np.append(0, precision[:-1])
        by_positives = -np.sum(gain * precision) / positives
        return np.concatenate([-per_row * precision, by_hits, [by_positives]])[None] / positives


@dataclasses.dataclass(frozen=True)
class ROCArea(Area):
    """Area below the ROC curve, by trapezoids from (0, 0) over its points to (1, 1).

    As scikit-learn has it, if the thresholds are the scores. Undefined without positives or
    without negatives.
    """

    name = "roc_auc"
    undefined_without = "positives, or no negatives"

    def value(self, risk: FloatArray) -> FloatArray:
        rise, run = (np.concatenate([[1], rate, [0]]) for rate in _roc_points(*self._parts(risk)))
        return np.sum((run[:-1] - run[1:]) * (rise[:-1] + rise[1:]), keepdims=True) / 2

    def jacobian(self, risk: FloatArray) -> FloatArray:
        passed, hits, positives = self._parts(risk)
        if not is_inside(positives):
            return np.full((1, len(risk)), np.nan)
        true_rate, false_rate = _roc_points(passed, hits, positives)
        rise, run = (np.concatenate([[1], rate, [0]]) for rate in (true_rate, false_rate))
        by_rise = (run[:-2] - run[2:]) / 2 / positives
        by_run = (rise[2:] - rise[:-2]) / 2 / (1 - positives)
        by_positives = by_run @ false_rate - by_rise @ true_rate
        return np.concatenate([by_run, by_rise - by_run, [by_positives]])[None]


@dataclasses.dataclass(frozen=True)
class PrecisionAtRecall(Area):
    """Precision at the threshold where recall has a given value r.

    g(R) = T* / F* with T* = r P; F*, the share of rows that reach the threshold where T* positives
    do, is interpolated between the two neighbouring thresholds. All rows reach a threshold below
    the first, none one above the last. Undefined without positives.

    Attributes:
        recall: r, in (0, 1].
    """

    scale_free = True
    finds_threshold = True
    recall: UpToOne = 0.9
    usual_thresholds = 128

    def __post_init__(self) -> None:
        check_parameters(self)
        set_own(self, name=f"precision_at_recall({self.recall:g})")
        super().__post_init__()

    def value(self, risk: FloatArray) -> FloatArray:
        if not np.real(risk[-1]) > 0:
            return np.full(1, np.nan)
        place, share, passed, _ = self._around(risk)
        rows = passed[place + 1] + share * (passed[place] - passed[place + 1])
        return np.array([self.recall * risk[-1] / rows])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return derivatives, by rates that never fall: a step that is met is high by luck."""
        if not risk[-1] > 0:
            return np.full((1, len(risk)), np.nan)
        place, share, passed, hits = self._around(risk)
        rise, run = (part[: place + 1, None] - part[place + 1 :] for part in (hits, passed))
        rate, precision = np.max(np.min(rise / run, axis=1)), self.value(risk)[0]  # Isotonic.
        moved = np.zeros_like(passed)
        moved[place : place + 2] = np.array([share, 1 - share]) * precision**2 / self.recall
        by_positives = precision * (1 - precision / rate) + moved[0] / rate
        slopes = np.concatenate([-moved[1:-1], moved[1:-1] / rate, [by_positives]])
        return slopes[None] / risk[-1]

    def _around(self, risk: FloatArray) -> tuple[int, FloatArray, FloatArray, FloatArray]:
        """Return the place of the threshold below, the share of its step, and all F and T."""
        passed, hits, positives = self._parts(risk)
        passed, hits = np.concatenate([[1], passed, [0]]), np.concatenate([[positives], hits, [0]])
        wanted = self.recall * positives
        place = int(np.flatnonzero(np.real(hits) >= np.real(wanted) * (1 - ROUNDING))[-1])
        share = (wanted - hits[place + 1]) / (hits[place] - hits[place + 1])
        return place, share, passed, hits
