"""An option of estimation: weights calibrated to the known totals of a measure."""

import dataclasses

from evalsampling.measures.base import Component, Measure

MOST_KNOWN = 16
"""Most known totals: a regression on more would follow the noise of a few hundred labels."""


@dataclasses.dataclass(frozen=True)
class Calibrated:
    """A measure to be estimated with weights calibrated to its known totals.

    It can be given wherever a measure to estimate is expected, but it is not a `Measure`: samplers
    sample for `measure`, and the value of `measure` is estimated. (Plugging the totals in would
    undo the cancellation between numerator and denominator of a ratio.)

    Attributes:
        measure: the measure to estimate; `Measure.known` says which means of its loss are known.

    Raises:
        TypeError: `measure` is not a measure.
        ValueError: it has no known total, or too many for a regression.
    """

    measure: Measure

    def __post_init__(self) -> None:
        """Check that the measure has known totals, and not too many."""
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
        """The components of the measure, under their names in results."""
        return tuple(
            dataclasses.replace(component, name=f"{component.name}, calibrated")
            for component in self.measure.components
        )


Requested = Measure | Calibrated
"""A measure to estimate, with design weights or with calibrated ones."""


def measure_of(requested: Requested) -> Measure:
    """Return the measure to be estimated, whatever its weights."""
    return requested.measure if isinstance(requested, Calibrated) else requested
