"""How many labels it is likely to take until an interval is narrower.

The width of an interval falls with a power of the number of labels. Under simple random sampling
that is 1/2. The default intervals of an adaptive design fall faster, since later rounds draw where
earlier ones left most to learn: with a power of about 1/1.6 on real pools.
"""

import dataclasses
import math

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
    """A half-width that an interval may come to, and what it takes."""

    half_width: float  # above 0
    # number of labels in all, at least; that of the rows of the pool, which make the number exact,
    # if it takes no fewer. None if it is beyond `AFFORDABLE` times the labels so far
    labels: int | None

    @property
    def most(self) -> int | None:
        """Number of labels in all, at most, as far as can be said: `SPREAD` times as many."""
        return None if self.labels is None else math.ceil(SPREAD * self.labels)


def outlook(now: float, labels: int, rows: int | None, goal: float | None, power: float) -> Outlook:
    """Return how many labels a narrower interval is likely to take.

    `rows`: of the pool, more than have labels; None if labels of all leave the number open.
    `goal`: half-width wanted; without one, or below it already, a round number below the present.
    """
    aim = goal if goal is not None and goal < now else next_half_width(now)
    needed = labels * (now / aim) ** power if aim else math.inf
    if rows is not None and (needed > rows or rounded(math.ceil(needed)) >= rows):
        needed = rows
    if needed > AFFORDABLE * labels:
        return Outlook(aim, None)
    if rounded(math.ceil(needed)) <= labels and needed != rows:  # said with two digits
        needed = labels + 10 ** max(len(str(labels)) - 2, 0)
    return Outlook(aim, math.ceil(needed))


def range_in_words(labels: int, rows: int | None) -> str:
    """Return how many labels to expect, which are fewer than the rows: 740 to 1,500 labels."""
    fewest, most = rounded(labels), rounded(math.ceil(SPREAD * labels))
    if rows is not None and most >= rows:
        return f"{fewest:,} labels or more of the {rows:,} rows"
    return f"{fewest:,} to {most:,} labels"


def rounded(count: int) -> int:
    """Return a number with two significant digits: 24,000."""
    return int(float(f"{count:.2g}"))


def next_half_width(now: float) -> float:
    """Return the largest round number that is at most `_NEXT` of a half-width, above 0."""
    most = _NEXT * now
    unit = 10.0 ** math.floor(math.log10(most))
    return round(max(step * unit for step in _STEPS if step * unit <= most), 12)
