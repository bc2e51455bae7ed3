"""Changes of a measure between two pools with samples of their own: difference and interval.

References:
    G. Y. Zou and A. Donner, *Construction of confidence limits about effect measures: a general
    approach*, Statistics in Medicine 27, 2008 (limits of a difference from those of its two terms,
    which may be skew).
"""

import dataclasses
import math

from evalsampling.inference.results import Estimate


@dataclasses.dataclass(frozen=True)
class Change:
    """By how much a number differs from that of another pool.

    Attributes:
        measure: name of the measure.
        system: name of the system, None for a single one without a name.
        against: second system of a comparison, None for no comparison.
        threshold: of the score, for a point of a curve; else None.
        slice: ``column=value`` of its rows, None for the whole pool.
        value: the later estimate less the earlier one.
        low: lower end of the interval of the difference.
        high: upper end.
        confidence: level of the interval, in (0, 1).
        statement: the change in a sentence.
    """

    measure: str
    system: str | None
    against: str | None
    threshold: float | None
    slice: str | None
    value: float
    low: float
    high: float
    confidence: float
    statement: str


def change_of(before: Estimate, after: Estimate) -> Change | None:
    """Return the change from an estimate to one of the same number of another pool.

    Its interval has the level of theirs: with the ends l and u of the default intervals of both, it
    is d - sqrt((v2 - l2)^2 + (u1 - v1)^2) to d + sqrt((u2 - v2)^2 + (v1 - l1)^2) (Zou and Donner).
    The rows of the two samples must be others, drawn independently.

    Returns:
        None where they are of different numbers, a value is undefined, or one of the two intervals
        claims nothing.
    """
    if before.target != after.target or before.value is None or after.value is None:
        return None
    if not (before.claims and after.claims):
        return None
    target, difference = after.target, after.value - before.value
    low = difference - math.hypot(after.value - after.low, before.high - before.value)
    high = difference + math.hypot(after.high - after.value, before.value - before.low)
    said = f"{target.title} {'rose' if low > 0 else 'fell'} by {abs(difference):.3g}"
    if low <= 0 <= high:
        said = f"{target.title}: the labels show no change, {difference:+.3g}"
    return Change(
        measure=target.measure,
        system=target.system,
        against=target.against,
        threshold=target.threshold,
        slice=target.slice,
        value=difference,
        low=low,
        high=high,
        confidence=after.confidence,
        statement=f"{said} ({low:+.3g} to {high:+.3g})",
    )
