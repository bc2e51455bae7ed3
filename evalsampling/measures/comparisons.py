"""One measure of two systems, compared: the difference or the ratio of its values.

Both values come from the same labels, so their errors go together; the Jacobian of the two tells
by how much.

References:
    C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, section 3.2.1
    and chapter 5.
"""

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from evalsampling.measures.base import (
    PREDICTION,
    BoolArray,
    Component,
    FloatArray,
    IntArray,
    Measure,
    Share,
)
from evalsampling.measures.joint import Joint, is_part_of, parts_of
from evalsampling.measures.mean_and_ratio import divide
from evalsampling.stats.outputs import Outputs

GUARD = 0.1
"""Share of the sizes of both systems' losses that stays in that of their difference.

Where both systems' values are expected to be the same, what rows on which the systems agree add to
the difference cancels. They would next to never be drawn, and the difference would be far off if
the values are not the same after all."""


@dataclasses.dataclass(frozen=True)
class Comparison(Measure):
    """A measure of one system compared with the same measure of another one.

    Attributes:
        first: of the one system.
        other: of the other one.

    Raises:
        ValueError: they are no two such measures, or such as have no comparison.
    """

    first: Measure
    other: Measure
    kind = "comparison"

    def __post_init__(self) -> None:
        """Check the two measures, and name the comparison."""
        one, other = self.first, self.other
        if (type(one), one.name) != (type(other), other.name) or one.system == other.system:
            raise ValueError(
                f"{one.name} of system {one.system} and {other.name} of system {other.system} "
                "cannot be compared: it takes one measure of two systems"
            )
        if not (one.looks_at and one.of_system):
            raise ValueError(f"{one.name} cannot be compared: it is of no system")
        if not are_comparable(one, other):
            raise ValueError(
                f"{one.name} cannot be compared: its points are at other thresholds of each "
                "system's score; list the thresholds"
            )
        object.__setattr__(self, "name", f"{self.kind}({one.name})")
        object.__setattr__(self, "system", one.system)
        object.__setattr__(self, "evidence_name", one.evidence_name)
        object.__setattr__(self, "looks_at", one.looks_at | other.looks_at)

    @property
    def undefined_without(self) -> str:
        """What either measure is undefined without."""
        return self.both.undefined_without

    @abc.abstractmethod
    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        """Return the comparison of the values of the two systems."""

    @abc.abstractmethod
    def slopes(self, first: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the comparison by the one value and by the other."""

    def extremes(
        self, first: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest comparison, of values of each system between ends.

        It rises with the one value and falls with the other.

        Args:
            first: least and greatest values of the one system, of any shape.
            other: of the other one, of the same shape.

        Returns:
            Of that shape each; NaN in both where it is undefined at either end.
        """
        low, high = self.compare(first[0], other[1]), self.compare(first[1], other[0])
        is_defined = np.isfinite(low) & np.isfinite(high)
        return np.where(is_defined, low, np.nan), np.where(is_defined, high, np.nan)

    @functools.cached_property
    def both(self) -> Joint:
        """The two measures side by side."""
        return Joint((self.first, self.other))

    @property
    def size(self) -> int:
        """The sum of the sizes of both."""
        return self.both.size

    @property
    def known(self) -> tuple[int, ...]:
        """Those of both."""
        return self.both.known

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the losses of both side by side, shape (n, d)."""
        return self.both.loss(outputs, label)

    def value(self, risk: FloatArray) -> FloatArray:
        """Return the comparison of both values, shape (m,): NaN where one is undefined."""
        return self.compare(*np.split(self.both.value(risk), 2))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return Dg, shape (m, d): NaN where a value is undefined."""
        first, other = np.split(self.both.jacobian(risk), 2)
        by_first, by_other = self.slopes(*np.split(self.both.value(risk), 2))
        return by_first[:, None] * first + by_other[:, None] * other

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return Dg(risk) l of each row, shape (n, m)."""
        first, other = self._influences(outputs, label, risk)
        by_first, by_other = self.slopes(*np.split(self.both.value(risk), 2))
        return first * by_first + other * by_other

    def proposal_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the size of each row's loss, some of that of both systems in it: see `GUARD`."""
        guard = self.both.squared_norm(outputs, label, risk)
        return np.asarray(np.sqrt(self.squared_norm(outputs, label, risk) + GUARD**2 * guard))

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Return sum_i weight_i l_i, shape (d,)."""
        return self.both.mean_loss(outputs, label, weight)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows add to either, shape (n,)."""
        return self.both.adds(outputs, label)

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        """Tell whether both are."""
        return self.both.is_settled(low, high)

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether a row between may add to either, shape (n,)."""
        return self.both.may_add(low, high, label)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether every row between adds to either, shape (n,)."""
        return self.both.must_add(low, high, label)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows are evidence for either, shape (n,)."""
        return self.both.evidence(outputs, label)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return those of both measures, and the rows on which the systems differ."""
        return (
            *self.first.shares(outputs, label),
            *self.other.shares(outputs, label),
            Share(self.name, "rows where the systems differ", ~self.agrees(outputs)),
        )

    def agrees(self, outputs: Outputs) -> BoolArray:
        """Return on which rows the two systems say the same, shape (n,).

        Of what the measure looks at; a probability is that of its cell where rows are not known.
        """
        one, other = self.first.system, self.other.system
        same = np.ones(len(outputs), dtype=bool)
        if "prediction" in self.looks_at:
            same &= outputs.prediction[:, one] == outputs.prediction[:, other]
        if "score" in self.looks_at:
            same &= outputs.score[:, one] == outputs.score[:, other]
        if "probability" in self.looks_at:
            same &= np.all(outputs.probability[:, one] == outputs.probability[:, other], axis=1)
        if "grades" in self.looks_at:
            # Of a query, what is predicted is whether the list is another one than the first's.
            same &= np.all(outputs.prediction[:, [one, other]] == 0, axis=1)
        return same

    def _influences(
        self, outputs: Outputs, label: IntArray, risk: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        first, other = np.split(self.both.influence(outputs, label, risk), 2, axis=1)
        return first, other


@dataclasses.dataclass(frozen=True)
class Difference(Comparison):
    """The value of a measure of one system less that of another: g(R) = g1(R1) - g2(R2)."""

    kind = "difference"

    @property
    def components(self) -> tuple[Component, ...]:
        """Those of the measure; each lies between the differences of its bounds."""
        return tuple(
            dataclasses.replace(
                one, bounds=(one.bounds[0] - one.bounds[1], one.bounds[1] - one.bounds[0]),
                against=self.other.system,
            )
            for one in self.first.components
        )  # fmt: skip

    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        """Return the difference."""
        return first - other

    def slopes(self, first: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 1 and -1."""
        return np.ones(len(first)), -np.ones(len(other))


@dataclasses.dataclass(frozen=True)
class MeanDifference(Difference):
    """The difference of a measure that is a mean loss but for sign and constant: that of a mean.

    l = Dg (l1 - l2), g(R) = R: rows on which both systems have the same loss add nothing, so
    nothing of them need be known.
    """

    def __post_init__(self) -> None:
        """Check that the measure is affine."""
        super().__post_init__()
        if not self.first.affine:
            raise ValueError(f"{self.first.name} is not affine in its mean loss")

    @property
    def size(self) -> int:
        """The number of components."""
        return len(self.first.components)

    @property
    def known(self) -> tuple[int, ...]:
        """None: all of the loss involves the label."""
        return ()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return what a row adds to the one value less what it adds to the other, shape (n, m)."""
        first, other = self._influences(outputs, label, np.zeros(self.both.size))
        return first - other

    def value(self, risk: FloatArray) -> FloatArray:
        """Return R, shape (m,)."""
        return risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return the identity, shape (m, m)."""
        return np.eye(len(risk))

    influence = Measure.influence
    mean_loss = Measure.mean_loss
    proposal_norm = Measure.proposal_norm

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows have another loss than 0, shape (n,); of queries, may have one."""
        if "grades" in self.looks_at and outputs.grades is None:
            return ~self.agrees(outputs)
        return Measure.adds(self, outputs, label)

    may_add = Measure.may_add
    must_add = Measure.must_add

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows favour one of the systems, shape (n,)."""
        return self.adds(outputs, label)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return those of both measures, and the rows that favour one of the systems."""
        favouring = Share(self.name, "rows that favour one system", self.adds(outputs, label))
        return (*super().shares(outputs, label)[:-1], favouring)


@dataclasses.dataclass(frozen=True)
class Quotient(Comparison):
    """The value of a measure of one system by that of another: g(R) = g1(R1) / g2(R2).

    Undefined where the other value is 0.

    Raises:
        ValueError: see `Comparison`; and of a measure that can be negative, of which a larger ratio
            does not tell the better system.
    """

    kind = "ratio"

    def __post_init__(self) -> None:
        """Check the two measures, and name the comparison."""
        super().__post_init__()
        if any(one.bounds[0] < 0 for one in self.first.components):
            raise ValueError(
                f"{self.first.name} can be negative, so it has no ratio: ask for the difference"
            )

    @property
    def components(self) -> tuple[Component, ...]:
        """Those of the measure, under the name of the ratio."""
        return tuple(
            dataclasses.replace(
                one, name=f"ratio({one.name})", bounds=(0.0, np.inf), against=self.other.system
            )
            for one in self.first.components
        )

    @property
    def undefined_without(self) -> str:
        """What either measure is undefined without, and a second one but 0."""
        return f"{super().undefined_without}, or no {self.first.name} of the second but 0"

    def compare(self, first: FloatArray, other: FloatArray) -> FloatArray:
        """Return the ratio, NaN where the other value is 0."""
        return divide(first, other)

    def slopes(self, first: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 1 / g2 and -g1 / g2^2."""
        inverse = divide(np.ones_like(other), other)
        return inverse, -first * inverse**2


def are_comparable(first: Measure, other: Measure) -> bool:
    """Tell whether two measures, each of its own system, have a difference.

    One that is the same for all systems has none; nor have curves whose points are at different
    thresholds.
    """
    if (type(first), first.name) != (type(other), other.name):
        return False
    at = [[one.threshold for one in measure.components] for measure in (first, other)]
    return bool(first.looks_at) and first.of_system and at[0] == at[1]


def systems_of(measure: Measure) -> tuple[int, ...]:
    """Return the numbers of the systems that a measure is about: one, or the two compared."""
    if isinstance(measure, Comparison):
        return (measure.first.system, measure.other.system)
    return (measure.system,)


def difference(first: Measure, other: Measure) -> Difference:
    """Return the difference of a measure of two systems, as a mean where it is one.

    Raises:
        ValueError: see `Comparison`.
    """
    return (MeanDifference if first.affine else Difference)(first, other)


def pairs_of(measure: Measure) -> tuple[Difference, ...]:
    """Return the differences that a measure names, or those of all pairs of its systems.

    Of a joint measure: the differences among its parts, and each system's value less that of every
    later one. None if it compares nothing.
    """
    parts = parts_of(measure)
    listed = [part for part in parts if isinstance(part, Difference)]
    own = [part for part in parts if not isinstance(part, Comparison)]
    pairs = [
        difference(one, other)
        for one, other in itertools.combinations(own, 2)
        if are_comparable(one, other)
    ]
    return (*listed, *pairs)


def is_aimed_at(measure: Measure, driver: Measure) -> bool:
    """Tell whether a measure drives the sampling: it, or both measures that it compares."""
    if is_part_of(measure, driver):
        return True
    if not isinstance(measure, Comparison):
        return False
    return all(is_part_of(part, driver) for part in measure.both.parts)


BY_KIND: Mapping[str, Callable[[Measure, Measure], Comparison]] = {
    "difference": difference,
    "ratio": Quotient,
}
"""Comparisons that a spec may name."""


def is_nil(measure: Measure, outputs: Outputs) -> bool:
    """Tell whether two systems that are compared say the same of all rows of a pool.

    Args:
        measure: any.
        outputs: of a row of each kind that there is.
    """
    told = measure.looks_at <= PREDICTION or measure.looks_at == frozenset({"grades"})
    if not isinstance(measure, Difference) or not told:
        return False
    return bool(measure.agrees(outputs).all())
