"""The assumptions of each kind of interval, in words."""

from collections.abc import Iterable, Mapping

from evalsampling.inference import assumption_light, model_based
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import ReportedInterval

ASSUMES: Mapping[str, str] = {
    model_based.KIND: "holds if the rate of positives rises with the score and no more "
    "positives hide from it than the spec's `hidden` makes probable",
    "design-based": "rests on how rows were drawn; it knows nothing of positives of a kind that "
    "has no label",
    assumption_light.KIND: assumption_light.ASSUMES,
}
"""Kinds of intervals, in the order of reports, each with its assumptions in words."""


def rested_on(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return what intervals assume, in words, by kind; exact numbers assume nothing."""
    return assumed(each.kind for each in intervals if each.method != "census")


def assumed(kinds: Iterable[str]) -> dict[str, str]:
    """Return the assumptions of some kinds of intervals, in words, by kind.

    Kinds that are not in `ASSUMES` are left out: they assume nothing but how rows were drawn.
    """
    wanted = set(kinds)
    return {kind: words for kind, words in ASSUMES.items() if kind in wanted}
