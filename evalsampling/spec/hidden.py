"""The spec's prior of positives that no score distinguishes from negatives."""

import dataclasses

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

MOST_CLASSES = 10
"""Most classes for which labels have a model: a calibration curve is fitted for each."""


@dataclasses.dataclass(frozen=True)
class HiddenPrior:
    """Lognormal prior of the positives that no score distinguishes from negatives.

    It is that of their number divided by the number of the other positives.

    Attributes:
        share: median of the ratio, above 0.
        spread: standard deviation of its logarithm, above 0.
    """

    share: float = 0.05
    spread: float = 1.5


def read_hidden(section: Section) -> HiddenPrior:
    """Return the section ``hidden`` of a spec, checked."""
    section.check_keys("share", "spread")
    default = HiddenPrior()
    share, spread = section.number("share", default.share), section.number("spread", default.spread)
    if not 0 < share <= 10:
        raise InputError(f"hidden.share: must be above 0 and at most 10, got {share:g}")
    if not 0 < spread <= 5:
        raise InputError(f"hidden.spread: must be above 0 and at most 5, got {spread:g}")
    return HiddenPrior(share, spread)
