"""The spec's prior of positives that no score distinguishes from negatives."""

import dataclasses

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

MOST_CLASSES = 10
"""Most classes for which labels have a model: a calibration curve is fitted for each."""

RELATIVE_TO = ("positives", "overlap")
"""What the number of hidden positives may be stated over."""


@dataclasses.dataclass(frozen=True)
class HiddenPrior:
    """Lognormal prior of the positives that no score distinguishes from negatives.

    It is that of their number divided by what it is relative to.

    Attributes:
        share: median of the ratio, above 0.
        spread: standard deviation of its logarithm, above 0.
        relative_to: ``positives`` that scores distinguish, or the ``overlap`` of the classes: the
            sum of rate (1 - rate) over the rows, by the rates that scores make likely. It is small
            where scores separate the classes well. The default is from 53 real pools
            (docs/studies/calibrated-trials.md).
    """

    share: float = 0.075
    spread: float = 2.0
    relative_to: str = "overlap"


_STATED = HiddenPrior(0.05, 1.5, "positives")
"""Defaults of a section that is not empty and names no reference."""


def read_hidden(section: Section) -> HiddenPrior:
    """Return the section ``hidden`` of a spec, checked."""
    section.check_keys("share", "spread", "relative_to")
    if not section.content:
        return HiddenPrior()
    relative_to = section.get("relative_to", _STATED.relative_to)
    default = _STATED if relative_to == _STATED.relative_to else HiddenPrior()
    share, spread = section.number("share", default.share), section.number("spread", default.spread)
    if not 0 < share <= 10:
        raise InputError(f"hidden.share: must be above 0 and at most 10, got {share:g}")
    if not 0 < spread <= 5:
        raise InputError(f"hidden.spread: must be above 0 and at most 5, got {spread:g}")
    if relative_to not in RELATIVE_TO:
        names = " or ".join(RELATIVE_TO)
        raise InputError(f"hidden.relative_to: must be {names}, got {relative_to!r}")
    return HiddenPrior(share, spread, relative_to)
