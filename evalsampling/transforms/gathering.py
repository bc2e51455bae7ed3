"""Elements gathered: by bundle, window and key, or all of them, in the one window of all time."""

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.transforms import window
from apache_beam.transforms.trigger import AccumulationMode, DefaultTrigger

from evalsampling.errors import InputError
from evalsampling.pool.batch import BATCHES

_ENOUGH = 10_000
"""Rows that are handed on before their bundle ends."""


class Gather(beam.DoFn):
    """Hands on parts of the elements of a bundle together, by window and key."""

    def __init__(
        self,
        keyed: Callable[[Any], Iterator[tuple[Any, Any]]],
        made_of: Callable[[Any, Sequence[Any]], Iterator[Any]],
    ) -> None:
        """Choose the function that returns the part of an element to hold.

        Args:
            keyed: yields keys with parts of an element; a part with a length is as many rows.
            made_of: yields what is made of a key and its parts, of another output if tagged.
        """
        self._keyed, self._made_of = keyed, made_of
        self._held: dict[tuple[Any, Any], list[Any]] = {}
        self._rows: collections.Counter[tuple[Any, Any]] = collections.Counter()

    def start_bundle(self) -> None:
        self._held, self._rows = {}, collections.Counter()

    def process(self, element: Any, of: Any = beam.DoFn.WindowParam) -> Iterator[Any]:
        for key, part in self._keyed(element):
            self._held.setdefault((of, key), []).append(part)
            self._rows[of, key] += len(part) if isinstance(part, BATCHES) else 1
            if self._rows[of, key] >= _ENOUGH:
                del self._rows[of, key]
                yield from self._made_of(key, self._held.pop((of, key)))

    def finish_bundle(self) -> Iterator[Any]:
        held, self._held = self._held, {}
        for (of, key), elements in held.items():
            for made in self._made_of(key, elements):
                tagged = isinstance(made, pvalue.TaggedOutput)
                value = made.value if tagged else made
                windowed = window.WindowedValue(value, of.max_timestamp(), (of,))
                yield pvalue.TaggedOutput(made.tag, windowed) if tagged else windowed


def check_together(elements: beam.PCollection[Any], what: str) -> None:
    """Check that elements come together, each time with all that came before.

    Raises:
        InputError: if they are in windows, or if a trigger gives what is new alone.
    """
    windowing = elements.windowing
    if not isinstance(windowing.windowfn, window.GlobalWindows):
        raise InputError(f"{what} are in windows, and count together: put them into GlobalWindows")
    fires_once = isinstance(windowing.triggerfn, DefaultTrigger)
    if not fires_once and windowing.accumulation_mode != AccumulationMode.ACCUMULATING:
        raise InputError(
            f"{what}: a trigger must keep what came before: give WindowInto "
            "accumulation_mode=AccumulationMode.ACCUMULATING"
        )


def is_there(element: Any) -> bool:
    """Return False for None: the sum of nothing, which some runners give where nothing came."""
    return element is not None


def like(others: beam.PCollection[Any]) -> beam.WindowInto:
    """Return the transform to elements that fire when others do."""
    windowing = others.windowing
    return beam.WindowInto(
        windowing.windowfn,
        trigger=windowing.triggerfn,
        accumulation_mode=windowing.accumulation_mode,
    )
