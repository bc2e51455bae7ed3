"""An option of estimation: weights calibrated to the totals of a measure that are known."""

import dataclasses

from evalsampling.measures.base import Component, Measure

MOST_KNOWN = 16
"""Most known totals: a regression on more would follow the noise of a few hundred labels."""


@dataclasses.dataclass(frozen=True)
class Calibrated:
    """A measure to be estimated with weights calibrated to its known totals.

    It stands where a measure to estimate is asked for and is no measure itself: samplers sample
    for `measure`, and what is estimated is its value. (Plugging the totals in would undo the
    cancellation between numerator and denominator of a ratio.)

    Attributes:
        measure: what to estimate; the means of its losses at the places `Measure.known` are known.

    Raises:
        TypeError: that is no measure.
        ValueError: nothing of its loss is known, or too much for a regression.
    """

    measure: Measure

    def __post_init__(self) -> None:
        """Check that there is something to calibrate to."""
        if not isinstance(self.measure, Measure):
            raise TypeError(f"only a measure can be calibrated, got {self.measure!r}")
        if not self.measure.known:
            raise ValueError(
                f"{self.measure.name} cannot be calibrated: all of its loss involves the label"
            )
        if len(self.measure.known) > MOST_KNOWN:
            raise ValueError(
                f"{self.measure.name} cannot be calibrated: {len(self.measure.known)} known totals "
                f"are too many for a regression, at most {MOST_KNOWN} are possible"
            )

    @property
    def name(self) -> str:
        """Name in results."""
        return f"{self.measure.name}, calibrated"

    @property
    def components(self) -> tuple[Component, ...]:
        """Those of the measure under the names that they have in results."""
        return tuple(
            dataclasses.replace(component, name=f"{component.name}, calibrated")
            for component in self.measure.components
        )


Requested = Measure | Calibrated
"""What to estimate: a measure, with design weights or with calibrated ones."""


def measure_of(requested: Requested) -> Measure:
    """Return the measure that is to be estimated, whatever the weights."""
    return requested.measure if isinstance(requested, Calibrated) else requested
