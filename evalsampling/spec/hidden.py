"""The spec's prior of positives that no score distinguishes from negatives."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evalsampling.spec.sections import Section, given

MOST_CLASSES = 10
"""Most classes for which labels have a model: a calibration curve is fitted for each."""


class HiddenPrior(msgspec.Struct, frozen=True):
    """Lognormal prior of the positives that no score distinguishes from negatives.

    It is the prior of a ratio: their number over that of ``relative_to``.
    """

    # median of the ratio, above 0
    share: Annotated[float, Meta(gt=0, le=10, description="above 0 and at most 10")] = 0.075
    # standard deviation of its logarithm, above 0
    spread: Annotated[float, Meta(gt=0, le=5, description="above 0 and at most 5")] = 2.0
    # ``positives`` that scores distinguish, or the ``overlap`` of the classes: the sum of rate (1 -
    # rate) over the rows, by the rates that scores make likely. It is small where scores separate
    # the classes well. The default is from 53 real pools (docs/studies/calibrated-trials.md).
    relative_to: Literal["positives", "overlap"] = "overlap"

    def with_share(self, share: float) -> "HiddenPrior":
        """Return the prior with another median of the ratio."""
        return msgspec.structs.replace(self, share=share)


_STATED = {"share": 0.05, "spread": 1.5, "relative_to": "positives"}
"""Defaults of a section that is not empty and names no reference."""


def read_hidden(section: Section) -> HiddenPrior:
    """Return the section ``hidden`` of a spec, checked."""
    relative_to = _STATED["relative_to"]
    if section.content and section.get("relative_to", relative_to) == relative_to:
        section = Section(section.name, _STATED | given(section.content))
    return section.read(HiddenPrior)
