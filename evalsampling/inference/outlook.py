"""How many labels it is likely to take until an interval is narrower.

The width of an interval falls with a power of the number of labels. Under simple random sampling
that is 1/2. The default intervals of an adaptive design fall faster, since later rounds draw where
earlier ones left most to learn: with a power of about 1/1.6 on real pools.
"""

import dataclasses
import math

from evalsampling.stats.counted import counted

OF_MODEL = 1.6
"""The number of labels rises with this power of the ratio of widths: of model-based intervals."""

OF_DESIGN = 2.0
"""That power of all other intervals."""

_NEXT = 0.8
"""Largest next half-width by the present one."""

_STEPS = (1.0, 2.0, 3.0, 5.0, 7.0)
"""First digits of the next half-width."""

AFFORDABLE = 20
"""Times the labels so far from which on no number is named."""

SPREAD = 2.0
"""The most labels that are likely by the fewest: where intervals lean, they need about so many."""


@dataclasses.dataclass(frozen=True)
class Outlook:
    """A half-width that an interval may reach, and the number of labels it takes."""

    half_width: float  # above 0
    labels: int | None  # in all, at least; None if beyond `AFFORDABLE` times those so far
    most: int | None = None  # labels in all, at most, as far as can be said
    # rows without a label that the number depends on, if it takes all of these: then it is exact
    rows: int | None = None

    @property
    def in_words(self) -> str:
        """The labels in words: expect 740 to 1,500 labels."""
        assert self.labels is not None
        if self.rows is not None:
            return f"label the {counted(self.rows, 'other row')} that it depends on"
        if self.most is None:
            return f"expect {rounded(self.labels):,} labels or more"
        return f"expect {rounded(self.labels):,} to {rounded(self.most):,} labels"


def outlook(
    now: float, labels: int, unlabelled: int | None, goal: float | None, power: float
) -> Outlook:
    """Return how many labels a narrower interval is likely to take.

    `unlabelled`: rows without a label that the number depends on; None if labels of all leave it
    open. `goal`: half-width wanted; without one, or below it already, a round number below the
    present.
    """
    aim = goal if goal is not None and goal < now else next_half_width(now)
    needed = labels * (now / aim) ** power if aim else math.inf
    exact = math.inf if unlabelled is None else labels + unlabelled
    if needed < exact and rounded(math.ceil(needed)) <= labels:  # said with two digits
        needed = labels + 10 ** max(len(str(labels)) - 2, 0)
    if min(needed, exact) > AFFORDABLE * labels:
        return Outlook(aim, None)
    if needed >= exact or rounded(math.ceil(needed)) >= exact:
        return Outlook(aim, int(exact), int(exact), unlabelled)
    most = math.ceil(SPREAD * needed)
    return Outlook(aim, math.ceil(needed), most if rounded(most) < exact else None)


def rounded(count: int) -> int:
    """Return a number with two significant digits: 24,000."""
    return int(float(f"{count:.2g}"))


def next_half_width(now: float) -> float:
    """Return the largest round number that is at most `_NEXT` of a half-width, above 0."""
    most = _NEXT * now
    unit = 10.0 ** math.floor(math.log10(most))
    return round(max(step * unit for step in _STEPS if step * unit <= most), 12)
