"""What intervals of each kind rest on, in words."""

from collections.abc import Iterable, Mapping

from evalsampling.inference import assumption_light, model_based

ASSUMES: Mapping[str, str] = {
    model_based.KIND: "holds if the rate of positives rises with the score and no more "
    "positives hide from it than the spec's `hidden` makes probable",
    "design-based": "rests on how rows were drawn; it does not see positives that no label has met",
    assumption_light.KIND: assumption_light.ASSUMES,
}
"""Each kind of interval, in the order in which they are told, and what it rests on."""


def assumed(kinds: Iterable[str]) -> dict[str, str]:
    """Return what the kinds of intervals that are there rest on; others rest on the draws alone."""
    there = set(kinds)
    return {kind: words for kind, words in ASSUMES.items() if kind in there}
