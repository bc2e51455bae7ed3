"""The assumptions of each kind of interval, in words."""

from collections.abc import Iterable, Mapping

from evalsampling.inference import model_based
from evalsampling.inference.class_rates import ClassRates
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import ReportedInterval

ASSUMES: Mapping[str, str] = {
    model_based.KIND: "holds if the rate of positives rises with the score and no more "
    "positives hide from it than the spec's `hidden` makes probable",
    "design-based": "rests on how rows were drawn; it knows nothing of positives of a kind that "
    "has no label",
}
"""Kinds of intervals, in the order of reports, each with its assumptions in words."""


_OF_STRATA = (
    "holds for rows drawn alike among all that are predicted alike; no score and no `hidden` "
    "enters it"
)
"""What the model of `ClassRates` assumes."""


def rested_on(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return what intervals assume, in words, by kind; exact numbers assume nothing."""
    return assumed(each for each in intervals if each.method != "census")


def assumed(intervals: Iterable[Interval | ReportedInterval]) -> dict[str, str]:
    """Return the assumptions of the kinds of some intervals, in words, by kind.

    Kinds that are not in `ASSUMES` are left out: they assume nothing but how rows were drawn.
    """
    methods = {interval.kind: interval.method for interval in intervals}
    words = {kind: words for kind, words in ASSUMES.items() if kind in methods}
    if methods.get(model_based.KIND, "").startswith(ClassRates.method):
        words[model_based.KIND] = _OF_STRATA
    return words
