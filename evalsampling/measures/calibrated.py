"""A measure whose known totals are to be used."""

import dataclasses
import functools

from evalsampling.measures.base import (
    BoolArray,
    Component,
    FloatArray,
    IntArray,
    Measure,
    Share,
)
from evalsampling.stats.outputs import Outputs

MOST_KNOWN = 16
"""Most known totals: a regression on more would follow the noise of a few hundred labels."""


@dataclasses.dataclass(frozen=True)
class Calibrated(Measure):
    """The same measure, to be estimated by calibration to its known totals.

    It differs from the measure in its names alone; estimation does the rest, from `known` and
    the losses. (Plugging the totals in would undo the cancellation between numerator and
    denominator of a ratio.)

    Attributes:
        measure: the measure.

    Raises:
        TypeError: that is no measure.
        ValueError: nothing of its loss is known.
    """

    measure: Measure

    def __post_init__(self) -> None:
        """Check that there is something to calibrate to, and take over the attributes."""
        if not isinstance(self.measure, Measure):
            raise TypeError(f"only a measure can be calibrated, got {self.measure!r}")
        if not self.measure.known:
            raise ValueError(
                f"{self.measure.name} cannot be calibrated: all of its loss involves the label"
            )
        object.__setattr__(self, "name", f"{self.measure.name}, calibrated")
        if len(self.measure.known) > MOST_KNOWN:
            raise ValueError(
                f"{self.measure.name} cannot be calibrated: {len(self.measure.known)} known totals "
                f"are too many for a regression, at most {MOST_KNOWN} are possible"
            )
        for attribute in ("system", "bounds", "evidence_name", "looks_at"):
            object.__setattr__(self, attribute, getattr(self.measure, attribute))

    @functools.cached_property
    def components(self) -> tuple[Component, ...]:
        """Those of the measure, each marked."""
        return tuple(
            dataclasses.replace(component, name=f"{component.name}, calibrated")
            for component in self.measure.components
        )

    @property
    def size(self) -> int:
        """That of the measure."""
        return self.measure.size

    @property
    def known(self) -> tuple[int, ...]:
        """Those of the measure: what estimation calibrates to."""
        return self.measure.known

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return the measure's losses, shape (n, d)."""
        return self.measure.loss(outputs, label)

    def value(self, risk: FloatArray) -> FloatArray:
        """Return the measure's value, shape (m,)."""
        return self.measure.value(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Return the measure's Jacobian, shape (m, d)."""
        return self.measure.jacobian(risk)

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return the measure's evidence, shape (n,)."""
        return self.measure.evidence(outputs, label)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return the measure's shares."""
        return self.measure.shares(outputs, label)

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        """Tell whether the measure is."""
        return self.measure.is_settled(low, high)

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether a row between may add to the measure, shape (n,)."""
        return self.measure.may_add(low, high, label)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        """Return whether every row between adds to the measure, shape (n,)."""
        return self.measure.must_add(low, high, label)

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Return the measure's sum_i weight_i l_i, shape (d,)."""
        return self.measure.mean_loss(outputs, label, weight)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Return which rows add to the measure, shape (n,)."""
        return self.measure.adds(outputs, label)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the measure's Dg(risk) l of each row, shape (n, m)."""
        return self.measure.influence(outputs, label, risk)

    def squared_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Return the measure's ||Dg(risk) l||^2 of each row, shape (n,)."""
        return self.measure.squared_norm(outputs, label, risk)
