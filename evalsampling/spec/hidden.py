"""What a spec says of positives that no score tells from negatives."""

import dataclasses

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

MOST_CLASSES = 10
"""Classes beyond which labels have no model: a calibration curve is fitted for each."""


@dataclasses.dataclass(frozen=True)
class HiddenPrior:
    """What is thought, before any label, of positives that no score tells from negatives.

    Their number by that of the positives that scores tell has a lognormal prior.

    Attributes:
        share: its median, above 0.
        spread: the standard deviation of its logarithm, above 0.
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
