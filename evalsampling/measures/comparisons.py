"""Comparisons of two systems: the difference or the ratio of their values of one measure.

Both values come from the same labels, so their errors are correlated; the Jacobian of the
comparison accounts for it.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, Potsdam 2012, section 3.2.1
    and chapter 5.
"""

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from evalsampling.measures.base import PREDICTION, Component, Mean, Measure, Share, divide, set_own
from evalsampling.measures.joint import Joint, OfParts, is_part_of, parts_of
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.derivatives import partial_derivatives
from evalsampling.stats.outputs import Outputs

GUARD = 0.1
"""Weight of both systems' own losses in the size of the loss of their comparison.

Where both systems are expected to have the same value, the contributions of rows on which they
agree cancel. Such rows would hardly ever be drawn, and the estimate would be far off if the values
differ after all."""


@dataclasses.dataclass(frozen=True)
class Comparison(OfParts):
    """A measure of one system compared with the same measure of another one."""

    first: Measure
    other: Measure
    kind = "comparison"

    def __post_init__(self) -> None:
        first, other = self.first, self.other
        reason = _obstacle(first, other)
        if reason:
            raise ValueError(f"{first.name} cannot be compared: {reason}")
        set_own(
            self,
            name=f"{self.kind}({first.name})",
            system=first.system,
            evidence_name=first.evidence_name,
            looks_at=first.looks_at | other.looks_at,
            has_slices=first.has_slices,
        )

    @property
    def parts(self) -> tuple[Measure, ...]:
        return (self.first, self.other)

    @property
    def is_of_known_rows(self) -> bool:
        return all(part.is_of_known_rows for part in self.parts)

    @property
    def systems(self) -> tuple[int, ...]:
        return (self.first.system, self.other.system)

    @abc.abstractmethod
    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        """Return the comparison of the values of the two systems."""

    def extremes(
        self, first: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the least and greatest comparison of values between bounds, NaN if undefined."""
        # It rises with the first value and falls with the other.
        low, high = self.compare(first[0], other[1]), self.compare(first[1], other[0])
        is_defined = np.isfinite(low) & np.isfinite(high)
        return np.where(is_defined, low, np.nan), np.where(is_defined, high, np.nan)

    @functools.cached_property
    def both(self) -> Joint:
        """The two measures side by side."""
        return Joint(self.parts)

    def value(self, risk: FloatArray) -> FloatArray:
        return self.compare(*np.split(self.both.value(risk), 2))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        first, other = np.split(self.both.jacobian(risk), 2)
        by_first, by_other = self._slopes(risk)
        return by_first[:, None] * first + by_other[:, None] * other

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        first, other = np.split(self.both.influence(outputs, label, risk), 2, axis=1)
        by_first, by_other = self._slopes(risk)
        return first * by_first + other * by_other

    def _slopes(self, risk: FloatArray) -> FloatArray:
        """Return the derivatives for both values, shape (2, m), NaN where undefined."""
        return partial_derivatives(self.compare, *np.split(self.both.value(risk), 2))

    def proposal_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the size of each row's loss, with a part of both systems' own: see `GUARD`."""
        guard = self.both.squared_norm(outputs, label, risk)
        return np.asarray(np.sqrt(self.squared_norm(outputs, label, risk) + GUARD**2 * guard))

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        return (
            *self.first.shares(outputs, label),
            *self.other.shares(outputs, label),
            Share(self.name, "rows where the systems differ", ~self.agrees(outputs)),
        )

    def agrees(self, outputs: Outputs) -> BoolArray:
        """Return the rows where the systems have the same of the outputs looked at, shape (n,)."""
        first, other = self.first.system, self.other.system
        same = np.ones(len(outputs), dtype=bool)
        if "prediction" in self.looks_at:
            same &= outputs.prediction[:, first] == outputs.prediction[:, other]
        if "score" in self.looks_at:
            same &= outputs.score[:, first] == outputs.score[:, other]
        if "probability" in self.looks_at:
            same &= np.all(outputs.probability[:, first] == outputs.probability[:, other], axis=1)
        if "grades" in self.looks_at:
            # The prediction of a query says whether the list differs from the first system's.
            same &= np.all(outputs.prediction[:, [first, other]] == 0, axis=1)
        return same


@dataclasses.dataclass(frozen=True)
class Difference(Comparison):
    """The value of a measure of one system minus that of another: g(R) = g1(R1) - g2(R2)."""

    kind = "difference"

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(
            dataclasses.replace(part, bounds=(low - high, high - low), against=self.other.system)
            for part in self.first.components
            for low, high in [part.bounds]
        )

    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        return first - other


@dataclasses.dataclass(frozen=True)
class MeanDifference(Difference):
    """The difference of an affine measure, as a mean loss: l = Dg (l1 - l2), g(R) = R.

    Rows on which both systems have the same loss add nothing, so their labels are not needed.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.first.affine:
            raise ValueError(f"{self.first.name} is not affine in its mean loss")

    @property
    def size(self) -> int:
        return len(self.first.components)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        influence = self.both.influence(outputs, label, np.zeros(self.both.size))
        return np.subtract(*np.split(influence, 2, axis=1))

    value = Mean.value
    jacobian = Mean.jacobian
    influence = Measure.influence
    mean_loss = Measure.mean_loss
    proposal_norm = Measure.proposal_norm
    may_add = Measure.may_add
    must_add = Measure.must_add

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have a nonzero loss, or which queries may have one, shape (n,)."""
        if "grades" in self.looks_at and outputs.grades is None:
            return ~self.agrees(outputs)
        return Measure.adds(self, outputs, label)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return self.adds(outputs, label)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        favouring = Share(self.name, "rows that favour one system", self.adds(outputs, label))
        return (*super().shares(outputs, label)[:-1], favouring)


@dataclasses.dataclass(frozen=True)
class Quotient(Comparison):
    """The value of a measure of one system divided by that of another: g(R) = g1(R1) / g2(R2).

    Undefined where the other value is 0. A measure that can be negative has none, since a larger
    ratio need not mean a better system.
    """

    kind = "ratio"

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(component.bounds[0] < 0 for component in self.first.components):
            raise ValueError(
                f"{self.first.name} can be negative, so it has no ratio: ask for the difference"
            )

    @property
    def components(self) -> tuple[Component, ...]:
        return tuple(
            dataclasses.replace(
                part, name=f"ratio({part.name})", bounds=(0.0, np.inf), against=self.other.system
            )
            for part in self.first.components
        )

    @property
    def undefined_without(self) -> str:
        return f"{super().undefined_without}, or no {self.first.name} of the second but 0"

    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        return divide(first, other)


def are_comparable(first: Measure, other: Measure) -> bool:
    """Tell whether two measures, of one system each, can be compared."""
    return not _obstacle(first, other)


def _obstacle(first: Measure, other: Measure) -> str:
    """Return why two measures cannot be compared, empty if they can."""
    if (type(first), first.name) != (type(other), other.name) or first.system == other.system:
        return (
            f"it takes one measure of two systems, not that of {first.system} and {other.name} of "
            f"{other.system}"
        )
    if not (first.looks_at and first.of_system):
        return "it is of no system"
    left, right = ([part.threshold for part in measure.components] for measure in (first, other))
    if not first.incomparable and left != right:
        return "its points are at other thresholds of each system's score; list the thresholds"
    return first.incomparable


def difference(first: Measure, other: Measure) -> Difference:
    """Return the difference of a measure of two systems, a mean loss if the measure is affine."""
    return (MeanDifference if first.affine else Difference)(first, other)


def pairs_of(measure: Measure) -> tuple[Difference, ...]:
    """Return a measure's differences, and those of all pairs of systems that its parts are of."""
    parts = parts_of(measure)
    listed = [part for part in parts if isinstance(part, Difference)]
    own = [part for part in parts if not isinstance(part, Comparison)]
    pairs = [
        difference(first, other)
        for first, other in itertools.combinations(own, 2)
        if are_comparable(first, other)
    ]
    return (*listed, *pairs)


def is_aimed_at(measure: Measure, driver: Measure) -> bool:
    """Tell whether a measure, or all that it compares or picks from, is part of the driving one."""
    if is_part_of(measure, driver):
        return True
    if isinstance(measure, Joint) or not isinstance(measure, OfParts):
        return False
    return all(is_part_of(part, driver) for part in measure.parts)


BY_KIND: Mapping[str, Callable[[Measure, Measure], Comparison]] = {
    "difference": difference,
    "ratio": Quotient,
}
"""Comparisons that a spec may name."""


def is_nil(measure: Measure, outputs: Outputs) -> bool:
    """Tell whether a measure is a difference of systems that agree on a row of each kind."""
    is_exact = measure.looks_at <= PREDICTION or measure.looks_at == frozenset({"grades"})
    if not isinstance(measure, Difference) or not is_exact:
        return False
    return bool(measure.agrees(outputs).all())
